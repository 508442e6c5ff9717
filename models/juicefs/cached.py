"""Which reads of a JuiceFS its disk caches serve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.juicefs.spec import JuiceFSSpec
from models.network.placement import key_hashes
from traces.operations import rows_that
from traces.random_streams import stream_id, uniforms
from traces.statistics.lru import lru_hits
from traces.trace import Trace


def cached_reads(spec: JuiceFSSpec, trace: Trace) -> NDArray[np.bool_]:
    """Return which reads the disk caches serve: those of which they have all blocks, shape (rows,)."""
    count, cache, size = len(trace), spec.cache, spec.blocks.size
    moved, reads = trace.transfer_bytes, rows_that(trace.op, "reads")
    if not cache.present or not count:
        return np.zeros(count, bool)
    if cache.curve is not None:
        drawn = uniforms(0, stream_id("juicefs/cache"), 0, count) < cache.curve.hit_ratio(cache.size)
        return np.asarray(reads & drawn)
    writes = rows_that(trace.op, "writes")
    start = starts_bytes(trace)
    first, last = start // size, (start + np.maximum(moved, 1) - 1) // size
    is_part = reads & (start % size > 0) & (moved <= size // 4) & (spec.blocks.prefetch == 0)
    counts = np.where((reads | writes) & ~is_part, last - first + 1, 0)
    row = np.repeat(np.arange(count), counts)
    block = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    with np.errstate(over="ignore"):
        entry = (key_hashes(trace)[row] + block.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).view(np.int64)
    held = np.clip(trace.size_bytes[row] - block * size, 1, size)
    drops = writes[row] & (held == size) & (not cache.writeback)
    hits, mount = np.zeros(len(row), bool), row % spec.mounts.count
    for number in range(spec.mounts.count):
        mine = np.flatnonzero(mount == number)
        laps = np.tile(mine, 2) if trace.pacing.repeat else mine
        found = lru_hits(entry[laps], held[laps], cache.size, drops[laps])
        hits[mine] = found[len(found) - len(mine) :]
    missed = np.bincount(row[~hits], minlength=count) > 0
    return np.asarray(reads & (counts > 0) & ~missed)


def starts_bytes(trace: Trace) -> NDArray[np.int64]:
    """Return the first byte of each request's range in its file, shape (rows,)."""
    return np.asarray(trace.table.column("range_start_bytes").fill_null(0).to_numpy(), np.int64)
