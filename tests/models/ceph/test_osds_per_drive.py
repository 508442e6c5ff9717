"""Several OSDs on one drive: more threads and placement groups, the same drive."""

from __future__ import annotations

import pytest

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.faults.recovery import failed_osds
from models.store import compile_spec
from sim.simulate import simulate
from tests.ceph_clusters import ceph, latency_s
from traces.errors import InputError
from traces.workload.generate import generate

TWO = "hosts.osds_per_drive=2"


def stations(spec, role: str) -> list[str]:
    network, _ = compile_spec(spec, generate(spec.workload, 0))
    return [station.name for station in network.stations if station.role == role]


def test_osds_share_their_drive_and_nothing_else():
    spec = ceph(TWO)
    assert (spec.osds, spec.osds_per_host) == (32, 4)
    assert stations(spec, "drive") == [f"osd {osd} drive" for osd in range(0, 32, 2)]
    assert len(stations(spec, "kv sync")) == len(stations(spec, "deferred writes")) == 32
    assert len(stations(ceph(TWO, 'db={"device": "nvme", "osds_per_device": 4}'), "db device")) == 8


def test_drives_bound_reads_however_many_osds_they_have():
    """Sixteen drives of 5 ms a read; with four OSDs each of a quarter of its bytes they are no faster."""
    reads = (
        "access=rados", "workload.mix={GET: 1}", "workload.clients=1024", "workload.operations=40000",
        "workload.keys.count=1000000", "pools.pg_num=32768",
    )  # fmt: skip
    for more in ((), ("hosts.osds_per_drive=4",)):
        run = simulate(ceph(*reads, *more))
        assert len(run.requests) / float(run.column("end_s").max()) == pytest.approx(16 / 0.005, rel=0.1)


def test_a_lone_request_takes_as_long():
    assert latency_s(ceph(TWO), "GET") == pytest.approx(latency_s(ceph(), "GET"))
    assert latency_s(ceph(TWO), "PUT") == pytest.approx(latency_s(ceph(), "PUT"))


def test_each_osd_has_its_part_of_the_capacity_and_drives_are_priced_once():
    one, two = ceph("stored.objects=1e6"), ceph("stored.objects=1e6", TWO)
    fills = [CostFunctions(spec, 4096).state.fill_fraction for spec in (one, two)]
    assert fills[1] == pytest.approx(fills[0], rel=0.01)
    assert two.priced["drive"] == one.priced["drive"] == 16


def test_a_host_fails_with_all_osds_and_a_slow_drive_slows_both_of_its_own():
    down = ceph(TWO, "faults=[{kind: host_down, host: 1, at: 1s}]")
    assert failed_osds(down.faults[0], down) == frozenset(range(4, 8))
    slow = ceph(TWO, "faults=[{kind: slow_drive, osd: 3, at: 0s, speed: 0.5}]")
    network, _ = compile_spec(slow, generate(slow.workload, 0))
    changed = {network.stations[action.target].name for action in network.scenario}
    assert changed == {"osd 2 drive", "osd 2 latency", "osd 2 kv", "osd 3 kv"}


def test_more_placement_groups_than_ceph_allows_by_default():
    assert ceph("pools.pg_num=100000").pools.pg_num == 100_000
    with pytest.raises(InputError, match=r"pools\.pg_num"):
        ceph("pools.pg_num=300000")
