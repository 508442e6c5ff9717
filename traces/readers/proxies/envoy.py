"""Access logs of Envoy in its default layout and in that of Istio, as text and as JSON.

Layout: Envoy, "Access logging: Default format string"; Istio, "Envoy Access Logs" (``%RESPONSE_CODE_DETAILS%
%CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%"`` between the flags and the bytes; names of the
JSON fields). The time is that of the request's start; the duration is in whole milliseconds; the bytes are those of the
bodies of request and response. A signed chunked upload is longer than its object. The status 0 stands for a connection
that ended before a response.
"""

from __future__ import annotations

import re

import polars as pl
import pyarrow as pa

from traces.readers.blocks import by_block
from traces.readers.expressions import identity, iso_time, matches, number, text_or_null
from traces.readers.formats import Format, Head, of_lines
from traces.readers.http_layout import REQUEST_LINE, HttpFields, http_columns, http_doubts, http_steps, http_verdicts
from traces.readers.json_objects import objects
from traces.readers.json_rows import json_fields
from traces.readers.layout import Divide, Layout, RowVerdict, if_invalid, leave_out, parser, refuse

_PATTERN = (
    rf'^(?:.*? )??\[(?<time>[^\]]+)\] "{REQUEST_LINE}" (?<status>[0-9]+) [^ ]+ (?:[^ ]+ [^ ]+ "[^"]*" )?'
    r"(?<received>[0-9]+) (?<sent>[0-9]+) (?<duration>[0-9]+|-) (?<rest>.*)$"
)
_LINE = re.compile(
    r'\[\d{4}-\d\d-\d\dT[\d:.]+Z\] "[A-Z-]+ [^"]*" \d+ [^ ]+ (?:[^ ]+ [^ ]+ "[^"]*" )?\d+ \d+ (?:\d+|-) (?:\d+|-) "'
)
_NO_REQUEST = r'^(?:.*? )??\[[^\]]+\] "- - -" '
_QUOTED = r'^[^ ]+ "([^"]*)" "([^"]*)" "([^"]*)" "([^"]*)"'
_PEER = r'" [^ "]+ [^ "]+ [^ "]+ ([^ "]+):\d+ [^ "]+ [^ "]+$'
_MS = 10**6

_rest = pl.col("rest")


def _layout(divide: Divide, *first: RowVerdict) -> Layout:
    """Return the layout of rows with the fields of the JSON form."""
    return Layout(
        divide=divide,
        steps=(
            {"time_": iso_time(pl.col("start_time")), "took": number(pl.col("duration"))},
            *http_steps(
                HttpFields(
                    status="response_code",
                    sent="bytes_sent",
                    received="bytes_received",
                    host="authority",
                    agent="user_agent",
                )
            ),
        ),
        verdicts=(
            *first,
            refuse(pl.col("time_").struct.field("ns").is_null(), "time cannot be read"),
            *if_invalid({"took": "duration"}),
            *http_verdicts(),
        ),
        columns={
            "time_ns": pl.col("time_").struct.field("ns"),
            "local": pl.col("time_").struct.field("local"),
            "latency_ns": pl.col("took") * _MS,
            "client": pl.coalesce(
                text_or_null(pl.col("x_forwarded_for").str.extract("^([^, ]+)")),
                text_or_null(pl.col("downstream_remote_address").str.replace(r":\d+$", "")),
            ),
            "request_id": identity(text_or_null(pl.col("request_id"))),
            **http_columns(),
        },
        doubts=http_doubts(),
    )


_divide = matches(_PATTERN)
_unread = pl.col("method").is_null()
TEXT = _layout(
    lambda lines: _divide(lines).with_columns(
        start_time="time",
        response_code="status",
        bytes_sent="sent",
        bytes_received="received",
        x_forwarded_for=_rest.str.extract(_QUOTED, 1),
        user_agent=_rest.str.extract(_QUOTED, 2),
        request_id=_rest.str.extract(_QUOTED, 3),
        authority=_rest.str.extract(_QUOTED, 4),
        downstream_remote_address=_rest.str.extract(_PEER),
    ),
    leave_out(_unread & pl.col("text").str.contains(_NO_REQUEST), "a connection without HTTP"),
    refuse(_unread, "is no line of Envoy's access log"),
)

_TEXTS = (
    "start_time",
    "method",
    "path",
    "authority",
    "user_agent",
    "x_forwarded_for",
    "request_id",
    "downstream_remote_address",
)
_NUMBERS = ("response_code", "bytes_sent", "bytes_received", "duration")
_SCHEMA = pa.schema({**dict.fromkeys(_TEXTS, pa.string()), **dict.fromkeys(_NUMBERS, pa.int64())})


def _json(divide: Divide) -> Divide:
    target = pl.col("path").str.splitn("?", 2).struct
    return lambda lines: divide(lines).with_columns(
        *(pl.col(name).cast(pl.String) for name in _NUMBERS),
        path=target.field("field_0"),
        query=target.field("field_1"),
    )


JSON = _layout(
    _json(json_fields(_SCHEMA)),
    refuse(pl.col("start_time").is_null(), "has no start_time"),
    leave_out(pl.col("method").is_null() | (pl.col("method") == "-"), "a connection without HTTP"),
    refuse(pl.col("path").is_null(), "has no path"),
)


def _is_text(head: Head) -> bool:
    return any(_LINE.search(line) for line in head.lines)


_SIGNS = (b'"response_code"', b'"response_flags"', b'"start_time"')


def _is_json(head: Head) -> bool:
    return all(sign in head.data for sign in _SIGNS)


FORMAT = Format("envoy-access-log", "access log of Envoy or Istio", True, _is_text, of_lines(TEXT))
FORMAT_JSON = Format(
    "envoy-access-log-json", "access log of Envoy or Istio as JSON", True, _is_json, by_block(parser(JSON), objects)
)
