"""Slices of chunks: what overwrites and appends add up to, and what compaction reads and rewrites."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.juicefs.metadata import rounds as rounds_of
from models.juicefs.slices import ALWAYS_FROM, EVERY, compacted, is_due_at_write, visible
from tests.models.juicefs.test_counts import DISK, KIB, MIB, MINIO, below, juicefs, outcome_of, requests

BLOCK = 4 * MIB
COMPACT = len(rounds_of("redis", "compact"))
WRITE = len(rounds_of("redis", "write"))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), min_size=1, max_size=12))
def test_what_is_visible_is_what_was_written_last(drawn):
    slices = [(start, start + length) for start, length in drawn]
    expected = {byte: number for number, (start, end) in enumerate(slices) for byte in range(start, end)}
    found = {byte: number for start, end, number in visible(slices) for byte in range(start, end)}
    assert found == expected
    assert sum(end - start for start, end, _ in visible(slices)) == len(expected)


def test_writes_are_due_each_hundredth_time_and_above_350_always():
    due = [count for count in range(1, 360) if is_due_at_write(count)]
    assert due == [EVERY - 1, 2 * EVERY - 1, 3 * EVERY - 1, *range(ALWAYS_FROM + 1, 360)]


def test_overwrites_make_compaction_rewrite_the_whole_chunk():
    slices = [(0, 64 * MIB), *((k * 100 * KIB, k * 100 * KIB + 4 * KIB) for k in range(98))]
    found, after = compacted(slices, BLOCK, cached=True)
    assert found is not None and after == [(0, 64 * MIB)]
    assert (found.loads, found.stored_bytes) == (((16, BLOCK),), 64 * MIB)  # 64 MiB for 392 KiB
    assert found.removed == 16 + 98
    without, _ = compacted(slices, BLOCK, cached=False)
    assert without is not None and without.loads == ((98, 4 * KIB), (16, BLOCK))


def test_appends_leave_a_large_first_slice_as_it_is():
    slices = [(0, 16 * MIB), *((16 * MIB + k * 4 * KIB, 16 * MIB + (k + 1) * 4 * KIB) for k in range(98))]
    found, after = compacted(slices, BLOCK, cached=True)
    assert found is not None and after == [(0, 16 * MIB), (16 * MIB, 16 * MIB + 98 * 4 * KIB)]
    assert (found.loads, found.stored_bytes, found.removed) == ((), 98 * 4 * KIB, 98)
    assert compacted(after, BLOCK, cached=True) == (None, after)
    assert compacted([(0, 16 * MIB), (16 * MIB, 32 * MIB)], BLOCK, cached=True) == (
        None, [(0, 16 * MIB), (16 * MIB, 32 * MIB)],
    )  # fmt: skip


def overwrites(count: int, size: int, step: int):
    """Return overwrites of 4 KiB in a file, each with a sync."""
    rows = []
    for k in range(count):
        rows.append({"op": "WRITE", "size": size, "start": k * step, "length": 4 * KIB, "at": float(2 * k)})
        rows.append({"op": "FSYNC", "size": size, "at": 2 * k + 1.0})
    return rows


def test_the_hundredth_slice_of_a_chunk_starts_a_compaction_in_the_background():
    few, many = (requests(overwrites(count, 64 * MIB, 100 * KIB)) for count in (97, 98))
    assert below(juicefs(DISK), few) == Counter({("PUT", 4 * KIB): 97})
    found = below(juicefs(DISK), many)
    assert found[("GET", BLOCK)] == 16 and found[("PUT", BLOCK)] == 16 and found[("PUT", 4 * KIB)] == 98
    assert sum(count for (op, _), count in found.items() if op == "DELETE") == 16 + 98
    outcome, program = outcome_of(juicefs(MINIO), many)
    # No call waits for it: the sync before it takes its rounds and a PUT, as all others.
    syncs_s = outcome.end_s[1::2] - [2 * k + 1.0 for k in range(98)]
    assert syncs_s[-1] == pytest.approx(float(np.median(syncs_s)), rel=0.5)
    (way,) = (k for k, station in enumerate(program.network.stations) if station.role == "metadata network")
    assert outcome.visits[way] - 10 * sum(map(len, program.background)) == 98 * WRITE + 1 + COMPACT


def test_reads_of_a_chunk_with_five_slices_start_one_too():
    rows = overwrites(4, 64 * MIB, 100 * KIB)
    rows += [{"op": "OPEN", "size": 64 * MIB, "at": 20.0}]
    read = {"op": "READ", "size": 64 * MIB, "start": 32 * MIB + 4096, "length": 4 * KIB}
    rows += [{**read, "at": 30.0 + k} for k in (0, 1)]
    found = below(juicefs(DISK, "blocks.prefetch=0"), requests(rows))
    assert found[("PUT", BLOCK)] == 16
    assert below(juicefs(DISK, "blocks.prefetch=0"), requests(rows[2:]))[("PUT", BLOCK)] == 0


def test_new_files_begin_without_slices():
    rows = [{"op": "CREATE", "size": 64 * MIB, "at": 0.0}]
    rows += [{**row, "at": row["at"] + 1} for row in overwrites(99, 64 * MIB, 8 * KIB)]
    found = below(juicefs(DISK), requests(rows))
    assert found[("PUT", BLOCK)] == 0 and found[("PUT", 98 * 8 * KIB + 4 * KIB)] == 1  # from the first to the last byte
