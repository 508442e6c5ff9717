"""Cores twice as fast halve the CPU times of their stations, and no other times."""

from __future__ import annotations

import pytest

from models.store import compile_spec, load_spec
from sim.demands.service_demands import mean_demands
from tests.paths import EXAMPLES
from traces.workload.generate import generate

SHORT = ["workload.duration=null", "workload.operations=500"]
BALANCED = [*SHORT, "balance=proxy", "proxy.cpu={constant: 30us}"]


@pytest.mark.parametrize(
    ("example", "given", "section", "role"),
    [
        ("swift/cluster.yaml", SHORT, "proxies", "proxy cpu"),
        ("swift/cluster.yaml", SHORT, "hosts", "host cpu"),
        ("bob/cluster.yaml", [*SHORT, "hosts.internode.call=20us"], "hosts", "host cpu"),
        ("openio/cluster.yaml", SHORT, "gateways", "gateway cpu"),
        ("openio/cluster.yaml", SHORT, "hosts", "host cpu"),
        ("minio/two-pools.yaml", BALANCED, "proxy", "proxy cpu"),
    ],
)
def test_cpu_times_are_divided_by_the_speed(example: str, given: list[str], section: str, role: str) -> None:
    slow, fast = (_times_s(example, [*given, f"{section}.cores.speed={speed}"]) for speed in (1, 2))
    assert slow[role] > 0 and fast.pop(role) == pytest.approx(slow.pop(role) / 2)
    assert fast == pytest.approx(slow)


def _times_s(example: str, changes: list[str]) -> dict[str, float]:
    """Return the mean service time of a request at the stations of each role."""
    spec = load_spec(EXAMPLES / example, changes)
    network, requests = compile_spec(spec, generate(spec.workload, 0))
    demands = mean_demands(network, requests)
    found: dict[str, float] = {}
    for station, mean_s in zip(network.stations, demands.fraction @ demands.mean_s, strict=True):
        found[station.role] = found.get(station.role, 0.0) + float(mean_s)
    return found
