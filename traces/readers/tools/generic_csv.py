"""Tables of any layout, with a mapping of fields to columns: delimited lines, lines of a regular expression, Parquet.

The mapping gives for each field (`FIELDS`) a column, by its name in the header line or by its number from 1, and after
a colon its form; or, after an equals sign, a constant. If all columns are numbers, there is no header line. Exactly one
of ``time`` and ``end`` is needed. Without ``op`` each request is a GET.

=========== ============================================ =====================================================
field       after the colon                              is
=========== ============================================ =====================================================
time, end   ``iso`` (the default)                        start of the request, or its end (then with a latency):
                                                         ISO 8601, with a zone or in that of the import
            ``clf``                                      ``21/Nov/2026:10:44:01 +0000``, with or without brackets
            ``epoch epoch_ms epoch_us epoch_ns``         time since 1970
            ``s ms us ns``                               relative time
latency,    ``s`` (the default) ``ms us ns``             from start to end, or to the first byte of the response
first_byte                                               body
op                                                       the operation, by its name in any of the formats: GET,
                                                         read, GetObject, get_obj, REST.GET.OBJECT …
key, bucket                                              which object; of a LIST the prefix
size                                                     of the object, bytes
transfer                                                 payload moved, bytes
range_start,                                             of a ranged GET, bytes
range
client                                                   name of the client
status                                                   HTTP status
error                                                    error text; empty, ``-``, 0, ok, none or false: success
=========== ============================================ =====================================================

The delimiter is the most frequent of comma, semicolon, TAB and bar in the first line, else blanks. A field may be in
double quotes, with quotes inside doubled, but must not contain a newline; between blanks, also in brackets. With a
regular expression, its groups are the columns, by name or number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import polars as pl
import pyarrow as pa

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.operations import LIST, OPS
from traces.readers.blocks import by_block, without_header
from traces.readers.delimited import UNCLOSED, delimited, delimiter_of, field, header_line, names_in, spaced, too_few
from traces.readers.expressions import clf_time, decimal, iso_time, matches, number, operation
from traces.readers.formats import Format, Head
from traces.readers.layout import Layout, Verdict, if_invalid, leave_out, parser, refuse
from traces.readers.operations import any_operation
from traces.readers.parquet_rows import MAGIC, column_names, row_blocks, texts_of
from traces.readers.records import FIRST_ERROR, LAST_STATUS, NO_OBJECT
from traces.readers.source import Source
from traces.trace import CSV_MARK

CSV = "csv"
"""The name of the format."""

_PLACES = {"s": 9, "ms": 6, "us": 3, "ns": 0}
"""Decimal places from a unit to nanoseconds."""

_DATED = {"epoch": "s", "epoch_ms": "ms", "epoch_us": "us", "epoch_ns": "ns"}

FIELDS: Mapping[str, tuple[str, ...]] = {
    "time": ("iso", "clf", *_DATED, *_PLACES),
    "end": ("iso", "clf", *_DATED, *_PLACES),
    "op": (),
    "bucket": (),
    "key": (),
    "size": (),
    "transfer": (),
    "range_start": (),
    "range": (),
    "latency": tuple(_PLACES),
    "first_byte": tuple(_PLACES),
    "client": (),
    "status": (),
    "error": (),
}
"""The fields and their possible forms; the first form is the default."""

_BYTES = ("size", "transfer", "range_start", "range")
_SUCCESS = ("", "0", "ok", "none", "null", "false")


@dataclass(frozen=True)
class Column:
    """A column of the file: its header or its number from 1 (``place``), and its form; or a constant.

    Attributes:
        place: None for a constant.
        form: of `FIELDS`, "" if the field has only one.
        constant: the text that each row has.
    """

    place: str | int | None
    form: str = ""
    constant: str = ""


def columns_of(mapping: Mapping[str, str]) -> dict[str, Column]:
    """Parse texts such as ``dur:ms`` into columns by field; ``=GET`` is a constant.

    Raises:
        InputError: a field or a form is unknown, a required field is missing, or numbers and names are mixed.
    """
    columns = {}
    for name, text in mapping.items():
        if name not in FIELDS:
            raise InputError(f"columns: the field {name!r} is unknown; allowed are {', '.join(FIELDS)}")
        columns[name] = _column(name, text)
    if "key" not in columns:
        raise InputError("columns: key is missing; required are time (or end and latency) and key")
    if ("time" in columns) == ("end" in columns) or ("end" in columns and "latency" not in columns):
        raise InputError("columns: give either time, or end and latency")
    if len({type(column.place) for column in columns.values() if column.place is not None}) > 1:
        raise InputError("columns: give either all numbers (without a header line) or all names of the header line")
    op = columns.setdefault("op", Column(None, constant="GET"))
    if op.place is None and op.constant.lower() not in any_operation():
        raise InputError(f"columns: the operation {op.constant!r} is unknown; allowed are {', '.join(OPS)}")
    return columns


def _column(name: str, text: str) -> Column:
    forms = FIELDS[name]
    if text.startswith("="):
        if name in ("time", "end"):
            raise InputError(f"columns: {name} is {text!r}; it cannot be a constant")
        return Column(None, forms[0] if forms else "", text[1:])
    place, colon, form = text.rpartition(":")
    if not colon or not forms:
        place, form = text, forms[0] if forms else ""
    if not place or (forms and form not in forms):
        raise InputError(f"columns: {name} is {text!r}; after the colon allowed are {', '.join(forms)}")
    return Column(int(place) if place.isascii() and place.isdigit() and int(place) else place, form)


def csv_format(mapping: Mapping[str, str], delimiter: str | None = None, pattern: str | None = None) -> Format:
    """Return the format of tables with the given columns.

    Args:
        mapping: see `columns_of`.
        delimiter: one character; a blank stands for blanks and tabs (default: detected).
        pattern: regular expression of a line, whose groups are the columns; then there is no header line.

    Raises:
        InputError: see `columns_of`; the delimiter is not one character, or the pattern is not a regular expression or
            lacks a group.
    """
    columns = columns_of(mapping)
    form = columns.get("time", columns.get("end", Column(1, "iso"))).form
    if delimiter is not None and len(delimiter.encode()) != 1:
        raise InputError(f"the delimiter is {delimiter!r}; one ASCII character is needed")
    if pattern is not None:
        if delimiter is not None:
            raise InputError("columns: give either a delimiter or a pattern")
        read = by_block(parser(_by_pattern(columns, pattern)))
        return Format(CSV, "lines of a pattern", form not in _PLACES, lambda head: False, read)
    return Format(
        CSV, "CSV, by its columns", form not in _PLACES, lambda head: False, partial(_read, columns, delimiter, 0)
    )


def _by_pattern(columns: Mapping[str, Column], pattern: str) -> Layout:
    try:
        groups = list(pl.Series([""]).str.extract_groups(pattern).struct.schema)
    except pl.exceptions.PolarsError as error:
        why = str(error).strip().splitlines()[-1].strip()
        raise InputError(f"the pattern {pattern!r} is not a regular expression: {why}") from error
    if clashes := {"line", "text"} & set(groups):
        raise InputError(f"the pattern names a group {min(clashes)!r}; choose another name than line and text")
    found = {name: f"{name}_group" for name in groups}
    named = re.sub(r"\(\?P<", "(?<", pattern)
    fields = {}
    for name, column in columns.items():
        if column.place is None:
            continue
        place = (
            groups[column.place - 1] if isinstance(column.place, int) and column.place <= len(groups) else column.place
        )
        if place not in groups:
            raise InputError(
                f"the pattern has no group {column.place!r} for {name}; it has {', '.join(groups) or 'none'}"
            )
        fields[name] = pl.col(found[str(place)])
    divide = matches(named)
    layout = _layout(columns, fields, (refuse(pl.col("matched").not_(), "does not match the pattern"),))
    return replace(
        layout,
        divide=lambda lines: divide(lines).rename(found).with_columns(matched=pl.col("text").str.contains(named)),
    )


def _read(
    columns: Mapping[str, Column], delimiter: str | None, above: int, source: Source, report: ImportReport
) -> Iterator[pa.RecordBatch]:
    """Read a file with `above` lines before the header."""
    head = source.head()
    if head.startswith(MAGIC):
        header = column_names(source)
        found = _places(columns, header, source)
        layout = _layout(columns, {name: pl.col(f"field_{name}") for name in found}, ())
        divide = texts_of([header[place] for place in found.values()], [f"field_{name}" for name in found])
        yield from by_block(parser(replace(layout, divide=divide)), row_blocks)(source, report)
        return
    skipped = b"".join(head.split(b"\n", above)[above:])
    first, line = header_line(skipped)
    if not first:
        yield from by_block(without_header)(source, report)
        return
    delimiter = delimiter or delimiter_of(line)
    header = names_in(line, delimiter)
    found = _places(columns, header, source)
    fields = {name: field(place) for name, place in found.items()}
    width = 1 + max(found.values(), default=0) if delimiter == " " else len(header)
    uneven = too_few(width) if delimiter == " " else pl.col("fields") != width
    few = refuse(uneven, f"has not {width} fields, as the first line has")
    layout = _layout(columns, fields, (UNCLOSED, few))
    layout = replace(layout, divide=spaced(width) if delimiter == " " else delimited(delimiter, max(1, width)))
    named = any(isinstance(column.place, str) for column in columns.values())
    yield from by_block(parser(layout), partial(Source.lines, begin=above + first + named))(source, report)


def _places(columns: Mapping[str, Column], header: list[str], source: Source) -> dict[str, int]:
    """Return the position of each field's column.

    Raises:
        InputError: the file does not have a column.
    """
    places = {}
    for name, column in columns.items():
        if column.place is None:
            continue
        if isinstance(column.place, int):
            place = column.place - 1 if column.place <= len(header) else -1
        else:
            place = header.index(column.place) if column.place in header else -1
        if place < 0:
            raise InputError(f"{source.name}: no column {column.place!r} for {name}; the file has {', '.join(header)}")
        places[name] = place
    return places


def _layout(columns: Mapping[str, Column], fields: Mapping[str, pl.Expr], first: tuple[Verdict, ...]) -> Layout:
    """Return the layout of rows, without its division; `fields` are the texts of the columns by field."""
    raw = {name: pl.lit(column.constant or None, pl.String) for name, column in columns.items() if column.place is None}
    raw |= {name: pl.lit(None, pl.String) for name in FIELDS if name not in columns}
    raw |= {name: pl.when(~text.is_in(["", "-"])).then(text) for name, text in fields.items()}
    stamp = "time" if "time" in columns else "end"
    times, local = _time(pl.col(stamp), columns[stamp].form)
    durations = {
        f"{name}_ns": decimal(pl.col(name), _PLACES[columns[name].form if name in columns else "s"])
        for name in ("latency", "first_byte")
    }
    status, error = pl.col("status_"), pl.col("error")
    failed = ~error.str.to_lowercase().is_in(_SUCCESS)
    ends = stamp == "end"
    return Layout(
        divide=spaced(0),
        steps=(
            raw,
            {
                "stamp": times,
                **durations,
                "op_": operation(pl.col("op").str.to_lowercase(), any_operation()),
                "status_": number(pl.col("status")),
                **{f"{name}_bytes": number(pl.col(name)) for name in _BYTES},
            },
        ),
        verdicts=(
            *first,
            *if_invalid({"latency_ns": "latency"}),
            refuse(pl.col("stamp").is_null(), f"{stamp} cannot be read"),
            *((refuse(pl.col("latency_ns").is_null(), "has no latency"),) if ends else ()),
            refuse(pl.col("op").is_null(), "has no op"),
            leave_out(pl.col("op_").is_null(), NO_OBJECT),
            *if_invalid({"status_": "status", "first_byte_ns": "first_byte"}),
            refuse(status > LAST_STATUS, "status cannot be read"),
            *if_invalid({f"{name}_bytes": name for name in _BYTES}),
        ),
        columns={
            "end_ns" if ends else "time_ns": pl.col("stamp"),
            "local": local,
            **{name: pl.col(name) for name in durations},
            "op": pl.col("op_"),
            "bucket": pl.col("bucket"),
            "key": pl.when(pl.col("op_") == LIST).then(pl.col("key").fill_null("")).otherwise("key"),
            **{f"{name}_bytes": pl.col(f"{name}_bytes") for name in _BYTES},
            "client": pl.col("client"),
            "status": status,
            "error": pl.when(failed).then(error).when(status >= FIRST_ERROR).then(pl.lit("error")),
        },
    )


def _time(text: pl.Expr, form: str) -> tuple[pl.Expr, pl.Expr]:
    """Return ns of a time, and whether it is local."""
    if form == "iso":
        time = iso_time(text)
        return time.struct.field("ns"), time.struct.field("local")
    if form == "clf":
        return clf_time(text.str.strip_chars("[]")), pl.lit(False)
    return decimal(text, _PLACES[_DATED.get(form, form)]), pl.lit(False)


_OWN = {
    "time": "arrival_s:s",
    "op": "op",
    "bucket": "bucket",
    "key": "key",
    "size": "size_bytes",
    "range_start": "range_start_bytes",
    "range": "range_bytes",
    "client": "client",
}


def _recognises(head: Head) -> bool:
    return head.data.startswith(CSV_MARK.encode())


FORMAT = Format(
    "tailcast-csv", "a Trace of tailcast as CSV", False, _recognises, partial(_read, columns_of(_OWN), None, 1)
)
"""A Trace of tailcast as CSV, with relative arrival times."""
