"""OpenStack Swift's proxy log, in its default layout, with or without what syslog puts before it.

Layout: swift/common/middleware/proxy_logging.py, doc/source/logs.rst (Swift 2.30). Fields are quoted as in addresses,
so that none holds a blank, and ``-`` stands for nothing or zero. Later releases log when the request began and ended;
in others the time is that of the line, the request's end, to the second. Where a range begins is not logged: it is
taken to begin at 0. A server-side copy by a PUT looks like the PUT of an empty object. A bucket's name is the
container's, without the account.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traces.readers.blocks import by_block
from traces.readers.columns import NO_OBJECT, by_value, durations, missing, numbers, unquoted, whole
from traces.readers.formats import Format, Head
from traces.readers.http_requests import asked, errors, is_error, prefixes, statuses, volumes
from traces.readers.records import Parsed, Rows
from traces.readers.source import Lines
from traces.readers.spans import Fields, Spans, each_line
from traces.tables import LIST, PUT

_CLIENT, _DATE, _METHOD, _PATH, _PROTOCOL, _STATUS, _RECEIVED, _SENT = 0, 2, 3, 4, 5, 6, 10, 11
_DURATION, _SOURCE, _START = 15, 16, 18
_NEEDED, _FIELDS = 16, 19
_TAG_BYTES = 160  # what syslog and the daemon put before a line is shorter

_CLIENTS_OWN = ("-", "FP", "BD", "EA")
"""Sources of requests that stand for a client's: its own, and the objects of a form, a bulk delete and an archive,
whose own request is not one on an object. Others are made by the proxy beside a client's (SLO: its segments)."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LINE = re.compile(r"(?:^|: )\S+ \S+ \d\d/\w{3}/\d{4}/\d\d/\d\d/\d\d [A-Z]+ \S+ HTTP/\S+ \d{3} ")


def _parse(lines: Lines) -> Iterator[Parsed]:
    line, texts = each_line(lines)
    head = Spans(texts.data, texts.start, np.minimum(texts.end, texts.start + _TAG_BYTES))
    before, tagged = head.partition(": ", last=True)
    start = np.where(tagged.there, tagged.start, before.start)
    fields = Fields.among(line, Spans(texts.data, start, texts.end), _FIELDS)
    rows = Rows(line)
    access = fields[_DATE].looks_like("00/???/0000/00/00/00") | fields[_PROTOCOL].begins_with("HTTP/")
    rows.refuse(~access & ~tagged.there, "is no line of a proxy's log")
    rows.leave_out(~access, "not a line about access")
    rows.refuse(fields.count < _NEEDED, f"has too few fields; {_NEEDED} are needed")
    latency = numbers(rows, fields[_DURATION], fields[_DURATION].decimals(9), "duration")
    began = numbers(rows, fields[_START], fields[_START].decimals(9), "start time")
    if began.null_count:
        ended = by_value(pc.if_else(pc.is_null(began), fields[_DATE].texts(), None), _date_ns, pa.int64())
        began = pc.coalesce(began, pc.subtract(ended, pc.fill_null(latency, 0)))
    rows.refuse(missing(began), "time cannot be read")
    status = statuses(rows, fields[_STATUS])
    received, sent = (
        pc.fill_null(whole(rows, fields[field], what), 0)
        for field, what in ((_RECEIVED, "bytes received"), (_SENT, "bytes sent"))
    )
    source = fields[_SOURCE]
    asked_for = ~source.there
    for name in _CLIENTS_OWN:
        asked_for |= source.is_text(name)
    rows.leave_out(~asked_for, "a request of the proxy's own")
    path, query = Spans.of(unquoted(fields[_PATH].texts())).partition("?")
    bucket, key = _below_account(path)
    op = asked(fields[_METHOD], bucket, key, query)
    rows.leave_out((op < 0) | (query.begins_with("extract-archive=") & source.is_text("-")), NO_OBJECT)
    failed = is_error(status)
    yield rows.parsed(
        time_ns=began,
        latency_ns=durations(rows, latency, "duration"),
        op=op,
        bucket=unquoted(bucket.texts()),
        key=pc.coalesce(prefixes(query, op == LIST), unquoted(key.texts())),
        client=fields[_CLIENT].texts(null="-"),
        status=status,
        error=pc.if_else(failed, errors(status), None),
        **volumes(op, status, pc.if_else(pa.array(op == PUT), received, sent)),
    )


def _below_account(path: Spans) -> tuple[Spans, Spans]:
    """Container and object of paths such as ``/v1/account/container/object``, or ``/bucket/key`` of the S3 API."""
    whole = path.within(before=1)
    first, rest = whole.partition("/")
    native = first.is_text("v1") | first.is_text("v1.0")
    below = rest.partition("/")[1]
    service = first.is_text("auth") | first.is_text("info") | first.is_text("healthcheck") | first.is_text("endpoints")
    start, end = np.where(native, below.start, whole.start), np.where(native, below.end, whole.end)
    return Spans(path.data, start, np.where(service, start - 1, end)).partition("/")


def _date_ns(date: str) -> int | None:
    """ns since 1970 of ``21/Nov/2026/10/31/20``, which is UTC."""
    try:
        day, month, *others = date.split("/")
        year, hour, minute, second = map(int, others)
        return (
            int(datetime(year, _MONTHS.index(month) + 1, int(day), hour, minute, second, tzinfo=UTC).timestamp())
            * 10**9
        )
    except ValueError:
        return None


def _recognises(head: Head) -> bool:
    return any(_LINE.search(line) for line in head.data.decode("utf-8", "replace").splitlines())


FORMAT = Format("swift-proxy-log", "OpenStack Swift proxy log", True, _recognises, by_block(_parse))
