"""The inside of an OSD: messages, shards and worker threads, locks of placement groups, cores that its threads use."""

from __future__ import annotations

import csv

import pytest

from models.ceph.mechanisms.osd_threads import has_pg_locks, usable_cores
from models.ceph.mechanisms.rocksdb import memtable_factor
from models.store import compile_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as reference_engine
from sim.simulate import simulate
from tests.ceph_clusters import (
    COMMIT_MEMBER,
    READ_CPU,
    WRITE_CPU,
    alone,
    ceph,
    compiled,
    of_role,
)
from traces.workload.generate import generate
from validate.reference.cases import DATA

_MESSAGE = 15e-6
_BUSY = (
    "access=rados",
    "workload={clients: 400, object_size: 4KiB, operations: 8000, mix: {GET: 1}}",
    "hosts={count: 1, drives: 1}",
)
_WORKERS = ("osd.shards=8", "osd.threads_per_shard=2")
_ONE_OSD = (*_BUSY, "pools={data: replica 1, pg_num: 1024}", *_WORKERS)


def rate(*assignments: str) -> float:
    """Completed operations per second."""
    run = simulate(ceph(*assignments))
    return len(run.latency_s) / run.duration_s


@pytest.mark.parametrize(
    ("access", "op", "protection", "messages"),
    [
        ("rados", "GET", "replica 3", 2),
        ("rados", "PUT", "replica 3", 10),  # request and reply of the client, and of two replicas at both ends
        ("rados", "PUT", "replica 1", 2),
        ("rados", "DELETE", "replica 2", 6),
        ("rados", "HEAD", "replica 3", 2),
        ("s3", "GET", "replica 3", 2),
        ("s3", "PUT", "replica 3", 30),
        ("rados", "GET", "ec 4+2", 2 + 3 * 4),  # three chunks of others
        ("rados", "PUT", "ec 4+2", 2 + 5 * 4),
        ("rbd", "PUT", "ec 4+2", 2 + 5 * 4 + 3 * 4),  # reads the stripe before
    ],
)
def test_messages_take_time_at_both_ends(access, op, protection, messages):
    busy_s = []
    for message in (0.0, _MESSAGE):
        spec = ceph(f"access={access}", f"pools.data={protection}", f"osd.message={message}")
        network, _ = compiled(spec, op)
        busy_s.append(of_role(network, alone(spec, op).busy_s, "osd host cpu"))
    assert busy_s[1] - busy_s[0] == pytest.approx(messages * _MESSAGE)


def test_workers_wait_for_the_reads_of_their_operations():
    """A read has a worker until its drive has read, on however many cores."""
    fast = ("device.read=50us", "device.read_latency=1ms")
    for threads in (4, 16):
        found = rate(*_ONE_OSD, *fast, "osd.shards=1", f"osd.threads_per_shard={threads}", "hosts.cores=64")
        assert found == pytest.approx(threads / (READ_CPU + 1.05e-3), rel=0.05)
    assert rate(*_ONE_OSD, *fast, "hosts.cores=2") == pytest.approx(2 / READ_CPU, rel=0.03)


def test_workers_do_not_wait_for_commits():
    """So few of them keep many writes on their way, up to what the drive takes."""
    writes = ("workload.mix={PUT: 1}", "device.write=20us", "device.write_latency=5ms", "hosts.cores=64")
    found = rate(
        *_ONE_OSD, *writes, "osd.shards=1", "osd.threads_per_shard=4", "osd.commit=1us", "osd.commit_member=1us"
    )
    assert found == pytest.approx(4 / WRITE_CPU, rel=0.05)
    assert found > 2 * 4 / (WRITE_CPU + 5e-3)


def test_operations_of_a_placement_group_are_executed_one_at_a_time():
    fast = ("device.read=1us", "device.read_latency=1ms", "hosts.cores=64")
    each_s = READ_CPU + 1.001e-3
    one, four = (rate(*_ONE_OSD, *fast, f"pools.pg_num={count}") for count in (1, 4))
    assert one == pytest.approx(1 / each_s, rel=0.03)
    assert four == pytest.approx(4 / each_s, rel=0.05)
    one_shard = ("osd.shards=1", "osd.threads_per_shard=16")  # which is never idle
    assert rate(*_ONE_OSD, *fast, *one_shard, "pools.pg_num=1024") == pytest.approx(16 / each_s, rel=0.05)


def test_many_placement_groups_have_no_locks():
    def locks(groups: int) -> int:
        spec = ceph("access=rados", *_WORKERS, f"pools={{data: replica 2, pg_num: {groups}}}")
        return sum(station.role == "pg lock" for station in compiled(spec, "GET")[0].stations)

    assert has_pg_locks(63, 16) and not has_pg_locks(64, 16)
    assert locks(504) == 2 * 504 and locks(512) == 0  # two copies on 16 OSDs


def test_osd_that_is_down_has_no_lock():
    spec = ceph(
        "access=rados", "workload={clients: 8, object_size: 4KiB, operations: 400, mix: {GET: 50, PUT: 50}}",
        "pools.pg_num=8",
        "faults=[{kind: osd_down, osd: 0, at: 0.1s, peering: 0.05s, grace: 0.05s}]",
    )  # fmt: skip
    run = simulate(spec)
    assert len(run.requests) == 400


@pytest.mark.parametrize("groups", [2, 4096])
@pytest.mark.parametrize("protection", ["replica 3", "ec 4+2"])
def test_engines_agree(protection, groups):
    spec = ceph(
        "workload={clients: 40, object_size: 4KiB, operations: 300, mix: {GET: 50, PUT: 50}}",
        f"pools.data={protection}", f"pools.pg_num={groups}", "osd.shards=2", "osd.threads_per_shard=2",
    )  # fmt: skip
    program = Program.of(*compile_spec(spec, generate(spec.workload, 1)), 1)
    ends = [engine.run(program).end_s for engine in (reference_engine, compiled_engine)]
    assert (ends[0] == ends[1]).all()


def test_threads_by_class_of_device_and_release():
    def workers(*assignments: str) -> tuple[int, int]:
        stations = [each for each in compiled(ceph(*assignments), "GET")[0].stations if each.role == "osd threads"]
        (threads,) = {station.servers for station in stations}
        of_first = [each for each in stations if each.indices[:2] == stations[0].indices[:2]]
        return len(of_first), threads

    assert workers() == (8, 2)
    assert workers("device=hdd-7k2", "release=quincy") == (5, 1)
    assert workers("device=hdd-7k2", "release=reef") == (1, 5)
    assert workers("release=jewel") == workers("release=jewel", "device=hdd-7k2") == (5, 2)
    assert workers("osd.shards=4") == (4, 2) and workers("osd.threads_per_shard=3") == (8, 3)


def test_operations_of_a_group_have_the_workers_of_its_shard_only():
    """Of 12 groups, four of eight shards have two: each of these gets a sixth of the operations."""
    fast = ("device.read=1us", "device.read_latency=1ms", "hosts.cores=64", "osd.threads_per_shard=1")
    each_s = READ_CPU + 1.001e-3
    assert rate(*_ONE_OSD, *fast, "pools.pg_num=12") == pytest.approx(6 / each_s, rel=0.05)
    assert rate(*_ONE_OSD, *fast, "pools.pg_num=16") == pytest.approx(8 / each_s, rel=0.1)


def test_worker_waits_for_the_lock_of_a_placement_group():
    """The second of two workers takes an operation of the group that is locked, of two, every other time."""
    fast = ("device.read=1us", "device.read_latency=20ms", "hosts.cores=64", "pools.pg_num=2")
    found = rate(*_ONE_OSD, *fast, "osd.shards=1")
    assert found == pytest.approx(1.5 / (READ_CPU + 20.001e-3), rel=0.03)


def test_gateways_use_the_cores_that_osds_cannot():
    spec = ("hosts={count: 3, drives: 1, cores: 56}", "gateways={collocated: true, count: 3, cores: shared}")
    own = {each.role: each.servers for each in compiled(ceph(spec[0], "osd.contention=0.1"), "PUT")[0].stations}
    shared = {each.role: each.servers for each in compiled(ceph(*spec, "osd.contention=0.1"), "PUT")[0].stations}
    usable = usable_cores(56, 1, 0.1)
    assert own["osd host cpu"] == usable and "osd cores" not in own
    assert shared["osd host cpu"] == 56 and shared["osd cores"] == usable


def test_clients_on_osd_hosts_are_not_limited_by_osds():
    """A client's work does not take longer because threads of the OSD contend for locks."""
    load = ("workload={clients: 64, object_size: 4KiB, operations: 4000, mix: {GET: 1}}", "access=rados")
    host = ("hosts={count: 1, drives: 1, cores: 32}", "pools={data: replica 1, pg_num: 1024}")
    clients = ("client={placement: storage_hosts, cpu: {GET: 5ms}}", "device.read=1us", "device.read_latency=1us")
    free, contended = (rate(*load, *host, *clients, f"osd.contention={c}") for c in (0, 0.5))
    assert usable_cores(32, 1, 0.5) == 2
    assert free == pytest.approx(32 / (5e-3 + READ_CPU), rel=0.05)
    assert contended == pytest.approx(min(32 / (5e-3 + READ_CPU), 2 / READ_CPU), rel=0.05)


def test_cores_of_an_osd_are_used_as_published():
    """Threads used of 30 OSDs from 2 to 20 threads a drive, of writes; those of reads stop at the workers."""
    with (DATA / "ceph-rbd-reef-cpu.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == "4KB random write"]
    assert len(rows) == 10
    for row in rows:
        used = 5 * usable_cores(int(row["hosts.cores"]), 6, 0.044)
        assert used == pytest.approx(float(row["osd_cores"]), rel=0.06)
    assert usable_cores(16, 16, 0.5) == 16 and usable_cores(1, 4, 0.5) == 1


def test_large_memtables_take_longer():
    assert memtable_factor(8 << 20) == memtable_factor(1 << 20) == 1
    assert memtable_factor(256 << 20) == pytest.approx(36.5 / 23.6, rel=0.01)  # PUT/s with 8 and 256 MiB
    network, _ = compiled(ceph("rocksdb.memtable_bytes=256MiB"), "PUT")
    kv = next(station for station in network.stations if station.role == "kv sync")
    assert kv.batch_item_s == pytest.approx(COMMIT_MEMBER)
