"""Reads logs of independent lines block by block, in threads; a line that spoils its block is found by halving."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa

from traces.readers.memory import keep_freed_memory
from traces.readers.records import Parsed, unread
from traces.readers.source import Lines, Source
from traces.readers.tally import Tally

Parse = Callable[[Lines], Iterable[Parsed]]
"""Reads lines that are all of a format; pure. Raises ValueError (as Arrow's errors are) where it cannot."""

Read = Callable[[Source, Tally], Iterator[pa.RecordBatch]]
"""Reads a whole file: gives record batches in the file's order and tallies every row."""


def by_block(parse: Parse, blocks: Callable[[Source], Iterator[Lines]] = Source.lines) -> Read:
    """A reader of files whose lines stand for themselves.

    Args:
        parse: reads lines.
        blocks: divides a file into blocks of them.
    """

    def read(source: Source, tally: Tally) -> Iterator[pa.RecordBatch]:
        keep_freed_memory()
        with ThreadPoolExecutor(workers()) as pool:
            under_way: deque[tuple[Lines, Future[list[Parsed]]]] = deque()
            for lines in blocks(source):
                under_way.append((lines, pool.submit(_parts, parse, lines)))
                if len(under_way) > workers():
                    yield from _taken(*under_way.popleft(), tally)
            while under_way:
                yield from _taken(*under_way.popleft(), tally)
        tally.end(source.path, source.truncated)

    return read


def workers() -> int:
    """How many blocks are parsed at the same time."""
    return min(4, len(os.sched_getaffinity(0)))


def _taken(lines: Lines, future: Future[list[Parsed]], tally: Tally) -> Iterator[pa.RecordBatch]:
    for part in future.result():
        yield from tallied(part, lines, tally)


def without_header(lines: Lines) -> Iterable[Parsed]:
    """Reads lines of a file whose first lines, where a header should be, are blank: none can be read.

    Raises:
        ValueError: always.
    """
    raise ValueError("has no header line before it")


def tallied(part: Parsed, lines: Lines, tally: Tally) -> Iterator[pa.RecordBatch]:
    """The part's records, if any, with its rows tallied.

    Raises:
        InputError: a row cannot be read and the tally is strict.
    """
    left_out = part.left_out.total() if part.left_out else 0
    tally.rows += part.records.num_rows + part.joined + left_out + len(part.unreadable)
    tally.kept += part.records.num_rows
    tally.joined += part.joined
    tally.left_out.update(part.left_out or {})
    for line, why in part.unreadable:
        tally.refuse(lines.path, line, why)
    if part.records.num_rows:
        yield part.records


def _parts(parse: Parse, lines: Lines) -> list[Parsed]:
    """What the lines give; where they cannot be read together, what each half gives."""
    if not lines.data or lines.data.isspace():
        return []
    try:
        return list(parse(lines))
    except ValueError as error:
        if lines.count > 1:
            return [part for half in lines.halves() for part in _parts(parse, half)]
        return [unread((lines.first, str(error).splitlines()[0][:200]))]
