"""MinIO's request trace as text, as ``mc admin trace`` prints it, also behind a file name of ``grep``.

Layout: minio/mc cmd/admin-trace.go, shortTraceMsg.String. Times are those of arrival, without a zone; durations are
Go's, rounded to microseconds; sizes are rounded to two or three digits by mc, and those of a request include its
header. A path has no escapes, its query has. What is not a request to the S3 API is left out, and so is what ``-v``
prints.
"""

from __future__ import annotations

import re

import polars as pl

from traces.operations import GET, LIST, PUT
from traces.readers.expressions import amount, go_duration, iso_time, matches, operation
from traces.readers.formats import Format, Head, of_lines
from traces.readers.http_requests import error_of, http_status, is_error, prefix, volumes, without_body
from traces.readers.layout import Layout, leave_out, refuse
from traces.readers.records import NO_OBJECT, NO_OBJECT_NAMED, SEVERAL_OBJECTS
from traces.readers.stores import minio_request as minio

_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.:]\d{3}"
_DURATION = r"[0-9.hmnsuµμ]+"
_PATTERN = (
    rf"(?:^|:)(?<time>{_STAMP}) \[(?<code>\d+)[^\]]*\] (?<api>[A-Za-z0-9.]+) (?<host>[^ /]*)/(?<path>.*?)"
    rf"(?:\?(?<query>[^ ]*))? +(?<client>[^ ]+) +(?<duration>{_DURATION}) +(?:⇣ +(?<first>{_DURATION}) +)?"
    r"↑ (?<received>[0-9.]+ [A-Za-z]+) ↓ (?<sent>[0-9.]+ [A-Za-z]+) *$"
)
_OTHER = rf"(?:^|:){_STAMP} \[[A-Z-]+\] "
_VERBOSE = r"\[(?:REQUEST|RESPONSE) ?[^\]]*\] "
_LINE = re.compile(rf"(?:^|:){_STAMP} \[\d+ [^\]]*\] [a-z0-9]+\.[A-Za-z0-9]+ .* ↑ .* ↓ ")

_op, _status, _key = pl.col("op"), pl.col("status"), pl.col("key")
_handler, _sent = pl.col("handler"), pl.col("sent_")
_place = pl.col("path").str.splitn("/", 2).struct
_copied = _handler.is_in(minio.COPIES)

LAYOUT = Layout(
    divide=matches(_PATTERN),
    steps=(
        {
            "handler": pl.when(pl.col("api").str.starts_with("s3.")).then(pl.col("api").str.slice(3)),
            "time_": iso_time(pl.col("time").str.replace(r":(\d{3})$", ".${1}")),
            "status": http_status(pl.col("code")),
            "took": go_duration(pl.col("duration")),
            "first_": go_duration(pl.col("first")),
            "received_": amount(pl.col("received")),
            "sent_": amount(pl.col("sent")),
            "bucket": _place.field("field_0"),
            "key": _place.field("field_1"),
        },
        {"op": without_body(operation(_handler, minio.HANDLERS), _status)},
        {
            "key": pl.when(_op == LIST).then(prefix(pl.col("query"))).otherwise(_key),
            "moved": pl.when(~is_error(_status) & ~_copied).then(
                pl.when(_op == PUT).then(pl.col("received_")).otherwise(_sent)
            ),
        },
    ),
    verdicts=(
        leave_out(
            pl.col("api").is_null() & pl.col("text").str.contains(f"{_OTHER}|{_VERBOSE}"),
            "not a request to the S3 API",
        ),
        refuse(pl.col("api").is_null(), "is no line of mc admin trace"),
        leave_out(_handler.is_null(), "not a request to the S3 API"),
        leave_out(_handler == minio.COMPLETION, "the completion of an upload in parts"),
        leave_out(_handler == minio.BATCH, SEVERAL_OBJECTS),
        leave_out(_op.is_null(), NO_OBJECT),
        leave_out((_handler == minio.FORM) & (_key.fill_null("") == ""), NO_OBJECT_NAMED),
        refuse(pl.col("time_").struct.field("ns").is_null(), "time cannot be read"),
        refuse(pl.col("took").is_null(), "duration cannot be read"),
        refuse(pl.col("bucket").fill_null("") == "", "has no bucket in its path"),
    ),
    columns={
        "time_ns": pl.col("time_").struct.field("ns"),
        "local": pl.lit(True),
        "latency_ns": pl.col("took"),
        "first_byte_ns": minio.first_byte(_op, pl.col("first_")),
        "op": _op,
        "bucket": pl.col("bucket"),
        "key": _key,
        **volumes(_op, _status, pl.col("moved"), pl.when((_op == GET) & (_status == 200)).then(_sent)),
        "client": pl.col("client"),
        "status": _status,
        "error": error_of(_status),
    },
)


def _recognises(head: Head) -> bool:
    return any(_LINE.search(line) for line in head.lines)


FORMAT = Format("minio-trace-text", "MinIO request trace as text (mc admin trace)", True, _recognises, of_lines(LAYOUT))
