"""A second data pool of Ceph, on OSDs of another device class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.durability import durability
from models.ceph.growth import effects
from models.store import compile_spec
from sim.simulate import simulate
from tests.models.ceph.test_host_groups import S3, ceph, figures
from traces.errors import InputError
from traces.operations import GET
from traces.workload.generate import generate

GROUPS = {"disks": {"count": 3, "drives": 3, "device": "hdd-7k2"}, "flash": {"count": 3, "drives": 2, "device": "nvme"}}
CLIENTS = {
    "mix": {"GET": 0.5, "PUT": 0.5},
    "rate": 40,
    "object_size": "64KiB",
    "keys": {"kind": "uniform", "count": 50},
}
SECOND = {"data": "replica 2", "pg_num": 64, "device_class": "nvme", "objects": 0.25}
POOLS = {"data": "ec 2+1", "pg_num": 128, "device_class": "hdd", "index_class": "nvme"}


def two_pools(**second: Any) -> dict[str, Any]:
    return {**POOLS, "second": {**SECOND, **second}}


def _busy(pools: dict[str, Any], group: str, clients: dict[str, Any]) -> float:
    """Return the utilisation of the data drives of a group of hosts, in total."""
    workload = {"operations": 200, "groups": clients}
    run = simulate(ceph({**S3, "workload": workload}, groups=GROUPS, pools=pools), seed=1)
    assert run.stations is not None
    rows = [row for row in run.stations.to_pylist() if row["role"] == "drive" and f"({group})" in row["name"]]
    return float(sum(row["utilization"] for row in rows))


@pytest.mark.parametrize(
    "faults",
    [
        [],
        [{"kind": "osd_down", "osd": 0, "at": "0.5s", "back_at": "2s", "peering": "0.2s"}],
        [{"kind": "host_down", "host": 4, "at": "0.5s", "back_at": "2s", "peering": "0.2s"}],
    ],
    ids=["healthy", "osd of the first pool", "host of the second pool"],
)
def test_engines_agree_on_two_pools(faults: list[dict[str, Any]]) -> None:
    spec = ceph(S3, "workload.operations=60", groups=GROUPS, pools=two_pools(), faults=faults)
    assert np.array_equal(figures(spec), figures(spec, "simpy"))


def test_a_pool_with_all_requests_is_that_of_a_cluster_with_this_pool_alone() -> None:
    """Clients of the group are all there are, so to the bit nothing depends on the other pool."""
    one = {**S3, "workload": {"operations": 200, "groups": {"small": CLIENTS}}, "stored": {}}
    alone = {**POOLS, **{name: SECOND[name] for name in ("data", "pg_num", "device_class")}}
    both = ceph(one, groups=GROUPS, pools=two_pools(groups=["small"]))
    assert np.array_equal(figures(both), figures(ceph(one, groups=GROUPS, pools=alone)))


def test_groups_of_clients_use_the_pool_of_their_objects() -> None:
    reads, pools = {**CLIENTS, "mix": {"GET": 1}}, two_pools(groups=["small"])
    both, only = (dict.fromkeys(names, reads) for names in (("large", "small"), ("small",)))
    assert all(_busy(pools, group, both) > 0 for group in GROUPS)
    assert _busy(pools, "disks", only) == 0 < _busy(pools, "flash", only)


def test_objects_are_in_the_second_pool_by_their_names() -> None:
    spec = ceph(S3, "workload.operations=4000", groups=GROUPS, pools=two_pools())
    trace = generate(spec.workload, 0)
    network, requests = compile_spec(spec, trace)
    second = np.array(["second pool" in route.variant for route in network.routes])[requests.route]
    assert second.mean() == pytest.approx(0.25, abs=0.1)
    keys = trace.table.column("key").to_pylist()
    assert {key for key, of in zip(keys, second, strict=True) if of}.isdisjoint(
        key for key, of in zip(keys, second, strict=True) if not of
    )
    assert (trace.op[second] == GET).any()


def test_each_pool_fills_its_own_osds() -> None:
    stored = {"objects": 1e6, "object_size": "1MiB"}
    spec = ceph(S3, groups=GROUPS, pools=two_pools(object_size="64KiB"), stored=stored)
    disks, flash = CostFunctions(spec, float(1 << 20)).of_groups
    assert disks.state.shard_objects == pytest.approx(0.75e6 * 3 / 9)  # k + m chunks of each object on 9 OSDs
    assert flash.state.shard_objects == pytest.approx(0.25e6 * 2 / 6, rel=0.01)
    assert flash.state.allocated_bytes == pytest.approx(flash.state.shard_objects * (64 << 10))
    found = effects(spec, generate(spec.workload, 0), 1e6, 1e9)
    assert {effect.name for effect in found} >= {"nearfull", "full"}
    assert durability(spec).settings == "EC 2+1 and replica 2"


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({"pools": two_pools(device_class="ssd")}, "pools.second.device_class: no OSD has the class ssd; allowed are"),
        ({"pools": two_pools(device_class="hdd")}, "pools.device_class: is hdd; with pools.second the first pool"),
        ({"pools": {"second": SECOND}}, "pools.device_class: is absent; with pools.second"),
        ({"pools": two_pools(data="replica 4")}, "pools.second.data: requires 4 hosts, there are 3"),
        ({"pools": two_pools(groups=["tiny"])}, "there is no group of clients tiny; allowed are none"),
        ({"pools": two_pools(objects=1)}, "pools.second.objects"),
        ({"pools": two_pools(), "osd": {"backend": "filestore"}}, "pools.second: is for osd.backend bluestore"),
    ],
    ids=str,
)
def test_mistakes_name_the_field(sections: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError) as raised:
        ceph(S3, groups=GROUPS, **sections)
    assert expected in str(raised.value)
