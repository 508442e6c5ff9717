"""Pages of a file: which bytes the temporary file has, and how changed ones are uploaded (fdcache_page.cpp)."""

from __future__ import annotations

from collections.abc import Iterator

MIB = 1 << 20
LEAST_PART_BYTES = 5 * MIB
"""Smallest part of an upload but the last (MIN_MULTIPART_SIZE; what S3 allows)."""
COPY_BYTES = 512 * MIB
"""Largest piece that one request copies (`singlepart_copy_limit`, `multipart_copy_size`)."""

Span = tuple[int, int]
"""First byte, and the byte after the last one."""


class Pages:
    """A set of bytes of a file, as ascending spans that neither overlap nor touch."""

    def __init__(self, spans: tuple[Span, ...] = ()):
        self.spans = list(spans)

    def add(self, first: int, end: int) -> None:
        """Add the bytes from `first` to before `end`."""
        if end <= first:
            return
        apart = [span for span in self.spans if span[1] < first or span[0] > end]
        met = [span for span in self.spans if span[1] >= first and span[0] <= end]
        joined = min([first, *(span[0] for span in met)]), max([end, *(span[1] for span in met)])
        self.spans = sorted([*apart, joined])

    def missing(self, first: int, end: int) -> Iterator[Span]:
        """Yield the spans between two bytes that are not in the set."""
        for begun, ended in self.spans:
            if begun > first:
                yield first, min(begun, end)
            first = max(first, ended)
            if first >= end:
                return
        if first < end:
            yield first, end


def part_sizes(size_bytes: int, part_bytes: int) -> list[int]:
    """Return the sizes of the parts of a stretch: the last one takes the rest, so it has up to twice `part_bytes`."""
    count = max(-(-size_bytes // part_bytes) - 1, 1)
    return [part_bytes] * (count - 1) + [size_bytes - part_bytes * (count - 1)]


def piece_sizes(size_bytes: int, piece_bytes: int) -> list[int]:
    """Return the sizes of pieces of which the last may be smaller; none of nothing."""
    whole, rest = divmod(size_bytes, piece_bytes)
    return [piece_bytes] * whole + [rest] * (rest > 0)


def mixed_stretches(changed: Pages, size_bytes: int) -> list[tuple[int, int, bool]]:
    """Return the stretches of a file of which some bytes changed: first byte, end, and whether it is sent or copied.

    Each has at least 5 MiB, but the last: what is shorter is completed by bytes after it, or before it, that have not
    changed (PageList::GetPageListsForMultipartUpload).
    """
    found: list[tuple[int, int, bool]] = []
    spans = [*((first, end, True) for first, end in changed.spans)]
    spans += [(first, end, False) for first, end in changed.missing(0, size_bytes)]
    first, since, end, sent = 0, 0, 0, False  # `since`: where its last change begins
    for begun, ended, is_changed in sorted(spans):
        if is_changed:
            if not sent and end - first >= LEAST_PART_BYTES:
                found.append((first, end, False))
                first = begun
            since, sent = since if sent else begun, True
        elif sent and end - since >= LEAST_PART_BYTES:
            found.append((first, end, True))
            first, sent = begun, False
        elif sent:
            lacking = LEAST_PART_BYTES - (end - since)
            if ended - begun > lacking + LEAST_PART_BYTES:
                found.append((first, begun + lacking, True))
                first, sent = begun + lacking, False
        end = ended
    return [*found, (first, end, sent)]
