"""Read logs block by block, in threads; a row that spoils its block is found by halving."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.logs.time_order import TimeOrder
from traces.readers.records import Parsed, unread
from traces.readers.source import Lines, Source

Parse = Callable[[Any], Iterable[Parsed]]
"""Parses a block; pure. Raises ValueError or an error of Polars if a row of the block makes that impossible."""

Read = Callable[[Source, ImportReport], Iterator[pa.RecordBatch]]
"""Reads a whole file: yields record batches in the file's order and reports every row."""

_THREADS = 4


def by_block(parse: Parse, blocks: Callable[[Source], Iterator[Lines]] = Source.lines, threads: int = _THREADS) -> Read:
    """Return a reader of files whose rows stand for themselves.

    Args:
        parse: parses a block.
        blocks: divides a file into blocks.
        threads: greatest number of blocks that are parsed at the same time.
    """

    def read(source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
        order = TimeOrder()
        with ThreadPoolExecutor(min(threads, len(os.sched_getaffinity(0)))) as pool:
            for parts in _in_order(pool, partial(_parts, parse), blocks(source)):
                for part in parts:
                    if "time_ns" in part.records.schema.names:
                        part = replace(part, records=order.resolved(part.records, part.repeated_ns))
                    yield from counted(part, source.name, report)
        report.end(source.name, source.truncated)
        order.report(source.name, report)

    return read


def in_turn(begin: Callable[[Path], Parse]) -> Read:
    """Return a reader of files whose rows depend on earlier ones.

    Args:
        begin: returns the function that parses the blocks of a file, given its name, in their order; it may remember
            what it has read.
    """

    def read(source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
        return by_block(begin(source.name), threads=1)(source, report)

    return read


def without_header(lines: Lines) -> Iterator[Parsed]:
    """Refuse the rows of a file whose start, where a header line should be, is blank."""
    yield unread(*((line, "has no header line before it") for line in lines.frame()["line"]))


def _in_order(
    pool: ThreadPoolExecutor, parse: Callable[[Lines], list[Parsed]], blocks: Iterator[Lines]
) -> Iterator[list[Parsed]]:
    """Yield the results of blocks in their order."""
    waiting: deque[Future[list[Parsed]]] = deque()
    for block in blocks:
        waiting.append(pool.submit(parse, block))
        if len(waiting) > _THREADS:
            yield waiting.popleft().result()
    for future in waiting:
        yield future.result()


def counted(part: Parsed, path: Path, report: ImportReport) -> Iterator[pa.RecordBatch]:
    """Yield the records of a block, if any, and count its rows in the report.

    Raises:
        InputError: a row cannot be read and the report is strict.
    """
    report.rows += part.records.num_rows + part.joined + part.left_out.total() + len(part.unreadable)
    report.kept += part.records.num_rows
    report.joined += part.joined
    report.escaped += part.escaped
    report.doubts.update(part.doubts)
    report.leave_out(part.left_out)
    for line, why in part.unreadable:
        report.refuse(path, line, why)
    if part.records.num_rows:
        yield part.records


def _parts(parse: Parse, block: Lines) -> list[Parsed]:
    """Return what the rows give; if they cannot be parsed together, what each half gives."""
    try:
        parts = list(parse(block)) if block.data else []
    except InputError:
        raise
    except (ValueError, pl.exceptions.PolarsError) as error:
        if block.count > 1:
            parts = [part for half in block.halves() for part in _parts(parse, half)]
        else:
            parts = [unread((block.first, str(error).splitlines()[0][:200]))]
    if escaped := block.not_utf8:
        parts.append(replace(unread(), escaped=escaped))
    return [*parts, unread(*block.unreadable)] if block.unreadable else parts
