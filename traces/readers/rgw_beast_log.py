"""Access lines in the log of Ceph RADOS gateway, as its beast frontend writes them (debug_rgw_access at 1 or more).

Layout: ceph src/rgw/rgw_asio_frontend.cc, handle_connection. The time is when the request began, latencies are of a
coarse clock (steps of 4 ms at 250 Hz). Lines without a latency are those of releases before Pacific (ceph pull requests
33083, 37642): their time is that of the line, a request's end, and of Nautilus it names no zone. The bytes are those of
both bodies. A copy looks like a PUT of its answer's few bytes.

Buckets are taken from the path, as the host's name is not logged. Where that names the bucket, a key's first part is
taken for it; of a key of one part a GET is a listing, and all else is left out. The operations log tells.
"""

from __future__ import annotations

import re

import numpy as np

from traces.readers.compiling import compiled, find, pointer
from traces.readers.drafts import BEGIN, begun, rejected, resolved, unless_dash
from traces.readers.formats import Format, Head
from traces.readers.http_kernels import asked, below_swift, prefix, set_answer, status, target
from traces.readers.kernels import (
    DASH,
    SLASH,
    SPACE,
    begins,
    decimal,
    digits,
    find_last,
    is_text,
    line_end,
    looks_like,
    number,
    of,
    seek,
    split,
    text,
)
from traces.readers.line_rows import line_reader
from traces.readers.records import LONGEST_NS, NO_OBJECT
from traces.readers.time_kernels import clf_time, iso_time
from traces.tables import LIST

_REMOTE, _TIME, _REQUEST, _STATUS, _BYTES, _REST = 1, 4, 5, 6, 7, 8
_MARK, _LATENCY, _RANGE = text("beast: 0x"), text("latency="), text("bytes=")
_DAEMON = tuple(text(begin) for begin in ("debug ", "0000-00-00", "??? ?? 00:00:00"))
_NAUTILUS, _E, _S = text("0000-00-00 00:00:00."), np.uint8(ord("e")), np.uint8(ord("s"))
_OTHERS = tuple(text(name) for name in ("admin", "auth"))  # rgw_admin_entry, Swift's tokens
_LINE = re.compile(rb"beast: 0x[0-9a-f]+: \S+ - .* \[[^\]]+\] \"[A-Z]+ ")

_REFUSED = (
    "is no line of a gateway's log",
    "has a quotation mark or a bracket without its other half",
    f"has too few fields; {_REST + 3} are needed",
    "time cannot be read",
    "HTTP status cannot be read",
    "bytes cannot be read",
    "latency cannot be read",
    "latency is not a duration",
)
_NO_LINE, _UNCLOSED, _FEW, _BAD_TIME, _BAD_STATUS, _BAD_BYTES, _BAD_LATENCY, _LONG_LATENCY = range(1, 9)
_LEFT_OUT = ("not a line about access", NO_OBJECT)
_NOT_ACCESS, _NOT_OBJECT = -1, -2


@compiled
def _of_a_daemon(data, at, stop):  # type: ignore[no-untyped-def]
    """Whether a line begins with a date, as those of Ceph, syslog and cephadm's containers do."""
    found = False
    for pattern in _DAEMON:
        found = found or looks_like(data, at, stop, pattern)
    return found


@compiled
def _record(data, at, stop, fields, row):  # type: ignore[no-untyped-def]
    access = seek(data, at, stop, _MARK)
    if access == stop:
        return _NOT_ACCESS if _of_a_daemon(data, at, stop) else _NO_LINE
    access += len(_MARK)
    found = split(data, access, stop, SPACE, True, True, fields, _REST + 1)
    if found <= _REST:
        return _UNCLOSED if found < 0 else _FEW
    began, local = clf_time(data, *of(fields, _TIME)), False
    if began < 0:
        began, local = iso_time(data, *of(fields, _TIME))
    if began < 0:
        began, local = _nautilus_time(data, *of(fields, _TIME)), True
    row.time_ns, row.local = began, BEGIN if local else 0
    row.status, moved = status(data, *of(fields, _STATUS)), number(data, *of(fields, _BYTES))
    if began < 0 or row.status < -1 or moved < -1:
        return _BAD_TIME if began < 0 else (_BAD_STATUS if row.status < -1 else _BAD_BYTES)
    # What stands before these may hold quotation marks and blanks of a client's making.
    tail = find_last(data, access, stop, SPACE) + 1
    timed = begins(data, tail, stop, _LATENCY)
    if timed and stop - 1 >= tail + len(_LATENCY):
        row.latency_ns = decimal(data, tail + len(_LATENCY), stop - 1, 9)
        if row.latency_ns < 0 or row.latency_ns > LONGEST_NS:
            return _BAD_LATENCY if row.latency_ns < 0 else _LONG_LATENCY
    start = _range_start(data, access, tail - 1 if timed else stop)
    if not _set_asked(data, *of(fields, _REQUEST), row):
        return _NOT_OBJECT
    set_answer(row, moved, start)
    row.client_from, row.client_to = unless_dash(data, *of(fields, _REMOTE))
    return 0


@compiled
def _nautilus_time(data, at, stop):  # type: ignore[no-untyped-def]
    """ns since 1970, taken for UTC, of ``2020-03-16 10:12:34.0.123456s``; -1: no such.

    Up to Nautilus, src/common/ceph_time.cc prints what is above whole seconds as a duration, padded with zeros to six
    places and, below 100 us, with an exponent: ``.000000s``, ``.00.012s``, ``.3.7e-05s``.
    """
    if not looks_like(data, at, stop, _NAUTILUS) or data[stop - 1] != _S:
        return -1
    at += len(_NAUTILUS)
    exponent = find(data, at, stop - 1, _E)
    whole, part = iso_time(data, at - len(_NAUTILUS), at - 1)[0], decimal(data, at, exponent, 9)
    if exponent < stop - 1:
        places = digits(data, exponent + 2, stop - 1)
        if data[exponent + 1] != DASH or not 0 < places < 10:
            return -1
        for _ in range(places):
            part //= 10
    return whole + part if whole >= 0 and 0 <= part < 1_000_000_000 else -1


@compiled
def _set_asked(data, at, stop, row):  # type: ignore[no-untyped-def]
    """Set operation, bucket and key that a request's line names; whether there is a place for it in a Trace."""
    method_end = find(data, at, stop, SPACE)
    path, path_end, query_end = target(data, at, stop)
    bucket = below_swift(data, path, path_end)
    bucket_end = find(data, bucket, path_end, SLASH)
    key, query = bucket_end + 1, path_end + 1
    row.op = asked(data, at, method_end, bucket_end - bucket, path_end - key, query, query_end)
    for name in _OTHERS:
        if is_text(data, bucket, bucket_end, name):
            return False
    row.bucket_from, row.bucket_to = resolved(data, bucket, bucket_end)
    row.key_from, row.key_to = prefix(data, query, query_end) if row.op == LIST else resolved(data, key, path_end)
    return row.op >= 0


@compiled
def _range_start(data, at, stop):  # type: ignore[no-untyped-def]
    """Where the range begins that the last field names, such as ``bytes=0-99``; -1: there is none or from the end."""
    at = find_last(data, at, stop, SPACE) + 1
    if not begins(data, at, stop, _RANGE):
        return -1
    at += len(_RANGE)
    return digits(data, at, find(data, at, stop, DASH))


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
    return _LINE.search(head.data) is not None


FORMAT = Format(
    "rgw-beast-log",
    "Ceph RADOS gateway log with access lines",
    True,
    _recognises,
    line_reader(_records, _REST + 1, _REFUSED, _LEFT_OUT),
)
