"""Accesses that reach the drive one by one: those of a cluster of one drive as logged in a box, copies, and ranges."""

from __future__ import annotations

import numpy as np
import pytest

from models.below.absent import with_absent
from models.store import compile_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.models.minio.test_cluster import (
    COMMIT_S,
    META_READ_S,
    META_WRITE_S,
    MIB,
    READ_BYTE_S,
    READ_S,
    WRITE_BYTE_S,
    WRITE_S,
    cluster,
    shard,
)
from tests.small_traces import trace_of
from traces.trace import Trace

_FREE = {"nic": 0, "cpu": {"GET": 0, "PUT": 0, "HEAD": 0, "LIST": 0}, "internode": {"latency": 0}}


def took_s(
    op: str, size: int, hosts: int = 1, drives: int = 1, absent: bool = False, missing_cpu=(), **columns
) -> float:
    host = _FREE | {"missing_cpu": dict(missing_cpu)}
    spec = cluster(hosts, drives, hosts=host, drives={"direct": True}, network={"latency": 0})
    trace = trace_of([op], ["k"], size_bytes=size, **columns)
    if absent:
        trace = Trace(with_absent(trace.table, np.array([True])), trace.pacing)
    network, requests = compile_spec(spec, trace)
    found = [engine.run(Program.of(network, requests, 0)).end_s[0] for engine in (compiled_engine, simpy_engine)]
    assert found[0] == found[1]
    return float(found[0])


@pytest.mark.parametrize(
    ("size", "writes"),
    [(4 * MIB, 8), (MIB // 2, 1), (MIB + 5000, 3)],  # of 4 MiB, the log of a box has 1 MiB and 32 B, four times
)
def test_one_drive_writes_block_and_checksum_in_calls_of_their_own(size, writes):
    data_s = writes * WRITE_S + shard(size, 1) * WRITE_BYTE_S + COMMIT_S
    assert took_s("PUT", size) == pytest.approx(data_s + META_WRITE_S)


def test_one_drive_writes_a_small_object_with_one_call():
    """The log of a box has one write of 4,523 B and an fsync."""
    assert took_s("PUT", 4096) == pytest.approx(WRITE_S + COMMIT_S + 4528 * WRITE_BYTE_S)


def test_a_copy_reads_and_writes_every_block():
    """Reads are two calls for each block, writes as those of a PUT."""
    size = 4 * MIB
    reads_s = META_READ_S + 8 * READ_S + shard(size, 1) * READ_BYTE_S
    assert took_s("COPY", size) == pytest.approx(reads_s + took_s("PUT", size))


@pytest.mark.parametrize(("start", "length", "blocks"), [(MIB, 4096, 1), (MIB - 100, 4096, 2), (100, MIB, 2)])
def test_a_range_reads_all_of_its_blocks(start, length, blocks):
    """The checksum of a block is that of all of it."""
    reads_s = blocks * (2 * READ_S + shard(MIB, 1) * READ_BYTE_S)
    took = took_s("GET", 4 * MIB, range_start_bytes=start, range_bytes=length)
    assert took == pytest.approx(META_READ_S + reads_s)


def test_a_range_of_several_hosts_moves_its_blocks():
    """Each of four shards is a quarter of the block, read in one access and sent to the coordinator."""
    network = {"latency": 0, "payload_fraction": 1}
    spec = cluster(hosts={"cpu": {"GET": 0}, "internode": {"latency": 0}}, network=network)
    trace = trace_of(["GET"], ["k"], size_bytes=8 * MIB, range_start_bytes=MIB, range_bytes=4096)
    whole = trace_of(["GET"], ["k"], size_bytes=MIB)
    ends = [compiled_engine.run(Program.of(*compile_spec(spec, each), 0)).end_s[0] for each in (trace, whole)]
    assert ends[0] == pytest.approx(ends[1] - (MIB - 4096) / 1e8)  # but for what goes to the client


def test_what_does_not_exist_is_not_read():
    assert took_s("HEAD", 0, absent=True) == 0
    assert took_s("LIST", 0, absent=True) == 0
    assert took_s("HEAD", 0) == pytest.approx(META_READ_S)
    assert took_s("LIST", 0) > 1000 * READ_S


@pytest.mark.parametrize("op", ["HEAD", "LIST"])
def test_what_does_not_exist_has_its_own_cpu_demand(op):
    own = {op: "3ms"}
    assert took_s(op, 0, absent=True, missing_cpu=own) == pytest.approx(3e-3)
    assert took_s(op, 0, missing_cpu=own) == took_s(op, 0)


def test_a_node_sends_a_shard_while_it_reads_on():
    """Of a shard of 512 KiB and 32 B that is read by five calls, 32 B are still to be sent after the last one."""
    rate = 50e6
    took = []
    for nic in (0, rate):
        hosts = _FREE | {"nic": nic}
        network = {"latency": 0, "payload_fraction": 1}
        spec = cluster(4, 1, hosts=hosts, drives={"direct": True}, network=network, erasure={"parity": 2})
        trace = trace_of(["GET"] * 16, [f"k{i}" for i in range(16)], size_bytes=MIB, arrival_s=np.arange(16) * 1.0)
        outcome = compiled_engine.run(Program.of(*compile_spec(spec, trace), 0))
        took.append(float(np.median(outcome.end_s - outcome.start_s)))
    assert took[0] == pytest.approx(META_READ_S + 5 * READ_S + shard(MIB, 2) * READ_BYTE_S)
    assert took[1] - took[0] == pytest.approx(MIB / rate, rel=0.02), "all of it to the client"
