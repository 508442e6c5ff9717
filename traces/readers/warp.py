"""Benchmark data of MinIO's warp (``.csv.zst``): tab-separated lines under a header that names the columns.

Layout: minio/warp pkg/bench/ops.go, Operations.CSV; columns have been added over the years, so all are found by name.
Comments (``# …``, at the end: the command line) and headers are not rows. A field in double quotes holds doubled ones.
`bytes` of a STAT, a LIST or a DELETE is 0. A delete of several objects at once names none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.readers.blocks import Read
from traces.readers.compiling import compiled, copy, find, inlined, pointer
from traces.readers.drafts import begun, rejected
from traces.readers.formats import Format, Head
from traces.readers.kernels import (
    DASH,
    HASH,
    PLUS,
    POINT,
    QUESTION,
    QUOTE,
    RETURN,
    SLASH,
    SPACE,
    TAB,
    begins,
    digits,
    is_text,
    line_end,
    of,
    operation,
    operations,
    seek,
    split,
    text,
)
from traces.readers.line_rows import line_reader
from traces.readers.records import NO_OBJECT
from traces.readers.source import Source
from traces.readers.time_kernels import iso_time
from traces.tables import DELETE, GET, LIST, PUT

NEEDED = ("op", "start", "end", "file")
_COLUMNS = (*NEEDED, "thread", "client_id", "n_objects", "bytes", "endpoint", "error", "first_byte")
_OP, _START, _END, _FILE, _THREAD, _CLIENT, _COUNT, _BYTES, _ENDPOINT, _ERROR, _FIRST_BYTE = range(len(_COLUMNS))

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

_OF_SCHEMES = (PLUS, POINT, DASH)
_QUOTES = (QUOTE, np.uint8(39))
_RANGED, _BETWEEN = text("GET_RANGE"), text("://")

_REFUSED = (
    "has a quotation mark without its other half",
    "has too few fields; {needed} are needed",
    *(f"{name} cannot be read" for name in ("start", "end", "n_objects", "bytes", "first_byte")),
    "has no start",
    "ends before it starts",
)
_UNCLOSED, _FEW, _BAD_START, _BAD_END, _BAD_COUNT, _BAD_BYTES, _BAD_FIRST_BYTE, _NO_START, _BACKWARDS = range(1, 10)
_LEFT_OUT = (NO_OBJECT, "a delete of several objects", "names no object")
_NOT_OBJECT, _SEVERAL, _UNNAMED = -1, -2, -3


@dataclass(frozen=True)
class Dialect:
    """Differences between the tools that write such tables.

    Attributes:
        operations: values of `op`, and the operations they stand for.
        uris: whether `endpoint` and `file` are URIs of bucket and object.
        first_byte: whether `first_byte` of a GET is the time of its first byte.
    """

    operations: Mapping[str, str]
    uris: bool
    first_byte: bool


def table_reader(dialect: Dialect) -> Read:
    """Return a reader of tables in the layout of warp."""

    def read(source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
        header = header_of(source.head())
        missing = [name for name in NEEDED if name not in header]
        if missing:
            raise InputError(f"{source.path}: column {missing[0]!r} is missing; required are {', '.join(NEEDED)}")
        places = np.array([header.index(name) if name in header else -1 for name in _COLUMNS], np.int64)
        places[_FIRST_BYTE] = places[_FIRST_BYTE] if dialect.first_byte else -1
        needed = 1 + max(header.index(name) for name in NEEDED)
        refused = [why.format(needed=needed) for why in _REFUSED]
        width = int(places.max()) + 1
        layout = (places, needed, width, text("\t".join(header)), operations(dialect.operations), dialect.uris)
        yield from line_reader(_records, width, refused, _LEFT_OUT, *layout)(source, report)

    return read


def header_of(data: bytes) -> tuple[str, ...]:
    """Return the column names from the first line that is neither blank nor a comment; empty if there is no line."""
    lines = (line for line in data.decode("utf-8", "replace").splitlines() if line.strip() and not line.startswith("#"))
    return tuple(next(lines, "").split("\t"))


@compiled
def _record(data, at, stop, room, fields, places, needed, width, known, uris, row):  # type: ignore[no-untyped-def]
    found = split(data, at, stop, TAB, True, False, fields, width)
    if found < needed:
        return _UNCLOSED if found < 0 else _FEW
    row.op = operation(data, *of(fields, places[_OP]), known)
    if row.op < 0:
        return _NOT_OBJECT
    verdict = _set_times(data, fields, places, row)
    if verdict:
        return verdict
    _set_object(data, fields, places, uris, row)
    several, moved = _whole(data, fields, places[_COUNT]), _whole(data, fields, places[_BYTES])
    if several < -1 or moved < -1:
        return _BAD_COUNT if several < -1 else _BAD_BYTES
    unnamed = row.key_to <= row.key_from and row.op != LIST
    if unnamed or (row.op == DELETE and several > 1):
        return _SEVERAL if row.op == DELETE else _UNNAMED
    _set_client(data, fields, places, room, row)
    start, end = _field(fields, places[_ERROR])
    if end > start:
        row.error_from, row.error_to = start, _told(data, start, end)
    _set_volumes(row, moved, is_text(data, *of(fields, places[_OP]), _RANGED))
    return 0


@inlined
def _field(fields, place):  # type: ignore[no-untyped-def]
    """The bounds of a field; of a column that the table has not, those of an empty one."""
    return of(fields, place) if place >= 0 else (0, 0)


@inlined
def _whole(data, fields, place):  # type: ignore[no-untyped-def]
    """A field's whole number; -1: it is empty; -2: it holds none."""
    start, end = _field(fields, place)
    value = digits(data, start, end)
    return value if value >= 0 or end <= start else -2


@inlined
def _moment(data, fields, place):  # type: ignore[no-untyped-def]
    """A field's time; -1: it is empty; -2: it holds none."""
    start, end = _field(fields, place)
    time, _ = iso_time(data, start, end)
    return time if time >= 0 or end <= start else -2


@inlined
def _set_times(data, fields, places, row):  # type: ignore[no-untyped-def]
    """Set time, latency and first byte; why they cannot be read."""
    start, end = _moment(data, fields, places[_START]), _moment(data, fields, places[_END])
    first_byte = _moment(data, fields, places[_FIRST_BYTE])
    if start < -1 or end < -1:
        return _BAD_START if start < -1 else _BAD_END
    if start < 0 or 0 <= end < start:
        return _NO_START if start < 0 else _BACKWARDS
    if first_byte < -1:
        return _BAD_FIRST_BYTE
    row.time_ns, row.latency_ns = start, end - start if end >= 0 else -1
    if row.op == GET and first_byte >= start:
        row.first_byte_ns = first_byte - start
    return 0


@inlined
def _set_object(data, fields, places, uris, row):  # type: ignore[no-untyped-def]
    """Set bucket and key; without URIs there is no bucket."""
    at, stop = of(fields, places[_FILE])
    if uris:
        at = _below_scheme(data, at, stop)
        start, end = _field(fields, places[_ENDPOINT])
        bucket = _below_scheme(data, start, end)
        bucket_end = find(data, bucket, end, SLASH)
        if bucket > start and bucket_end > bucket:
            row.bucket_from, row.bucket_to = bucket, bucket_end
            cut = find(data, at, stop, SLASH)
            if cut - at == bucket_end - bucket and _same(data, at, bucket, cut - at):
                at = min(cut + 1, stop)
    row.key_from, row.key_to = at, stop


@inlined
def _below_scheme(data, at, stop):  # type: ignore[no-untyped-def]
    """Where a URI goes on behind its scheme."""
    cut = seek(data, at, stop, _BETWEEN)
    for i in range(at, cut):
        byte = data[i]
        letter = 97 <= byte <= 122
        if not letter and (i == at or not (48 <= byte <= 57 or byte in _OF_SCHEMES)):
            return at
    return cut + len(_BETWEEN) if at < cut < stop else at


@inlined
def _same(data, one, other, width):  # type: ignore[no-untyped-def]
    """Whether the same bytes are in two places."""
    at = 0
    while at < width and data[one + at] == data[other + at]:
        at += 1
    return at == width


@inlined
def _set_client(data, fields, places, room, row):  # type: ignore[no-untyped-def]
    """Set the client: ``client_id/thread``, written into the room, or the one of them that there is."""
    start, end = _field(fields, places[_CLIENT])
    thread, thread_end = _field(fields, places[_THREAD])
    if end > start and thread_end > thread:
        between = room + end - start
        copy(data, start, end, data, room)
        data[between] = SLASH
        copy(data, thread, thread_end, data, between + 1)
        row.client_from, row.client_to = room, between + 1 + thread_end - thread
    elif end > start:
        row.client_from, row.client_to = start, end
    elif thread_end > thread:
        row.client_from, row.client_to = thread, thread_end


@compiled
def _told(data, at, stop):  # type: ignore[no-untyped-def]
    """Takes doubled quotes and the queries of URLs, which may hold a signature, out of an error, where it stands; its
    end then."""
    to = at
    while at < stop:
        byte = data[at]
        at += 1
        if byte == QUESTION:
            while at < stop and not (data[at] == SPACE or TAB <= data[at] <= RETURN or data[at] in _QUOTES):
                at += 1
            continue
        if byte == QUOTE and at < stop and data[at] == QUOTE:
            at += 1
        data[to] = byte
        to += 1
    return to


@inlined
def _set_volumes(row, moved, by_range):  # type: ignore[no-untyped-def]
    """Set size, transfer and range. What failed, and what has no body, is often logged with 0 bytes."""
    failed, body = row.error_to >= row.error_from, row.op == GET or row.op == PUT
    ranged = by_range and not failed
    if row.op == LIST:
        row.size_bytes = 0
    elif not ranged and (moved > 0 or (body and not failed)):
        row.size_bytes = moved
    row.transfer_bytes = moved if row.op == PUT or (row.op == GET and not failed) else 0
    if ranged:
        row.range_start_bytes, row.range_bytes = 0, moved


@compiled
def _records(text, at, size, rows, bounds, places, needed, width, header, known, uris):  # type: ignore[no-untyped-def]
    data, fields, columns = pointer(text), pointer(bounds), pointer(places)
    line, kept, gone = 0, 0, 0
    while at < size:
        newline, stop = line_end(data, at, size)
        # Files put one after the other have several headers.
        if stop > at and data[at] != HASH and not begins(data, at, newline, header):
            row = begun(rows[kept])
            verdict = _record(data, at, stop, at + size, fields, columns, needed, width, known, uris, row)
            if verdict:
                gone = rejected(rows, gone, line, verdict)
            else:
                kept += 1
        at, line = newline + 1, line + 1
    return kept, gone


def named_by_uri(head: Head) -> bool:
    """Whether the rows of a table have endpoints such as ``s3://bucket``."""
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
    table_reader(Dialect(_OPERATIONS, uris=False, first_byte=True)),
)
