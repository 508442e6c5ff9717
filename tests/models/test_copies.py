"""Copies within MinIO, Ceph and Swift: read and written by the store itself, without bytes at the client."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from models.store import compile_spec, demands_of, spec_of, store_of
from sim.demands.service_demands import mean_demands
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.simulate import simulate
from tests.models.below.test_blocks import STORES
from tests.sim.engine.test_engines import assert_identical
from traces.errors import InputError
from traces.operations import worked
from traces.spec.spec_file import override
from traces.tables import with_column
from traces.trace import Trace
from traces.workload.generate import generate

MIB = 1 << 20
COPYING = ("minio", "ceph", "swift")
CASES = {
    "minio": STORES["minio"] | {"client": {"cpu": {"COPY": "0.1ms"}, "nic": "10Gbit/s"}},
    "minio, one drive": STORES["minio"] | {
        "hosts": {"cpu": {"GET": "1ms", "PUT": "2ms"}}, "drives": {"preset": "nvme"},
    },
    "minio, direct": STORES["minio"] | {"drives": {"count": 2, "preset": "nvme", "direct": True}},
    "minio, queues": STORES["minio"] | {"network": {"latency": "0.1ms", "queue": "1MiB"}},
    "minio, host down": STORES["minio"] | {
        "faults": [{"kind": "host_down", "host": 1, "at": "0.2s", "back_at": "0.5s"}],
    },
    "ceph": STORES["ceph"],
    "ceph, EC, TLS": STORES["ceph"] | {
        "hosts": {"count": 6}, "pools": {"data": "ec 4+2"},
        "gateways": {"count": 2, "cores": 8, "tls": True, "cpu": {"GET": "0.5ms", "PUT": "0.5ms"}},
    },
    "swift": STORES["swift"],
    "swift, hedged": STORES["swift"] | {"proxies": {"preset": "swift-2.30-proxy", "concurrent_gets": True}},
    "swift, drive frozen": STORES["swift"] | {"faults": [{"kind": "drive_frozen", "drive": 0, "at": "0.2s"}]},
}  # fmt: skip
MIXED = {
    "rate": "100/s", "operations": 60, "mix": {"COPY": 3, "GET": 1, "PUT": 1},
    "object_size": {"kind": "mixture", "components": [
        {"weight": 1, "size": "16KiB"}, {"weight": 1, "size": "3MiB"}, {"weight": 1, "size": "30MiB"},
    ]},
    "keys": {"kind": "uniform", "count": 100},
}  # fmt: skip
ALONE = {"clients": 1, "operations": 20, "keys": {"kind": "uniform", "count": 1000}}


def spec(data: dict[str, Any], workload: dict[str, Any], *assignments: str) -> Any:
    return spec_of(override(data | {"workload": workload}, assignments), "test")


def alone_s(data: dict[str, Any], op: str, size_bytes: int, *, part: bool = False) -> float:
    """The mean latency of one client."""
    found = spec(data, ALONE | {"mix": {op: 1}, "object_size": size_bytes})
    trace = generate(found.workload, 0)
    return float(simulate(found, as_parts(trace) if part else trace).latency_s.mean())


def as_parts(trace: Trace) -> Trace:
    """The same copies, of ranges."""
    sizes = pa.array(trace.size_bytes)
    table = with_column(trace.table, "range_start_bytes", pa.array(np.zeros(len(trace), np.int64)))
    return replace(trace, table=with_column(table, "range_bytes", sizes))


@pytest.mark.parametrize("name", CASES)
def test_engines_agree_to_the_bit(name):
    found = spec(CASES[name], MIXED)
    trace = generate(found.workload, 3)
    for each in (trace, as_parts(trace)) if name.startswith("ceph") else (trace,):
        program = Program.of(*compile_spec(found, each), seed=3)
        assert_identical(simpy_engine.run(program), compiled_engine.run(program))


@pytest.mark.parametrize("store", COPYING)
@pytest.mark.parametrize("size_bytes", [16 << 10, 3 * MIB])
def test_a_copy_reads_and_writes(store, size_bytes):
    """It takes longer than a PUT without its client's bytes, and less than a GET and a PUT one after the other."""
    data = STORES[store] | {"client": {}}
    got, put, copied = (alone_s(data, op, size_bytes) for op in ("GET", "PUT", "COPY"))
    assert put < copied < 1.1 * (got + put)


@pytest.mark.parametrize("store", COPYING)
def test_no_bytes_pass_the_client(store):
    data = STORES[store] | {"client": {"nic": "1Gbit/s", "cpu": {"GET": "1ms", "PUT": "1ms"}}}
    found = spec(data, ALONE | {"mix": {"COPY": 1}, "object_size": "3MiB"})
    network, requests = compile_spec(found, generate(found.workload, 0))
    demands = mean_demands(network, requests)
    of_client = [k for k, station in enumerate(network.stations) if station.role.startswith("client")]
    assert of_client and not demands.mean_s[:, of_client].any()


@pytest.mark.parametrize(("store", "factor"), [("minio", 5), ("swift", 5)])
def test_its_time_grows_with_what_is_copied(store, factor):
    small, large = (alone_s(STORES[store], "COPY", size) for size in (4 * MIB, 64 * MIB))
    assert large > factor * small


def test_ceph_refers_to_the_tail_of_a_whole_object_and_copies_a_part():
    store = STORES["ceph"] | {"stored": {"objects": 0}}
    small, large = (alone_s(store, "COPY", size) for size in (8 * MIB, 256 * MIB))
    assert large == pytest.approx(small, rel=0.5)
    parts = [alone_s(store, "COPY", size, part=True) for size in (8 * MIB, 256 * MIB)]
    assert parts[0] > 0.8 * small and parts[1] > 10 * parts[0]


def test_a_store_without_copies_refuses_them():
    found = spec(STORES["bob"], ALONE | {"mix": {"COPY": 1}, "object_size": "1MiB"})
    with pytest.raises(InputError, match=r"workload: has COPY; store bob serves GET, PUT, HEAD, DELETE$"):
        simulate(found)


@pytest.mark.parametrize("store", COPYING)
def test_demands_are_those_of_reads_and_writes(store):
    found = spec(STORES[store], ALONE | {"mix": {"COPY": 1}, "object_size": "1MiB"})
    assert "COPY" in store_of(found).operations
    named = set(demands_of(found, ("COPY",))) - {"client.cpu.COPY"}
    assert named == set(demands_of(found, ("GET", "PUT"))) - {"client.cpu.GET", "client.cpu.PUT", "network.bandwidth"}
    assert worked(("HEAD", "COPY")) == ["HEAD", "GET", "PUT"]
