"""IBM object store traces of SNIA's IOTTA repository (set 36305).

Layout: description of the traces at iotta.snia.org/traces/key-value, "time type object [size [begin end]]", one request
per line, separated by blanks; the time is in milliseconds since the start of the recording, `begin` and `end` are the
first and last byte read (``0 -1`` for an empty object). All requests of a file are for one bucket. A range that covers
the whole object is read as a GET without a range. The outcome of requests is not logged.
"""

from __future__ import annotations

import re

import polars as pl

from traces.operations import GET
from traces.readers.expressions import decimal, matches, number, operation
from traces.readers.formats import Format, Head, of_lines
from traces.readers.layout import Layout, if_invalid, refuse

_LINE = re.compile(r"\d+ REST\.[A-Z_]+\.[A-Z_]+ [0-9A-Fa-f]+(?: \d+(?: \d+ -?\d+)?)? ?$")
_OPERATIONS = {f"REST.{op}.OBJECT": op for op in ("GET", "PUT", "HEAD", "DELETE")}

_size, _first, _last = pl.col("size_"), pl.col("first_"), pl.col("last").cast(pl.Int64, strict=False)
_empty = (_first == 0) & (_last == -1)
_part = (pl.col("op") == GET) & ~((_first == 0) & (_size.is_null() | (_last == _size - 1)))

LAYOUT = Layout(
    divide=matches(
        r"^(?<time>[^ ]*) (?<type>[^ ]*) (?<object>[^ ]+)"
        r"(?: (?<size>[^ ]*))?(?: (?<first>[^ ]*))?(?: (?<last>[^ ]*))?"
    ),
    steps=(
        {
            "time_ns": decimal(pl.col("time"), 0) * 10**6,
            "op": operation(pl.col("type"), _OPERATIONS),
            "size_": number(pl.col("size")),
            "first_": number(pl.col("first")),
        },
    ),
    verdicts=(
        refuse(pl.col("object").is_null(), "has too few fields; 3 are needed"),
        refuse(number(pl.col("time")).is_null() | (number(pl.col("time")) > 2**63 // 10**6), "time cannot be read"),
        refuse(~pl.col("type").str.starts_with("REST."), "type of request cannot be read"),
        *if_invalid({"size_": "size", "first_": "first"}),
        refuse(_first.is_not_null() & ((_last < _first) | _last.is_null()) & ~_empty, "range cannot be read"),
    ),
    columns={
        "time_ns": pl.col("time_ns"),
        "op": pl.col("op"),
        "key": pl.col("object"),
        "size_bytes": _size,
        "range_start_bytes": pl.when(_part).then(_first),
        "range_bytes": pl.when(_part).then(_last - _first + 1),
    },
)  # fmt: skip


def _recognises(head: Head) -> bool:
    lines = head.lines
    return bool(lines) and sum(_LINE.match(line) is not None for line in lines) * 2 > len(lines)


FORMAT = Format("ibm-object-store", "IBM object store traces (SNIA IOTTA)", False, _recognises, of_lines(LAYOUT))
