"""Ceph clusters whose hosts differ: groups of equal hosts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cli.parse.failure import parse_failure
from models.ceph.cluster.placement_rows import PlacementRows
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.growth import effects, holding
from models.ceph.mechanisms.crush import NO_OSD
from models.ceph.remedies import REMEDIES
from models.ceph.spec.spec import CephSpec
from models.network.placement import key_hashes
from models.spec.field_paths import resolved
from models.store import compile_spec, spec_of
from sim.simulate import EngineName, simulate
from traces.errors import InputError
from traces.spec.spec_file import override
from traces.workload.generate import generate

S3: dict[str, Any] = {
    "store": "ceph",
    "workload": {
        "rate": 200, "object_size": "64KiB", "mix": {"GET": 0.6, "PUT": 0.3, "DELETE": 0.05, "LIST": 0.05},
        "keys": {"kind": "uniform", "count": 1000}, "operations": 600,
    },
    "gateways": {"count": 2},
    "hosts": {"count": 5, "drives": 3, "nic": "10Gbit/s"},
    "device": "hdd-7k2",
    "pools": {"data": "ec 2+1", "pg_num": 128},
    "stored": {"objects": 1e6},
}  # fmt: skip
UNEVEN = {"a": {"count": 4}, "b": {"count": 1, "drives": 2, "device": "nvme", "nic": "25Gbit/s", "cores": 16}}
DATABASE = {"device": "nvme", "size": "60GB", "osds_per_device": 3}


def ceph(data: dict[str, Any], *overrides: str, groups: dict[str, Any] | None = None, **sections: Any) -> CephSpec:
    hosts = {**data["hosts"], **({"groups": groups} if groups else {})}
    spec = spec_of(override({**data, "hosts": hosts, **sections}, overrides), "spec")
    assert isinstance(spec, CephSpec)
    return spec


def figures(spec: CephSpec, engine: EngineName = "compiled", seed: int = 3) -> NDArray[np.float64]:
    return simulate(spec, seed=seed, engine=engine).latency_s


VARIANTS: list[dict[str, Any]] = [
    {},
    {"db": DATABASE},
    {"index": {"drives": 1}},
    {"gateways": {"count": 3, "collocated": True, "cores": "shared"}},
    {"faults": [{"kind": "host_down", "host": 4, "at": "0.5s", "back_at": "2s", "peering": "0.2s"}]},
    {"faults": [{"kind": "slow_drive", "osd": 13, "at": 0, "speed": 0.3}]},
    {"faults": [{"kind": "noisy_neighbour", "host": 3, "at": 0, "resource": "drives", "fraction": 0.5}]},
    {"pools": {"data": "replica 3", "pg_num": 32, "failure_domain": "osd"}},
]


@pytest.mark.parametrize("sections", VARIANTS, ids=str)
def test_groups_of_equal_hosts_are_a_cluster_of_equal_hosts(sections: dict[str, Any]) -> None:
    empty = {"stored": {"objects": 0}, **sections}
    equal = figures(ceph(S3, **empty))
    groups = {"a": {"count": 3}, "b": {"count": 2, "drives": 3, "device": "hdd-7k2"}}
    assert np.array_equal(figures(ceph(S3, groups=groups, **empty)), equal)


@pytest.mark.parametrize("sections", [*VARIANTS[:3], *VARIANTS[4:]], ids=str)
def test_engines_agree_on_hosts_that_differ(sections: dict[str, Any]) -> None:
    spec = ceph(S3, "workload.operations=150", groups=UNEVEN, **sections)
    assert np.array_equal(figures(spec), figures(spec, "simpy"))


MIXED: dict[str, Any] = {  # rook/rook issue 8120: `ceph osd tree` of 5 hosts, one of which has 4 drives instead of 5
    **S3,
    "workload": {**S3["workload"], "mix": {"GET": 1.0}, "operations": 20_000},
    "pools": {"data": "replica 3", "pg_num": 1024},
}
MIXED_GROUPS = {
    "five": {"count": 4, "drives": 5, "device": {"preset": "hdd-7k2", "capacity": "8TB"}},
    "four": {"count": 1, "drives": 4, "device": {"preset": "hdd-7k2", "capacity": "8TB"}, "nic": "1Gbit/s"},
}


def test_a_host_with_four_of_24_drives_has_as_much_of_the_requests() -> None:
    spec = ceph(MIXED, groups=MIXED_GROUPS)
    assert (spec.osds, spec.host_count, spec.priced["drive"]) == (24, 5, 24)
    run = simulate(spec, seed=1)
    assert run.stations is not None
    drives = {row["name"]: row["visits"] for row in run.stations.to_pylist() if row["role"] == "drive"}
    of_four = sum(visits for name, visits in drives.items() if "(four)" in name)
    # The replicas of a placement group are on different hosts, so a small host has a little more than its weight.
    assert of_four / sum(drives.values()) == pytest.approx(4 / 24, rel=0.1)
    assert len(drives) == 24


def test_crush_follows_weights_and_reweights() -> None:
    def part_of_b(**b: Any) -> float:
        spec = ceph(S3, groups={"a": {"count": 9}, "b": {"count": 1, **b}}, pools={"data": "replica 1", "pg_num": 8192})
        osds = PlacementRows(spec).data()
        return float(np.isin(osds, spec.layout.osds_on(9)).mean())

    assert part_of_b() == pytest.approx(1 / 10, rel=0.15)
    assert part_of_b(drives=1) == pytest.approx(1 / 28, rel=0.2)
    assert part_of_b(device="sas-15k") == pytest.approx(0.6 / (9 * _tb() + 0.6), rel=0.25)  # by capacity
    assert part_of_b(reweight=0.5) == pytest.approx(0.5 / 9.5, rel=0.15)
    assert part_of_b(weight=0.0) == 0.0


def _tb() -> float:
    return ceph(S3).device.capacity / 1e12


def test_lost_osds_of_a_small_host_are_replaced() -> None:
    spec = ceph(S3, groups=UNEVEN)
    rows, out = PlacementRows(spec), frozenset(spec.layout.osds_on(4))
    before, after = rows.data(), rows.data(out)
    assert out == {12, 13} and np.isin(before, list(out)).any() and not np.isin(after, list(out)).any()
    kept = ~np.isin(before, list(out))
    assert (before[kept] == after[kept]).all() and not (after == NO_OSD).any()


def test_the_fullest_group_is_that_of_the_small_host() -> None:
    # Each of three hosts has a replica of every object, whatever its weight.
    groups = {"one": {"count": 1, "drives": 1}, "three": {"count": 2, "drives": 3}}
    data = {**S3, "hosts": {}, "pools": {"data": "replica 3", "pg_num": 64}}
    spec = ceph(data, groups=groups)
    one, three = CostFunctions(spec, 65536.0).of_groups
    assert one.state.fill_fraction == pytest.approx(3 * three.state.fill_fraction)
    assert CostFunctions(spec, 65536.0).fullest.group == "one"
    assert CostFunctions(spec, 65536.0).state == one.state
    knob = REMEDIES.knob(spec, "nearfull")
    assert knob is not None and (knob.path, knob.now) == ("hosts.groups.one.drives", 1)
    full = next(each for each in effects(spec, generate(spec.workload, 0), 1e6, 1e12) if each.name == "nearfull")
    assert "group one" in full.text
    with pytest.raises(InputError, match="of group one"):
        compile_spec(holding(spec, 1e11), generate(spec.workload, 0))


def test_times_follow_from_the_group_of_the_host() -> None:
    """One OSD on each of two hosts, with a replica of each object on one of them: flash is faster than a disk."""
    groups = {"disk": {"count": 1, "drives": 1, "device": "hdd-7k2"}, "flash": {"count": 1, "drives": 1, "weight": 7.0}}
    data = {**S3, "device": "nvme", "hosts": {}, "workload": {**S3["workload"], "mix": {"GET": 1.0}, "rate": 1}}
    data["stored"] = {"objects": 0}
    pools = {"data": "replica 1", "pg_num": 256, "index_replicas": 1}
    spec = ceph(data, groups=groups, pools=pools)
    run = simulate(spec, seed=2)
    rows = PlacementRows(spec)
    place = rows.data()[rows.groups, 0][(key_hashes(run.trace) % np.uint64(rows.count)).astype(np.int64)]
    alone = [
        np.median(figures(ceph(data, groups={name: groups[name]}, pools=pools), seed=2)) for name in ("disk", "flash")
    ]
    for osd, equal in enumerate(alone):
        assert np.median(run.latency_s[place == osd]) == pytest.approx(equal, rel=0.05)
    assert alone[0] > 2 * alone[1]


@pytest.mark.parametrize(
    ("groups", "sections", "message"),
    [
        ({"a": {"weight": 0}}, {}, "no OSD has a weight"),
        ({"a": {"count": 2}, "b": {"weight": 0}}, {}, "pools.data: requires 3 hosts, there are 2"),
        ({"a": {"nic": "1Gbit/s"}}, {"gateways": {"count": 2, "collocated": True}}, "hosts.groups.a.nic"),
        ({"a": {"drives": 0}}, {}, "hosts.groups.a.drives"),
        ({"A": {}}, {}, "hosts.groups.A"),
        ({"a": {"count": 3}}, {"faults": [{"kind": "osd_down", "osd": 9, "at": 0}]}, "allowed are 0 to 8"),
    ],
)
def test_refusals_name_the_group(groups: dict[str, Any], sections: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ceph(S3, groups=groups, **sections)


def test_failures_may_name_a_group() -> None:
    spec = ceph(S3, groups=UNEVEN)
    assert parse_failure("host:b").lasting(spec)["host"] == 4
    assert parse_failure("drive:b").lasting(spec)["osd"] == 12
    with pytest.raises(InputError, match="allowed are a, b"):
        parse_failure("drive:x").lasting(spec)


def test_paths_name_groups() -> None:
    spec = ceph(S3, groups=UNEVEN)
    assert resolved(spec, "b.drives") == "hosts.groups.b.drives"
    changed = ceph(S3, "hosts.groups.b.count=4", groups=UNEVEN)
    assert changed.host_count == 8
    paths = [path for change in REMEDIES.changes(changed, changed) for path in change]
    assert "hosts.groups.b.count" in paths and "hosts.count" not in paths
