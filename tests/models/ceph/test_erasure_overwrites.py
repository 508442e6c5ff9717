"""RBD volumes on erasure codes: read-modify-write, partial reads and merged writes, by hand."""

from __future__ import annotations

import pytest

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.mechanisms.redundancy import Protection
from models.store import compile_spec, load_spec
from sim.simulate import simulate
from tests.ceph_clusters import HOP, READ, READ_CPU, WITH_DB, alone, ceph, compiled, latency_s, of_role
from tests.paths import EXAMPLES
from tests.small_traces import trace_of
from traces.errors import InputError

KIB = 1 << 10
RBD = ("access=rbd", "pools.data=ec 4+2", *WITH_DB)
FAST = (*RBD, "release=tentacle", "pools.ec_optimizations=true")
OLD_CHUNK = HOP + READ_CPU + READ + HOP  # of another OSD
CODING = 5e-6  # more than it takes to encode 16 KiB


def drive_accesses(spec, op, size):
    network, _ = compiled(spec, op, size)
    return of_role(network, alone(spec, op, size).visits, "drive")


@pytest.mark.parametrize(
    ("size_kib", "unit_kib", "partial"),
    [(4, 4, 1), (16, 4, 0), (64, 4, 0), (4, 16, 1), (24, 4, 1), (12, 4, 1.5), (20, 4, 1.5)],
)
def test_stripes_that_an_overwrite_fills_in_part(size_kib, unit_kib, partial):
    code = Protection(data=4, parity=2, stripe_unit=unit_kib * KIB)
    assert code.partial_stripes(size_kib * KIB) == pytest.approx(partial)
    stripe, found = 4 * unit_kib, []
    for number in range(1000):
        first, end = number * size_kib, (number + 1) * size_kib
        touched = range(first // stripe, -(-end // stripe))
        found.append(sum(first > s * stripe or end < (s + 1) * stripe for s in touched))
    assert sum(found) / len(found) == pytest.approx(partial, rel=0.01), "counted block by block"


def test_part_of_a_stripe_is_read_before_it_is_written():
    spec = ceph(*RBD)
    whole_s, part_s = latency_s(spec, "PUT", 16 * KIB), latency_s(spec, "PUT", 4 * KIB)
    assert part_s - whole_s == pytest.approx(OLD_CHUNK, abs=CODING)
    assert drive_accesses(spec, "PUT", 16 * KIB) == 6
    assert drive_accesses(spec, "PUT", 4 * KIB) == 4 + 6
    assert drive_accesses(ceph(*RBD, "pools.data={data: 4, parity: 2, stripe_unit: 64KiB}"), "PUT", 64 * KIB) == 4 + 6
    assert drive_accesses(ceph("access=rbd", *WITH_DB), "PUT", 4 * KIB) == 3, "replicas are overwritten"
    assert drive_accesses(ceph("access=rados", *RBD[1:]), "PUT", 4 * KIB) == 6, "whole objects are new"


def test_reads_take_whole_stripes_unless_optimized():
    assert drive_accesses(ceph(*RBD), "GET", 4 * KIB) == 4
    for size_kib, chunks in ((4, 1), (8, 2), (16, 4), (64, 4)):
        assert drive_accesses(ceph(*FAST), "GET", size_kib * KIB) == chunks


@pytest.mark.parametrize(
    ("code", "size_kib", "reads", "writes"), [("ec 4+2", 4, 3, 3), ("ec 8+2", 4, 3, 3), ("ec 4+2", 12, 1, 5)]
)
def test_optimized_overwrites_read_the_fewer_of_kept_and_changed_chunks(code, size_kib, reads, writes):
    spec = ceph(*FAST, f"pools.data={code}", "pools.failure_domain=osd")
    assert drive_accesses(spec, "PUT", size_kib * KIB) == reads + writes


def test_two_phases_log_the_old_chunk_too():
    volumes, objects = ceph(*RBD), ceph("access=rados", *RBD[1:])
    logged = [CostFunctions(spec, 4096).log_bytes(0) for spec in (volumes, objects)]
    assert logged[0] == 2 * logged[1] > 0


def test_consecutive_writes_are_merged():
    def of_blocks(sequential: bool):
        path = EXAMPLES / "ceph" / "rbd-ec-squid.yaml"
        puts = ["workload.mix={PUT: 1}", "workload.operations=4000", f"access.sequential={str(sequential).lower()}"]
        return load_spec(path, puts)

    scattered, merged = of_blocks(False), of_blocks(True)
    assert merged.access.merged_writes(4 * KIB, 16) == 8
    assert merged.access.merged_writes(1 << 20, 64) == 4, "no more than an object"
    assert scattered.access.merged_writes(4 * KIB, 16) == 1
    rates = [len(run) / run.duration_s for run in (simulate(scattered), simulate(merged))]
    assert rates[1] > 1.5 * rates[0], "8 blocks of 4 KiB fill two stripes of 16 KiB, so that nothing is read"


def test_merged_writes_are_one_transaction():
    spec = load_spec(
        EXAMPLES / "ceph" / "rbd-ec-squid.yaml",
        ["workload.mix={PUT: 1}", "workload.operations=4000", "access.sequential=true"],
    )
    commits = sum(station["visits"] for station in simulate(spec).stations.to_pylist() if station["role"] == "kv sync")
    assert commits == pytest.approx(4000 / 8 * spec.pools.data.width, rel=0.15)


def test_transfers_between_osds_of_one_host_use_no_nic():
    def seconds_on_nics(hosts: int, drives: int) -> float:
        spec = ceph(
            *RBD, f"hosts={{count: {hosts}, drives: {drives}, nic: 1GB/s}}", "network.payload_fraction=1",
            "pools.failure_domain=osd",
        )  # fmt: skip
        network, _ = compiled(spec, "PUT", 64 * KIB)
        return of_role(network, alone(spec, "PUT", 64 * KIB).busy_s, "network")

    client_s, others_s = 64e-6 * 1.024, 5 * 16e-6 * 1.024  # five other OSDs receive 16 KiB each
    assert seconds_on_nics(1, 8) == pytest.approx(client_s)
    assert seconds_on_nics(2, 4) == pytest.approx(client_s + others_s * 4 / 7)
    assert seconds_on_nics(8, 1) == pytest.approx(client_s + others_s)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("access=mysql",), "pools.data: .*erasure code.*replicas"),
        (("release=squid", "pools.ec_optimizations=true"), "pools.ec_optimizations: require release tentacle"),
        (("pools.data={data: 4, parity: 2, stripe_unit: 5000}",), "stripe_unit.*multiple"),
        (("pools.data={replicas: 3, stripe_unit: 4KiB}",), "stripe_unit: is allowed with an erasure code"),
    ],
)
def test_refused(more, message):
    with pytest.raises(InputError, match=message):
        ceph(*RBD, *more)


def test_open_loops_merge_nothing():
    spec = ceph("access={kind: rbd, sequential: true}", *RBD[1:])
    network, _ = compile_spec(spec, trace_of(["PUT"], ["k"], size_bytes=4096))
    assert network.routes[0].name == "PUT"
