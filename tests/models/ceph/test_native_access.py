"""Workloads without gateways (RADOS, RBD, MySQL) and compression: by hand on an idle cluster, and as published."""

from __future__ import annotations

import pytest

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.mechanisms.bluestore import METADATA_BYTES, BlueStore
from models.ceph.spec.access import Mysql, Rados
from models.store import load_spec
from sim.simulate import simulate
from tests.ceph_clusters import (
    COMMIT,
    COMMIT_MEMBER,
    HOP,
    READ,
    READ_CPU,
    WRITE,
    WRITE_CPU,
    alone,
    ceph,
    compiled,
    latency_s,
    of_role,
)
from tests.paths import EXAMPLES
from traces.errors import InputError
from traces.run import Run

KIB, MIB = 1 << 10, 1 << 20
LOG = WRITE + COMMIT + COMMIT_MEMBER
CODING = 4e-6  # more than it takes to encode 4 KiB
PACKED = "bluestore.compression={mode: aggressive, ratio: 0.5, compress: 100MB/s, decompress: 200MB/s}"
DEVICE = 'device={"read": {"per_byte": "1ns"}, "write": {"per_byte": "2ns"}, "capacity": "4TB"}'
NO_DB_BYTES = "db={device: {read: 0, write: 0, capacity: 375GB}, size: 80GB}"
READS_ONLY = "access={kind: mysql, point_selects: 10, range_selects: 0, index_updates: 0, non_index_updates: 0, "


def written_s(commit_s: float) -> float:
    """A write by a client itself: to the primary, to a replica, and back."""
    return HOP + WRITE_CPU + (HOP + WRITE_CPU + commit_s + HOP) + HOP


def read_s() -> float:
    return HOP + READ_CPU + READ + HOP


def busy_s(spec, op, size, role):
    network, _ = compiled(spec, op, size)
    return of_role(network, alone(spec, op, size).busy_s, role)


@pytest.mark.parametrize("access", ["rados", "rbd"])
def test_requests_go_straight_to_the_osds(access):
    spec = ceph(f"access={access}")
    assert latency_s(spec, "PUT") == pytest.approx(written_s(WRITE + LOG))
    assert latency_s(spec, "GET") == pytest.approx(read_s())
    network, _ = compiled(spec, "PUT")
    assert not {s.role for s in network.stations} & {"rgw cpu", "rgw slots", "index shard"}


def test_rados_objects_have_the_other_operations_too():
    spec = ceph("access=rados")
    assert latency_s(spec, "HEAD") == pytest.approx(HOP + READ_CPU + HOP)
    assert latency_s(spec, "DELETE") == pytest.approx(HOP + (HOP + WRITE_CPU + LOG + HOP) + HOP)


def test_clients_own_time_comes_before():
    spec = ceph("access=rados", "client.cpu={GET: 7ms, PUT: 9ms}")
    assert latency_s(spec, "GET") == pytest.approx(7e-3 + read_s())
    assert latency_s(spec, "PUT") == pytest.approx(9e-3 + written_s(WRITE + LOG))


def test_erasure_coded_rados_objects_touch_all_their_shards():
    spec = ceph("access=rados", "pools.data=ec 4+2")
    assert latency_s(spec, "PUT") == pytest.approx(written_s(WRITE + LOG), abs=CODING)
    spec = ceph("access=rados", "pools.data=ec 4+2", NO_DB_BYTES)
    network, _ = compiled(spec, "PUT")
    assert of_role(network, alone(spec, "PUT").visits, "drive") == 6
    assert of_role(network, alone(spec, "GET").visits, "drive") == 4


def test_long_rados_objects_stay_whole_and_long_blocks_are_cut():
    for access, objects in (("rados", 1), ("rbd", 4)):
        spec = ceph(f"access={access}")
        network, _ = compiled(spec, "GET", 16 * MIB)
        assert of_role(network, alone(spec, "GET", 16 * MIB).visits, "drive") == objects


def test_hosts_of_idle_gateways_are_their_osds_alone():
    fields = ("gateways.collocated=true", "gateways.count=8", "gateways.cores=6")
    assert ceph(*fields).osd_cores == 10
    assert ceph(*fields, "access=rados").osd_cores == 16


# Overwrites


def test_less_than_an_allocation_unit_is_deferred_on_flash_too():
    store = BlueStore.model_validate({"min_alloc_size": "16KiB"}).resolved("luminous", rotational=False)
    plan = store.overwrite_plan(6 * KIB)
    assert (plan.data_bytes_before_commit, plan.deferred_bytes, plan.wal_bytes) == (0, 8192, METADATA_BYTES + 8192)
    assert plan.allocated_bytes == 0
    assert store.overwrite_plan(16 * KIB) == store.write_plan(16 * KIB)
    assert store.write_plan(6 * KIB).deferred_bytes == 0


def test_small_overwrites_wait_for_the_log_only():
    spec = ceph("access=rbd", "bluestore.min_alloc_size=16KiB")
    assert latency_s(spec, "PUT", 16 * KIB) == pytest.approx(written_s(WRITE + LOG))
    assert latency_s(spec, "PUT", 8 * KIB) == pytest.approx(written_s(LOG))
    spec = ceph("access=rbd", "bluestore.min_alloc_size=16KiB", NO_DB_BYTES)
    assert busy_s(spec, "PUT", 8 * KIB, "drive") == pytest.approx(3 * WRITE)
    assert latency_s(ceph("access=rados", "bluestore.min_alloc_size=16KiB"), "PUT", 8 * KIB) == pytest.approx(
        written_s(WRITE + LOG)
    )


def test_overwrites_find_their_object_and_new_objects_find_none():
    """Ten bits of RocksDB's filters spare most lookups of what is not there, none of what is."""
    cold = ("stored.objects=1e8", "stored.object_size=4MiB", "device.capacity=4000TB")
    looked = {}
    for access in ("rados", "rbd"):
        spec = ceph(f"access={access}", *cold)
        looked[access] = busy_s(spec, "PUT", 4096, "drive") - busy_s(ceph(f"access={access}"), "PUT", 4096, "drive")
    assert looked["rbd"] > 3 * READ * 0.5
    assert looked["rados"] < looked["rbd"] / 2


def test_hard_disks_go_to_each_place_that_is_written_over():
    written_over, new = (
        CostFunctions(ceph(f"access={access}", "device=hdd-7k2"), 4 * MIB).deferred_write(16 * KIB).constant
        for access in ("rbd", "rados")
    )
    assert written_over > 1.2 * new


# Compression


@pytest.mark.parametrize("access", ["s3", "rados", "rbd"])
def test_compression_costs_cpu_and_saves_the_device_bytes(access):
    size = 64 * KIB
    plain = ceph(f"access={access}", DEVICE, NO_DB_BYTES)
    packed = ceph(f"access={access}", DEVICE, NO_DB_BYTES, PACKED)
    cpu = busy_s(packed, "PUT", size, "osd host cpu") - busy_s(plain, "PUT", size, "osd host cpu")
    assert cpu == pytest.approx(3 * size / 100e6)
    cpu = busy_s(packed, "GET", size, "osd host cpu") - busy_s(plain, "GET", size, "osd host cpu")
    assert cpu == pytest.approx(size / 200e6)
    for op, replicas, per_byte_s in (("PUT", 3, 2e-9), ("GET", 1, 1e-9)):
        assert busy_s(plain, op, size, "drive") == pytest.approx(replicas * size * per_byte_s)
        assert busy_s(packed, op, size, "drive") == pytest.approx(replicas * size / 2 * per_byte_s)


def test_erasure_coded_shards_are_compressed_each():
    plain, packed = (ceph("access=rados", "pools.data=ec 4+2", *more) for more in ((), (PACKED,)))
    cpu = busy_s(packed, "PUT", MIB, "osd host cpu") - busy_s(plain, "PUT", MIB, "osd host cpu")
    assert cpu == pytest.approx(6 * MIB / 4 / 100e6)
    cpu = busy_s(packed, "GET", MIB, "osd host cpu") - busy_s(plain, "GET", MIB, "osd host cpu")
    assert cpu == pytest.approx(MIB / 200e6)


def test_replicas_compress_at_the_same_time():
    size = 64 * KIB
    plain, packed = (ceph("access=rbd", *more) for more in ((), (PACKED,)))
    assert latency_s(packed, "PUT", size) - latency_s(plain, "PUT", size) == pytest.approx(size / 100e6)


def test_what_is_rejected_costs_as_much_and_is_read_for_nothing():
    size = 64 * KIB
    plain, none = ceph("access=rbd"), ceph("access=rbd", PACKED, "bluestore.compression.compressible=0")
    cpu = busy_s(none, "PUT", size, "osd host cpu") - busy_s(plain, "PUT", size, "osd host cpu")
    assert cpu == pytest.approx(3 * size / 100e6)
    assert busy_s(none, "GET", size, "osd host cpu") == busy_s(plain, "GET", size, "osd host cpu")


def test_cpu_of_compression_grows_with_the_block():
    def grown(size: int) -> float:
        plain, packed = (
            ceph("access=rbd", "osd.write={constant: 0.2ms, per_byte: 2.5ns}", *more) for more in ((), (PACKED,))
        )
        return busy_s(packed, "PUT", size, "osd host cpu") / busy_s(plain, "PUT", size, "osd host cpu")

    growth = [grown(size) for size in (4 * KIB, 8 * KIB, 64 * KIB, MIB)]
    assert growth[0] == 1  # a blob of one allocation unit is never tried
    assert growth == sorted(set(growth))


# MySQL


def test_pages_of_a_transaction_of_sysbench():
    """Rows of 4 + 4 + 120 + 60 bytes and 20 of a header: 73 or so a page of 16 KiB."""
    database = Mysql(buffer_pool_hits=0)
    assert database.reads(16 * KIB) == pytest.approx(10 + 4 * (1 + 99 / 73) + 3, rel=0.01)
    assert Mysql(buffer_pool_hits=0.75).reads(16 * KIB) == pytest.approx(database.reads(16 * KIB) / 4)
    assert Mysql(coalesced_fraction=0).write_backs == 2 * (3 + 1 + 3)
    assert Mysql(coalesced_fraction=0.5, double_write=False).write_backs == 3.5


def test_transaction_reads_its_pages_in_turn():
    spec = ceph(READS_ONLY + "delete_inserts: 0, log_writes: 0, buffer_pool_hits: 0.8}", "client.cpu={PUT: 5ms}")
    assert latency_s(spec, "PUT", 16 * KIB) == pytest.approx(5e-3 + 2 * read_s())


def test_a_fraction_of_a_page_read_is_occasional():
    spec = ceph(
        READS_ONLY + "delete_inserts: 0, log_writes: 0, buffer_pool_hits: 0.85}",
        "workload={clients: 1, operations: 1000, object_size: 16KiB, mix: {PUT: 1}}",
    )
    found_s = simulate(spec).latency_s
    assert found_s.min() == pytest.approx(read_s()) and found_s.max() == pytest.approx(2 * read_s())
    assert found_s.mean() == pytest.approx(1.5 * read_s(), rel=0.03)


def test_transaction_waits_for_its_logs_but_not_for_its_pages():
    quiet = ceph(READS_ONLY + "delete_inserts: 0, buffer_pool_hits: 1}")
    logs_s = 2 * written_s(WRITE + LOG)
    assert latency_s(quiet, "PUT", 16 * KIB) == pytest.approx(logs_s)
    busy = ceph(READS_ONLY + "delete_inserts: 1, buffer_pool_hits: 1, coalesced_fraction: 0}")
    assert latency_s(busy, "PUT", 16 * KIB) == pytest.approx(logs_s)
    cpu = busy_s(busy, "PUT", 16 * KIB, "osd host cpu") - busy_s(quiet, "PUT", 16 * KIB, "osd host cpu")
    assert cpu == pytest.approx(2 * 3 * 3 * WRITE_CPU)  # three pages, written twice, to three replicas


def test_log_moves_its_own_bytes():
    fields = "delete_inserts: 0, buffer_pool_hits: 1, log_writes: 1, log_write: 64KiB}"
    spec = ceph(READS_ONLY + fields, DEVICE, NO_DB_BYTES)
    for page in (16 * KIB, 32 * KIB):
        assert busy_s(spec, "PUT", page, "drive") == pytest.approx(3 * 64 * KIB * 2e-9)


def test_servers_that_write_one_log_at_a_time_commit_no_faster():
    spec = ceph(
        READS_ONLY + "delete_inserts: 0, buffer_pool_hits: 1, log_writers: 1}",
        'workload={clients: 40, operations: 400, object_size: 16KiB, mix: {PUT: 1}, keys: {kind: uniform, count: 500}}',
        "workload.buckets=2", "osd.write={constant: 0.2ms}",
    )  # fmt: skip
    log_s = 2 * written_s(WRITE + LOG)
    rate = len(simulate(spec).latency_s) / simulate(spec).duration_s
    assert 0.7 * 2 / log_s < rate < 1.001 * 2 / log_s  # commits also wait for data on the drive


# Refused


@pytest.mark.parametrize(
    ("assignments", "said"),
    [
        (["access=nfs"], "access"),
        (["access={kind: mysql, buffer_pool_hits: 1.5}"], r"access\..*buffer_pool_hits: 1.5 is 150 %"),
        (["access=mysql", "pools.data=ec 4+2"], "pools.data: .*erasure code.*replicas"),
    ],
)
def test_specs_that_cannot_be_are_refused(assignments, said):
    with pytest.raises(InputError, match=said) as caught:
        ceph(*assignments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("access", "op"), [("rados", "LIST"), ("rbd", "DELETE"), ("mysql", "GET")])
def test_operations_outside_the_access_path_are_refused(access, op):
    with pytest.raises(InputError, match=f"workload: has {op}; access {access} "):
        compiled(ceph(f"access={access}"), op)


# Engines, and what was published


@pytest.mark.parametrize("name", ["radosbench", "rbd-fio", "mysql"])
def test_examples_run_the_same_on_both_engines(name):
    more = ["workload.operations=150", "workload.clients=20", "bluestore.compression.mode=aggressive"]
    spec = load_spec(EXAMPLES / "ceph" / f"{name}.yaml", more)
    first, second = (simulate(spec, engine=engine) for engine in ("simpy", "compiled"))
    assert first.requests.equals(second.requests)
    assert (first.latency_s > 0).all()


def published(name: str, *assignments: str) -> Run:
    return simulate(load_spec(EXAMPLES / "ceph" / f"{name}.yaml", assignments))


def rate(run: Run) -> float:
    return len(run.latency_s) / run.duration_s


def utilization(run: Run, role: str) -> float:
    values = [s["utilization"] for s in run.stations.to_pylist() if s["role"] == role]
    return sum(values) / len(values)


def test_rados_bench_writes_what_was_published():
    assert isinstance(load_spec(EXAMPLES / "ceph" / "radosbench.yaml").access, Rados)
    assert rate(published("radosbench", "workload.operations=10000")) * 4 * MIB == pytest.approx(8.4e9, rel=0.2)


def test_fio_loses_at_most_a_tenth_to_compression():
    plain, packed = (
        published("rbd-fio", "workload.operations=40000", f"bluestore.compression.mode={mode}")
        for mode in ("none", "aggressive")
    )
    assert 0.03 < 1 - rate(packed) / rate(plain) < 0.1 + 0.03  # 0.108, which varies by 0.006 with the seed


def test_sysbench_loses_some_percent_on_osds_that_idle():
    plain, packed = (
        published("mysql", "workload.operations=10000", f"bluestore.compression.mode={mode}")
        for mode in ("none", "aggressive")
    )
    assert 1 - rate(packed) / rate(plain) == pytest.approx(0.07, abs=0.025)
    assert utilization(packed, "osd host cpu") < 0.17
    assert utilization(packed, "drive") < 0.09
