"""Amazon S3 server access logs.

Layout: "Amazon S3 server access log format" in the S3 user guide (LogFormat). One line a request; the time is that of
its arrival, to the second; durations are whole milliseconds. Fields are appended over the years. Where a range begins
is not logged: it is taken to begin at 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traces.readers.blocks import by_block
from traces.readers.columns import by_value, missing, numbers, operations, unquoted, whole
from traces.readers.formats import Format, Head
from traces.readers.http_requests import is_error, prefix
from traces.readers.records import Parsed, Rows
from traces.readers.source import Lines
from traces.readers.spans import Fields
from traces.tables import GET, HEAD, LIST, PUT

_BUCKET, _TIME, _REMOTE, _OPERATION, _KEY, _URI, _STATUS, _ERROR, _SENT, _SIZE, _TOTAL_MS, _TURN_MS = (
    *(1, 2, 3, 6, 7, 8, 9),
    *(10, 11, 12, 13, 14),
)
_FIELDS = 15

_OPERATIONS = {f"{way}.{op}.OBJECT": op for way in ("REST", "WEBSITE") for op in ("GET", "PUT", "HEAD", "DELETE")} | {
    "REST.GET.BUCKET": "LIST"
}
_LINE = re.compile(r"\S+ \S+ \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] \S+ \S+ \S+ (REST|WEBSITE|BATCH|S3)\.")


def _prefix(uri: str) -> str:
    """The prefix that a LIST's request line (``GET /bucket?prefix=a HTTP/1.1``) asks for."""
    target = uri.split(" ")[1] if uri.count(" ") >= 2 else uri
    return prefix(urlsplit(target).query)


def _parse(lines: Lines) -> Iterator[Parsed]:
    fields = Fields.of(lines, _FIELDS, quoted=True, bracketed=True)
    rows = Rows(fields.line)
    rows.refuse(fields.count < 0, "has a quotation mark or a bracket without its other half")
    rows.refuse(fields.count < _FIELDS, f"has too few fields; {_FIELDS} are needed")
    time = numbers(rows, fields[_TIME], fields[_TIME].clf_ns(), "time", null=None)
    status, sent = whole(rows, fields[_STATUS], "HTTP status"), whole(rows, fields[_SENT], "bytes sent")
    size, total = whole(rows, fields[_SIZE], "object size"), whole(rows, fields[_TOTAL_MS], "total time")
    turn = whole(rows, fields[_TURN_MS], "turn-around time")
    op = operations(fields[_OPERATION], _OPERATIONS)
    rows.leave_out(op < 0, "not an operation on an object or a listing")
    key = unquoted(fields[_KEY].texts(null="-"))
    lists, gets, puts = (pa.array(op == code) for code in (LIST, GET, PUT))
    if (op == LIST).any():
        asked = fields[_URI].where(op == LIST).texts()
        key = pc.if_else(lists, by_value(asked, _prefix, pa.string()), key)
    rows.refuse(missing(key), "has no key")
    ranged = pc.and_(gets, pc.fill_null(pc.equal(status, 206), False))
    failed = is_error(status)
    yield rows.parsed(
        time_ns=time,
        latency_ns=pc.multiply(total, 10**6),
        # Without a body to receive, all the turn-around time lies before the answer.
        first_byte_ns=pc.if_else(pa.array(np.isin(op, (GET, HEAD))), pc.multiply(turn, 10**6), None),
        op=op,
        bucket=fields[_BUCKET].texts(null="-"),
        key=key,
        size_bytes=pc.if_else(pc.invert(lists), pc.coalesce(size, pc.if_else(gets, sent, None)), 0),
        transfer_bytes=pc.if_else(gets, pc.fill_null(sent, 0), pc.if_else(puts, size, 0)),
        range_start_bytes=pc.if_else(ranged, 0, None),
        range_bytes=pc.if_else(ranged, sent, None),
        client=fields[_REMOTE].texts(null="-"),
        status=status,
        error=pc.if_else(failed, pc.fill_null(fields[_ERROR].texts(null="-"), "error"), None),
    )


def _recognises(head: Head) -> bool:
    return any(_LINE.match(line) for line in head.lines)


FORMAT = Format("s3-access-log", "Amazon S3 server access log", True, _recognises, by_block(_parse))
