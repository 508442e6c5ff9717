"""Cache traces of the layout ``time id size``, as webcachesim and AdaptSize read them.

Layout: sunnyszy/lrb README.md and dasebe/AdaptSize README.md: three columns or more (features of the object), separated
by blanks; the time is in seconds, or only counts the requests. Each request is a GET of the whole object.
"""

from __future__ import annotations

import re

import polars as pl

from traces.operations import GET
from traces.readers.expressions import decimal, matches, number
from traces.readers.formats import Format, Head, of_lines
from traces.readers.layout import Layout, refuse

_LINE = re.compile(r"\d+(?:\.\d+)?[ \t]+\d+[ \t]+\d+(?:[ \t]+\d+)*[ \t]*$")

LAYOUT = Layout(
    divide=matches(r"^\s*(?<time>[^\s]+)\s+(?<key>[^\s]+)\s+(?<size>[^\s]+)"),
    steps=({"time_ns": decimal(pl.col("time"), 9), "size_bytes": number(pl.col("size"))},),
    verdicts=(
        refuse(pl.col("time").is_null(), "has too few fields; 3 are needed"),
        refuse(pl.col("time_ns").is_null(), "time cannot be read"),
        refuse(pl.col("size_bytes").is_null(), "size cannot be read"),
    ),
    columns={
        "time_ns": pl.col("time_ns"),
        "op": pl.lit(GET, pl.Int8),
        "key": pl.col("key"),
        "size_bytes": pl.col("size_bytes"),
    },
)


def _recognises(head: Head) -> bool:
    lines = head.lines
    if not lines or not all(_LINE.match(line) for line in lines):
        return False
    times = [float(line.split()[0]) for line in lines]
    return times == sorted(times)


FORMAT = Format("time-id-size", "cache trace of time, id and size (webcachesim)", False, _recognises, of_lines(LAYOUT))
