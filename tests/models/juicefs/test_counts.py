"""Requests to the store below and rounds to the metadata engine of each operation, as traced from JuiceFS 1.4.2.

With a latency of 1 ms to an engine that takes no time, and a store that takes none, an operation takes 2 ms a round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from models.below.issued import issued_trace
from models.juicefs.compile import issues
from models.store import compile_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.models.below.test_blocks import STORES
from tests.sim.engine.test_engines import assert_identical
from tests.stores import fifo_disk
from traces.operations import OPS
from traces.spec.spec_file import override
from traces.trace import TRACE_SCHEMA, Pacing, Trace

KIB, MIB = 1 << 10, 1 << 20
DISK: dict[str, Any] = {"store": "fifo-disk", "disk": {"read": "0ms", "write": "0ms"}}
MINIO = STORES["minio"]
ROUND_S = 2e-3
Rows = Sequence[Mapping[str, Any]]


def juicefs(below: Mapping[str, Any], *assignments: str) -> Any:
    """The spec of a JuiceFS whose engine takes no time, 1 ms away."""
    data = {
        "store": "juicefs", "workload": {"rate": "1/s", "operations": 1, "object_size": "4KiB"},
        "metadata": {"command": "0us", "latency": "1ms"}, "below": below,
    }  # fmt: skip
    return spec_of(override(data, assignments), "test")


def requests(rows: Rows, pacing: Pacing | None = None) -> Trace:
    """A Trace of rows, ten seconds apart if they have no time."""
    values = {
        "arrival_s": [row.get("at", 10.0 * number) for number, row in enumerate(rows)],
        "think_s": [0.0] * len(rows), "phase": [0] * len(rows), "op": [row["op"] for row in rows],
        "bucket": ["bucket"] * len(rows), "key": [row.get("key", "folder/file") for row in rows],
        "size_bytes": [row.get("size", 4 * KIB) for row in rows],
        "range_start_bytes": [row.get("start") for row in rows], "range_bytes": [row.get("length") for row in rows],
    }  # fmt: skip
    columns = [
        pa.array(values[f.name]).cast(f.type) if f.name in values else pa.nulls(len(rows), f.type) for f in TRACE_SCHEMA
    ]
    return Trace.of(pa.Table.from_arrays(columns, schema=TRACE_SCHEMA), pacing or Pacing())


def outcome_of(spec: Any, trace: Trace, seed: int = 1) -> tuple[Outcome, Program]:
    """The result of both engines, which is the same."""
    program = Program.of(*compile_spec(spec, trace), seed)
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    return outcome, program


def rounds(spec: Any, trace: Trace) -> tuple[float, float]:
    """The rounds that the client of the last request waits for, and those of all requests."""
    outcome, program = outcome_of(spec, trace)
    stations = program.network.stations
    (way,) = (k for k, station in enumerate(stations) if station.role == "metadata network")
    waited = (outcome.end_s[-1] - trace.arrival_s[-1]) / ROUND_S
    return waited, float(outcome.visits[way]) - 10 * sum(map(len, program.background))


def below(spec: Any, trace: Trace) -> Counter[tuple[str, int]]:
    """The requests to the store below, by operation and bytes, of the range if there is one."""
    found = issued_trace(trace, issues(spec, trace)).trace
    lengths = found.table.column("range_bytes").to_pylist()
    sizes = [size if n is None else n for size, n in zip(found.size_bytes.tolist(), lengths, strict=True)]
    return Counter(zip([OPS[k] for k in found.op.tolist()], sizes, strict=True))


# Rounds: condition "attributes expired".


@pytest.mark.parametrize(
    ("op", "access", "waited", "later"),
    [
        ("PUT", "mount", 11, 2), ("STAT", "mount", 2, 0), ("HEAD", "mount", 2, 0), ("OPEN", "mount", 3, 0),
        ("RENAME", "mount", 10, 0), ("UNLINK", "mount", 8, 8), ("MKDIR", "mount", 7, 0),
        ("PUT", "gateway", 28, 0), ("HEAD", "gateway", 1, 0), ("GET", "gateway", 3, 0), ("DELETE", "gateway", 9, 7),
    ],
)  # fmt: skip
def test_rounds_are_those_of_the_trace(op, access, waited, later):
    store = MINIO if op in ("UNLINK", "DELETE") else DISK
    found, every = rounds(juicefs(store, f"access={access}"), requests([{"op": op}]))
    assert found == pytest.approx(waited, abs=1e-6)
    assert every == waited + later


def test_a_file_is_created_in_as_many_rounds_step_by_step():
    """CREATE, WRITE and CLOSE take the 11 rounds of a whole file."""
    steps = requests([{"op": "CREATE"}, {"op": "WRITE", "at": 0.1}, {"op": "CLOSE", "at": 0.2}])
    outcome, _ = outcome_of(juicefs(DISK), steps)
    assert ((outcome.end_s - steps.arrival_s) / ROUND_S).tolist() == pytest.approx([7, 0, 4], abs=1e-6)


@pytest.mark.parametrize(("at", "waited"), [(0.9, 17), (1.1, 22)])
def test_a_warm_gateway_needs_less(at, waited):
    """17 rounds within a second of a PUT into the same folder, if the temporary folder exists."""
    spec = juicefs(DISK, "access=gateway", "tmp_folders=4096")
    found, _ = rounds(spec, requests([{"op": "PUT", "at": 0}, {"op": "PUT", "key": "folder/other", "at": at}]))
    assert found == pytest.approx(waited, abs=1e-6)


def test_an_overwrite_through_a_gateway_removes_the_old_blocks_later():
    spec, again = juicefs(MINIO, "access=gateway", "tmp_folders=4096"), requests([{"op": "PUT"}, {"op": "PUT"}])
    assert rounds(spec, again)[1] == 22 + 22 + 8
    assert below(spec, again) == {("PUT", 4 * KIB): 2, ("DELETE", 4 * MIB): 1}


@pytest.mark.parametrize(("gap_s", "waited"), [(0.5, 0), (1.5, 2)])
def test_attributes_are_cached_for_a_second(gap_s, waited):
    stats = requests([{"op": "STAT", "at": 0}, {"op": "STAT", "at": gap_s}])
    assert rounds(juicefs(DISK), stats)[0] == pytest.approx(waited, abs=1e-6)


def test_each_mount_has_caches_of_its_own():
    stats = requests([{"op": "STAT", "at": 0.0}, {"op": "STAT", "at": 0.1}])
    assert rounds(juicefs(DISK, "mounts.count=2"), stats)[0] == pytest.approx(2, abs=1e-6)


def test_closed_loops_have_the_times_of_their_rounds():
    """With 2 ms a round, a parent is looked up again after 500 rounds: files of 2 rounds, each once, and theirs."""
    rows = [{"op": "STAT", "key": f"folder/{number}", "at": 0.0} for number in range(1200)]
    _, every = rounds(juicefs(DISK), requests(rows, Pacing("closed", 1)))
    assert every == 1200 + 3


# Requests to the store below.


def test_a_file_of_512_mib_is_128_blocks():
    """Measured: 128 PUTs; 40 to 44 rounds in 10 to 11 slices, as a slice closes after 5 s there; 8 chunks here."""
    size = 512 * MIB
    writes = [{"op": "WRITE", "size": size, "start": k * MIB, "length": MIB, "at": 10 + k * 0.01} for k in range(512)]
    trace = requests([{"op": "OPEN", "size": size, "at": 0}, *writes, {"op": "FSYNC", "size": size, "at": 60.0}])
    spec = juicefs(DISK)
    assert below(spec, trace) == {("PUT", 4 * MIB): 128}
    usage = 2 * 128  # after each write that stores something
    assert rounds(spec, trace)[1] == 3 + 8 * 4 + usage


@pytest.mark.parametrize("start", [100 * MIB + 12345, 512 * MIB])
def test_an_overwrite_or_append_of_4_kib_is_one_small_put(start):
    size = max(512 * MIB, start + 4 * KIB)
    rows = [{"op": op, "size": size, "start": start, "length": 4 * KIB} for op in ("WRITE", "FSYNC")]
    spec = juicefs(DISK)
    assert below(spec, requests(rows)) == {("PUT", 4 * KIB): 1}
    assert rounds(spec, requests(rows)) == (pytest.approx(4, abs=1e-6), 4)


@pytest.mark.parametrize(
    ("start", "length", "assignments", "expected"),
    [
        (5 * MIB, 4 * KIB, [], {("GET", 4 * KIB): 1, ("GET", 4 * MIB): 1}),
        (5 * MIB, 4 * KIB, ["blocks.prefetch=0"], {("GET", 4 * KIB): 1}),
        (5 * MIB, 4 * KIB, ["cache.size=0"], {("GET", 4 * KIB): 1}),
        (8 * MIB, 4 * KIB, [], {("GET", 4 * MIB): 1}),
        (7 * MIB, 2 * MIB, [], {("GET", 4 * MIB): 2}),
    ],
)
def test_a_cold_read_fetches_what_was_traced(start, length, assignments, expected):
    read = {"op": "READ", "size": 512 * MIB, "start": start, "length": length}
    spec = juicefs(DISK, *assignments)
    assert below(spec, requests([read])) == expected
    assert rounds(spec, requests([read])) == (pytest.approx(1, abs=1e-6), 1)


def test_slices_are_asked_for_once_a_chunk_and_open_file():
    reads = [{"op": "READ", "size": 256 * MIB, "start": start, "length": KIB} for start in (MIB, 9 * MIB, 80 * MIB)]
    assert rounds(juicefs(DISK), requests(reads))[1] == 2
    assert rounds(juicefs(DISK), requests([*reads, {"op": "OPEN"}, *reads]))[1] == 2 + 3 + 2


def test_random_reads_fetch_nearly_a_thousand_times_their_bytes():
    """Measured: 957 times the bytes of 30 random reads of 4 KiB in a file of 512 MiB, 1 without a cache."""
    blocks = np.random.default_rng(1).integers(0, 128, 30)
    reads = [
        {"op": "READ", "size": 512 * MIB, "start": 4 * MIB * int(k) + 4096 * (i + 1), "length": 4 * KIB}
        for i, k in enumerate(blocks)
    ]
    amplification = {}
    for size in ("100GiB", "0"):
        found = below(juicefs(DISK, f"cache.size={size}"), requests(reads))
        amplification[size] = sum(count * moved for (_, moved), count in found.items()) / (30 * 4 * KIB)
    assert amplification["0"] == 1
    assert amplification["100GiB"] == pytest.approx(957, rel=0.08)


def test_a_sequential_read_fetches_each_block_once():
    """Measured: 70 GETs for the 64 blocks of 256 MiB; the six that are fetched twice are not modelled."""
    reads = [{"op": "READ", "size": 256 * MIB, "start": k * MIB, "length": MIB, "at": k * 0.1} for k in range(256)]
    assert below(juicefs(DISK), requests(reads)) == {("GET", 4 * MIB): 64}
    whole = requests([{"op": "GET", "size": 256 * MIB}])
    assert below(juicefs(DISK), whole) == {("GET", 4 * MIB): 64}


def test_a_block_in_the_cache_is_not_fetched():
    twice = requests([{"op": "PUT", "at": 0}, {"op": "GET", "at": 5}])
    assert below(juicefs(DISK, "access=gateway"), twice) == {("PUT", 4 * KIB): 1}
    assert below(juicefs(DISK, "access=gateway", "cache.size=0"), twice) == {("PUT", 4 * KIB): 1, ("GET", 4 * KIB): 1}


def test_an_upload_in_parts_is_merged_by_the_engine():
    """Each part is a file of its own; the parts are copied one by one, 5 rounds each, and their files removed."""
    spec = juicefs(DISK, "access=gateway", "tmp_folders=4096", "client.multipart={}")
    trace = requests([{"op": "PUT", "size": 64 * MIB}])
    assert below(spec, trace) == {("PUT", 4 * MIB): 16}
    initiation, part, completion = 1 + 5 + 4, 1 + 22, 1 + 5 + 7 + 1
    assert rounds(spec, trace)[1] == initiation + 4 * (part + 5 + 6) + completion


assert fifo_disk.STORE.name == "fifo-disk"  # registered


def test_a_read_of_a_part_of_a_block_is_a_range_of_it_in_the_store_below() -> None:
    spec = juicefs(MINIO, "blocks.prefetch=0")
    trace = requests([{"op": "READ", "key": "f", "size": 40 * MIB, "start": 9 * MIB, "length": 4 * KIB}])
    found = issued_trace(trace, issues(spec, trace)).trace
    assert [OPS[op] for op in found.op] == ["GET"] and found.size_bytes.tolist() == [4 * MIB]
    assert found.table.column("range_bytes").to_pylist() == [4 * KIB] and found.transfer_bytes.tolist() == [4 * KIB]


@pytest.mark.parametrize(
    ("blocks", "offset", "last"),
    [
        ((5, 6), 0, {("GET", 4 * MIB): 2}),
        ((5, 20, 6), 0, {("GET", 4 * MIB): 2}),
        ((5, 20, 30, 6), 0, {("GET", 4 * MIB): 1}),  # a third sequence takes the place of the first
        ((5, 7), 0, {("GET", 4 * MIB): 1}),
        ((62, 63), 0, {("GET", 4 * MIB): 1}),  # the file ends there
        ((5, 6), MIB, {("GET", 4 * KIB): 1, ("GET", 4 * MIB): 2}),
        ((5, 7), MIB, {("GET", 4 * KIB): 1, ("GET", 4 * MIB): 1}),
    ],
)
def test_a_read_near_the_end_of_one_of_two_sequences_fetches_the_next_block(blocks, offset, last):
    """As guessSession of pkg/vfs/reader.go: at most a block after it."""
    reads = [
        {"op": "READ", "size": 256 * MIB, "start": 4 * MIB * k + offset, "length": 4 * KIB} for k in blocks
    ]  # fmt: skip
    spec = juicefs(DISK)
    assert below(spec, requests(reads)) - below(spec, requests(reads[:-1])) == Counter(last)
