"""CSV files of any layout, with a mapping of fields to columns.

The mapping gives for each field (`FIELDS`) a column, by its name in the header line or by its number from 1, and after
a colon its form. If all columns are numbers, there is no header line. Exactly one of ``time`` and ``end`` is needed.

=========== ============================================ =====================================================
field       after the colon                              is
=========== ============================================ =====================================================
time, end   ``iso`` (the default)                        start of the request, or its end (then with a latency):
                                                         ISO 8601, with a zone or in that of the import
            ``epoch epoch_ms epoch_us epoch_ns``         time since 1970
            ``s ms us ns``                               relative time
latency,    ``s`` (the default) ``ms us ns``             from start to end, or to the first byte of the response
first_byte                                               body
op                                                       GET, PUT, HEAD, DELETE or LIST, or read, write, stat …
key, bucket                                              which object; of a LIST the prefix
size                                                     of the object, bytes
transfer                                                 payload moved, bytes
range_start,                                             of a ranged GET, bytes
range
client                                                   name of the client
status                                                   HTTP status
error                                                    error text; empty, ``-``, 0, ok, none or false: success
=========== ============================================ =====================================================

The delimiter is the most frequent of comma, semicolon, TAB and bar in the first line. A field may be in double quotes,
with quotes inside doubled, but must not contain a newline.
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
"""Decimal places from a unit to nanoseconds."""

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
"""The fields and their possible forms; the first form is the default."""

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
    """A column of the file: its header or its number from 1 (``place``), and its form."""

    place: str | int
    form: str


def columns_of(mapping: Mapping[str, str]) -> dict[str, Column]:
    """Parse texts such as ``dur:ms`` into columns by field.

    Raises:
        InputError: a field or a form is unknown, a required field is missing, or numbers and names are mixed.
    """
    columns = {}
    for field, text in mapping.items():
        if field not in FIELDS:
            raise InputError(f"columns: the field {field!r} is unknown; allowed are {', '.join(FIELDS)}")
        name, colon, form = text.rpartition(":")
        forms = FIELDS[field]
        if not colon or not forms:
            name, form = text, forms[0] if forms else ""
        if not name or (forms and form not in forms):
            raise InputError(f"columns: {field} is {text!r}; after the colon allowed are {', '.join(forms)}")
        columns[field] = Column(int(name) if name.isascii() and name.isdigit() and int(name) else name, form)
    for needed in ("op", "key"):
        if needed not in columns:
            raise InputError(f"columns: {needed} is missing; required are time (or end and latency), op and key")
    if ("time" in columns) == ("end" in columns) or ("end" in columns and "latency" not in columns):
        raise InputError("columns: give either time, or end and latency")
    if len({type(column.place) for column in columns.values()}) > 1:
        raise InputError("columns: give either all numbers (without a header line) or all names of the header line")
    return columns


def csv_format(mapping: Mapping[str, str]) -> Format:
    """Return the format of CSV files with the given columns.

    Raises:
        InputError: see `columns_of`.
    """
    columns = columns_of(mapping)
    form = columns.get("time", columns.get("end", Column(1, "iso"))).form
    return Format(CSV, "CSV, by its columns", form not in _PLACES, lambda head: False, partial(_read, columns, 0))


def _read(columns: Mapping[str, Column], begin: int, source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
    """Read a file with `begin` lines before the header."""
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
    """Return the decimal places from the unit of a column to nanoseconds; -1 for ISO 8601."""
    form = column.form if column else "s"
    return -1 if form == "iso" else _PLACES[_DATED.get(form, form)]


def _places(columns: Mapping[str, Column], header: list[str], source: Source) -> dict[str, int]:
    """Return the position of each field's column.

    Raises:
        InputError: the file does not have a column.
    """
    places = {}
    for field, column in columns.items():
        if isinstance(column.place, int):
            place = column.place - 1 if column.place <= len(header) else -1
        else:
            place = header.index(column.place) if column.place in header else -1
        if place < 0:
            raise InputError(f"{source.path}: no column {column.place!r} for {field}; the file has {', '.join(header)}")
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
"""A Trace of tailcast as CSV, with relative arrival times."""
