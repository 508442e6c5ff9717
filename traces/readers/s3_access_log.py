"""Amazon S3 server access logs.

Layout: "Amazon S3 server access log format" in the S3 user guide (LogFormat). One line a request; the time is that of
its arrival, to the second; durations are whole milliseconds. Fields are appended over the years. Bucket and key have
fields of their own, wherever the request named them. Where a range begins is not logged: it is taken to begin at 0.
"""

from __future__ import annotations

import re

from traces.readers.compiling import compiled, find, pointer
from traces.readers.drafts import begun, error, rejected, resolved, unless_dash
from traces.readers.formats import Format, Head
from traces.readers.http_kernels import prefix, status
from traces.readers.kernels import HASH, QUESTION, SPACE, line_end, number, of, operation, operations, split
from traces.readers.line_rows import line_reader
from traces.readers.records import FIRST_ERROR, NO_OBJECT
from traces.readers.time_kernels import clf_time
from traces.tables import GET, HEAD, LIST, PUT

_BUCKET, _TIME, _REMOTE, _OPERATION, _KEY, _URI, _STATUS, _ERROR, _SENT, _SIZE, _TOTAL_MS, _TURN_MS = (
    *(1, 2, 3, 6, 7, 8, 9),
    *(10, 11, 12, 13, 14),
)
_FIELDS = 15

_OPERATIONS = operations(
    {f"{way}.{op}.OBJECT": op for way in ("REST", "WEBSITE") for op in ("GET", "PUT", "HEAD", "DELETE")}
    | {"REST.GET.BUCKET": "LIST"}
)
_LINE = re.compile(r"\S+ \S+ \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] \S+ \S+ \S+ (REST|WEBSITE|BATCH|S3)\.")

_MS, _LONGEST_MS = 10**6, (2**63 - 1) // 10**6

_REFUSED = (
    "has a quotation mark or a bracket without its other half",
    f"has too few fields; {_FIELDS} are needed",
    "time cannot be read",
    "HTTP status cannot be read",
    "bytes sent cannot be read",
    "object size cannot be read",
    "total time cannot be read",
    "turn-around time cannot be read",
    "has no key",
)
_UNCLOSED, _FEW, _BAD_TIME, _BAD_STATUS, _BAD_SENT, _BAD_SIZE, _BAD_TOTAL, _BAD_TURN, _NO_KEY = range(1, 10)
_LEFT_OUT = (NO_OBJECT,)
_NOT_OBJECT = -1


@compiled
def _record(data, at, stop, fields, row):  # type: ignore[no-untyped-def]
    found = split(data, at, stop, SPACE, True, True, fields, _FIELDS)
    if found < _FIELDS:
        return _UNCLOSED if found < 0 else _FEW
    row.time_ns, row.status = clf_time(data, *of(fields, _TIME)), status(data, *of(fields, _STATUS))
    sent, size = number(data, *of(fields, _SENT)), number(data, *of(fields, _SIZE))
    if row.time_ns < 0 or row.status < -1:
        return _BAD_TIME if row.time_ns < 0 else _BAD_STATUS
    if sent < -1 or size < -1:
        return _BAD_SENT if sent < -1 else _BAD_SIZE
    total_ms, turn_ms = number(data, *of(fields, _TOTAL_MS)), number(data, *of(fields, _TURN_MS))
    if not -1 <= total_ms <= _LONGEST_MS or not -1 <= turn_ms <= _LONGEST_MS:
        return _BAD_TURN if -1 <= total_ms <= _LONGEST_MS else _BAD_TOTAL
    row.op = operation(data, *of(fields, _OPERATION), _OPERATIONS)
    if row.op < 0:
        return _NOT_OBJECT
    key, key_end = unless_dash(data, *of(fields, _KEY))
    if row.op == LIST:
        row.key_from, row.key_to = _prefix(data, *of(fields, _URI))
    elif key_end < key:
        return _NO_KEY
    else:
        row.key_from, row.key_to = resolved(data, key, key_end)
    row.latency_ns = total_ms * _MS if total_ms >= 0 else -1
    if turn_ms >= 0 and (row.op == GET or row.op == HEAD):
        row.first_byte_ns = turn_ms * _MS  # without a body to receive, all of it lies before the answer
    _set_volumes(row, sent, size)
    row.bucket_from, row.bucket_to = unless_dash(data, *of(fields, _BUCKET))
    row.client_from, row.client_to = unless_dash(data, *of(fields, _REMOTE))
    if row.status >= FIRST_ERROR:
        row.error_from, row.error_to = unless_dash(data, *of(fields, _ERROR))
        if row.error_to < row.error_from:
            row.error_from, row.error_to = error(0)
    return 0


@compiled
def _prefix(data, at, stop):  # type: ignore[no-untyped-def]
    """The bounds of the prefix that a LIST's request line (``GET /bucket?prefix=a HTTP/1.1``) asks for."""
    target = find(data, at, stop, SPACE) + 1
    target_end = find(data, target, stop, SPACE)
    if target_end < stop:
        at, stop = target, target_end
    stop = find(data, at, stop, HASH)
    return prefix(data, find(data, at, stop, QUESTION) + 1, stop)


@compiled
def _set_volumes(row, sent, size):  # type: ignore[no-untyped-def]
    """Set size, transfer and range, from the bytes of the answer and of the object."""
    if row.op == LIST:
        row.size_bytes = 0
    else:
        row.size_bytes = sent if size < 0 and row.op == GET else size
    row.transfer_bytes = max(sent, 0) if row.op == GET else (size if row.op == PUT else 0)
    if row.op == GET and row.status == 206:
        row.range_start_bytes, row.range_bytes = 0, sent


@compiled
def _records(text, at, size, rows, bounds):  # type: ignore[no-untyped-def]
    data, fields = pointer(text), pointer(bounds)
    line, kept, gone = 0, 0, 0
    while at < size:
        newline, stop = line_end(data, at, size)
        if stop > at:
            verdict = _record(data, at, stop, fields, begun(rows[kept]))
            if verdict:
                gone = rejected(rows, gone, line, verdict)
            else:
                kept += 1
        at, line = newline + 1, line + 1
    return kept, gone


def _recognises(head: Head) -> bool:
    return any(_LINE.match(line) for line in head.lines)


FORMAT = Format(
    "s3-access-log",
    "Amazon S3 server access log",
    True,
    _recognises,
    line_reader(_records, _FIELDS, _REFUSED, _LEFT_OUT),
)
