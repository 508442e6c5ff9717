"""Twitter's cache traces.

Layout: twitter/cache-trace README.md: ``timestamp,key,key size,value size,client,operation,TTL``, in seconds since the
start of the trace. Keys may contain commas. The size is that of the value, without the key; a get of size 0 is a miss,
so the size of its object is unknown. All operations that store a value are PUTs.
"""

from __future__ import annotations

import re

import polars as pl

from traces.operations import DELETE, GET
from traces.readers.expressions import decimal, matches, number, operation
from traces.readers.formats import Format, Head, of_lines
from traces.readers.layout import Layout, leave_out, refuse
from traces.readers.operations import CACHE_OPERATIONS
from traces.readers.records import NO_OBJECT

_LINE = re.compile(rf"\d+(?:\.\d+)?,.*,\d+,\d+,[^,]*,(?:{'|'.join(CACHE_OPERATIONS)}),\d+$")

_op, _size = pl.col("op"), pl.col("size_")

LAYOUT = Layout(
    divide=matches(
        "^(?<time>[^,]*),(?<key>.*),(?<key_size>[^,]*),(?<size>[^,]*),(?<client>[^,]*),(?<verb>[^,]*),(?<ttl>[^,]*)$"
    ),
    steps=(
        {
            "time_ns": decimal(pl.col("time"), 9),
            "op": operation(pl.col("verb"), CACHE_OPERATIONS),
            "size_": number(pl.col("size")),
        },
    ),
    verdicts=(
        refuse(pl.col("time").is_null(), "has too few fields; 7 are needed"),
        leave_out(pl.col("time") == "timestamp", "the names of the columns"),
        refuse(pl.col("time_ns").is_null(), "time cannot be read"),
        leave_out(_op.is_null(), NO_OBJECT),
        refuse(_size.is_null(), "value size cannot be read"),
    ),
    columns={
        "time_ns": pl.col("time_ns"),
        "op": _op,
        "key": pl.col("key"),
        "size_bytes": pl.when(~((_op == DELETE) | ((_op == GET) & (_size == 0)))).then(_size),
        "client": pl.col("client").replace("", None),
    },
)


def _recognises(head: Head) -> bool:
    lines = head.lines
    return sum(_LINE.match(line) is not None for line in lines) * 2 > len(lines)


FORMAT = Format("twitter-cache-trace", "Twitter cache trace", False, _recognises, of_lines(LAYOUT))
