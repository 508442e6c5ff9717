"""Twitter's cache traces.

Layout: twitter/cache-trace README.md: ``timestamp,key,key size,value size,client,operation,TTL``, in seconds since the
start of the trace. Keys may contain commas. The size is that of the value, without the key; a get of size 0 is a miss,
so the size of its object is unknown. All operations that store a value are PUTs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from traces.readers.compiling import compiled, find, pointer
from traces.readers.drafts import begun, rejected
from traces.readers.formats import Format, Head
from traces.readers.kernels import (
    COMMA,
    decimal,
    digits,
    is_text,
    line_end,
    of,
    operation,
    operations,
    split_last,
    text,
)
from traces.readers.line_rows import line_reader
from traces.readers.records import NO_OBJECT
from traces.tables import DELETE, GET

CACHE_OPERATIONS: Mapping[str, str] = {
    "get": "GET",
    "gets": "GET",
    **dict.fromkeys(("set", "add", "replace", "cas", "append", "prepend", "incr", "decr"), "PUT"),
    "delete": "DELETE",
}
"""Operations of memcached (doc/protocol.txt), and those of an object store that they correspond to."""

_TIME_AND_KEY, _KEY_SIZE, _VALUE_SIZE, _CLIENT, _OPERATION, _TTL = range(6)
_FIELDS = 6

_LINE = re.compile(rf"\d+(?:\.\d+)?,.*,\d+,\d+,[^,]*,(?:{'|'.join(CACHE_OPERATIONS)}),\d+$")


_OPERATIONS, _NAME = operations(CACHE_OPERATIONS), text("timestamp")
_REFUSED = (f"has too few fields; {_FIELDS + 1} are needed", "time cannot be read", "value size cannot be read")
_FEW, _BAD_TIME, _BAD_SIZE = range(1, 4)
_LEFT_OUT = ("the names of the columns", NO_OBJECT)
_NAMES, _NOT_OBJECT = -1, -2


@compiled
def _record(data, at, stop, fields, row):  # type: ignore[no-untyped-def]
    found = split_last(data, at, stop, COMMA, fields, _FIELDS)
    when, key_end = of(fields, _TIME_AND_KEY)
    comma = find(data, when, key_end, COMMA)
    if found < _FIELDS or comma == key_end:
        return _FEW
    if is_text(data, when, comma, _NAME):
        return _NAMES
    row.time_ns, row.op = decimal(data, when, comma, 9), operation(data, *of(fields, _OPERATION), _OPERATIONS)
    if row.time_ns < 0 or row.op < 0:
        return _BAD_TIME if row.time_ns < 0 else _NOT_OBJECT
    size = digits(data, *of(fields, _VALUE_SIZE))
    if size < 0:
        return _BAD_SIZE
    if not (row.op == DELETE or (row.op == GET and size == 0)):
        row.size_bytes = size
    row.key_from, row.key_to = comma + 1, key_end
    client, client_end = of(fields, _CLIENT)
    if client_end > client:
        row.client_from, row.client_to = client, client_end
    return 0


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
    return sum(_LINE.match(line) is not None for line in lines) * 2 > len(lines)


FORMAT = Format(
    "twitter-cache-trace",
    "Twitter cache trace",
    False,
    _recognises,
    line_reader(_records, _FIELDS, _REFUSED, _LEFT_OUT),
)
