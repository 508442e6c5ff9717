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

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.readers.blocks import by_block, without_header
from traces.readers.csv_kernels import records
from traces.readers.formats import Format, Head
from traces.readers.kernels import operations
from traces.readers.line_rows import line_reader
from traces.readers.records import NO_OBJECT
from traces.readers.source import Source
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
_OPERATIONS = operations({name: op for op, names in _NAMES.items() for name in names})
_DELIMITERS = ",;\t|"

_REFUSED = (
    "has a quotation mark without its other half",
    "has not {width} fields, as the first line has",
    "latency cannot be read",
    "{stamp} cannot be read",
    "has no latency",
    "has no op",
    "has no key",
    *(f"{field} cannot be read" for field in ("status", "first_byte", "size", "transfer", "range_start", "range")),
)
"""In the order of `traces.readers.csv_kernels`."""


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


def _read(columns: Mapping[str, Column], begin: int, source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
    """Read a file of which `begin` lines come before the header."""
    head = source.head().decode("utf-8", "replace").splitlines()
    first = next((i for i, line in enumerate(head) if i >= begin and line.strip()), None)
    if first is None:
        yield from by_block(without_header)(source, report)
        return
    delimiter = max(_DELIMITERS, key=head[first].count)
    top = next(csv.reader([head[first].removeprefix("\ufeff")], delimiter=delimiter))
    found = _places(columns, [name.strip() for name in top], source)
    stamp = "time" if "time" in columns else "end"
    places = np.array([found.get(field, -1) for field in FIELDS], np.int64)
    refused = [why.format(stamp=stamp, width=len(top)) for why in _REFUSED]
    units = [_unit(columns.get(field)) for field in (stamp, "latency", "first_byte")]
    layout = (len(top), np.uint8(ord(delimiter)), places, np.array(units, np.int64), _OPERATIONS)
    skip = first + 2 if any(isinstance(column.place, str) for column in columns.values()) else first + 1
    yield from line_reader(records, len(top), refused, (NO_OBJECT,), *layout, begin=skip)(source, report)


def _unit(column: Column | None) -> int:
    """The decimal places that make a column's numbers nanoseconds; -1: it is of ISO 8601."""
    form = column.form if column else "s"
    return -1 if form == "iso" else _PLACES[_DATED.get(form, form)]


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
