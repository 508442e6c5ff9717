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
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.logs.import_report import ImportReport
from traces.readers import column_kernels
from traces.readers.blocks import by_block
from traces.readers.columns import numbers, operations
from traces.readers.formats import Format, Head
from traces.readers.json_rows import json_rows
from traces.readers.records import Parsed, Rows
from traces.readers.source import Source
from traces.readers.spans import Spans
from traces.tables import GET, LIST, PUT

_SCHEMA = pa.schema({
    "date": pa.string(),
    "worker_rank": pa.int64(),
    "op_name": pa.string(),
    "entry_name": pa.string(),
    "offset": pa.uint64(),
    "length": pa.uint64(),
    "is_finished": pa.bool_(),
    "is_error": pa.bool_(),
})  # fmt: skip

_EVENTS = pa.schema({
    "line": pa.int64(),
    "time_ns": pa.int64(),
    "op": pa.int8(),
    "client": pa.string(),
    "entry": pa.string(),
    "offset": pa.int64(),
    "length": pa.int64(),
    "finished": pa.bool_(),
    "failed": pa.bool_(),
    "what": pa.string(),  # equal for a start and its finish
})  # fmt: skip

_NO_START, _NO_FINISH = "a finish without its start", "a start without its finish"

_MOST_ALONE = 1 << 18
"""Maximum number of unmatched events kept for other files: the requests in progress where a log was split."""

_OPERATIONS = {
    f"S3{name}{way}": op
    for name, op in {
        "GetObject": "GET",
        "PutObject": "PUT",
        "UploadPart": "PUT",
        "HeadObject": "HEAD",
        "DeleteObject": "DELETE",
        "ListObjects": "LIST",
        "ListObjectsV2": "LIST",
    }.items()
    for way in ("", "Async", "Rdma")
}


def _convert(table: pa.Table, line: NDArray[np.int64]) -> Parsed:
    """The events of a block, in the place of records."""
    rows = Rows(line)
    for name in ("date", "worker_rank", "op_name", "entry_name", "is_finished"):
        rows.refuse(table.column(name).is_null().to_numpy(), f"has no {name}")
    dates = Spans.of(table.column("date"))
    time = numbers(rows, dates, dates.iso_ns(), "date", null=None)
    op = operations(table.column("op_name"), _OPERATIONS)
    rows.leave_out(op < 0, "not an operation on an object or a listing")
    client, offset = (table.column(name).cast(pa.string()) for name in ("worker_rank", "offset"))
    columns = {
        "line": line,
        "time_ns": time,
        "op": op,
        "client": client,
        "entry": table.column("entry_name"),
        "offset": table.column("offset").fill_null(0).cast(pa.int64()),
        "length": table.column("length").fill_null(0).cast(pa.int64()),
        "finished": table.column("is_finished"),
        "failed": table.column("is_error").fill_null(False),
        "what": pc.binary_join_element_wise(
            client, table.column("op_name"), table.column("entry_name"), offset.fill_null(""), "\n"
        ),
    }
    events = pa.table(columns, schema=_EVENTS).filter(pa.array(rows.kept)).combine_chunks()
    batches = events.to_batches() or [pa.RecordBatch.from_pylist([], _EVENTS)]
    return Parsed(batches[0], 0, rows.left_out, tuple(sorted(rows.unreadable)))


_events = by_block(json_rows(_SCHEMA, _convert))


def _read(source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
    waiting = _EVENTS.empty_table()
    for batch in _events(source, report):
        events = pa.concat_tables([waiting, pa.Table.from_batches([batch])]).combine_chunks()
        first, last, alone = _paired(events)
        finished = alone.column("finished")
        waiting = alone.filter(pc.invert(finished))
        _leave_out(source, report, alone.filter(finished), _NO_START)
        _join(report, len(last))
        took = pc.subtract(last.column("time_ns"), first.column("time_ns")).to_numpy()
        for line in first.column("line").filter(pa.array(took < 0)).to_pylist():
            report.kept -= 1
            report.refuse(source.path, line, "finishes before it starts")
        good = pa.array(took >= 0)
        if took.max(initial=-1) >= 0:
            yield _records(first.filter(good), last.filter(good))
    _leave_out(source, report, waiting, _NO_FINISH)


def _read_across(report: ImportReport) -> Iterator[pa.RecordBatch]:
    """The requests that began in one file and ended in another."""
    if len(report.alone) < 2:
        return
    events = pa.concat_tables(table for tables in report.alone.values() for table in tables)
    first, last, _ = _paired(events.sort_by([("time_ns", "ascending"), ("finished", "ascending")]).combine_chunks())
    if len(last):
        for why in (_NO_START, _NO_FINISH):
            report.left_out[why] -= len(last)
        report.left_out = +report.left_out
        report.kept += 2 * len(last)
        _join(report, len(last))
        yield _records(first, last)


def _paired(events: pa.Table) -> tuple[pa.Table, pa.Table, pa.Table]:
    """The starts that have a finish behind them, their finishes, and the events that belong to no other."""
    finished = events.column("finished").to_numpy()
    start_of = np.full(len(events), -1, np.int64)
    kinds = events.column("what").combine_chunks().dictionary_encode()
    column_kernels.pair(kinds.indices.to_numpy(), len(kinds.dictionary), finished, start_of)
    ends = np.flatnonzero(start_of >= 0)
    starts = start_of[ends]
    alone = np.ones(len(events), bool)
    alone[starts] = alone[ends] = False
    return events.take(starts), events.take(ends), events.filter(pa.array(alone))


def _join(report: ImportReport, count: int) -> None:
    """Take rows that were counted as kept as joined to others."""
    report.kept -= count
    report.joined += count


def _leave_out(source: Source, report: ImportReport, events: pa.Table, why: str) -> None:
    """Take events that were counted as kept as left out, and keep them for other files, as long as they are few."""
    if len(events):
        report.kept -= len(events)
        report.left_out[why] += len(events)
        room = _MOST_ALONE - sum(len(table) for tables in report.alone.values() for table in tables)
        if room > 0:
            report.alone.setdefault(source.path, []).append(events.slice(0, room))


def _records(first: pa.Table, last: pa.Table) -> pa.RecordBatch:
    op = first.column("op").to_numpy()
    gets, puts, lists = (pa.array(op == code) for code in (GET, PUT, LIST))
    failed, length = last.column("failed"), first.column("length")
    place = pc.extract_regex(first.column("entry"), r"(?s)^(?P<bucket>[^/]*)/?(?P<key>.*)$")
    return (
        Rows(first.column("line").to_numpy())
        .parsed(
            time_ns=first.column("time_ns"),
            latency_ns=pc.subtract(last.column("time_ns"), first.column("time_ns")),
            op=op,
            bucket=pc.struct_field(place, "bucket"),
            key=pc.struct_field(place, "key"),
            size_bytes=pc.if_else(puts, length, pc.if_else(lists, 0, None)),
            transfer_bytes=pc.if_else(pc.or_(puts, pc.and_(gets, pc.invert(failed))), length, 0),
            range_start_bytes=pc.if_else(gets, first.column("offset"), None),
            range_bytes=pc.if_else(gets, length, None),
            client=first.column("client"),
            error=pc.if_else(failed, "error", None),
        )
        .records
    )


_LINE = re.compile(rb'"date"\s*:.*"worker_rank"\s*:.*"op_name"\s*:.*"is_finished"\s*:', re.DOTALL)


def _recognises(head: Head) -> bool:
    return bool(_LINE.search(head.data))


FORMAT = Format("elbencho", "elbencho operation log (--opslog)", True, _recognises, _read, _read_across)
