"""Usage logs of Google Cloud Storage (CSV).

Layout: Google Cloud Storage, "Usage logs & storage logs: usage log format"; columns are found by their names. The time
is that of the request's completion, in microseconds since 1970 like the time taken. ``cs_operation`` is a name of the
XML API (``GET_Object``) or of the JSON API (``storage.objects.get``); bucket and object have columns of their own.
``cs_bytes`` and ``sc_bytes`` are the bytes of the bodies.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.operations import GET, HEAD, LIST, PUT
from traces.readers.blocks import by_block
from traces.readers.delimited import UNCLOSED, delimited, field, header_line, names_in
from traces.readers.expressions import identity, number, operation, text_or_null
from traces.readers.formats import Format, Head
from traces.readers.http_requests import (
    error_of,
    http_status,
    is_error,
    of_subresource,
    prefix,
    volumes,
    without_body,
)
from traces.readers.layout import Divide, Layout, if_invalid, leave_out, parser, refuse
from traces.readers.records import NO_OBJECT
from traces.readers.source import Lines, Source

_NEEDED = ("time_micros", "sc_status", "time_taken_micros", "cs_operation", "cs_bucket", "cs_object")
_OPTIONAL = ("c_ip", "cs_method", "cs_uri", "cs_bytes", "sc_bytes", "s_request_id")

_OPERATIONS = {
    **{f"{op}_Object": op for op in ("GET", "PUT", "HEAD", "DELETE")},
    "POST_Object": "PUT",
    "GET_Bucket": "LIST",
    "LIST_Objects": "LIST",
    "storage.objects.get": "GET",
    "storage.objects.insert": "PUT",
    "storage.objects.delete": "DELETE",
    "storage.objects.list": "LIST",
    "storage.objects.copy": "PUT",
    "storage.objects.rewrite": "PUT",
    "storage.objects.compose": "PUT",
}
_COPIES = ["storage.objects.copy", "storage.objects.rewrite", "storage.objects.compose"]
_US = 1000

_op, _status, _uri = pl.col("op"), pl.col("status"), pl.col("cs_uri")
_micros, _took, _sent, _received = (pl.col(f"{name}_") for name in ("time_micros", "took", "sent", "received"))
_of_metadata = (pl.col("cs_operation") == "storage.objects.get") & ~_uri.str.contains(
    r"alt=media|^/download/|^/[^?]*/download/"
)


def _rows(header: tuple[str, ...]) -> Divide:
    """Return a function that divides blocks without header lines; files put together have several."""
    divide = delimited(",", len(header))

    def rows(lines: Lines) -> pl.DataFrame:
        return divide(lines).filter(field(header.index("time_micros")) != "time_micros")

    return rows


def _layout(header: tuple[str, ...]) -> Layout:
    columns = {name: field(header.index(name)) for name in (*_NEEDED, *_OPTIONAL) if name in header}
    columns |= {name: pl.lit("") for name in _OPTIONAL if name not in columns}
    query = _uri.str.extract(r"\?([^#]*)").fill_null("")
    upload = (pl.col("cs_method") == "POST") & query.str.contains("(?:^|&)uploadId=")
    copied = pl.col("cs_operation").is_in(_COPIES)
    return Layout(
        divide=_rows(header),
        steps=(
            columns,
            {
                "op": operation(pl.col("cs_operation"), _OPERATIONS),
                "status": http_status(pl.col("sc_status")),
                "time_micros_": number(pl.col("time_micros")),
                "took_": number(pl.col("time_taken_micros")),
                "sent_": number(pl.col("sc_bytes")),
                "received_": number(pl.col("cs_bytes")),
            },
            {"op": pl.when(_of_metadata).then(pl.lit(HEAD, pl.Int8)).otherwise(without_body(_op, _status))},
            {"moved": pl.when(~is_error(_status) & ~copied).then(pl.when(_op == PUT).then(_received).otherwise(_sent))},
        ),
        verdicts=(
            UNCLOSED,
            refuse(pl.col("fields") != len(header), f"has not {len(header)} fields, as the first line has"),
            leave_out(_op.is_null() | upload | of_subresource(_op, query), NO_OBJECT),
            *if_invalid({"status": "sc_status", "time_micros_": "time_micros", "took_": "time_taken_micros"}),
            *if_invalid({"sent_": "sc_bytes", "received_": "cs_bytes"}),
            refuse(_micros.is_null(), "has no time"),
        ),
        columns={
            "end_ns": _micros * _US,
            "latency_ns": _took * _US,
            "op": _op,
            "bucket": text_or_null(pl.col("cs_bucket")),
            "key": pl.when(_op == LIST).then(prefix(query)).otherwise(text_or_null(pl.col("cs_object"))),
            **volumes(_op, _status, pl.col("moved"), pl.when((_op == GET) & (_status == 200)).then(_sent)),
            "client": text_or_null(pl.col("c_ip")),
            "status": _status,
            "request_id": identity(text_or_null(pl.col("s_request_id"))),
            "error": error_of(_status),
        },
    )


def _header(data: bytes) -> tuple[str, ...]:
    return tuple(names_in(header_line(data)[1], ","))


def _read(source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
    header = _header(source.head())
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise InputError(f"{source.name}: column {missing[0]!r} is missing; required are {', '.join(_NEEDED)}")
    yield from by_block(parser(_layout(header)))(source, report)


def _recognises(head: Head) -> bool:
    return set(_NEEDED) <= set(_header(head.data))


FORMAT = Format("gcs-usage-log", "usage log of Google Cloud Storage", True, _recognises, _read)
