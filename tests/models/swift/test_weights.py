"""Swift clusters whose drives have weights in the ring, and whose hosts differ in speed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cli.parse.failure import parse_failure
from models.store import spec_of
from models.swift.cluster.ring import placed
from models.swift.remedies import REMEDIES
from models.swift.spec.spec import SwiftSpec
from sim.simulate import EngineName, simulate
from tests.models.swift.test_swift import BASE
from traces.errors import InputError

WORKLOAD = {
    "rate": "20/s", "operations": 400, "object_size": "4KiB", "mix": {"GET": 6, "PUT": 3, "HEAD": 1},
    "keys": {"kind": "uniform", "count": 5000},
}  # fmt: skip


def swift(**sections: Any) -> SwiftSpec:
    data = {**BASE, "workload": WORKLOAD}
    for name, value in sections.items():
        data[name] = {**data[name], **value} if isinstance(value, dict) and name in data else value
    spec = spec_of(data, "spec")
    assert isinstance(spec, SwiftSpec)
    return spec


def latencies(spec: SwiftSpec, engine: EngineName = "compiled") -> np.ndarray:
    return simulate(spec, seed=1, engine=engine).latency_s


def partitions(weights: list[float], hosts: list[int], zones: list[int], replicas: int = 3) -> np.ndarray:
    """Return the replicas of 3,000 partitions on each drive."""
    ring = placed("t", 3000, replicas, np.array(hosts), np.array(zones), tuple(weights))[:, :replicas]
    assert all(len(set(row)) == replicas for row in ring.tolist())
    return np.bincount(ring.ravel(), minlength=len(weights))


@pytest.mark.parametrize(
    ("weights", "hosts", "zones"),
    [
        ([100, 100, 100, 100, 200, 100], [0, 0, 1, 1, 2, 2], [0] * 6),
        ([1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 1, 1, 2, 2, 3, 3]),
        ([3, 1, 1, 1, 1, 1, 1, 0], [0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1]),
    ],
)
def test_drives_have_partitions_by_weight(weights: list[float], hosts: list[int], zones: list[int]) -> None:
    count = partitions(weights, hosts, zones)
    assert count.sum() == 9000
    assert count / 9000 == pytest.approx(np.array(weights) / sum(weights), abs=0.01)


def test_a_drive_has_one_replica_at_most() -> None:
    # 10 of 13 parts of 3 replicas would be 2.3 of each partition.
    assert partitions([10, 1, 1, 1], [0, 1, 2, 3], [0] * 4).tolist() == [3000, 2000, 2000, 2000]


def test_zones_have_as_many_replicas_as_their_weight() -> None:
    """With weights, the builder's default overload of 0 lets a heavy zone have two replicas of a partition."""
    ring = placed("t", 1000, 3, np.arange(6), np.array([0, 0, 0, 0, 1, 2]), (1.0,) * 4 + (0.5, 0.5))[:, :3]
    of_zone = np.array([0, 0, 0, 0, 1, 2])[ring]
    # 4 of 5 parts of 3 replicas: 2.4 in the first zone, so 2 or 3; 0.3 in each of the others.
    in_first = (of_zone == 0).sum(axis=1)
    assert set(in_first.tolist()) == {2, 3} and in_first.mean() == pytest.approx(2.4, abs=0.02)


def test_equal_weights_are_a_ring_without_weights() -> None:
    assert np.array_equal(latencies(swift(ring={"weights": [5, 5, 5]})), latencies(swift()))
    grouped = swift(hosts={"count": None, "groups": {"a": {"count": 2}, "b": {}}})
    assert np.array_equal(latencies(grouped), latencies(swift()))


SLOW = {"drive_speed": 0.5, "nic": "100Mbit/s", "cores": 2, "core_speed": 0.5}
VARIANTS: list[dict[str, Any]] = [
    {"ring": {"weights": [1, 2, 3, 1, 0, 3]}, "drives": {"count": 2}},
    {"hosts": {"count": None, "nic": "1Gbit/s", "groups": {"a": {"count": 2}, "b": SLOW}},
     "drives": {"read_latency": "1ms", "write_latency": "1ms"}},
    {"ring": {"weights": [1, 2, 3, 1, 0, 3]}, "drives": {"count": 2},
     "faults": [{"kind": "drive_down", "drive": 1, "at": "5s", "back_at": "9s"},
                {"kind": "slow_drive", "drive": 2, "at": "1s", "speed": 0.5}]},
    {"ring": {"weights": [1, 2, 3, 1, 0, 3]}, "drives": {"count": 2}, "auditor": {}, "replicator": {},
     "stored": {"objects": 1000, "object_size": "4KiB"}},
]  # fmt: skip


@pytest.mark.parametrize("sections", VARIANTS, ids=str)
def test_engines_agree(sections: dict[str, Any]) -> None:
    spec = swift(**sections)
    assert np.array_equal(latencies(spec), latencies(spec, "simpy"))


def test_visits_follow_weights() -> None:
    weights = [1, 2, 3, 1, 0, 3]
    spec = swift(ring={"weights": weights, "part_power": 9}, drives={"count": 2},
                 workload={"mix": {"GET": 1}, "operations": 6000, "rate": "100/s"})  # fmt: skip
    run = simulate(spec, seed=1)
    assert run.stations is not None
    visits = np.array([row["visits"] for row in run.stations.to_pylist() if row["role"] == "drive"], float)
    assert visits / visits.sum() == pytest.approx(np.array(weights) / 10, abs=0.02)
    assert spec.priced["drive"] == 5


def test_a_slow_group_is_as_if_its_times_were_longer() -> None:
    half = swift(hosts={"count": None, "groups": {"all": {"count": 3, "drive_speed": 0.5}}})
    twice = swift(drives=dict.fromkeys(("read", "write", "sync"), 16e-3))
    assert latencies(half) == pytest.approx(latencies(twice))
    latent = {"read_latency": "1ms", "write_latency": "1ms"}
    half = swift(hosts={"count": None, "groups": {"all": {"count": 3, "drive_speed": 0.5}}}, drives=latent)
    twice = swift(
        drives={**dict.fromkeys(("read", "write", "sync"), 16e-3), "read_latency": "2ms", "write_latency": "2ms"}
    )
    assert latencies(half) == pytest.approx(latencies(twice))


def test_remedies_fit_weights_and_groups() -> None:
    spec = swift(hosts={"count": None, "groups": {"a": {"count": 2}, "b": {"drive_speed": 0.5}}},
                 ring={"weights": [1, 2, 3]})  # fmt: skip
    changes = [dict(change) for change in REMEDIES.changes(spec, spec)]
    assert {"hosts.groups.b.drive_speed": 1.0} in changes
    of_drives = [change for change in changes if "drives.count" in change]
    assert of_drives and all(change["ring.weights"] == [] for change in of_drives)


def test_failures_may_name_a_group() -> None:
    spec = swift(hosts={"count": None, "groups": {"a": {"count": 2}, "b": {}}}, drives={"count": 2})
    assert parse_failure("host:b").lasting(spec)["host"] == 2
    assert parse_failure("drive:b").lasting(spec)["drive"] == 4


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"ring": {"weights": [1, 2]}}, "ring.weights: has 2 weights for 3 drives"),
        ({"ring": {"weights": [1, 2, 0]}}, "ring.replicas: 3 pieces of an object need as many drives; there are 2"),
        ({"ring": {"weights": [1, 2, -1]}}, "ring.weights.2"),
        ({"hosts": {"count": 4, "groups": {"a": {"count": 3}}}}, "hosts: count is 4; its groups have 3 hosts"),
        ({"hosts": {"count": None, "groups": {"a": {"count": 3, "nic": "1Gbit/s"}}}}, "groups.a.nic: requires"),
    ],
)  # fmt: skip
def test_refusals_name_the_field(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        swift(**sections)
