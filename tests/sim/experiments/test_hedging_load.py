"""What hedging does to a store at two thirds of its capacity."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from cli.parse.vary import parse_variation
from cli.tables.experiments.whatif import findings, opening
from models.store import load_spec
from sim.experiments.sweep import Settings
from sim.experiments.whatif import WhatIfExperiment, whatif
from sim.simulate import simulate
from sim.verdict.same_stations import needs_same
from tests.paths import EXAMPLES
from traces.spec.spec_file import load_mapping, override

SIX = """
store: minio
workload: {rate: 6000/s, duration: 4s, object_size: 1MiB, mix: {GET: 70, PUT: 30}}
network: {latency: 50us}
hosts: {count: 6, cores: 32, nic: 25Gbit/s, preset: epyc-2-cores}
drives: {count: 8, preset: nvme}
erasure: {parity: 4}
"""


@pytest.fixture(scope="module")
def six(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("six") / "six.yaml"
    file.write_text(SIX)
    return file


@cache
def p99_ms(six: Path, seed: int, *settings: str) -> float:
    run = simulate(load_spec(six, list(settings)), seed=seed)
    return float(np.quantile(run.latency_s[run.has("GET")], 0.99)) * 1e3


HEDGED = "client.hedge.after=p95"


@pytest.mark.parametrize("seed", range(3))
def test_the_tail_does_not_grow_with_the_length_of_the_run(six, seed):
    short, long = p99_ms(six, seed, HEDGED), p99_ms(six, seed, HEDGED, "workload.duration=12s")
    assert long == pytest.approx(short, rel=0.1)
    assert short < 1.5 * p99_ms(six, seed)


@pytest.mark.parametrize("seed", range(6))
def test_cancelling_the_slower_attempt_does_no_harm(six, seed):
    assert p99_ms(six, seed, HEDGED) < p99_ms(six, seed, HEDGED, "client.hedge.cancel=false")


def test_more_tokens_make_longer_bursts(six):
    tails = [p99_ms(six, 0, HEDGED, f"client.hedge.budget_cap={cap}") for cap in (1, 10, 100)]
    assert tails == sorted(tails)
    assert tails[-1] > 2 * tails[1]


def test_hedges_that_gain_nothing_are_named_with_the_queues_that_all_attempts_share():
    """A request that another gateway sends again needs the same disks."""
    changes = ["workload.operations=3000", "gateways.count=2", "workload.clients=40", "workload.mix={GET: 1}"]
    data = override(load_mapping(EXAMPLES / "openio/three-hosts.yaml"), [*changes, "drives.preset=hdd-7k2"])
    result = whatif(
        WhatIfExperiment(data, "three", [parse_variation("client.hedge.after=none,p95")], [], settings=Settings())
    )
    assert result.simulated[1].no_gain == {"GET": "drive"}
    (line,) = findings(result)
    assert line == (
        "With client.hedge.after=p95, hedges do not shorten the p99 of GET beyond chance: "
        "all attempts of a request need the same drive."
    )


def test_an_attempt_at_another_gateway_needs_the_same_disks():
    spec = load_spec(EXAMPLES / "openio/three-hosts.yaml", ["gateways.count=2"])
    assert not needs_same(spec, "GET", "gateway cpu")
    assert needs_same(spec, "GET", "drive")


def test_what_hedges_cost_is_said_after_the_verdict(six):
    data = override(load_mapping(six), ["workload.duration=1s"])
    result = whatif(
        WhatIfExperiment(
            data, "six", [parse_variation("client.hedge.after=none,p95")], [], settings=Settings(replications=2)
        )
    )
    alone, hedged = result.simulated
    assert alone.extra is None
    assert 0 < hedged.extra.per_request < hedged.extra.allowed == pytest.approx(0.07, rel=0.03)
    verdict, *short, cost = opening(result)
    assert all(line.startswith("warning: ") for line in short)
    assert "healthy" in verdict
    role = hedged.load.saturates_first.role
    busy, without = (f"{point.roles[role].utilization:.1%}" for point in (hedged, alone))
    assert cost.startswith("With client.hedge.after=p95, hedges add 0.0")
    assert cost.endswith(
        f"that budgets allow in the long run; the busiest {role} is {busy} busy with them, {without} without."
    )
