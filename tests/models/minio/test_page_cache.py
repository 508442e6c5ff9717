"""MinIO with page caches: what the cache has is read without the drives."""

from __future__ import annotations

import numpy as np
import pytest

from models.minio.demands import unused
from models.minio.spec.spec import MinioSpec
from models.store import compile_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.models.minio.test_cluster import CPU_S, LATENCY_S, META_READ_S, MIB, READ_BYTE_S, READ_S, cluster, ran
from tests.small_traces import trace_of
from traces.operations import Op

LARGE = {"page_cache": {"size": "1GiB"}}


def latencies(spec: MinioSpec, ops: list[Op], keys: str, size: int, engine=compiled_engine) -> np.ndarray:
    """Return the response times of requests, each of which has the store to itself."""
    arrival_s = np.arange(len(ops)) * 10.0
    trace = trace_of(ops, list(keys), size_bytes=size, arrival_s=arrival_s)
    network, requests = compile_spec(spec, trace)
    return engine.run(Program.of(network, requests, 0)).end_s - arrival_s


def without_cache(spec: MinioSpec, op: Op, size: int) -> float:
    data = spec.model_dump(mode="json", exclude_unset=True)
    data["hosts"].pop("page_cache", None)
    return float(ran(MinioSpec.model_validate(data), op, size)[0].end_s[0])


def one_drive(**hosts) -> MinioSpec:
    return cluster(1, 1, hosts={"cpu": CPU_S, "nic": 0, **hosts})


@pytest.mark.parametrize("size", [16 * 1024, 300 * 1024])
def test_one_drive_reads_an_object_once(size: int) -> None:
    spec = one_drive(**LARGE)
    first, second, other = latencies(spec, ["GET", "GET", "GET"], "aab", size)
    assert first == pytest.approx(without_cache(spec, "GET", size)) and other == pytest.approx(first)
    assert second == pytest.approx(2 * LATENCY_S + CPU_S["GET"])


@pytest.mark.parametrize("size", [16 * 1024, 300 * 1024])
def test_one_drive_writes_through_the_cache(size: int) -> None:
    put, get = latencies(one_drive(**LARGE), ["PUT", "GET"], "aa", size)
    assert put == pytest.approx(without_cache(one_drive(), "PUT", size))
    assert get == pytest.approx(2 * LATENCY_S + CPU_S["GET"])


def test_a_head_reads_the_metadata_only() -> None:
    size = 300 * 1024
    head, get, again = latencies(one_drive(**LARGE), ["HEAD", "GET", "HEAD"], "aaa", size)
    assert head == pytest.approx(2 * LATENCY_S + CPU_S["HEAD"] + META_READ_S)
    assert get == pytest.approx(without_cache(one_drive(), "GET", size) - META_READ_S)
    assert again == pytest.approx(2 * LATENCY_S + CPU_S["HEAD"])


def test_a_delete_reads_metadata_at_most_once_and_empties_the_cache() -> None:
    size = 16 * 1024
    cold, _, warm, after = latencies(one_drive(**LARGE), ["DELETE", "GET", "DELETE", "GET"], "aaaa", size)
    assert cold - warm == pytest.approx(META_READ_S)
    assert after == pytest.approx(without_cache(one_drive(), "GET", size))
    assert without_cache(one_drive(), "DELETE", size) - warm == pytest.approx(3 * META_READ_S)


def test_drives_of_a_cluster_are_written_past_the_cache() -> None:
    size = 4 * MIB
    plain, cached = cluster(), cluster(hosts=LARGE)
    usual_s = latencies(plain, ["GET"], "a", size)[0]
    _, first, second = latencies(cached, ["PUT", "GET", "GET"], "aaa", size)
    assert usual_s - first == pytest.approx(META_READ_S)
    assert first - second >= READ_S + MIB // 4 * READ_BYTE_S
    _, inline, again = latencies(cached, ["PUT", "GET", "GET"], "bbb", 64 * 1024)
    assert inline - again >= READ_S


def test_hosts_hold_as_much_as_all_their_caches() -> None:
    each = 4 * 266_240 + 8 * 4096  # four shards of 262,176 B and the metadata of eight drives, in pages
    fits, lacks = ({"page_cache": {"size": each - less}} for less in (0, 4096))
    full, small = (latencies(cluster(hosts=h), ["GET"] * 8, "abcdabcd", MIB) for h in (fits, lacks))
    assert (full[:4] - full[4:] >= READ_S).all()
    assert small[4:] == pytest.approx(small[:4])


def test_both_engines_serve_hits_and_misses_alike() -> None:
    ops: list[Op] = ["GET", "PUT", "GET", "HEAD", "DELETE", "GET", "GET", "LIST"]
    for spec in (one_drive(**LARGE), cluster(hosts=LARGE), cluster(1, 4, hosts={**LARGE, "nic": 0})):
        runs = [latencies(spec, ops, "aabbaccc", 300 * 1024, engine) for engine in (compiled_engine, simpy_engine)]
        assert (runs[0] == runs[1]).all()


def test_a_direct_drive_is_read_block_by_block_unless_the_cache_has_it() -> None:
    spec = cluster(1, 1, hosts={"cpu": CPU_S, "nic": 0, **LARGE}, drives={"direct": True})
    first, second = latencies(spec, ["GET", "GET"], "aa", 3 * MIB)
    assert first - second == pytest.approx(META_READ_S + 6 * READ_S + 3 * (MIB + 32) * READ_BYTE_S)


def test_a_cache_without_size_has_no_effect() -> None:
    curve = {"sizes": ["1GiB"], "hit_ratios": [0.5]}
    assert "hosts.page_cache" in unused(one_drive(page_cache={"curve": curve}), ["GET"])
    assert "hosts.page_cache" not in unused(one_drive(**LARGE), ["GET"])
