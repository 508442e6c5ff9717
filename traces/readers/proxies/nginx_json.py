"""Access logs of nginx and its ingress controller of Kubernetes as JSON, as sites define them.

Layout: nginx ngx_http_log_module (``log_format … escape=json``) and ngx_http_core_module (variables),
kubernetes/ingress-nginx docs/user-guide/nginx-configuration/log-format.md (``log-format-escape-json``). Fields are
found by the names of nginx's variables, or by those that sites usually give them; the start of the file tells which
there are, and which of them are in quotes. The time is that of the request's end. Without ``$body_bytes_sent`` the size
of a response is ``$bytes_sent``, and without ``$content_length`` that of a request is ``$request_length``: both with
the header, some 500 bytes more than the object. Without ``$request_time`` the duration is the sum of
``$upstream_response_time``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

import polars as pl
import pyarrow as pa

from traces.logs.import_report import ImportReport
from traces.readers.blocks import Read, by_block
from traces.readers.expressions import clf_time, decimal, identity, iso_time, seconds, text_or_null
from traces.readers.formats import Format, Head
from traces.readers.http_layout import REQUEST_LINE, HttpFields, http_columns, http_doubts, http_steps, http_verdicts
from traces.readers.json_objects import objects
from traces.readers.json_rows import json_fields
from traces.readers.layout import Divide, Layout, if_invalid, leave_out, parser, refuse
from traces.readers.source import Source

_NAMES: Mapping[str, tuple[str, ...]] = {
    "end": ("msec", "time_msec", "time_iso8601", "time_iso", "@timestamp", "timestamp", "time", "ts", "time_local"),
    "line": ("request", "request_line", "http_request"),
    "verb": ("request_method", "http_request_method", "http_method", "method"),
    "target": ("request_uri", "http_request_uri", "uri", "http_uri", "url", "path"),
    "args": ("args", "http_request_args", "query_string", "request_query"),
    "status": ("status", "http_status", "http_status_code", "status_code", "response_status"),
    "sent": ("body_bytes_sent", "http_response_body_size", "body_bytes", "bytes_sent", "http_response_size"),
    "body": ("content_length", "http_content_length"),
    "length": ("request_length", "http_request_length"),
    "took": ("request_time", "http_request_time"),
    "upstream": ("upstream_response_time",),
    "host": ("http_host", "host", "server_host", "vhost"),
    "agent": ("http_user_agent", "user_agent", "agent", "ua"),
    "forwarded": ("http_x_forwarded_for", "x_forwarded_for"),
    "client": ("remote_addr", "remote_ip", "client_addr", "client_ip", "real_ip", "client"),
    "id": ("request_id", "req_id"),
}
"""Names of the fields with each part of an entry, the best first."""

_TIMES = ("end", "took", "upstream")
_AMOUNTS = ("status", "sent", "body", "length")
_OF_NGINX = (*_NAMES["sent"], *_NAMES["took"], *_NAMES["length"], *_NAMES["upstream"], "upstream_addr")
"""Fields of which an entry of nginx has at least one."""

_NO_REQUEST_STATUS = ("400", "408", "444", "494", "497", "499", "0", "000")

Fields = tuple[tuple[str, pa.DataType], ...]


def _fields(head: bytes) -> Fields:
    """Return the fields with parts of entries at the start of a file, and their types: text, if it is in quotes."""
    numbers = {**dict.fromkeys(_TIMES, pa.float64()), **dict.fromkeys(_AMOUNTS, pa.int64())}
    fields = {}
    for part, names in _NAMES.items():
        for name in names:
            if match := re.search(rb'"%s"\s*:\s*(?:(")|[-0-9])' % re.escape(name.encode()), head):
                fields[name] = pa.string() if match[1] else numbers.get(part, pa.string())
    return tuple(fields.items())


@cache
def _reader(fields: Fields) -> Read:
    """Return the reader of files with those fields."""
    names = [name for name, _ in fields]
    time = iso_time(pl.col("end")).struct
    ns = pl.coalesce(time.field("ns"), clf_time(pl.col("end")), decimal(pl.col("end"), 9))
    layout = Layout(
        divide=_with_parts(json_fields(pa.schema(fields)), names),
        steps=(
            {"end_ns": ns, "local": time.field("local") & time.field("ns").is_not_null()},
            *http_steps(
                HttpFields(method="verb", path="target", query="args", received="received", host="host", agent="agent")
            ),
        ),
        verdicts=(
            leave_out(pl.col("verb").is_null() & pl.col("status").is_in(_NO_REQUEST_STATUS), "not an HTTP request"),
            leave_out(pl.col("verb").is_null() & pl.col("status").is_null(), "not an entry about access"),
            refuse(pl.col("verb").is_null(), "has no request"),
            refuse(pl.col("target").is_null(), "has no request_uri"),
            refuse(pl.col("end_ns").is_null(), "time cannot be read"),
            *if_invalid({"took_ns": "took"}, {"took": "request_time"}),
            *http_verdicts(),
        ),
        columns={
            "end_ns": pl.col("end_ns"),
            "local": pl.col("local"),
            "latency_ns": pl.col("took_ns"),
            "client": pl.coalesce(text_or_null(pl.col("forwarded").str.extract("^([^, ]+)")), "client"),
            "request_id": identity(pl.col("id")),
            **http_columns(),
        },
        doubts=http_doubts(),
    )
    return by_block(parser(layout), objects)


def _with_parts(divide: Divide, names: list[str]) -> Divide:
    """Return a function that divides objects with fields of those names into the parts of entries, as texts."""

    def part(name: str) -> pl.Expr:
        held = (text_or_null(pl.col(field).cast(pl.String)) for field in _NAMES[name] if field in names)
        return pl.coalesce(pl.lit(None, pl.String), *held)

    # Of a request without a body the variable is empty.
    received = part("body").fill_null("0") if any(name in names for name in _NAMES["body"]) else part("length")
    line, target = part("line").str.extract_groups(f"^{REQUEST_LINE}$").struct, part("target").str.splitn("?", 2).struct
    upstream = part("upstream").str.extract_all(r"\d+\.\d+").list.eval(seconds(pl.element())).list.sum()
    took = part("took")
    return lambda lines: divide(lines).with_columns(
        end=part("end"),
        verb=pl.coalesce(line.field("method"), part("verb")),
        target=pl.coalesce(line.field("path"), target.field("field_0")),
        args=pl.coalesce(line.field("query"), target.field("field_1"), part("args")),
        received=received,
        took_ns=pl.coalesce(seconds(took), pl.when(took.is_null()).then(upstream)),
        took=took,
        **{name: part(name) for name in ("status", "sent", "host", "agent", "forwarded", "client", "id")},
    )


def _read(source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
    return _reader(_fields(source.head()))(source, report)


def _named(*names: str) -> bytes:
    return rb'"(?:%s)"\s*:\s*' % b"|".join(re.escape(name.encode()) for name in names)


_SIGNS = (
    re.compile(_named(*_NAMES["line"], *_NAMES["verb"]) + rb'"[A-Z]+[ "]'),
    re.compile(_named(*_NAMES["line"], *_NAMES["target"]) + rb'"'),
    re.compile(_named(*_NAMES["status"]) + rb'"?\d'),
    re.compile(_named(*_NAMES["end"]) + rb'["\d]'),
    re.compile(_named(*_OF_NGINX) + rb'["\d]'),
)


def _recognises(head: Head) -> bool:
    return all(sign.search(head.data) for sign in _SIGNS)


FORMAT = Format("nginx-access-log-json", "access log of nginx or ingress-nginx as JSON", True, _recognises, _read)
