"""MinIO clusters whose hosts differ in cores, NICs and the speed of their drives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cli.parse.failure import parse_failure
from models.devices.hdd_scheduling import busy_s
from models.minio.compile import hdd_queue_of
from models.minio.remedies import REMEDIES
from models.minio.spec.spec import MinioSpec
from models.shared.prices import cost
from models.store import compile_spec, spec_of
from sim.analysis.bounds import bounds_of
from sim.simulate import EngineName, simulate
from traces.errors import InputError
from traces.spec.spec_file import override
from traces.workload.generate import generate

BASE: dict[str, Any] = {
    "store": "minio",
    "workload": {
        "rate": 40, "object_size": "256KiB", "operations": 300, "keys": {"kind": "uniform", "count": 1000},
        "mix": {"GET": 0.6, "PUT": 0.3, "DELETE": 0.05, "LIST": 0.02, "HEAD": 0.03},
    },
    "network": {"latency": "100us"},
    "hosts": {"cores": 8, "nic": "10Gbit/s", "preset": "epyc-2-cores"},
    "drives": {"count": 2, "preset": "nvme"},
    "listing": {"entries": 20},
}  # fmt: skip
SLOW = {"a": {"count": 3}, "b": {"drive_speed": 0.25, "cores": 4, "core_speed": 0.8, "nic": "1Gbit/s"}}
TIMES = {"read": {"constant": "10ms"}, "write": {"constant": "10ms"}, "commit": {"constant": "10ms"}}


def minio(*overrides: str, groups: dict[str, Any] | None = None, **sections: Any) -> MinioSpec:
    hosts = {**BASE["hosts"], **({"groups": groups} if groups else {"count": 4})}
    spec = spec_of(override({**BASE, "hosts": hosts, **sections}, overrides), "spec")
    assert isinstance(spec, MinioSpec)
    return spec


def latencies(spec: MinioSpec, engine: EngineName = "compiled") -> np.ndarray:
    return simulate(spec, seed=1, engine=engine).latency_s


VARIANTS: list[dict[str, Any]] = [
    {},
    {"drives": {"count": 2, "preset": "nvme", "direct": True, "commit_in": "queue"}},
    {"faults": [{"kind": "slow_drive", "drive": 7, "at": 0, "speed": 0.5}]},
    {"faults": [{"kind": "host_down", "host": 3, "at": "1s", "back_at": "3s"}]},
    {"faults": [{"kind": "noisy_neighbour", "host": 3, "at": "1s", "resource": "cpu", "fraction": 0.5}]},
    {
        "stored": {"objects": 1000, "object_size": "256KiB"},
        "faults": [{"kind": "drive_replaced", "drive": 6, "at": "1s", "back_at": "2s"}],
    },
]


@pytest.mark.parametrize("sections", VARIANTS, ids=str)
def test_groups_of_equal_hosts_are_a_cluster_of_equal_hosts(sections: dict[str, Any]) -> None:
    equal = latencies(minio(**sections))
    assert np.array_equal(latencies(minio(groups={"a": {"count": 3}, "b": {}}, **sections)), equal)


@pytest.mark.parametrize("sections", VARIANTS, ids=str)
def test_engines_agree_on_hosts_that_differ(sections: dict[str, Any]) -> None:
    spec = minio("workload.operations=100", groups=SLOW, **sections)
    assert np.array_equal(latencies(spec), latencies(spec, "simpy"))


def test_a_cluster_of_slow_hosts_has_drives_of_that_speed() -> None:
    """All hosts in a group at half the speed: as if all times of drives were twice as long."""
    half = minio(groups={"all": {"count": 4, "drive_speed": 0.5}}, drives={"count": 2, **TIMES})
    twice = {name: {"constant": "20ms"} for name in TIMES}
    assert latencies(half) == pytest.approx(latencies(minio(drives={"count": 2, **twice})))


def test_a_write_waits_for_the_slowest_host_of_its_set() -> None:
    puts = {"workload": {**BASE["workload"], "mix": {"PUT": 1.0}, "rate": 0.2, "operations": 50}}
    drives = {"drives": {"count": 2, **TIMES}}
    slow = minio(groups={"a": {"count": 3}, "b": {"drive_speed": 0.1}}, **puts, **drives)
    every = minio(groups={"all": {"count": 4, "drive_speed": 0.1}}, **puts, **drives)
    fast = minio(**puts, **drives)
    assert np.median(latencies(slow)) == pytest.approx(np.median(latencies(every)), rel=0.02)
    assert np.median(latencies(slow)) > 5 * np.median(latencies(fast))


def test_bounds_know_the_slow_drives() -> None:
    puts = {"workload": {**BASE["workload"], "mix": {"PUT": 1.0}}, "drives": {"count": 2, **TIMES}}
    limits, names = [], []
    for groups in (None, {"a": {"count": 3}, "b": {"drive_speed": 0.25}}):
        spec = minio(groups=groups, **puts)
        found = bounds_of(spec, generate(spec.workload, 0))
        limits.append(found.max_throughput_ops)
        names.append(found.bottleneck)
    assert limits[1] == pytest.approx(limits[0] / 4, rel=0.05)
    assert "(b) " in names[1], names
    assert "(b)" not in names[0]


def test_hard_disks_have_the_queue_of_the_slowest() -> None:
    """An overloaded disk serves from a deep queue, also if it is one of few slow ones."""
    load = {"workload": {**BASE["workload"], "rate": 2000, "operations": 2000, "mix": {"PUT": 1.0}}}
    limits = []
    for groups in (None, {"a": {"count": 3}, "b": {"drive_speed": 0.5}}):
        spec = minio(groups=groups, drives={"count": 2, "preset": "hdd-7k2"}, **load)
        limits.append(bounds_of(spec, generate(spec.workload, 0)).max_throughput_ops)
    assert limits[1] == pytest.approx(limits[0] / 2, rel=0.02)


def test_clients_wait_at_the_slowest_disks() -> None:
    """Of 16 clients, half of those that wait are at each of the two slow disks, but for the fast ones of their sets."""
    closed = {"workload": {"clients": 16, "operations": 100, "object_size": "256KiB", "mix": {"PUT": 1.0},
                           "keys": {"kind": "uniform", "count": 1000}}}  # fmt: skip
    waiting = []
    for groups in (None, {"a": {"count": 3}, "b": {"drive_speed": 0.5}}):
        spec = minio(groups=groups, drives={"count": 2, "preset": "hdd-7k2"}, **closed)
        waiting.append(hdd_queue_of(spec, generate(spec.workload, 0)).of_clients)
    harmonic = [sum(1 / n for n in range(1, count + 1)) for count in (8, 2)]
    assert waiting == pytest.approx([16 * 8 / harmonic[0] / 8, 16 * 2 / harmonic[1] / 2])


def test_a_busy_slow_disk_has_a_longer_queue_than_its_fast_ones_have() -> None:
    load = {"workload": {**BASE["workload"], "rate": 60, "operations": 2000}}
    spec = minio(
        groups={"a": {"count": 3}, "b": {"drive_speed": 0.25}}, drives={"count": 2, "preset": "hdd-7k2"}, **load
    )
    fast = minio(drives={"count": 2, "preset": "hdd-7k2"}, **load)
    busy = [busy_s(*compile_spec(each, generate(each.workload, 0))) for each in (spec, fast)]
    # Four times the time of a drive, less what the disk saves by the order of a longer queue.
    assert 2 * busy[1] < busy[0] < 4 * busy[1]


def test_stations_have_the_cores_and_links_of_their_group() -> None:
    run = simulate(minio(groups=SLOW), seed=1)
    assert run.stations is not None
    rows = {row["name"]: row for row in run.stations.to_pylist()}
    assert (rows["host 0 (a) cpu"]["servers"], rows["host 3 (b) cpu"]["servers"]) == (8, 4)
    of_a = np.mean([rows[f"host {host} (a) in"]["utilization"] for host in range(3)])
    assert rows["host 3 (b) in"]["utilization"] == pytest.approx(10 * of_a, rel=0.2)


def test_further_pools_may_have_groups() -> None:
    pools = [{"hosts": {**BASE["hosts"], "groups": {"old": {"count": 3}, "new": {"drive_speed": 4}}},
              "drives": BASE["drives"]}]  # fmt: skip
    spec = minio("workload.operations=100", pools=pools)
    assert spec.total_hosts == 8 and np.array_equal(latencies(spec), latencies(spec, "simpy"))
    assert parse_failure("host:new").lasting(spec)["host"] == 7


def test_prices_and_failures_follow_from_groups() -> None:
    spec = minio(groups=SLOW, prices={"host": 100, "core": 1, "nic_gbit": 10})
    assert cost(spec) == pytest.approx(4 * 100 + (3 * 8 + 4) + 10 * 31)
    assert parse_failure("host:b").lasting(spec)["host"] == 3
    assert parse_failure("drive:b").lasting(spec)["drive"] == 6


def test_remedies_renew_slow_hosts_and_add_hosts_to_groups() -> None:
    spec = minio(groups=SLOW)
    changes = [dict(change) for change in REMEDIES.changes(spec, spec)]
    assert {"hosts.groups.b.drive_speed": 1.0} in changes and {"hosts.groups.b.nic": None} in changes
    assert {"hosts.groups.a.count": 6, "hosts.groups.b.count": 2} in changes
    assert not any("hosts.count" in change for change in changes)
    for change in changes:
        assert isinstance(minio(*(f"{path}={_text(value)}" for path, value in change.items()), groups=SLOW), MinioSpec)


def _text(value: object) -> str:
    return "null" if value is None else str(value)


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        ({"count": 5, "groups": SLOW}, "hosts: count is 5; its groups have 4 hosts"),
        ({"groups": {"a": {"count": 4, "nic": "1Gbit/s"}}, "nic": 0}, "groups.a.nic: requires the NICs of all hosts"),
        ({"groups": {"a": {"count": 4, "cores": 2}}, "cores": {"count": 4, "shared": True}}, "with cores.shared"),
        ({"groups": {"a": {"count": 4, "drive_speed": 0}}}, "hosts.groups.a.drive_speed"),
        ({"groups": {"a": {"count": 0}}}, "hosts.groups.a.count"),
    ],
)
def test_refusals_name_the_group(hosts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        spec_of({**BASE, "hosts": {**BASE["hosts"], **hosts}}, "spec")
