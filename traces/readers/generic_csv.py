"""CSV files of any layout, with a mapping that says which column is what.

The mapping has for each field (`FIELDS`) a column, by the name in the header line or by its number from 1, and after a
colon how it is written. Without any name there is no header line. Of ``time`` and ``end`` there is one.

=========== ============================================ =====================================================
field       after the colon                              is
=========== ============================================ =====================================================
time, end   ``iso`` (the default)                        when the request began (ended; then with a latency):
                                                         ISO 8601, with a zone or in that of the import
            ``epoch epoch_ms epoch_us epoch_ns``         time since 1970
            ``s ms us ns``                               time since a zero of the log's own
latency,    ``s`` (the default) ``ms us ns``             from when it began to its end, or to the first byte of the
first_byte                                               answer's body
op                                                       GET, PUT, HEAD, DELETE or LIST, or read, write, stat …
key, bucket                                              which object; of a LIST the prefix
size                                                     of the object, bytes
transfer                                                 payload moved, bytes
range_start,                                             of a ranged GET, bytes
range
client                                                   who asked
status                                                   of HTTP
error                                                    what went wrong; empty, ``-``, 0, ok, none or false: nothing
=========== ============================================ =====================================================

The delimiter is whichever of comma, semicolon, TAB and bar the first line has most of. A field may stand in double
quotes, with those in it doubled, but not go on over a line's end.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from traces.errors import InputError
from traces.readers.blocks import by_block, without_header
from traces.readers.columns import by_value, missing, numbers, operations, whole
from traces.readers.formats import Format, Head
from traces.readers.http_requests import is_error
from traces.readers.records import Parsed, Rows
from traces.readers.source import Lines, Source
from traces.readers.spans import Ints, Spans
from traces.readers.tally import Tally
from traces.tables import LIST
from traces.trace import CSV_MARK

CSV = "csv"
"""The name of the format."""

_PLACES = {"s": 9, "ms": 6, "us": 3, "ns": 0}
"""Decimal places of a unit that make a nanosecond."""

_DATED = {"epoch": "s", "epoch_ms": "ms", "epoch_us": "us", "epoch_ns": "ns"}

FIELDS: Mapping[str, tuple[str, ...]] = {
    "time": ("iso", *_DATED, *_PLACES),
    "end": ("iso", *_DATED, *_PLACES),
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
"""What a column can be, and the ways it can be written; the first is the default."""

_NAMES = {
    "GET": ("get", "read", "download"),
    "PUT": ("put", "write", "upload"),
    "HEAD": ("head", "stat"),
    "DELETE": ("delete", "del", "remove"),
    "LIST": ("list", "ls"),
}
_OPERATIONS = {name: op for op, names in _NAMES.items() for name in names}
_FINE = ("-", "0", "ok", "none", "null", "false")
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Column:
    """A column of the file: its header or its number from 1 (``place``), and how it is written."""

    place: str | int
    form: str


def columns_of(mapping: Mapping[str, str]) -> dict[str, Column]:
    """The columns by field, from texts such as ``dur:ms``.

    Raises:
        InputError: a field or a form is not known, one that is needed is not there, or numbers and names are mixed.
    """
    columns = {}
    for field, text in mapping.items():
        if field not in FIELDS:
            raise InputError(f"columns: the field {field!r} is not known; allowed are {', '.join(FIELDS)}")
        name, colon, form = text.rpartition(":")
        forms = FIELDS[field]
        if not colon or not forms:
            name, form = text, forms[0] if forms else ""
        if not name or (forms and form not in forms):
            raise InputError(f"columns: {field} is {text!r}; after the colon allowed are {', '.join(forms)}")
        columns[field] = Column(int(name) if name.isascii() and name.isdigit() and int(name) else name, form)
    for needed in ("op", "key"):
        if needed not in columns:
            raise InputError(f"columns: {needed} is missing; needed are time (or end and latency), op and key")
    if ("time" in columns) == ("end" in columns) or ("end" in columns and "latency" not in columns):
        raise InputError("columns: either time is needed, or end and latency")
    if len({type(column.place) for column in columns.values()}) > 1:
        raise InputError("columns: all have to be numbers (there is no header line) or all names of the header line")
    return columns


def csv_format(mapping: Mapping[str, str]) -> Format:
    """The format of CSV files with those columns.

    Raises:
        InputError: as `columns_of` says.
    """
    columns = columns_of(mapping)
    form = columns.get("time", columns.get("end", Column(1, "iso"))).form
    return Format(CSV, "CSV, by its columns", form not in _PLACES, lambda head: False, partial(_read, columns, 0))


def _read(columns: Mapping[str, Column], begin: int, source: Source, tally: Tally) -> Iterator[pa.RecordBatch]:
    """Read a file of which `begin` lines come before the header."""
    head = source.head().decode("utf-8", "replace").splitlines()
    first = next((i for i, line in enumerate(head) if i >= begin and line.strip()), None)
    if first is None:
        yield from by_block(without_header)(source, tally)
        return
    delimiter = max(_DELIMITERS, key=head[first].count)
    top = next(csv.reader([head[first].removeprefix("\ufeff")], delimiter=delimiter))
    layout = _Layout(columns, delimiter, _places(columns, [name.strip() for name in top], source), len(top))
    skip = first + 1 if any(isinstance(column.place, str) for column in columns.values()) else first
    yield from by_block(lambda lines: _parse(layout, lines, skip))(source, tally)


@dataclass(frozen=True)
class _Layout:
    columns: Mapping[str, Column]
    delimiter: str
    place: Mapping[str, int]  # of each field, from 0
    width: int


def _places(columns: Mapping[str, Column], header: list[str], source: Source) -> dict[str, int]:
    """Where each field's column is.

    Raises:
        InputError: the file has no such column.
    """
    places = {}
    for field, column in columns.items():
        if isinstance(column.place, int):
            place = column.place - 1 if column.place <= len(header) else -1
        else:
            place = header.index(column.place) if column.place in header else -1
        if place < 0:
            raise InputError(f"{source.path}: has no column {column.place!r} for {field}; it has {', '.join(header)}")
        places[field] = place
    return places


def _parse(layout: _Layout, lines: Lines, skip: int) -> Iterator[Parsed]:
    passed = max(0, min(skip - lines.first + 1, lines.count))
    data = b"\n".join(lines.data.split(b"\n", passed)[passed:])
    held = [i for i, line in enumerate(data.split(b"\n")) if line.strip()]
    if not held:
        return
    if len(held) == 1 and data.count(b'"') % 2:
        raise ValueError("has a quotation mark without its other half")
    names = [str(i) for i in range(layout.width)]
    table = pacsv.read_csv(
        pa.BufferReader(data),
        pacsv.ReadOptions(use_threads=False, column_names=names, block_size=len(data) + 1),
        pacsv.ParseOptions(delimiter=layout.delimiter),
        pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=["", "-"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    if table.num_rows != len(held):
        raise ValueError("is not one row of CSV")
    yield _convert(layout, table, Rows(np.array(held, np.int64) + lines.first + passed), lines.zone)


def _convert(layout: _Layout, table: pa.Table, rows: Rows, zone: str) -> Parsed:
    absent = pa.nulls(len(table), pa.string())

    def text(field: str) -> pa.Array:
        return table.column(layout.place[field]).combine_chunks() if field in layout.place else absent

    def duration(field: str) -> pa.Array:
        form = layout.columns[field].form if field in layout.columns else "s"
        spans = Spans.of(text(field))
        return numbers(rows, spans, spans.decimals(_PLACES[form]), field, None)

    def count(field: str) -> pa.Array:
        return whole(rows, Spans.of(text(field)), field, None)

    latency = duration("latency")
    stamp = "time" if "time" in layout.columns else "end"
    spans = Spans.of(text(stamp))
    time = _times(spans, layout.columns[stamp].form, zone)
    rows.refuse(time < 0, f"{stamp} cannot be read")
    if stamp == "end":
        rows.refuse(missing(latency), "has no latency")
        time = time - latency.fill_null(0).to_numpy()
    verb, key = text("op"), text("key")
    rows.refuse(missing(verb), "has no op")
    op = operations(pc.utf8_lower(verb), _OPERATIONS)
    rows.leave_out(op < 0, "not an operation on an object or a listing")
    key = pc.if_else(pa.array(op == LIST), key.fill_null(""), key)
    rows.refuse(missing(key), "has no key")
    status = count("status")
    error = by_value(text("error"), lambda told: None if told.lower() in _FINE else told, pa.string())
    failed = is_error(status)
    return rows.parsed(
        time_ns=time,
        latency_ns=latency,
        first_byte_ns=duration("first_byte"),
        op=op,
        bucket=text("bucket"),
        key=key,
        size_bytes=count("size"),
        transfer_bytes=count("transfer"),
        range_start_bytes=count("range_start"),
        range_bytes=count("range"),
        client=text("client"),
        status=status,
        error=pc.if_else(pc.and_(failed, error.is_null()), "error", error),
    )


def _times(spans: Spans, form: str, zone: str) -> Ints:
    """ns; -1 where there is no time."""
    if form == "iso":
        return spans.iso_ns(zone)
    return spans.decimals(_PLACES[_DATED.get(form, form)])


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


FORMAT = Format("tailcast-csv", "a Trace of tailcast as CSV", False, _recognises, partial(_read, columns_of(_OWN), 1))
"""tailcast's own Trace as CSV; its arrivals count from its own zero."""
