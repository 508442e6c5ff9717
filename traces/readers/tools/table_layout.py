"""The layout of rows of a table of any layout, from what its columns hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from traces.operations import GET, LIST, PUT
from traces.readers.delimited import spaced
from traces.readers.expressions import (
    amount,
    clf_time,
    decimal,
    go_duration,
    identity,
    iso_time,
    local_clf_time,
    number,
    operation,
)
from traces.readers.http_layout import HttpFields, http_columns, http_doubts, http_steps, http_verdicts
from traces.readers.http_requests import NO_RESPONSE
from traces.readers.layout import Layout, RowVerdict, if_invalid, leave_out, refuse
from traces.readers.operations import any_operation
from traces.readers.records import FIRST_ERROR, LAST_STATUS, NO_OBJECT

GUESSED = ""
"""The form of a time whose form is not given: it is guessed from the first rows."""

UNITS = "units"
"""The form of durations and sizes with units: ``3m18.7s``, ``152µs``, ``28 MiB``."""

PLACES = {"s": 9, "ms": 6, "us": 3, "ns": 0}
"""Decimal places from a unit to nanoseconds."""

DATED = {"epoch": "s", "epoch_ms": "ms", "epoch_us": "us", "epoch_ns": "ns"}
"""The units of times since 1970, by the names of the forms."""

BYTES = ("size", "transfer", "received", "sent", "range_start", "range")
"""The fields that are amounts of bytes."""

_DURATIONS = ("latency", "first_byte")
_SUCCESS = ("", "0", "ok", "none", "null", "false")
_METHOD = r'^"?([A-Za-z]+) '
_PATH = r'^"?(?:[A-Za-z]+ +)?([^ ?"]*)'
_QUERY = r'^[^?]*?\?([^ "]*)'


@dataclass(frozen=True)
class Column:
    """A column of the file: its header or its number from 1 (``place``), and its form; or a constant.

    Attributes:
        place: None for a constant.
        form: one of the field's forms; "" if the field has none, or if it is to be guessed.
        constant: the text that each row has.
    """

    place: str | int | None
    form: str = ""
    constant: str = ""


def table_layout(columns: Mapping[str, Column], fields: Mapping[str, pl.Expr], first: tuple[RowVerdict, ...]) -> Layout:
    """Return the layout of rows, without its division.

    Args:
        columns: by field; the form of the time is known.
        fields: the texts of the columns, by field.
        first: verdicts that come before all others.
    """
    stamp = "time" if "time" in columns else "end"
    times, local = _time(pl.col(stamp), columns[stamp].form)
    values = {f"{name}_ns": _duration(columns.get(name), name) for name in _DURATIONS}
    values |= {f"{name}_bytes": _bytes(columns.get(name), name) for name in BYTES}
    part = _of_requests(columns) if "request" in columns else _of_operations()
    status, error = pl.col("status_"), pl.col("error_text")
    ends = stamp == "end"
    return Layout(
        divide=spaced(0),
        steps=(
            _texts(columns, fields),
            {"stamp": times, "local": local, "status_": number(pl.col("status").replace("-1", "0")), **values},
            *part.steps,
        ),
        verdicts=(
            *first,
            *_if_invalid({"latency_ns": "latency"}),
            refuse(pl.col("stamp").is_null(), f"{stamp} cannot be read"),
            *((refuse(pl.col("latency_ns").is_null(), "has no latency"),) if ends else ()),
            *part.verdicts,
            *_if_invalid({"status_": "status", "first_byte_ns": "first_byte"}),
            refuse(status > LAST_STATUS, "status cannot be read"),
            *_if_invalid({f"{name}_bytes": name for name in BYTES}),
        ),
        columns={
            "end_ns" if ends else "time_ns": pl.col("stamp"),
            "local": pl.col("local"),
            **{f"{name}_ns": pl.col(f"{name}_ns") for name in _DURATIONS},
            "client": pl.col("client"),
            "request_id": identity(pl.col("request_id")),
            "status": status,
            **part.columns,
            "error": pl.when(~error.str.to_lowercase().is_in(_SUCCESS)).then(error).otherwise(part.columns["error"]),
        },
        doubts=http_doubts() if "request" in columns else (),
    )


def _texts(columns: Mapping[str, Column], fields: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    """Return the texts of all fields; null if a field is empty, ``-`` or has no column."""
    names = ("op", "bucket", "key", "request", "host", "status", "error", "client", "request_id", *_DURATIONS, *BYTES)
    raw = {name: pl.lit(None, pl.String) for name in names if name not in columns}
    raw |= {
        name: pl.lit(column.constant or None, pl.String) for name, column in columns.items() if column.place is None
    }
    raw |= {name: pl.when(~text.is_in(["", "-"])).then(text) for name, text in fields.items()}
    return raw | {"error_text": raw["error"]}


def _if_invalid(fields: Mapping[str, str]) -> tuple[RowVerdict, ...]:
    """Return the verdicts on numbers that are none, with a hint where a comma is the reason."""
    commas = tuple(
        refuse(
            pl.col(value).is_null() & pl.col(text).str.contains(r"^-?\d+(?:[.,]\d+)*,\d+$"),
            f"{text} has a comma; write 0.5 for a half and 1000 for a thousand",
        )
        for value, text in fields.items()
    )
    return (*commas, *if_invalid(fields))


_moved = pl.coalesce("transfer_bytes", pl.when(pl.col("op_") == PUT).then("received_bytes").otherwise("sent_bytes"))


@dataclass(frozen=True)
class _Part:
    """The part of a layout that depends on how a table names its requests."""

    steps: tuple[Mapping[str, pl.Expr], ...]
    verdicts: tuple[RowVerdict, ...]
    columns: Mapping[str, pl.Expr]


def _of_operations() -> _Part:
    """Return the part of tables with an operation and a key.

    Without a size, what a request moved is the size of the object, or with the status 206 of a range that begins at 0.
    """
    op, status = pl.col("op_"), pl.col("status_")
    moved, part = pl.col("moved"), pl.col("range_bytes")
    good = (status.is_null() | (status < FIRST_ERROR)) & pl.col("error_text").is_null() & part.is_null()
    ranged = good & (op == GET) & (status == 206).fill_null(False) & moved.is_not_null()
    whole = good & ~ranged & op.is_in([GET, PUT])
    start = pl.col("range_start_bytes")
    return _Part(
        (
            {"op_": operation(pl.col("op").str.to_lowercase(), any_operation())},
            {"moved": _moved},
        ),
        (
            refuse(pl.col("op").is_null(), "has no op"),
            leave_out(op.is_null(), NO_OBJECT, pl.col("op")),
        ),
        {
            "op": op,
            "bucket": pl.col("bucket"),
            "key": pl.when(op == LIST).then(pl.col("key").fill_null("")).otherwise("key"),
            "size_bytes": pl.coalesce("size_bytes", pl.when(whole).then(moved)),
            "transfer_bytes": moved,
            "range_start_bytes": pl.when(ranged).then(start.fill_null(0)).otherwise(start),
            "range_bytes": pl.when(ranged).then(moved).otherwise(part),
            "error": pl.when(status >= FIRST_ERROR).then(pl.lit("error")).when(status == 0).then(pl.lit(NO_RESPONSE)),
        },
    )


def _of_requests(columns: Mapping[str, Column]) -> _Part:
    """Return the part of tables with the request line, or with its method and its target."""
    line, method = pl.col("request"), pl.col("request_method")
    moved = pl.col("transfer_bytes")
    http = HttpFields(
        method="request_method",
        path="request_path",
        query="request_query",
        status="status_text",
        sent="sent_text",
        received="received_text",
        host="host",
        domain=columns["host"].form if "host" in columns else "",
    )
    found = http_columns()
    return _Part(
        (
            {
                "request_method": pl.coalesce(line.str.extract(_METHOD), "op").str.to_uppercase(),
                "request_path": line.str.extract(_PATH),
                "request_query": line.str.extract(_QUERY),
            },
            {
                # Without a status, and without an error, it is taken to be 200.
                "status_text": pl.coalesce("status_", pl.when(pl.col("error_text").is_null()).then(200)).cast(
                    pl.String
                ),
                "sent_text": pl.coalesce("sent_bytes", pl.when(method != "PUT").then(moved)).cast(pl.String),
                "received_text": pl.coalesce("received_bytes", pl.when(method == "PUT").then(moved)).cast(pl.String),
            },
            *http_steps(http),
        ),
        (
            refuse(line.is_null(), "has no request"),
            refuse(pl.col("request_method").is_null(), "has no method; a request is like GET /bucket/key, or give op"),
            *http_verdicts(),
            leave_out(pl.col("op").is_null(), NO_OBJECT),
        ),
        found
        | {name: pl.coalesce(name, found[name]) for name in ("size_bytes", "range_start_bytes", "range_bytes")}
        | {"status": pl.col("status_")},
    )


def _duration(column: Column | None, name: str) -> pl.Expr:
    if column is not None and column.form == UNITS:
        return go_duration(pl.col(name))
    return decimal(pl.col(name), PLACES[column.form if column else "s"])


def _bytes(column: Column | None, name: str) -> pl.Expr:
    return amount(pl.col(name)) if column is not None and column.form == UNITS else number(pl.col(name))


def _time(text: pl.Expr, form: str) -> tuple[pl.Expr, pl.Expr]:
    """Return ns of a time, and whether it is local."""
    if form == "iso":
        time = iso_time(text)
        return time.struct.field("ns"), time.struct.field("local")
    if form == "clf":
        plain = text.str.strip_chars("[]")
        zoned = clf_time(plain)
        return pl.coalesce(zoned, local_clf_time(plain)), zoned.is_null()
    return decimal(text, PLACES[DATED.get(form, form)]), pl.lit(False)
