"""MinIO's request trace as text, as ``mc admin trace`` prints it, also behind a file name of ``grep``.

Layout: minio/mc cmd/admin-trace.go, shortTraceMsg.String. Times are those of arrival, without a zone; durations are
Go's, rounded to microseconds; sizes are rounded to two or three digits by mc, and those of a request include its
header. A path is as in the JSON form. What is not a request to the S3 API is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import polars as pl

from traces.readers.expressions import amount, go_duration, matches, number
from traces.readers.formats import Format, Head, of_lines
from traces.readers.http_requests import http_status
from traces.readers.layout import Divide, Layout, RowVerdict, leave_out, refuse
from traces.readers.stores import minio_request as minio
from traces.readers.stores import minio_trace

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.:]\d{3}"
DURATION = r"[0-9.hmnsuµμ]+"
AMOUNT = "[0-9.]+ [A-Za-z]+"

_ROUNDED = 0.05  # such as 10 MiB, of 9.5 to 10.5

_PATTERN = (
    rf"(?:^|:)(?<time>{STAMP}) \[(?<code>\d+)[^\]]*\] (?<api>[A-Za-z0-9.]+) (?<host>[^ /]*)/(?<path>.*?)"
    rf"(?:\?(?<query>[^ ]*))? +(?<client>[^ ]+) +(?<duration>{DURATION}) +(?:⇣ +(?<first>{DURATION}) +)?"
    rf"↑ (?<received>{AMOUNT}) ↓ (?<sent>{AMOUNT}) *$"
)
_OTHER = rf"(?:^|:){STAMP} \[[A-Z-]+\] "
_LINE = re.compile(rf"(?:^|:){STAMP} \[\d+ [^\]]*\] [a-z0-9]+\.[A-Za-z0-9]+ .* ↑ .* ↓ ")


def as_in_json(request: Mapping[str, pl.Expr], response: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    """Return the columns of a `minio_trace.LAYOUT` from the texts of an entry.

    The texts are ``time``, ``query``, ``code``, ``duration``, ``first`` (to the first byte), ``received`` and ``sent``.

    Args:
        request: texts of header fields of the request, by name; missing ones were not logged.
        response: the same of the response.
    """

    def headers(names: Iterable[str], found: Mapping[str, pl.Expr]) -> pl.Expr:
        return pl.struct(found.get(name, pl.lit(None, pl.String)).alias(name) for name in names).alias("headers")

    sent = amount(pl.col("sent"))
    length = number(response.get("Content-Length", pl.lit(None, pl.String)))
    exact = pl.when((length - sent).abs() <= _ROUNDED * length).then(length)  # else the response was broken off
    return {
        "time": pl.col("time").str.replace(r":(\d{3})$", ".${1}"),
        "statusCode": http_status(pl.col("code")).cast(pl.Int64),
        "duration": go_duration(pl.col("duration")),
        "callStats": pl.struct(
            rx=amount(pl.col("received")),
            tx=pl.coalesce(exact, sent),
            duration=pl.lit(None, pl.Int64),
            timeToFirstByte=go_duration(pl.col("first")),
        ),
        "request": pl.struct(pl.lit(None, pl.String).alias("rawQuery"), headers(minio.REQUEST_NAMES, request)),
        "response": pl.struct(pl.lit(None, pl.Int64).alias("statusCode"), headers(minio.RESPONSE_NAMES, response)),
    }


def layout_of(divide: Divide, *verdicts: RowVerdict) -> Layout:
    """Return the layout of entries that are divided into the columns of `as_in_json`, ``api``, ``path``, ``client``."""
    unread = refuse(pl.col("duration").is_null() & pl.col("api").str.starts_with("s3."), "duration cannot be read")
    return replace(minio_trace.LAYOUT, divide=divide, verdicts=(*verdicts, *minio_trace.LAYOUT.verdicts, unread))


_divide = matches(_PATTERN)
_unread = pl.col("api").is_null()
LAYOUT = layout_of(
    lambda lines: _divide(lines).with_columns(**as_in_json({}, {})),
    leave_out(_unread & pl.col("text").str.contains(_OTHER), minio_trace.NOT_S3),
    refuse(_unread, "is no line of mc admin trace"),
)


def _recognises(head: Head) -> bool:
    return any(_LINE.search(line) for line in head.lines)


FORMAT = Format("minio-trace-text", "MinIO request trace as text (mc admin trace)", True, _recognises, of_lines(LAYOUT))
