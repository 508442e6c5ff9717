"""The load of hard disks by a Trace: accesses that wait, and reads between writes."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from models.ceph.compile import compile
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.disk_load import DiskLoad, disk_load, disk_queue
from models.devices.hdd_scheduling import busy_s
from tests.ceph_clusters import ceph, latency_s
from traces.trace import Pacing, Trace
from traces.workload.generate import generate

KIB, MIB = 1 << 10, 1 << 20
DISKS = ("device=hdd-7k2", 'db={"device": "nvme"}', "stored.objects=1e6")
MIX = "workload.mix={GET: 45, PUT: 35, HEAD: 15, DELETE: 5}"


def load(*assignments: str) -> DiskLoad:
    spec = ceph(*DISKS, *assignments)
    trace = generate(spec.workload, 1)
    return disk_load(spec, trace, disk_queue(spec, trace).of_clients or math.inf)


def test_a_lone_get_takes_a_whole_seek():
    by_depth = [latency_s(ceph(*DISKS, f"osd.read_depth={depth}"), "GET") for depth in (1, 4)]
    assert by_depth[1] == by_depth[0]
    chosen = CostFunctions(ceph(*DISKS), 4096).drive  # of many accesses that wait, as before at any load
    alone = CostFunctions(ceph(*DISKS), 4096, DiskLoad(waiting=0.1)).drive
    assert chosen.read.constant < 0.75 * alone.read.constant


@pytest.mark.parametrize(("clients", "depth"), [(1, 1), (24, 1.5), (32, 2), (48, 3), (1000, 4)])
def test_a_disk_chooses_among_the_accesses_of_a_closed_loop(clients, depth):
    """GETs of one replica, on 16 disks: clients / 16 at each."""
    assert load(f"workload.clients={clients}").depth(4) == pytest.approx(depth)


def test_requests_wait_for_the_slowest_of_their_accesses():
    """Of four chunks of a GET, 4 / (1 + 1/2 + 1/3 + 1/4) = 1.92 are at disks on average."""
    found = load("pools.data=ec 4+2", "workload.clients=16")
    assert found.waiting == pytest.approx(16 * 1.92 / 16)


def test_a_disk_of_an_open_loop_chooses_by_its_utilization():
    # 16 disks of about 12.5 ms an access.
    for rate, expected in ((10, 1), (1700, None), (1e4, 4)):
        spec = ceph(*DISKS, f"workload.rate={rate}", "workload.operations=4000")
        trace = generate(spec.workload, 1)
        found = busy_s(*compile(spec, trace))
        used = len(trace) / trace.arrival_s[-1] * found
        depth = expected or used / (1 - used)
        assert 1 <= depth <= 4
        assert found == pytest.approx(busy_s(*compile(spec, trace, depth)), rel=0.01)


def test_mixed_loops_wait_like_their_clients():
    table = generate(ceph("workload.operations=10").workload, 1).table
    names = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 5, pa.int32()), ["a", "b"])
    groups = ("a", Pacing("closed", 16)), ("b", Pacing("closed", 32))
    trace = Trace.of(table.append_column("group", names), Pacing("mixed", groups=groups))
    spec = ceph(*DISKS)
    assert disk_queue(spec, trace).of_clients == pytest.approx(48 / 16)


def test_reads_between_writes_cost_seeks():
    """Of six chunks a PUT and four a GET: 210 writes of 390 accesses."""
    mixed = load("pools.data=ec 4+2", MIX, "workload.operations=20000")
    assert mixed.write_fraction == pytest.approx(210 / 390, rel=0.03)
    assert mixed.random_fraction(0.5) == pytest.approx(0.73, abs=0.01)  # a published cluster wants 0.75
    assert load("workload.mix={PUT: 1}").random_fraction(0.5) == 0.5
    assert load(MIX, "osd.cache.hit_ratio=1").random_fraction(0.5) == 0.5
    assert load("workload.mix={HEAD: 1}") == DiskLoad()
    assert DiskLoad(0.25).random_fraction(1) == 1
    seeks = [
        CostFunctions(ceph(*DISKS), MIB, DiskLoad(fraction)).write_access(MIB).exclusive.constant
        for fraction in (1, 0.5, 0)
    ]
    assert seeks[1] / seeks[0] == pytest.approx(1.5) and seeks[2] / seeks[0] == pytest.approx(2)


@pytest.mark.parametrize(("keys", "clients"), [(50, 8), (1000, 8), (20_000, 8)])
def test_the_number_of_objects_that_filestore_overwrites_follows_from_a_trace(keys, clients):
    many = ("workload.mix={PUT: 1}", "workload.operations=4000", f"workload.clients={clients}")
    found = load("osd.backend=filestore", "release=jewel", f"workload.keys.count={keys}", *many)
    assert found.written_objects == pytest.approx(keys, rel=0.1)
    assert found.covered == pytest.approx(1 - (1 - 1 / keys) ** 4000, rel=0.1)
    assert load(f"workload.keys.count={keys}", *many).written_objects == math.inf
