"""Twitter's cache traces.

Layout: twitter/cache-trace README.md: ``timestamp,key,key size,value size,client,operation,TTL``, seconds from the
beginning of the trace. A key may hold commas. The size is that of the value, without the key; a get of the size 0 found
nothing, so its object's size is not known. All that stores a value is a PUT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from traces.readers.blocks import by_block
from traces.readers.cache_operations import CACHE_OPERATIONS
from traces.readers.columns import NO_OBJECT, operations, whole
from traces.readers.formats import Format, Head
from traces.readers.records import Parsed, Rows
from traces.readers.source import Lines
from traces.readers.spans import Fields
from traces.tables import DELETE, GET

_TIME_AND_KEY, _KEY_SIZE, _VALUE_SIZE, _CLIENT, _OPERATION, _TTL = range(6)
_FIELDS = 6

_LINE = re.compile(rf"\d+(?:\.\d+)?,.*,\d+,\d+,[^,]*,(?:{'|'.join(CACHE_OPERATIONS)}),\d+$")


def _parse(lines: Lines) -> Iterator[Parsed]:
    fields = Fields.last_of(lines, _FIELDS, ",")
    rows = Rows(fields.line)
    when, key = fields[_TIME_AND_KEY].partition(",")
    rows.refuse((fields.count < _FIELDS) | ~key.there, f"has too few fields; {_FIELDS + 1} are needed")
    rows.leave_out(when.is_text("timestamp"), "the names of the columns")
    time = when.decimals(9)
    rows.refuse(time < 0, "time cannot be read")
    op = operations(fields[_OPERATION], CACHE_OPERATIONS)
    rows.leave_out(op < 0, NO_OBJECT)
    size = whole(rows, fields[_VALUE_SIZE], "value size", null=None)
    without = (op == DELETE) | (op == GET) & pc.equal(size, 0).fill_null(False).to_numpy(zero_copy_only=False)
    yield rows.parsed(
        time_ns=time,
        op=op,
        key=key.texts(),
        size_bytes=pc.if_else(pa.array(without), None, size),
        client=fields[_CLIENT].texts(null=""),
    )


def _recognises(head: Head) -> bool:
    lines = head.lines
    return sum(_LINE.match(line) is not None for line in lines) * 2 > len(lines)


FORMAT = Format("twitter-cache-trace", "Twitter cache trace", False, _recognises, by_block(_parse))
