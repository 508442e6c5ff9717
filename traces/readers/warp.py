"""Benchmark data of MinIO's warp (``.csv.zst``): tab-separated lines under a header that names the columns.

Layout: minio/warp pkg/bench/ops.go, Operations.CSV; columns have been added over the years, so all are found by name.
Comments (``# …``, at the end: the command line) and headers are not rows. A field in double quotes holds doubled ones.
`bytes` of a STAT, a LIST or a DELETE is 0. A delete of several objects at once names none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.errors import InputError
from traces.readers.blocks import Read, by_block
from traces.readers.columns import missing, numbers, operations, whole
from traces.readers.formats import Format, Head
from traces.readers.records import Parsed, Rows
from traces.readers.source import Lines, Source
from traces.readers.spans import Fields, Spans
from traces.readers.tally import Tally
from traces.tables import DELETE, GET, LIST, PUT

NEEDED = ("op", "start", "end", "file")
_READ = {*NEEDED, "thread", "client_id", "n_objects", "bytes", "endpoint", "error", "first_byte"}

_OPERATIONS = {
    "GET": "GET",
    "PUT": "PUT",
    "PUTPART": "PUT",
    "STAT": "HEAD",
    "HEAD": "HEAD",
    "DELETE": "DELETE",
    "LIST": "LIST",
}
URI = re.compile(r"[a-z][a-z0-9+.-]*://(?P<bucket>[^/]*)")

_QUERY = r"\?[^\s\"']*"
"""The query of a URL in an error: it may hold a signature."""

Places = Callable[[Spans | None, Spans], dict[str, Any]]
"""Makes the columns `bucket` and `key` of the fields `endpoint`, which may be missing, and `file`."""


@dataclass(frozen=True)
class Dialect:
    """What differs between the tools that write such tables.

    Attributes:
        operations: what `op` may be, and the operation it stands for.
        places: where the objects are.
        first_byte: whether a GET's `first_byte` is that.
    """

    operations: Mapping[str, str]
    places: Places
    first_byte: bool


def table_reader(dialect: Dialect) -> Read:
    """A reader of tables such as warp's."""

    def read(source: Source, tally: Tally) -> Iterator[pa.RecordBatch]:
        header = header_of(source.head())
        missing = [name for name in NEEDED if name not in header]
        if missing:
            raise InputError(f"{source.path}: its header has no column {missing[0]!r}; needed are {', '.join(NEEDED)}")
        yield from by_block(partial(_parse, header, dialect))(source, tally)

    return read


def header_of(data: bytes) -> tuple[str, ...]:
    """The names of the columns, in the first line that is neither blank nor a comment; none where there is no line."""
    lines = (line for line in data.decode("utf-8", "replace").splitlines() if line.strip() and not line.startswith("#"))
    return tuple(next(lines, "").split("\t"))


def _parse(header: tuple[str, ...], dialect: Dialect, lines: Lines) -> Iterator[Parsed]:
    fields = Fields.of(_rows_of(lines, header), len(header), delimiter="\t", quoted=True)
    column = {name: fields[i] for i, name in enumerate(header) if name in _READ}
    rows = Rows(fields.line)
    rows.refuse(fields.count < 0, "has a quotation mark without its other half")
    needed = 1 + max(header.index(name) for name in NEEDED)
    rows.refuse(fields.count < needed, f"has too few fields; {needed} are needed")
    op = operations(column["op"], dialect.operations)
    rows.leave_out(op < 0, "not an operation on an object or a listing")
    start, end = (_moment(rows, column[name], name) for name in ("start", "end"))
    rows.refuse(missing(start), "has no start")
    latency = pc.subtract(end, start)
    rows.refuse(pc.fill_null(pc.less(latency, 0), False).to_numpy(zero_copy_only=False), "ends before it starts")
    place = dialect.places(column.get("endpoint"), column["file"])
    several = _whole(rows, column.get("n_objects"), "n_objects", len(op))
    unnamed = pc.fill_null(pc.equal(place["key"], ""), True).to_numpy(zero_copy_only=False) & (op != LIST)
    batch = (op == DELETE) & (unnamed | pc.fill_null(pc.greater(several, 1), False).to_numpy(zero_copy_only=False))
    rows.leave_out(batch, "a delete of several objects")
    rows.leave_out(unnamed, "names no object")
    moved = _whole(rows, column.get("bytes"), "bytes", len(op))
    error = pa.nulls(len(op), pa.string())
    if "error" in column:
        error = pc.replace_substring(column["error"].texts(null=""), '""', '"')
        error = pc.replace_substring_regex(error, _QUERY, "")
    first_byte = pa.nulls(len(op), pa.int64())
    if dialect.first_byte and "first_byte" in column:
        seen = pc.subtract(_moment(rows, column["first_byte"], "first_byte"), start)
        first_byte = pc.if_else(pc.and_(pa.array(op == GET), pc.greater_equal(seen, 0)), seen, None)
    yield rows.parsed(
        time_ns=start,
        latency_ns=latency,
        first_byte_ns=first_byte,
        op=op,
        client=_worker(column),
        error=error,
        **_volumes(column["op"], op, moved, error.is_valid()),
        **place,
    )


def _rows_of(lines: Lines, header: tuple[str, ...]) -> Lines:
    """The lines with headers and comments made blank: files put one after the other have several."""
    texts = Spans(np.frombuffer(lines.data, np.uint8), lines.starts, lines.ends)
    passed = np.flatnonzero(texts.begins_with("#") | texts.begins_with("\t".join(header)))
    if not len(passed):
        return lines
    bounds = [0, *np.stack([lines.starts[passed], lines.ends[passed]], axis=1).ravel().tolist(), len(lines.data)]
    kept = (lines.data[begin:end] for begin, end in zip(bounds[::2], bounds[1::2], strict=True))
    return replace(lines, data=b"".join(kept))


def _moment(rows: Rows, field: Spans, what: str) -> pa.Array:
    return numbers(rows, field, field.iso_ns(), what, null="")


def _whole(rows: Rows, field: Spans | None, what: str, count: int) -> pa.Array:
    return pa.nulls(count, pa.int64()) if field is None else whole(rows, field, what, null="")


def _worker(column: Mapping[str, Spans]) -> pa.Array:
    """``client_id/thread``, or the one of them that there is."""
    missing = pa.nulls(len(column["op"]), pa.string())
    client, thread = (column[name].texts(null="") if name in column else missing for name in ("client_id", "thread"))
    return pc.coalesce(pc.binary_join_element_wise(client, thread, "/"), client, thread)


def _volumes(name: Spans, op: NDArray[np.int8], moved: pa.Array, failed: pa.Array) -> dict[str, Any]:
    gets, puts, lists = (pa.array(op == code) for code in (GET, PUT, LIST))
    ranged = pc.and_not(pa.array(name.is_text("GET_RANGE")), failed)
    # What failed, and what has no body, is often logged with 0 bytes.
    known = pc.or_(pc.greater(moved, 0), pc.and_not(pc.or_(gets, puts), failed))
    return {
        "size_bytes": pc.if_else(lists, 0, pc.if_else(pc.and_not(known, ranged), moved, None)),
        "transfer_bytes": pc.if_else(pc.or_(puts, pc.and_not(gets, failed)), moved, 0),
        "range_start_bytes": pc.if_else(ranged, 0, None),
        "range_bytes": pc.if_else(ranged, moved, None),
    }


def _places(endpoint: Spans | None, file: Spans) -> dict[str, Any]:
    return {"key": file.texts()}


def named_by_uri(head: Head) -> bool:
    """Whether the rows of such a table name endpoints such as ``s3://bucket``."""
    header = header_of(head.data)
    at = header.index("endpoint") if "endpoint" in header else len(header)
    rows = (line.split("\t") for line in head.lines[1:])
    return any(len(row) > at and URI.match(row[at]) and not row[at].startswith("http") for row in rows)


def _recognises(head: Head) -> bool:
    return {*NEEDED, "thread"} <= set(header_of(head.data)) and not named_by_uri(head)


FORMAT = Format(
    "warp",
    "MinIO warp benchmark data (.csv.zst)",
    True,
    _recognises,
    table_reader(Dialect(_OPERATIONS, _places, first_byte=True)),
)
