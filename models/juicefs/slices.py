"""The slices of chunks: which of them compaction reads and rewrites, and when (juicedata/juicefs at a6a0299b).

Each write that ends a slice adds one to its chunk. Every hundredth starts a compaction in the background, each one
beyond 350, and each first read of a chunk that has five or more (pkg/meta/base.go Write, Read). It writes what is
visible of the slices as a new one, block by block, and removes the old ones, but for the first slices that are large
and not overwritten (pkg/meta/slice.go skipSome).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Slice = tuple[int, int]
"""First byte in the chunk, and the one after the last."""

EVERY, ALWAYS_FROM, AT_READ = 100, 350, 5
"""Number of slices at which writes and reads start a compaction."""
_LARGE_BYTES, _LARGE_FRACTION = 1 << 20, 0.2  # of slices that are left as they are


@dataclass(frozen=True)
class Compaction:
    """What a compaction moves.

    Attributes:
        loads: requests to the store below that read: how many, and the bytes of each.
        stored_bytes: length of the new slice.
        removed: blocks of the old slices.
    """

    loads: tuple[tuple[int, int], ...]
    stored_bytes: int
    removed: int


def is_due_at_write(count: int) -> bool:
    """Whether a write after which a chunk has this number of slices starts a compaction."""
    return count % EVERY == EVERY - 1 or count > ALWAYS_FROM


def compacted(slices: Sequence[Slice], block: int, cached: bool) -> tuple[Compaction | None, list[Slice]]:
    """Return the compaction of a chunk, None if there is nothing to do, and the slices that it has afterwards.

    Args:
        slices: of the chunk, in the order in which they were committed.
        block: size of a block.
        cached: whether there is a disk cache, which has what is shorter than a block since it was written, and keeps
            whole blocks that are read.
    """
    first = _left(slices)
    old = list(slices[first:])
    if len(old) < 2:
        return None, list(slices)
    begin, end = min(a for a, _ in old), max(b for _, b in old)
    touched: dict[int, set[int]] = {}
    small: dict[int, int] = {}
    for a, b, number in visible(old):
        start, stop = old[number]
        if stop - start >= block or not cached:
            touched.setdefault(number, set()).update(range((a - start) // block, (b - 1 - start) // block + 1))
    for number, blocks in touched.items():
        length = old[number][1] - old[number][0]
        for each in blocks:
            size = min(block, length - each * block)
            small[size] = small.get(size, 0) + 1
    loads = tuple((count, size) for size, count in sorted(small.items()))
    removed = sum(-(-(b - a) // block) for a, b in old)
    return Compaction(loads, end - begin, removed), [*slices[:first], (begin, end)]


def visible(slices: Sequence[Slice]) -> list[tuple[int, int, int]]:
    """Return the parts of slices that no later one covers: first byte, the one after the last, number; in order."""
    found: list[tuple[int, int, int]] = []
    for number, (start, end) in enumerate(slices):
        kept = []
        for a, b, of in found:
            kept += [(a, min(b, start), of)] * (a < start) + [(max(a, end), b, of)] * (b > end)
        found = [*kept, (start, end, number)]
    return sorted(found)


def _left(slices: Sequence[Slice]) -> int:
    """Return how many of the first slices are large and stay as they are."""
    for first, (start, end) in enumerate(slices):
        rest = slices[first:]
        size = max(b for _, b in rest) - min(a for a, _ in rest)
        if end - start < max(_LARGE_BYTES, _LARGE_FRACTION * size) or visible(rest)[0] != (start, end, 0):
            return first
    return len(slices)
