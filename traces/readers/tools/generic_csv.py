"""Tables of any layout, with a mapping of fields to columns: delimited lines, lines of a regular expression, Parquet.

The mapping gives for each field (`FIELDS`) a column, by its name in the header line or by its number from 1, and after
a colon its form; or, after an equals sign, a constant. If all columns are numbers, there is no header line. Exactly one
of ``time`` and ``end`` is needed. Without ``op`` each request is a GET.

============ =========================================== =====================================================
field        after the colon                             is
============ =========================================== =====================================================
time, end    ``iso``                                     start of the request, or its end (then with a latency):
                                                         ISO 8601, with a zone or in that of the import
             ``clf``                                     ``21/Nov/2026:10:44:01 +0000``, with or without
                                                         brackets, zone and decimal places
             ``epoch epoch_ms epoch_us epoch_ns``        time since 1970
             ``s ms us ns``                              relative time
             nothing                                     the first four are told apart by the first rows
latency,     ``s`` (the default) ``ms us ns``            from start to end, or to the first byte of the response
first_byte   ``units``                                   body; ``3m18.7s``, ``152µs``
request                                                  request line (``GET /bucket/key?versionId=1 HTTP/1.1``),
                                                         or its target, with the method in `op`
host         the domain below which a host's name begins the name that a `request` was for
             with the bucket's (the default: ``s3.…``)
received,    ``bytes`` (the default) ``units``           body of the request, body of the response
sent
op                                                       the operation, by its name in any of the formats: GET,
                                                         read, GetObject, get_obj, REST.GET.OBJECT …
key, bucket                                              which object; of a LIST the prefix
size         ``bytes`` (the default) ``units``           of the object: ``28 MiB``
transfer     ``bytes`` (the default) ``units``           payload moved; without a size, that is the object's
range_start, ``bytes`` (the default) ``units``           of a ranged GET
range
client                                                   name of the client
request_id                                               identity of the request; rows with the same one, time,
                                                         operation and object are one request
status                                                   HTTP status
error                                                    error text; empty, ``-``, 0, ok, none or false: success
============ =========================================== =====================================================

The delimiter is the most frequent of comma, semicolon, TAB and bar in the first line, else blanks. A field may be in
double quotes, with quotes inside doubled, but must not contain a newline; between blanks, also in brackets. With a
regular expression, its groups are the columns, by name or number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import polars as pl
import pyarrow as pa

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.operations import OPS
from traces.readers.blocks import by_block, without_header
from traces.readers.delimited import UNCLOSED, delimited, delimiter_of, field, header_line, names_in, spaced, too_few
from traces.readers.expressions import matches
from traces.readers.formats import Format, Head
from traces.readers.layout import Divide, RowVerdict, parser, refuse
from traces.readers.operations import any_operation
from traces.readers.parquet_rows import MAGIC, column_names, row_blocks, texts_of
from traces.readers.source import Lines, Source
from traces.readers.tools.table_guesses import interpreted, sample_of
from traces.readers.tools.table_layout import BYTES, DATED, GUESSED, PLACES, UNITS, Column, table_layout
from traces.trace import CSV_MARK

CSV = "csv"
"""The name of the format."""

_TIMES = (GUESSED, "iso", "clf", *DATED, *PLACES)
_DURATIONS = (*PLACES, UNITS)
_AMOUNTS = ("bytes", UNITS)

FIELDS: Mapping[str, tuple[str, ...]] = {
    "time": _TIMES,
    "end": _TIMES,
    "request": (),
    "host": (),
    "op": (),
    "bucket": (),
    "key": (),
    **dict.fromkeys(BYTES, _AMOUNTS),
    "latency": _DURATIONS,
    "first_byte": _DURATIONS,
    "client": (),
    "request_id": (),
    "status": (),
    "error": (),
}
"""The fields and their possible forms; the first form is the default."""


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
    if "key" not in columns and "request" not in columns:
        raise InputError("columns: key is missing; required are time (or end and latency), and key or request")
    if "request" in columns and (clash := {"key", "bucket"} & set(columns)):
        raise InputError(f"columns: request has bucket and key; leave out {' and '.join(sorted(clash))}")
    if ("time" in columns) == ("end" in columns) or ("end" in columns and "latency" not in columns):
        raise InputError("columns: give either time, or end and latency")
    if len({type(column.place) for column in columns.values() if column.place is not None}) > 1:
        raise InputError("columns: give either all numbers (without a header line) or all names of the header line")
    if "host" in columns and "request" not in columns:
        raise InputError("columns: host is for a request; give request, or bucket and key")
    if "request" in columns and "op" not in columns:
        return columns
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
    if name == "host":
        place, _, form = text.partition(":")
    elif not colon or not forms:
        place, form = text, forms[0] if forms else ""
    if not place or (forms and form not in forms):
        allowed = ", ".join(form for form in forms if form != GUESSED)
        raise InputError(f"columns: {name} is {text!r}; after the colon allowed are {allowed}")
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
    dated = form not in PLACES
    if pattern is not None:
        if delimiter is not None:
            raise InputError("columns: give either a delimiter or a pattern")
        fields, divide = _of_pattern(columns, pattern)
        table = _Table(divide, fields, (refuse(pl.col("matched").not_(), "does not match the pattern"),))
        return Format(CSV, "lines of a pattern", dated, lambda head: False, partial(_read_as, columns, lambda _: table))
    found = partial(_found, columns, delimiter, 0)
    return Format(CSV, "CSV, by its columns", dated, lambda head: False, partial(_read_as, columns, found))


@dataclass(frozen=True)
class _Table:
    """How a file of rows is divided.

    Attributes:
        divide: divides a block of rows.
        fields: the texts of the columns, by field.
        verdicts: on rows that cannot be divided.
        blocks: divides the file into blocks of rows.
    """

    divide: Divide
    fields: Mapping[str, pl.Expr]
    verdicts: tuple[RowVerdict, ...] = ()
    blocks: Callable[[Source], Iterator[Lines]] = Source.lines


def _read_as(
    columns: Mapping[str, Column], table_of: Callable[[Source], _Table | None], source: Source, report: ImportReport
) -> Iterator[pa.RecordBatch]:
    """Read a file whose rows are divided as `table_of` finds."""
    table = table_of(source)
    if table is None:
        yield from by_block(without_header)(source, report)
        return
    sample = sample_of(source, table.blocks, table.divide, table.fields)
    columns, notes = interpreted(columns, sample, str(source.name))
    for note in notes:
        report.note(f"{source.name}: {note}")
    fields = {name: text for name, text in table.fields.items() if name in columns}
    if "key" in table.fields and "key" not in columns:
        fields["request"] = table.fields["key"]
    layout = replace(table_layout(columns, fields, table.verdicts), divide=table.divide)
    yield from by_block(parser(layout), table.blocks)(source, report)


def _of_pattern(columns: Mapping[str, Column], pattern: str) -> tuple[dict[str, pl.Expr], Divide]:
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
    return (
        fields,
        lambda lines: (
            divide(lines).rename(found).with_columns(matched=pl.col("text").str.contains(named).fill_null(False))
        ),
    )


def _found(columns: Mapping[str, Column], delimiter: str | None, above: int, source: Source) -> _Table | None:
    """Return how to read a file with `above` lines before the header; None if it has no header."""
    head = source.head()
    if head.startswith(MAGIC):
        header = column_names(source)
        found = _places(columns, header, source)
        divide = texts_of([header[place] for place in found.values()], [f"field_{name}" for name in found])
        return _Table(divide, {name: pl.col(f"field_{name}") for name in found}, blocks=row_blocks)
    skipped = b"".join(head.split(b"\n", above)[above:])
    first, line = header_line(skipped)
    if not first:
        return None
    delimiter = delimiter or delimiter_of(line)
    header = names_in(line, delimiter)
    found = _places(columns, header, source)
    fields = {name: field(place) for name, place in found.items()}
    width = 1 + max(found.values(), default=0) if delimiter == " " else len(header)
    uneven = too_few(width) if delimiter == " " else pl.col("fields") != width
    few = refuse(uneven, f"has not {width} fields, as the first line has")
    divide = spaced(width) if delimiter == " " else delimited(delimiter, max(1, width))
    named = any(isinstance(column.place, str) for column in columns.values())
    return _Table(divide, fields, (UNCLOSED, few), partial(Source.lines, begin=above + first + named))


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


_own = columns_of(_OWN)
FORMAT = Format(
    "tailcast-csv",
    "a Trace of tailcast as CSV",
    False,
    _recognises,
    partial(_read_as, _own, partial(_found, _own, None, 1)),
)
"""A Trace of tailcast as CSV, with relative arrival times."""
