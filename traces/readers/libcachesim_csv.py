"""libCacheSim's traces as CSV with a header line.

Layout: what libCacheSim's tracePrint writes (``# time,object,size,next_access_vtime``) and the CSV files in its folder
data/ (``version,time,op,size,lbn``: a block device's, with SCSI's operation codes), other names of the same columns
too. Without an operation each request is a GET of the whole object. Files without a header line are for the format
``csv``, which is told the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from traces.errors import InputError
from traces.readers.blocks import by_block, without_header
from traces.readers.cache_operations import CACHE_OPERATIONS
from traces.readers.compiling import compiled, pointer
from traces.readers.drafts import begun, rejected
from traces.readers.formats import Format, Head
from traces.readers.kernels import decimal, digits, line_end, of, operation, operations, split
from traces.readers.line_rows import line_reader
from traces.readers.records import NO_OBJECT
from traces.readers.source import Source
from traces.readers.tally import Tally
from traces.tables import GET

_TIME = ("time", "clock_time", "real_time", "timestamp")
_OBJECT = ("obj_id", "object", "object_id", "obj", "lbn")
_SIZE = ("obj_size", "size", "object_size")
_OPERATION = ("op", "op_type", "operation")
_OTHERS = ("next_access_vtime", "version", "ttl", "tenant", "tenant_id", "cost", "feature")
_DELIMITERS = ",\t|;"

_SCSI = dict.fromkeys(("08", "28", "88", "a8"), "GET") | dict.fromkeys(("0a", "2a", "8a", "aa"), "PUT")
_OPERATIONS = operations({**CACHE_OPERATIONS, "read": "GET", "write": "PUT", **_SCSI})


@dataclass(frozen=True)
class _Layout:
    """Where the columns are, from 0; of the operation None: there is none."""

    begin: int  # number of the first line below the header
    delimiter: str
    time: int
    object: int
    size: int
    operation: int | None


def _layout(head: Head, sure: bool) -> _Layout | None:
    """The layout that the first line which is not blank gives; None: it is no header.

    Args:
        head: of the file.
        sure: whether only names that libCacheSim's files have are allowed.
    """
    lines = head.data.decode("utf-8", "replace").split("\n")
    at = next((i for i, line in enumerate(lines) if line.strip()), None)
    if at is None:
        return None
    delimiter = max(_DELIMITERS, key=lines[at].count)
    names = [name.strip().lower().replace("-", "_") for name in lines[at].lstrip("\ufeff# ").split(delimiter)]
    time, object_, size, operation = (
        next((i for i, name in enumerate(names) if name in known), None)
        for known in (_TIME, _OBJECT, _SIZE, _OPERATION)
    )
    if time is None or object_ is None or size is None:
        return None
    if sure and not set(names) <= {*_TIME, *_OBJECT, *_SIZE, *_OPERATION, *_OTHERS}:
        return None
    return _Layout(at + 2, delimiter, time, object_, size, operation)


def read(source: Source, tally: Tally) -> Iterator[pa.RecordBatch]:
    """Read a file.

    Raises:
        InputError: the file cannot be read or has no header line.
    """
    head = Head(source.path.name, source.head())
    layout = _layout(head, sure=False)
    if layout is None:
        if head.data.strip():
            raise InputError(
                f"{source.path}: has no header line that names time, obj_id and obj_size; "
                "read it as csv with named columns"
            )
        yield from by_block(without_header)(source, tally)
    else:
        places = (layout.time, layout.object, layout.size, -1 if layout.operation is None else layout.operation)
        width = max(places) + 1
        refused = [why.format(width=width) for why in _REFUSED]
        kernel_layout = (np.array(places, np.int64), width, np.uint8(ord(layout.delimiter)))
        read_lines = line_reader(_records, width, refused, _LEFT_OUT, *kernel_layout, begin=layout.begin)
        yield from read_lines(source, tally)


_REFUSED = (
    "has too few fields; {width} are needed",
    "time cannot be read",
    "has no object",
    "size cannot be read",
)
_FEW, _BAD_TIME, _NO_KEY, _BAD_SIZE = range(1, 5)
_LEFT_OUT = (NO_OBJECT,)
_NOT_OBJECT = -1


@compiled
def _record(data, at, stop, fields, places, width, delimiter, row):  # type: ignore[no-untyped-def]
    if split(data, at, stop, delimiter, False, False, fields, width) < width:
        return _FEW
    row.time_ns, row.size_bytes = decimal(data, *of(fields, places[0]), 9), digits(data, *of(fields, places[2]))
    row.key_from, row.key_to = of(fields, places[1])
    if row.time_ns < 0 or row.key_to == row.key_from:
        return _BAD_TIME if row.time_ns < 0 else _NO_KEY
    row.op = GET
    if places[3] >= 0:
        row.op = operation(data, *of(fields, places[3]), _OPERATIONS, True)
    if row.op < 0 or row.size_bytes < 0:
        return _NOT_OBJECT if row.op < 0 else _BAD_SIZE
    return 0


@compiled
def _records(text, at, size, rows, bounds, places, width, delimiter):  # type: ignore[no-untyped-def]
    data, fields, columns = pointer(text), pointer(bounds), pointer(places)
    line, kept, gone = 0, 0, 0
    while at < size:
        newline, stop = line_end(data, at, size)
        if stop > at:
            verdict = _record(data, at, stop, fields, columns, width, delimiter, begun(rows[kept]))
            if verdict:
                gone = rejected(rows, gone, line, verdict)
            else:
                kept += 1
        at, line = newline + 1, line + 1
    return kept, gone


def _recognises(head: Head) -> bool:
    return _layout(head, sure=True) is not None


FORMAT = Format("libcachesim-csv", "libCacheSim CSV with a header line", False, _recognises, read)
