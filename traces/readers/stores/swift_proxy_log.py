"""OpenStack Swift's proxy log, in its default layout, with or without what syslog puts before it.

Layout: swift/common/middleware/proxy_logging.py, doc/source/logs.rst (Swift 2.30). Fields are quoted as in addresses,
so that none holds a blank, and ``-`` stands for nothing or zero. Later releases log when the request began and ended;
in others the time is that of the line, the request's end, to the second. Where a range begins is not logged: it is
taken to begin at 0. A server-side copy by a PUT looks like the PUT of an empty object. A bucket's name is the
container's, without the account.
"""

from __future__ import annotations

import re

import polars as pl

from traces.operations import GET, LIST, PUT
from traces.readers.expressions import decimal, matches, number, seconds, text_or_null, unescaped
from traces.readers.formats import Format, Head, of_lines
from traces.readers.http_requests import (
    divided,
    error_of,
    http_status,
    is_error,
    prefix,
    requested,
    volumes,
    without_body,
)
from traces.readers.layout import Layout, if_invalid, leave_out, nothing, refuse

_DATE = r"\d\d/\w{3}/\d{4}/\d\d/\d\d/\d\d"
_FIELDS = (
    r"(?<client>[^ ]+) [^ ]+ (?<date>[0-9]{2}/[^ /]{3}/(?:19[7-9]|2[01])[0-9]+/[0-9]{2}/[0-9]{2}/[0-9]{2}) "
    r"(?<method>[^ ]+) (?<path>[^ ]+) [^ ]+ (?<status>[^ ]+) [^ ]+ [^ ]+ [^ ]+ (?<received>[^ ]+) (?<sent>[^ ]+) "
    r"[^ ]+ [^ ]+ [^ ]+ (?<rest>.*)$"
)
_REST = r"^(?<duration>[^ ]+)(?: (?<source>[^ ]+)(?: [^ ]+ (?<start>[^ ]+))?)?"
_ACCESS = rf"(?:^|: )[^ ]+ [^ ]+ (?:{_DATE} |[^ ]+ [^ ]+ [^ ]+ HTTP/)"
_LINE = re.compile(rf"(?:^|: )\S+ \S+ {_DATE} [A-Z]+ \S+ HTTP/\S+ \d{{3}} ")

_CLIENTS_OWN = ["-", "FP", "BD", "EA"]
"""Sources of requests that stand for a client's: its own, and the objects of a form, a bulk delete and an archive,
whose own request is not one on an object. The proxy makes others for a client's own (SLO: its segments)."""

_SERVICES = r"^/(?:auth|info|healthcheck|endpoints)(?:/|$)"
_ACCOUNT = r"^/(?:v1(?:\.0)?(?:/[^/]*)?(?:/|$))?"

_op, _status, _target = pl.col("op"), pl.col("status_"), pl.col("target")
_fields = pl.col("rest").str.extract_groups(_REST).struct
_exact = pl.col("start").str.contains(r"^\d{1,10}\.\d{9}$")  # as Swift prints it
_bucket, _key = divided(pl.col("below"))
LAYOUT = Layout(
    divide=matches(f"^proxy-server: {_FIELDS}", f"^{_FIELDS}", f": {_FIELDS}"),
    steps=(
        {
            **{name: _fields.field(name) for name in ("duration", "source", "start")},
            "target": unescaped(pl.col("path")).str.splitn("?", 2),
            "status_": http_status(pl.col("status")),
            **{f"{name}_": number(pl.col(name)) for name in ("received", "sent")},
        },
        {
            "duration_": seconds(pl.col("duration")),
            "start_": pl.when(_exact)
            .then(pl.col("start").str.replace(".", "", literal=True).cast(pl.Int64, strict=False))
            .otherwise(decimal(pl.when(~_exact).then(pl.col("start")), 9)),
            "query": _target.struct.field("field_1"),
            "below": _target.struct.field("field_0").str.replace(_ACCOUNT, ""),
        },
        {"bucket": pl.when(~_target.struct.field("field_0").str.contains(_SERVICES)).then(_bucket), "key": _key},
        {
            "op": without_body(requested(pl.col("method"), pl.col("bucket"), pl.col("key"), pl.col("query")), _status),
            "end_ns": pl.coalesce(
                pl.col("start_") + pl.col("duration_").fill_null(0),
                pl.col("date").str.to_datetime("%d/%b/%Y/%H/%M/%S", time_unit="ns", strict=False).cast(pl.Int64),
            ),
            "archive": pl.col("query").str.starts_with("extract-archive=") & nothing(pl.col("source")),
        },
        {
            "moved": pl.when(~is_error(_status)).then(
                pl.when(_op == PUT).then(pl.col("received_")).otherwise(pl.col("sent_")).fill_null(0)
            )
        },
    ),
    verdicts=(
        refuse(
            pl.col("rest").is_null() & pl.col("text").str.contains(_ACCESS),
            "is not a line of a proxy's log, or has too few fields",
        ),
        leave_out(
            pl.col("rest").is_null() & pl.col("text").str.head(160).str.contains(": "), "not a line about access"
        ),
        refuse(pl.col("rest").is_null(), "is no line of a proxy's log"),
        *if_invalid({"duration_": "duration"}),
        refuse(pl.col("start_").is_null() & ~nothing(pl.col("start")), "start time cannot be read"),
        refuse(pl.col("end_ns").is_null(), "time cannot be read"),
        *if_invalid({"status_": "status", "received_": "received", "sent_": "sent"}),
        leave_out(~pl.col("source").is_in(_CLIENTS_OWN), "a request of the proxy's own"),
    ),
    columns={
        "end_ns": pl.col("end_ns"),
        "latency_ns": pl.col("duration_"),
        "op": pl.when(~pl.col("archive").fill_null(False)).then(_op),
        "bucket": pl.col("bucket"),
        "key": pl.when(_op == LIST).then(prefix(pl.col("query"))).otherwise(pl.col("key")),
        **volumes(_op, _status, pl.col("moved"), pl.when((_op == GET) & (_status == 200)).then(pl.col("moved"))),
        "client": text_or_null(pl.col("client")),
        "status": _status,
        "error": error_of(_status),
    },
)


def _recognises(head: Head) -> bool:
    return any(_LINE.search(line) for line in head.data.decode("utf-8", "replace").splitlines())


FORMAT = Format("swift-proxy-log", "OpenStack Swift proxy log", True, _recognises, of_lines(LAYOUT))
