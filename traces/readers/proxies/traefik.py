"""Traefik's access log, in its common layout and as JSON.

Layout: Traefik, "Access Logs: format" (the common log format with the number of the request, router, server and the
duration in whole milliseconds; fields of the JSON). The time is that of the request's start; in the JSON durations are
nanoseconds. The bytes are those of the bodies; only the JSON has those of requests.
"""

from __future__ import annotations

import re

import polars as pl
import pyarrow as pa

from traces.readers.blocks import by_block
from traces.readers.expressions import clf_time, iso_time, matches, number, text_or_null
from traces.readers.formats import Format, Head, of_lines
from traces.readers.http_layout import REQUEST_LINE, HttpFields, http_columns, http_doubts, http_steps, http_verdicts
from traces.readers.json_objects import objects
from traces.readers.json_rows import json_fields
from traces.readers.layout import Divide, Layout, leave_out, parser, refuse

_PATTERN = (
    rf'^(?<remote>[^ ]+) [^ ]+ [^ ]+ \[(?<time>[^\]]+)\] "{REQUEST_LINE}" (?<status>[0-9]+|-) (?<sent>[0-9]+|-) '
    r"(?<rest>.*)$"
)
_LINE = re.compile(
    r'\S+ \S+ .+? \[\d\d/\w{3}/\d{4}:[\d:]+ [+-]\d{4}\] "[A-Z]+ [^"]*" (?:\d+|-) (?:\d+|-) "[^"]*" "[^"]*" \d+ '
    r'"[^"]*" "[^"]*" \d+ms$'
)
_END = r" (\d+)ms$"
_LOG = r"^(?:time=|\d{4}-\d\d-\d\dT\S+ (?:DBG|INF|WRN|ERR))"
_MS = 10**6
_unread = pl.col("method").is_null()

COMMON = Layout(
    divide=matches(_PATTERN),
    steps=(
        {
            "time_ns": clf_time(pl.col("time")),
            "took": number(pl.col("rest").str.extract(_END)),
            "agent": pl.col("rest").str.extract(r'^"[^"]*" "([^"]*)"'),
        },
        *http_steps(HttpFields(agent="agent")),
    ),
    verdicts=(
        leave_out(_unread & pl.col("text").str.contains(_LOG), "not a line about access"),
        refuse(_unread, "is no line of Traefik's access log"),
        refuse(pl.col("time_ns").is_null(), "time cannot be read"),
        refuse(pl.col("took").is_null(), "has no duration"),
        *http_verdicts(),
    ),
    columns={
        "time_ns": pl.col("time_ns"),
        "latency_ns": pl.col("took") * _MS,
        "client": text_or_null(pl.col("remote")),
        **http_columns(),
    },
    doubts=http_doubts(),
)

_TEXTS = ("StartUTC", "time", "ClientHost", "RequestMethod", "RequestHost", "RequestPath", "request_User-Agent")
_NUMBERS = ("Duration", "DownstreamStatus", "DownstreamContentSize", "RequestContentSize")
_SCHEMA = pa.schema({**dict.fromkeys(_TEXTS, pa.string()), **dict.fromkeys(_NUMBERS, pa.int64())})


def _with_target(divide: Divide) -> Divide:
    target = pl.col("RequestPath").str.splitn("?", 2).struct
    return lambda lines: divide(lines).with_columns(
        *(pl.col(name).cast(pl.String) for name in _NUMBERS[1:]),
        target=target.field("field_0"),
        query=target.field("field_1"),
    )


_start = iso_time(pl.coalesce("StartUTC", "time"))
JSON = Layout(
    divide=_with_target(json_fields(_SCHEMA)),
    steps=(
        {"start": _start},
        *http_steps(
            HttpFields(
                method="RequestMethod",
                path="target",
                status="DownstreamStatus",
                sent="DownstreamContentSize",
                received="RequestContentSize",
                host="RequestHost",
                agent="request_User-Agent",
            )
        ),
    ),
    verdicts=(
        leave_out(pl.col("RequestMethod").is_null(), "not an entry about access"),
        refuse(pl.col("RequestPath").is_null(), "has no RequestPath"),
        refuse(pl.col("start").struct.field("ns").is_null(), "time cannot be read"),
        *http_verdicts(),
    ),
    columns={
        "time_ns": pl.col("start").struct.field("ns"),
        "local": pl.col("start").struct.field("local"),
        "latency_ns": pl.col("Duration"),
        "client": text_or_null(pl.col("ClientHost")),
        **http_columns(),
    },
    doubts=http_doubts(),
)


def _is_common(head: Head) -> bool:
    return any(_LINE.match(line) for line in head.lines)


_SIGNS = (b'"DownstreamStatus"', b'"RequestMethod"', b'"RequestPath"')


def _is_json(head: Head) -> bool:
    return all(sign in head.data for sign in _SIGNS)


FORMAT = Format("traefik-access-log", "Traefik's access log", True, _is_common, of_lines(COMMON))
FORMAT_JSON = Format(
    "traefik-access-log-json", "Traefik's access log as JSON", True, _is_json, by_block(parser(JSON), objects)
)
