"""Caddy's access log (JSON).

Layout: Caddy, "Logging" and modules/caddyhttp/server.go (``handled request``): ``ts`` is the time of the entry, at the
end of the request, as seconds since 1970 or as a text; ``duration`` is in seconds; ``bytes_read`` and ``size`` are the
bytes of the bodies. Entries of other loggers are left out. The status 0 stands for a connection that ended before a
response.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from traces.logs.import_report import ImportReport
from traces.readers.blocks import by_block
from traces.readers.expressions import iso_time, text_or_null
from traces.readers.formats import Format, Head
from traces.readers.http_layout import HttpFields, http_columns, http_doubts, http_steps, http_verdicts
from traces.readers.json_objects import objects
from traces.readers.json_rows import json_fields
from traces.readers.layout import Divide, Layout, leave_out, parser, refuse
from traces.readers.source import Source

_REQUEST = pa.struct({
    **dict.fromkeys(("remote_ip", "client_ip", "remote_addr", "method", "host", "uri"), pa.string()),
    "headers": pa.struct({"User-Agent": pa.list_(pa.string())}),
}.items())  # fmt: skip
_NUMBERS = ("status", "size", "bytes_read")
_DATED = re.compile(rb'"ts"\s*:\s*"')
_SECOND_NS = 1e9  # of a duration; a time since 1970 has digits down to microseconds only
_request = pl.col("request").struct


def _with_request(divide: Divide) -> Divide:
    target = _request.field("uri").str.splitn("?", 2).struct
    return lambda lines: divide(lines).with_columns(
        *(pl.col(name).cast(pl.String) for name in _NUMBERS),
        method=_request.field("method"),
        path=target.field("field_0"),
        query=target.field("field_1"),
        host=_request.field("host"),
        agent=_request.field("headers").struct.field("User-Agent").list.first(),
    )


def _layout(dated: bool) -> Layout:
    """Return the layout of entries whose ``ts`` is a text, or a number."""
    types = {"ts": pa.string() if dated else pa.float64(), "duration": pa.float64(), "msg": pa.string()}
    schema = pa.schema({**types, **dict.fromkeys(_NUMBERS, pa.int64()), "request": _REQUEST})
    if dated:
        time = iso_time(pl.col("ts").str.replace_all("/", "-"))
        end, local = time.struct.field("ns"), time.struct.field("local")
    else:
        end, local = (pl.col("ts") * 1e6).round().cast(pl.Int64, strict=False) * 1000, pl.lit(False)
    return Layout(
        divide=_with_request(json_fields(schema)),
        steps=(
            {
                "end": end,
                "local": local,
                "took_ns": (pl.col("duration") * _SECOND_NS).round().cast(pl.Int64, strict=False),
            },
            *http_steps(HttpFields(sent="size", received="bytes_read", host="host", agent="agent")),
        ),
        verdicts=(
            leave_out(pl.col("method").is_null() & pl.col("msg").is_not_null(), "not an entry about access"),
            refuse(pl.col("method").is_null(), "has no request"),
            refuse(pl.col("path").is_null(), "has no uri"),
            refuse(pl.col("end").is_null(), "time cannot be read"),
            *http_verdicts(),
        ),
        columns={
            "end_ns": pl.col("end"),
            "local": pl.col("local"),
            "latency_ns": pl.col("took_ns"),
            "client": pl.coalesce(
                *(text_or_null(_request.field(name)) for name in ("client_ip", "remote_ip")),
                text_or_null(_request.field("remote_addr").str.replace(r":\d+$", "")),
            ),
            **http_columns(),
        },
        doubts=http_doubts(),
    )


_readers = {dated: by_block(parser(_layout(dated)), objects) for dated in (False, True)}


def _read(source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
    return _readers[_DATED.search(source.head()) is not None](source, report)


_SIGNS = tuple(re.compile(sign) for sign in (rb'"ts"\s*:', rb'"request"\s*:\s*\{', rb'"uri"\s*:', rb'"duration"\s*:'))


def _recognises(head: Head) -> bool:
    return all(sign.search(head.data) for sign in _SIGNS)


FORMAT = Format("caddy-access-log", "Caddy's access log (JSON)", True, _recognises, _read)
