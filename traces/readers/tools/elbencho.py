"""Operation logs of elbencho (``--opslog``): JSON lines, one where an operation starts and one where it is finished.

Layout: breuner/elbencho source/toolkits/OpsLogger.cpp; operations: source/workers/LocalWorker.cpp. A start and the next
finish of the same worker, operation, entry and offset belong together, in one file or, where a log was cut into several
that are read together, in two, in whatever order they are given. A start may come without its finish (a run that was
broken off), a finish without its start (a log that lacks its beginning). Entries of S3 operations are ``bucket/key``.
Each GET is of a range, so the object's size is not known; an uploaded part counts as a PUT of its size. File operations
are left out: reads and writes name a file descriptor. Entries are logged without JSON's escapes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace

import polars as pl
import pyarrow as pa

from traces.logs.import_report import ImportReport
from traces.operations import GET, LIST, PUT
from traces.readers.blocks import by_block
from traces.readers.expressions import iso_time, operation
from traces.readers.formats import Format, Head
from traces.readers.json_rows import json_fields
from traces.readers.layout import Layout, leave_out, records_of, refuse, requests
from traces.readers.operations import API_OPERATIONS
from traces.readers.records import NO_OBJECT, Parsed
from traces.readers.source import Lines, Source

_SCHEMA = pa.schema({
    **{name: pa.string() for name in ("date", "op_name", "entry_name")},
    "worker_rank": pa.int64(),
    **{name: pa.uint64() for name in ("offset", "length")},
    **{name: pa.bool_() for name in ("is_finished", "is_error")},
})  # fmt: skip

_NO_START, _NO_FINISH = "a finish without its start", "a start without its finish"

_MOST_ALONE = 1 << 18
"""Maximum number of unmatched events kept for other files: the requests in progress where a log was split."""

_OPERATIONS = {f"S3{name}{way}": op for name, op in API_OPERATIONS.items() for way in ("", "Async", "Rdma")}

_op, _entry, _length = pl.col("op"), pl.col("entry_name"), pl.col("length")

EVENTS = Layout(
    divide=json_fields(_SCHEMA),
    steps=(
        {
            "ns": iso_time(pl.col("date")).struct.field("ns"),
            "local": iso_time(pl.col("date")).struct.field("local"),
            "op": operation(pl.col("op_name"), _OPERATIONS),
            "client": pl.col("worker_rank").cast(pl.String),
            "offset": pl.col("offset").cast(pl.Int64, strict=False).fill_null(0),
            "length": _length.cast(pl.Int64, strict=False).fill_null(0),
            "is_error": pl.col("is_error").fill_null(False),
        },
        # Equal for a start and its finish.
        {"what": pl.concat_str("client", "op_name", "entry_name", "offset", separator="\n")},
    ),
    verdicts=(
        *(
            refuse(pl.col(name).is_null(), f"has no {name}")
            for name in ("date", "worker_rank", "op_name", "entry_name", "is_finished")
        ),
        refuse(pl.col("ns").is_null(), "date cannot be read"),
        leave_out(_op.is_null(), NO_OBJECT),
    ),
    columns={},
)
"""The layout of events, which are no records yet."""

_EVENT = ["line", "ns", "local", "op", "client", "entry_name", "offset", "length", "is_finished", "is_error", "what"]

_COLUMNS = {
    "time_ns": pl.col("ns"),
    "local": pl.col("local"),
    "latency_ns": pl.col("end_ns") - pl.col("ns"),
    "op": _op,
    "bucket": _entry.str.extract("^([^/]*)"),
    "key": _entry.str.extract("(?s)^[^/]*/?(.*)$"),
    "size_bytes": pl.when(_op == PUT).then(_length).when(_op == LIST).then(0),
    "transfer_bytes": pl.when((_op == PUT) | ((_op == GET) & ~pl.col("failed"))).then(_length).otherwise(0),
    "range_start_bytes": pl.when(_op == GET).then("offset"),
    "range_bytes": pl.when(_op == GET).then(_length),
    "client": pl.col("client"),
    "error": pl.when("failed").then(pl.lit("error")),
}


def _parse(lines: Lines) -> Iterator[Parsed]:
    """Parse the events of a block, in the place of records."""
    found, judged = requests(EVENTS, lines)
    events = found.select(_EVENT).to_arrow().combine_chunks()
    yield replace(judged, records=(events.to_batches() or [pa.RecordBatch.from_pylist([], events.schema)])[0])


_events = by_block(_parse)


def _read(source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
    waiting = None
    for batch in _events(source, report):
        new = pl.DataFrame(pl.from_arrow(batch))
        events = new if waiting is None else pl.concat([waiting, new])
        pairs, alone = _paired(events)
        waiting = alone.filter(~pl.col("is_finished"))
        _leave_out(source, report, alone.filter("is_finished"), _NO_START)
        _join(report, len(pairs))
        read = records_of(pairs.select("line", **_COLUMNS), source.zone, Counter())
        for line, why in read.unreadable:
            report.kept -= 1
            report.refuse(source.name, line, why)
        if read.records.num_rows:
            yield read.records
    if waiting is not None:
        _leave_out(source, report, waiting, _NO_FINISH)


def _read_across(report: ImportReport) -> Iterator[pa.RecordBatch]:
    """Yield the requests that began in one file and ended in another."""
    if len(report.alone) < 2:
        return
    events = pl.DataFrame(
        pl.from_arrow(pa.concat_tables(table for tables in report.alone.values() for table in tables))
    )
    pairs, _ = _paired(events.sort("ns", "is_finished", maintain_order=True))
    if len(pairs):
        for why in (_NO_START, _NO_FINISH):
            report.left_out[why] -= len(pairs)
        report.left_out = +report.left_out
        report.kept += 2 * len(pairs)
        _join(report, len(pairs))
        yield records_of(pairs.select("line", **_COLUMNS), "UTC", Counter()).records


def _paired(events: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the starts that have a finish behind them, with its time and success, and the events without another."""
    started: dict[str, deque[int]] = defaultdict(deque)
    starts, ends = [], []
    for i, (what, finished) in enumerate(zip(events["what"].to_list(), events["is_finished"].to_list(), strict=True)):
        if not finished:
            started[what].append(i)
        elif started[what]:
            starts.append(started[what].popleft())
            ends.append(i)
    last = events[ends]
    alone = events.with_row_index("i").filter(~pl.col("i").is_in([*starts, *ends])).drop("i")
    return events[starts].with_columns(end_ns=last["ns"], failed=last["is_error"]), alone


def _join(report: ImportReport, count: int) -> None:
    """Count rows as joined to others that were counted as kept."""
    report.kept -= count
    report.joined += count


def _leave_out(source: Source, report: ImportReport, events: pl.DataFrame, why: str) -> None:
    """Count events as left out that were counted as kept, and keep them for other files, as long as they are few."""
    if len(events):
        report.kept -= len(events)
        report.left_out[why] += len(events)
        room = _MOST_ALONE - sum(len(table) for tables in report.alone.values() for table in tables)
        if room > 0:
            report.alone.setdefault(source.path, []).append(events[:room].to_arrow())


_LINE = re.compile(rb'"date"\s*:.*"worker_rank"\s*:.*"op_name"\s*:.*"is_finished"\s*:', re.DOTALL)


def _recognises(head: Head) -> bool:
    return bool(_LINE.search(head.data))


FORMAT = Format(
    "elbencho", "elbencho operation log (--opslog)", True, _recognises, _read, waits=True, read_across=_read_across
)
