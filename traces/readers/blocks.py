"""Reads logs of independent lines block by block, in threads; a line that spoils its block is found by halving."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.readers.memory import keep_freed_memory
from traces.readers.records import Parsed, unread
from traces.readers.sections import Block, Section
from traces.readers.source import Lines, Source

Parse = Callable[[Any], Iterable[Parsed]]
"""Reads a block of lines that are all of a format; pure. Raises ValueError (as Arrow's errors are) where it cannot."""

Read = Callable[[Source, ImportReport], Iterator[pa.RecordBatch]]
"""Reads a whole file: gives record batches in the file's order and reports every row."""


def by_block(parse: Parse, blocks: Callable[[Source], Iterator[Block]] = Source.lines) -> Read:
    """A reader of files whose lines stand for themselves.

    Args:
        parse: reads lines.
        blocks: divides a file into blocks of them.
    """

    def read(source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
        keep_freed_memory()
        above = 0  # lines before the next section
        with closing(source), ThreadPoolExecutor(workers()) as pool:
            for block, parts in _in_order(pool, partial(_parts, parse), blocks(source)):
                for part in parts:
                    yield from counted(part, source.path, above, report)
                if isinstance(block, Section):
                    above += block.first - 1 + block.count
        report.end(source.path, source.truncated)

    return read


def _in_order(
    pool: ThreadPoolExecutor, parse: Callable[[Block], list[Parsed]], blocks: Iterator[Block]
) -> Iterator[tuple[Block, list[Parsed]]]:
    """Blocks and what they gave, in their order."""
    under_way: deque[tuple[Block, Future[list[Parsed]]]] = deque()
    for block in blocks:
        under_way.append((block, pool.submit(parse, block)))
        if len(under_way) > workers():
            first, future = under_way.popleft()
            yield first, future.result()
    for block, future in under_way:
        yield block, future.result()


def workers() -> int:
    """How many blocks are parsed at the same time."""
    return min(4, len(os.sched_getaffinity(0)))


def without_header(lines: Lines) -> Iterable[Parsed]:
    """Reads lines of a file whose first lines, where a header should be, are blank: none can be read.

    Raises:
        ValueError: some are not blank.
    """
    if not lines.data or lines.data.isspace():
        return ()
    raise ValueError("has no header line before it")


def counted(part: Parsed, path: Path, above: int, report: ImportReport) -> Iterator[pa.RecordBatch]:
    """Yield the records of a part, if any, and count its rows in the report.

    Args:
        part: of a file,
        path: this one.
        above: how many lines of it are before those that the part counts.
        report: where.

    Raises:
        InputError: a row cannot be read and the report is strict.
    """
    left_out = part.left_out.total() if part.left_out else 0
    report.rows += part.records.num_rows + part.joined + left_out + len(part.unreadable)
    report.kept += part.records.num_rows
    report.joined += part.joined
    report.left_out.update(part.left_out or {})
    for line, why in part.unreadable:
        report.refuse(path, above + line, why)
    if part.records.num_rows:
        yield part.records


def _parts(parse: Parse, block: Block) -> list[Parsed]:
    """What the lines give; where they cannot be read together, what each half gives."""
    try:
        parts = list(parse(block))
    except InputError:
        raise
    except ValueError as error:
        lines = block.lines()
        if lines.count > 1:
            parts = [part for half in lines.halves() for part in _parts(parse, half)]
        else:
            parts = [unread((lines.first, str(error).splitlines()[0][:200]))]
    return [*parts, unread(*block.unreadable)] if block.unreadable else parts
