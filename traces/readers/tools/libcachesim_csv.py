"""libCacheSim's traces as CSV with a header line.

Layout: output of libCacheSim's tracePrint (``# time,object,size,next_access_vtime``) and the CSV files in its folder
data/ (``version,time,op,size,lbn``: block device traces with SCSI operation codes), including other names of the same
columns, and blanks around the fields. Without an operation each request is a GET of the whole object. For files without
a header line use the format ``csv`` with explicit columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import polars as pl
import pyarrow as pa

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.operations import GET
from traces.readers.blocks import by_block, without_header
from traces.readers.delimited import delimited, delimiter_of, field, header_line, too_few
from traces.readers.expressions import decimal, number, operation
from traces.readers.formats import Format, Head
from traces.readers.layout import Layout, leave_out, parser, refuse
from traces.readers.operations import CACHE_OPERATIONS
from traces.readers.records import NO_OBJECT
from traces.readers.source import Source

_KNOWN = {
    "time": ("time", "clock_time", "real_time", "timestamp"),
    "object": ("obj_id", "object", "object_id", "obj", "lbn"),
    "size": ("obj_size", "size", "object_size"),
    "op": ("op", "op_type", "operation"),
}
_OTHERS = ("next_access_vtime", "version", "ttl", "tenant", "tenant_id", "cost", "feature")
_SCSI = dict.fromkeys(("08", "28", "88", "a8"), "GET") | dict.fromkeys(("0a", "2a", "8a", "aa"), "PUT")
_OPERATIONS = {**CACHE_OPERATIONS, "read": "GET", "write": "PUT", **_SCSI}


def _columns(data: bytes) -> tuple[int, str, dict[str, int], bool]:
    """Return the number of the header line, the delimiter, the known columns, and whether there are no others."""
    at, line = header_line(data)
    delimiter = delimiter_of(line)
    names = [name.strip().lower().replace("-", "_") for name in line.lstrip("\ufeff# ").split(delimiter)]
    places = {
        column: next(i for i, name in enumerate(names) if name in known)
        for column, known in _KNOWN.items()
        if not set(known).isdisjoint(names)
    }
    return at, delimiter, places, set(names) <= {*_OTHERS, *(name for known in _KNOWN.values() for name in known)}


def _layout(delimiter: str, places: dict[str, int]) -> Layout:
    width = max(places.values()) + 1
    time, key, size = (field(places[name]).str.strip_chars(" ") for name in ("time", "object", "size"))
    named = (
        operation(field(places["op"]).str.strip_chars(" ").str.to_lowercase(), _OPERATIONS) if "op" in places else None
    )
    return Layout(
        divide=delimited(delimiter, width, quotes=False),
        steps=({
            "time_ns": decimal(time, 9),
            "op": pl.lit(GET, pl.Int8) if named is None else named,
            "size_bytes": number(size),
            "key": key,
        },),
        verdicts=(
            refuse(too_few(width), f"has too few fields; {width} are needed"),
            refuse(pl.col("time_ns").is_null(), "time cannot be read"),
            refuse(pl.col("key") == "", "has no object"),
            leave_out(pl.col("op").is_null(), NO_OBJECT),
            refuse(pl.col("size_bytes").is_null(), "size cannot be read"),
        ),
        columns={name: pl.col(name) for name in ("time_ns", "op", "key", "size_bytes")},
    )  # fmt: skip


def read(source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
    """Read a file.

    Raises:
        InputError: the file cannot be read or has no header line.
    """
    head = source.head()
    at, delimiter, places, _ = _columns(head)
    if not {"time", "object", "size"} <= places.keys():
        if head.strip():
            raise InputError(
                f"{source.name}: has no header line that names time, obj_id and obj_size; "
                "read it as csv with named columns"
            )
        yield from by_block(without_header)(source, report)
        return
    yield from by_block(parser(_layout(delimiter, places)), partial(Source.lines, begin=at + 1))(source, report)


def _recognises(head: Head) -> bool:
    _, _, places, sure = _columns(head.data)
    return sure and {"time", "object", "size"} <= places.keys()


FORMAT = Format("libcachesim-csv", "libCacheSim CSV with a header line", False, _recognises, read)
