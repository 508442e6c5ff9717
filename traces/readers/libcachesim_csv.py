"""libCacheSim's traces as CSV with a header line.

Layout: what libCacheSim's tracePrint writes (``# time,object,size,next_access_vtime``) and the CSV files in its folder
data/ (``version,time,op,size,lbn``: a block device's, with SCSI's operation codes), other names of the same columns
too. Without an operation each request is a GET of the whole object. Files without a header line are for the format
``csv``, which is told the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traces.errors import InputError
from traces.readers.blocks import by_block, without_header
from traces.readers.cache_operations import CACHE_OPERATIONS
from traces.readers.columns import NO_OBJECT, operations, whole
from traces.readers.formats import Format, Head
from traces.readers.records import Parsed, Rows
from traces.readers.source import Lines, Source
from traces.readers.spans import Fields
from traces.readers.tally import Tally
from traces.tables import GET

_TIME = ("time", "clock_time", "real_time", "timestamp")
_OBJECT = ("obj_id", "object", "object_id", "obj", "lbn")
_SIZE = ("obj_size", "size", "object_size")
_OPERATION = ("op", "op_type", "operation")
_OTHERS = ("next_access_vtime", "version", "ttl", "tenant", "tenant_id", "cost", "feature")
_DELIMITERS = ",\t|;"

_SCSI = dict.fromkeys(("08", "28", "88", "a8"), "GET") | dict.fromkeys(("0a", "2a", "8a", "aa"), "PUT")
_OPERATIONS = {**CACHE_OPERATIONS, "read": "GET", "write": "PUT", **_SCSI}


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
                "give the columns with --format csv --columns"
            )
        yield from by_block(without_header)(source, tally)
    else:
        yield from by_block(partial(_parse, layout), partial(_below, layout.begin))(source, tally)


def _below(begin: int, source: Source) -> Iterator[Lines]:
    """The file's lines from line `begin` on."""
    for lines in source.lines():
        if above := max(0, min(begin - lines.first, lines.count)):
            data = b"".join(lines.data.split(b"\n", above)[above:])
            lines = Lines(lines.path, lines.first + above, data, lines.zone)
        yield lines


def _parse(layout: _Layout, lines: Lines) -> Iterator[Parsed]:
    places = (layout.time, layout.object, layout.size, layout.operation or 0)
    fields = Fields.of(lines, max(places) + 1, layout.delimiter)
    rows = Rows(fields.line)
    rows.refuse(fields.count <= max(places), f"has too few fields; {max(places) + 1} are needed")
    time = fields[layout.time].decimals(9)
    rows.refuse(time < 0, "time cannot be read")
    object_ = fields[layout.object]
    rows.refuse(object_.end <= object_.start, "has no object")
    op = np.full(len(rows.line), GET, np.int8)
    if layout.operation is not None:
        op = operations(pc.ascii_lower(fields[layout.operation].texts()), _OPERATIONS)
        rows.leave_out(op < 0, NO_OBJECT)
    size = whole(rows, fields[layout.size], "size", null=None)
    yield rows.parsed(time_ns=time, op=op, key=object_.texts(), size_bytes=size)


def _recognises(head: Head) -> bool:
    return _layout(head, sure=True) is not None


FORMAT = Format("libcachesim-csv", "libCacheSim CSV with a header line", False, _recognises, read)
