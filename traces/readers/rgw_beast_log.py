"""Access lines in the log of Ceph RADOS gateway, as its beast frontend writes them (debug_rgw_access at 1 or more).

Layout: ceph src/rgw/rgw_asio_frontend.cc, handle_connection. The time is when the request began, latencies are of a
coarse clock (steps of 4 ms at 250 Hz). Lines without a latency are those of releases before Pacific: their time is that
of the line, a request's end, and their bytes are those of the answer's body, where later ones count both bodies.
Buckets are taken from the path; the host's name is not logged. A copy looks like a PUT of its answer's few bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traces.readers.blocks import by_block
from traces.readers.columns import NO_OBJECT, durations, missing, numbers, unquoted, whole
from traces.readers.formats import Format, Head
from traces.readers.http_requests import RequestLines, asked, below_swift, errors, is_error, prefixes, statuses, volumes
from traces.readers.records import Parsed, Rows
from traces.readers.source import Lines
from traces.readers.spans import Fields, Mask, Spans, each_line
from traces.tables import LIST, PUT

_MARK = "beast: 0x"
_REMOTE, _TIME, _REQUEST, _STATUS, _BYTES, _REST = 1, 4, 5, 6, 7, 8
_LATENCY, _RANGE = "latency=", "bytes="
_LINE = re.compile(rb"beast: 0x[0-9a-f]+: \S+ - .* \[[^\]]+\] \"[A-Z]+ ")


def _parse(lines: Lines) -> Iterator[Parsed]:
    line, texts = each_line(lines)
    access = texts.partition(_MARK)[1]
    rows = Rows(line)
    if not access.there.all():
        rows.refuse(~access.there & ~_of_a_daemon(texts), "is no line of a gateway's log")
        rows.leave_out(~access.there, "not a line about access")
    fields = Fields.among(line, access, _REST + 1, quoted=True, bracketed=True)
    rows.refuse(fields.count < 0, "has a quotation mark or a bracket without its other half")
    rows.refuse(fields.count <= _REST, f"has too few fields; {_REST + 3} are needed")
    when = fields[_TIME]
    began = when.clf_ns()
    if (began < 0).any():
        began = np.maximum(began, when.iso_ns(lines.zone))
    time = numbers(rows, when, began, "time", null=None)
    status, moved = statuses(rows, fields[_STATUS]), whole(rows, fields[_BYTES], "bytes")
    rows.refuse(missing(time), "has no time")
    # What stands before these may hold quotation marks and blanks of a client's making.
    before, tail = access.partition(" ", last=True)
    timed = tail.begins_with(_LATENCY)
    taken = Spans(tail.data, tail.start, np.where(timed, tail.end, tail.start - 1)).within(len(_LATENCY), 1)
    latency = durations(rows, numbers(rows, taken, taken.decimals(9), "latency", null=None), "latency")
    request = RequestLines.of(fields[_REQUEST])
    bucket, key = below_swift(request.path).partition("/")
    op = asked(request.method, bucket, key, request.query)
    op = np.where(bucket.is_text("admin") | bucket.is_text("auth"), np.int8(-1), op)  # rgw_admin_entry, Swift's tokens
    rows.leave_out(op < 0, NO_OBJECT)
    failed = is_error(status)
    moved = pc.if_else(pa.array((op == PUT) & ~timed), None, moved)
    yield rows.parsed(
        time_ns=time,
        latency_ns=latency,
        op=op,
        bucket=unquoted(bucket.texts()),
        key=pc.coalesce(prefixes(request.query, op == LIST), unquoted(key.texts())),
        client=fields[_REMOTE].texts(null="-"),
        status=status,
        error=pc.if_else(failed, errors(status), None),
        **volumes(op, status, moved, start=_range_start(before)),
    )


def _range_start(before: Spans) -> pa.Array:
    """Where the range begins that the last field names, such as ``bytes=0-99``; null: there is none or from the end."""
    field = before.partition(" ", last=True)[1]
    first = field.within(before=len(_RANGE)).partition("-")[0].integers()
    return pa.array(first, mask=~field.begins_with(_RANGE) | (first < 0))


def _of_a_daemon(texts: Spans) -> Mask:
    """Which lines begin with a date, as those of Ceph, syslog and cephadm's containers do."""
    return texts.begins_with("debug ") | (texts.looks_like("0000-00-00") | texts.looks_like("??? ?? 00:00:00"))


def _recognises(head: Head) -> bool:
    return _LINE.search(head.data) is not None


FORMAT = Format("rgw-beast-log", "Ceph RADOS gateway log with access lines", True, _recognises, by_block(_parse))
