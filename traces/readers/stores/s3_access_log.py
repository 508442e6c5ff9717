"""Amazon S3 server access logs, and the bucket logs of Ceph RADOS gateway in their layout.

Layout: "Amazon S3 server access log format" in the S3 user guide (LogFormat). One line a request; the time is that of
its arrival, to the second; durations are whole milliseconds. Fields are appended over the years. Bucket and key have
fields of their own, wherever the request named them; keys are percent-encoded twice. Where a range begins is not
logged: it is taken to begin at 0.

Ceph (src/rgw/rgw_bucket_logging.cc, logging type Standard) writes the names of its own operations, the length of the
request's body as the bytes sent, and the time so far, such as ``19ms``, as the turn-around time.

An uploaded part is a PUT of its size, and the upload's completion a further row of it. The objects of a batch delete
have rows of their own. A copy is a GET of the source and a PUT of the target, of which nothing passes the network.
"""

from __future__ import annotations

import re

import polars as pl

from traces.operations import GET, HEAD, LIST, PUT
from traces.readers.expressions import clf_time, identity, matches, number, operation, text_or_null, unescaped
from traces.readers.formats import Format, Head, of_lines
from traces.readers.http_requests import http_status, is_error, prefix, without_body
from traces.readers.layout import Layout, if_invalid, join, leave_out, refuse
from traces.readers.operations import BUCKET_LOG_OPERATIONS, S3_LOG_OPERATIONS

_UPTO_TURN_AROUND = (
    r"^[^ ]+ (?<bucket>[^ ]+) \[(?<time>[^\]]+)\] (?<remote>[^ ]+) [^ ]+ (?<id>[^ ]+) (?<operation>[^ ]+) "
    r'(?<name>[^ ]+) (?<uri>%s) (?<code>[^ ]+) (?<failure>[^ ]+) (?<sent>[^ ]+) (?<size>[^ ]+) '
    r"(?<total>[^ ]+) (?<turn_around>[^ ]+)"
)  # fmt: skip
_PATTERN = _UPTO_TURN_AROUND % r'"[^"]*"|-'
_QUOTES_IN_URI = _UPTO_TURN_AROUND % r'"GET [^ ]* HTTP/[\d.]+"|"[^ ]+ [^ ]* HTTP/[\d.]+"'
_LINE = re.compile(r"\S+ \S+ \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] \S+ \S+ \S+ (REST|WEBSITE|BATCH|S3|SOAP)\.")

_OPERATIONS = {**S3_LOG_OPERATIONS, **BUCKET_LOG_OPERATIONS}
_COMPLETIONS = ("REST.POST.UPLOAD", "REST.POST.complete_multipart")
_BATCHES = ("REST.POST.MULTI_OBJECT_DELETE", "REST.POST.multi_object_delete")

_code, _sent, _size, _total, _turn = (pl.col(f"{name}_") for name in ("code", "sent", "size", "total", "turn_around"))
_op, _ceph, _copy = pl.col("op"), pl.col("ceph"), pl.col("operation").str.contains("COPY|copy_obj")
_ms = 10**6

# A response that was cut, or that has no body, is not a read of the whole object.
_cut = (_op == GET) & (_code == 200) & (_sent.fill_null(0) < _size) & ~_copy & ~_ceph
_part = ((_op == GET) & (_code == 206)) | _cut

LAYOUT = Layout(
    divide=matches(_PATTERN, _QUOTES_IN_URI),
    steps=(
        {
            "time_ns": clf_time(pl.col("time")),
            "op": operation(pl.col("operation"), _OPERATIONS),
            "ceph": pl.col("operation").str.contains("[a-z]"),
            "code_": http_status(pl.col("code")),
            **{f"{name}_": number(pl.col(name).str.strip_suffix("ms")) for name in ("sent", "size", "total")},
            "turn_around_": number(pl.col("turn_around").str.strip_suffix("ms")),
        },
        {
            "op": without_body(_op, _code),
            "size_": pl.when(_ceph & (_op == PUT)).then(pl.coalesce(_sent, _size)).otherwise(_size),
        },
        {"op": pl.when(_cut & (_sent.fill_null(0) == 0)).then(pl.lit(HEAD, pl.Int8)).otherwise(_op)},
    ),
    verdicts=(
        refuse(pl.col("operation").is_null(), "is not a line of an access log, or has too few fields"),
        refuse(pl.col("time_ns").is_null(), "time cannot be read"),
        *if_invalid({"code_": "code", "sent_": "sent", "size_": "size"}),
        *if_invalid({"total_": "total", "turn_around_": "turn_around"}),
        join(pl.col("operation").is_in(_COMPLETIONS)),
        leave_out(pl.col("operation").is_in(_BATCHES), "a delete of several objects, which have rows of their own"),
    ),
    columns={
        "time_ns": pl.col("time_ns"),
        "latency_ns": pl.when(_ceph).then(pl.coalesce(_total, _turn)).otherwise(_total) * _ms,
        # Without a body to receive, all of the turn-around time lies before the response.
        "first_byte_ns": pl.when(_op.is_in([GET, HEAD]) & ~_ceph).then(_turn * _ms),
        "op": _op,
        "bucket": text_or_null(pl.col("bucket")),
        "key": pl.when(_op == LIST)
        .then(prefix(pl.col("uri").str.extract(r"\?([^ #]*)")))
        .otherwise(unescaped(unescaped(text_or_null(pl.col("name"))))),
        "size_bytes": pl.when(_op == LIST)
        .then(0)
        .when(is_error(_code) & (_op == GET))
        .then(None)
        .when((_op == GET) & (_code == 200))
        .then(pl.coalesce(_size, _sent))
        .otherwise(_size),
        "transfer_bytes": pl.when(_copy | (is_error(_code) & (_op != PUT)))
        .then(0)
        .when(_op == GET)
        .then(pl.when(_ceph).then(_size).otherwise(_sent.fill_null(0)))
        .when(_op == PUT)
        .then(_size)
        .otherwise(0),
        "range_start_bytes": pl.when(_part & _sent.is_not_null()).then(0),
        "range_bytes": pl.when(_part).then(_sent),
        "client": text_or_null(pl.col("remote")),
        "status": _code,
        "request_id": identity(text_or_null(pl.col("id"))),
        "error": pl.when(is_error(_code)).then(pl.coalesce(text_or_null(pl.col("failure")), pl.lit("error"))),
    },
)


def _recognises(head: Head) -> bool:
    return any(_LINE.match(line) for line in head.lines)


FORMAT = Format(
    "s3-access-log",
    "Amazon S3 server access log, Ceph bucket log",
    True,
    _recognises,
    of_lines(LAYOUT),
)
