"""OpenStack Swift's proxy log, in its default layout, with or without what syslog puts before it.

Layout: swift/common/middleware/proxy_logging.py, doc/source/logs.rst (Swift 2.30). Fields are quoted as in addresses,
so that none holds a blank, and ``-`` stands for nothing or zero. Later releases log when the request began and ended;
in others the time is that of the line, the request's end, to the second. Where a range begins is not logged: it is
taken to begin at 0. A server-side copy by a PUT looks like the PUT of an empty object. A bucket's name is the
container's, without the account.
"""

from __future__ import annotations

import re

from traces.readers.compiling import compiled, find, pointer
from traces.readers.drafts import begun, rejected, resolved, unless_dash
from traces.readers.formats import Format, Head
from traces.readers.http_kernels import asked, prefix, set_answer, status
from traces.readers.kernels import (
    QUESTION,
    SLASH,
    SPACE,
    begins,
    decimal,
    is_dash,
    line_end,
    looks_like,
    number,
    of,
    seek,
    split,
    text,
    word,
    words,
)
from traces.readers.line_rows import line_reader
from traces.readers.records import LONGEST_NS, NO_OBJECT
from traces.readers.time_kernels import dated
from traces.tables import LIST, PUT

_CLIENT, _DATE, _METHOD, _PATH, _PROTOCOL, _STATUS, _RECEIVED, _SENT = 0, 2, 3, 4, 5, 6, 10, 11
_DURATION, _SOURCE, _START = 15, 16, 18
_NEEDED, _FIELDS = 16, 19
_TAG_BYTES = 160  # what syslog and the daemon put before a line is shorter

_CLIENTS_OWN = words(("-", "FP", "BD", "EA"))
"""Sources of requests that stand for a client's: its own, and the objects of a form, a bulk delete and an archive,
whose own request is not one on an object. Others are made by the proxy beside a client's (SLO: its segments)."""

_TAG, _DATED, _HTTP, _ARCHIVE = text(": "), text("00/???/0000/00/00/00"), text("HTTP/"), text("extract-archive=")
_ACCOUNTS, _SERVICES = words(("v1", "v1.0")), words(("auth", "info", "healthcheck", "endpoints"))
_LINE = re.compile(r"(?:^|: )\S+ \S+ \d\d/\w{3}/\d{4}/\d\d/\d\d/\d\d [A-Z]+ \S+ HTTP/\S+ \d{3} ")

_REFUSED = (
    "is no line of a proxy's log",
    f"has too few fields; {_NEEDED} are needed",
    "duration cannot be read",
    "start time cannot be read",
    "time cannot be read",
    "HTTP status cannot be read",
    "bytes received cannot be read",
    "bytes sent cannot be read",
    "duration is not a duration",
)
_NO_LINE, _FEW, _BAD_DURATION, _BAD_START, _BAD_TIME, _BAD_STATUS, _BAD_RECEIVED, _BAD_SENT, _LONG = range(1, 10)
_LEFT_OUT = ("not a line about access", "a request of the proxy's own", NO_OBJECT)
_NOT_ACCESS, _OWN, _NOT_OBJECT = -1, -2, -3


@compiled
def _record(data, at, stop, fields, row):  # type: ignore[no-untyped-def]
    begin = _behind_tag(data, at, min(stop, at + _TAG_BYTES))
    found = split(data, begin, stop, SPACE, False, False, fields, _FIELDS)
    if not looks_like(data, *of(fields, _DATE), _DATED) and not begins(data, *of(fields, _PROTOCOL), _HTTP):
        return _NO_LINE if begin == at else _NOT_ACCESS
    if found < _NEEDED:
        return _FEW
    refused = _set_times(data, fields, row)
    if refused:
        return refused
    row.status = status(data, *of(fields, _STATUS))
    received, sent = number(data, *of(fields, _RECEIVED)), number(data, *of(fields, _SENT))
    if row.status < -1 or received < -1 or sent < -1:
        return _BAD_STATUS if row.status < -1 else (_BAD_RECEIVED if received < -1 else _BAD_SENT)
    source, source_end = of(fields, _SOURCE)
    if source_end >= source and word(data, source, source_end, _CLIENTS_OWN) < 0:
        return _OWN
    if not _set_asked(data, fields, row):
        return _NOT_OBJECT
    if row.latency_ns > LONGEST_NS:
        return _LONG
    set_answer(row, max(received if row.op == PUT else sent, 0), 0)
    row.client_from, row.client_to = unless_dash(data, *of(fields, _CLIENT))
    return 0


@compiled
def _behind_tag(data, at, stop):  # type: ignore[no-untyped-def]
    """Where a line goes on behind its tag; without one, where it begins."""
    cut = seek(data, at, stop, _TAG)
    while cut < stop:
        at = cut + len(_TAG)
        cut = seek(data, at, stop, _TAG)
    return at


@compiled
def _set_times(data, fields, row):  # type: ignore[no-untyped-def]
    """Set time and latency; why they cannot be read."""
    row.latency_ns = decimal(data, *of(fields, _DURATION), 9)
    if row.latency_ns < 0 and not is_dash(data, *of(fields, _DURATION)):
        return _BAD_DURATION
    row.time_ns = decimal(data, *of(fields, _START), 9)
    if row.time_ns < 0:
        if not is_dash(data, *of(fields, _START)):
            return _BAD_START
        ended = dated(data, *of(fields, _DATE))
        if ended < 0:
            return _BAD_TIME
        row.time_ns = ended - max(row.latency_ns, 0)
    return 0


@compiled
def _set_asked(data, fields, row):  # type: ignore[no-untyped-def]
    """Set operation, bucket and key; whether there is a place for them in a Trace."""
    path, stop = resolved(data, *of(fields, _PATH))
    path_end = find(data, path, stop, QUESTION)
    query = path_end + 1
    bucket = _below_account(data, path, path_end)
    bucket_end = find(data, bucket, path_end, SLASH)
    row.op = asked(data, *of(fields, _METHOD), bucket_end - bucket, path_end - bucket_end - 1, query, stop)
    if row.op < 0 or (begins(data, query, stop, _ARCHIVE) and is_dash(data, *of(fields, _SOURCE))):
        return False
    row.bucket_from, row.bucket_to = resolved(data, bucket, bucket_end)
    row.key_from, row.key_to = prefix(data, query, stop) if row.op == LIST else resolved(data, bucket_end + 1, path_end)
    return True


@compiled
def _below_account(data, at, stop):  # type: ignore[no-untyped-def]
    """Where the container begins in paths such as ``/v1/account/container/object``, or ``/bucket/key`` of the S3 API;
    the path's end: there is none."""
    at = min(at + 1, stop)
    cut = find(data, at, stop, SLASH)
    if word(data, at, cut, _SERVICES) >= 0:
        return stop
    return min(find(data, cut + 1, stop, SLASH) + 1, stop) if word(data, at, cut, _ACCOUNTS) >= 0 else at


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
    return any(_LINE.search(line) for line in head.data.decode("utf-8", "replace").splitlines())


FORMAT = Format(
    "swift-proxy-log",
    "OpenStack Swift proxy log",
    True,
    _recognises,
    line_reader(_records, _FIELDS, _REFUSED, _LEFT_OUT),
)
