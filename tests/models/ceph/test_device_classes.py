"""Pools of Ceph on device classes, and OSDs of a drive and prices of groups of hosts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.ceph.cluster.placement_rows import PlacementRows
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.index_osds import of_index
from models.ceph.durability import durability
from models.ceph.faults.osd_map import Epoch
from models.shared.prices import cost
from models.store import compile_spec
from sim.simulate import simulate
from tests.models.ceph.test_host_groups import S3, ceph, figures
from traces.errors import InputError
from traces.workload.generate import generate

DISKS = {"count": 4, "drives": 3, "device": "hdd-7k2"}
FLASH = {"count": 3, "drives": 2, "device": "nvme", "osds_per_drive": 2}
GROUPS = {"disks": DISKS, "flash": FLASH}
ON_CLASSES = {"data": "ec 2+1", "pg_num": 128, "device_class": "hdd", "index_class": "nvme"}


def test_pools_use_only_osds_of_their_class() -> None:
    spec = ceph(S3, groups=GROUPS, pools=ON_CLASSES)
    rows = PlacementRows(spec)
    assert spec.device_classes == {"disks": "hdd", "flash": "nvme"}
    assert set(np.unique(rows.data())) == set(range(12)) and set(np.unique(rows.index(Epoch()))) == set(range(12, 24))
    everywhere = PlacementRows(ceph(S3, groups=GROUPS, pools={**ON_CLASSES, "index_class": None}))
    found = everywhere.index(Epoch())
    assert found.min() < 12 <= found.max() and everywhere.data().max() < 12


def test_an_index_on_flash_hosts_costs_what_one_on_drives_of_its_own_does() -> None:
    """Three hosts with flash drives have only indexes, as three hosts whose flash drives are next to disks."""
    spec = ceph(S3, groups={"disks": DISKS, "flash": {**FLASH, "osds_per_drive": 1}}, pools=ON_CLASSES)
    apart = ceph(S3, groups={"disks": DISKS}, index={"drives": 2}, pools={"data": "ec 2+1", "pg_num": 128})
    of_class, of_drives = (of_index(CostFunctions(each, 65536.0).of_groups[-1]) for each in (spec, apart))
    assert of_class.is_of_index and of_drives.is_of_index
    # 6 OSDs have what 8 have on drives of the disks' hosts.
    assert of_class.state.metadata_bytes == pytest.approx(of_drives.state.metadata_bytes * 8 / 6, rel=0.05)
    assert of_class.state.allocated_bytes == 0 and not CostFunctions(spec, 65536.0).of_groups[0].is_of_index


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"pools": {**ON_CLASSES, "index_class": None}},
        {"faults": [{"kind": "slow_drive", "osd": 13, "at": 0, "speed": 0.1}]},
        {"faults": [{"kind": "osd_down", "osd": 12, "at": "0.5s", "back_at": "2s", "peering": "0.2s"}]},
    ],
    ids=str,
)
def test_engines_agree_on_device_classes(sections: dict[str, Any]) -> None:
    spec = ceph(S3, "workload.operations=150", groups=GROUPS, **{"pools": ON_CLASSES, **sections})
    assert np.array_equal(figures(spec), figures(spec, "simpy"))


def test_an_index_on_flash_is_faster_than_one_on_disks() -> None:
    puts = {"workload": {**S3["workload"], "mix": {"PUT": 1.0}, "rate": 20}}
    disks = ceph({**S3, **puts}, groups=GROUPS, pools={**ON_CLASSES, "index_class": "hdd"})
    flash = ceph({**S3, **puts}, groups=GROUPS, pools=ON_CLASSES)
    assert np.median(figures(flash)) < 0.8 * np.median(figures(disks))


def test_osds_of_a_drive_share_it_in_each_group() -> None:
    spec = ceph(S3, groups=GROUPS, pools={**ON_CLASSES, "device_class": "nvme"})
    layout = spec.layout
    assert layout.drive_of_osd.tolist() == [*range(12), *np.repeat(np.arange(12, 18), 2).tolist()]
    assert layout.first_drive.tolist() == [0, 3, 6, 9, 12, 14, 16, 18]
    assert (spec.osds, spec.priced["drive"]) == (24, 18)
    kept = durability(spec)
    assert kept.on_drive == 1 and kept.hosts == 7 and not kept.is_disk
    network, _ = compile_spec(spec, generate(spec.workload, 0))
    drives = [station.name for station in network.stations if station.role == "drive" and "flash" in station.name]
    assert drives == [f"osd {osd} (flash) drive" for osd in range(12, 24, 2)]


def test_a_slow_drive_slows_all_its_osds() -> None:
    slow = [{"kind": "slow_drive", "osd": 13, "at": 0, "speed": 0.2}]
    pools = {**ON_CLASSES, "device_class": "nvme"}
    busy = []
    for faults in ([], slow):
        run = simulate(ceph(S3, groups=GROUPS, pools=pools, faults=faults), seed=1)
        assert run.stations is not None
        busy.append({row["name"]: row["utilization"] for row in run.stations.to_pylist()})
    # The OSDs 12 and 13 are on one drive, which has the name of the first.
    assert busy[1]["osd 12 (flash) drive"] == pytest.approx(5 * busy[0]["osd 12 (flash) drive"], rel=0.01)
    assert busy[1]["osd 14 (flash) drive"] == pytest.approx(busy[0]["osd 14 (flash) drive"], rel=0.01)


def test_groups_of_hosts_have_their_own_prices() -> None:
    prices = {
        "drive": 100,
        "osd_host": 1000,
        "gateway": 10,
        "groups": {"flash": {"drive": 300}, "disks": {"osd_host": 1}},
    }
    spec = ceph(S3, groups=GROUPS, prices=prices)
    assert cost(spec) == 2 * 10 + 4 * 1 + 3 * 1000 + 12 * 100 + 6 * 300


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"pools": {"device_class": "nvme"}}, "pools.device_class: no OSD has the class nvme; allowed are hdd"),
        ({"pools": {"index_class": "hdd"}, "index": {"drives": 1}}, "pools.index_class: index gives the index pool"),
        ({"pools": {"device_class": "HDD"}}, "pools.device_class"),
        ({"prices": {"groups": {"a": {"drive": 1}}}}, "prices.groups.a: there is no such group of hosts"),
    ],
)
def test_refusals_name_the_class(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ceph(S3, **sections)


def test_classes_that_someone_chose_are_taken() -> None:
    groups = {"a": {**DISKS, "device_class": "archive"}, "b": {**DISKS, "count": 3}}
    spec = ceph(S3, groups=groups, pools={"data": "replica 3", "device_class": "archive", "index_class": "hdd"})
    assert spec.failure_domains == 4 and spec.index_domains == 3
    with pytest.raises(InputError, match="requires 4 hosts, there are 3"):
        ceph(S3, groups=groups, pools={"device_class": "archive", "index_class": "hdd", "index_replicas": 4})
