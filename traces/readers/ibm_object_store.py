"""IBM object store traces of SNIA's IOTTA repository (set 36305).

Layout: description of the traces at iotta.snia.org/traces/key-value, "time type object [size [begin end]]", one request
per line, separated by blanks; the time is in milliseconds since the start of the recording, `begin` and `end` are the
first and last byte read (``0 -1`` for an empty object). All requests of a file are for one bucket. A range that covers
the whole object is read as a GET without a range. The outcome of requests is not logged.
"""

from __future__ import annotations

import re

from traces.readers.compiling import compiled, pointer
from traces.readers.drafts import begun, rejected
from traces.readers.formats import Format, Head
from traces.readers.kernels import SPACE, begins, digits, is_text, line_end, of, operation, operations, split, text
from traces.readers.line_rows import line_reader
from traces.readers.records import NO_OBJECT
from traces.tables import GET

_TIME, _TYPE, _OBJECT, _SIZE, _BEGIN, _END = range(6)
_NEEDED, _FIELDS = 3, 6

_OPERATIONS = operations({f"REST.{op}.OBJECT": op for op in ("GET", "PUT", "HEAD", "DELETE")})
_REST, _BEFORE_ALL = text("REST."), text("-1")
_MS, _LATEST_MS = 10**6, (2**63 - 1) // 10**6

_LINE = re.compile(r"\d+ REST\.[A-Z_]+\.[A-Z_]+ [0-9A-Fa-f]+(?: \d+(?: \d+ -?\d+)?)? ?$")


_REFUSED = (
    f"has too few fields; {_NEEDED} are needed",
    "time cannot be read",
    "type of request cannot be read",
    "size cannot be read",
    "first byte cannot be read",
    "range cannot be read",
)
_FEW, _BAD_TIME, _BAD_TYPE, _BAD_SIZE, _BAD_BEGIN, _BAD_RANGE = range(1, 7)
_LEFT_OUT = (NO_OBJECT,)
_NOT_OBJECT = -1


@compiled
def _record(data, at, stop, fields, row):  # type: ignore[no-untyped-def]
    if split(data, at, stop, SPACE, False, False, fields, _FIELDS) < _NEEDED:
        return _FEW
    time_ms = digits(data, *of(fields, _TIME))
    if time_ms < 0 or time_ms > _LATEST_MS:
        return _BAD_TIME
    row.time_ns, row.op = time_ms * _MS, operation(data, *of(fields, _TYPE), _OPERATIONS)
    if row.op < 0:
        return _NOT_OBJECT if begins(data, *of(fields, _TYPE), _REST) else _BAD_TYPE
    row.size_bytes, first = _number(data, *of(fields, _SIZE)), _number(data, *of(fields, _BEGIN))
    if row.size_bytes < -1 or first < -1:
        return _BAD_SIZE if row.size_bytes < -1 else _BAD_BEGIN
    if first >= 0:
        last = digits(data, *of(fields, _END))
        empty = first == 0 and is_text(data, *of(fields, _END), _BEFORE_ALL)
        if last < first and not empty:
            return _BAD_RANGE
        whole = first == 0 and (row.size_bytes < 0 or last == row.size_bytes - 1)
        if row.op == GET and not whole:
            row.range_start_bytes, row.range_bytes = first, last - first + 1
    row.key_from, row.key_to = of(fields, _OBJECT)
    return 0


@compiled
def _number(data, at, stop):  # type: ignore[no-untyped-def]
    """A field's number; -1: it is missing or empty; -2: it holds none."""
    value = digits(data, at, stop)
    return value if value >= 0 or stop <= at else -2


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
    lines = head.lines
    return bool(lines) and sum(_LINE.match(line) is not None for line in lines) * 2 > len(lines)


FORMAT = Format(
    "ibm-object-store",
    "IBM object store traces (SNIA IOTTA)",
    False,
    _recognises,
    line_reader(_records, _FIELDS, _REFUSED, _LEFT_OUT),
)
