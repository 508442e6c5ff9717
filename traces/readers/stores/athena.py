"""Amazon S3 server access logs as tables: exports of Athena, CSV with a header line or Parquet.

Layout: the table of "Using Amazon S3 server access logs to identify requests" in the S3 user guide; columns are found
by name, with or without underscores. Their values are those of the log (`traces.readers.stores.s3_access_log`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import polars as pl
import pyarrow as pa

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.readers.blocks import by_block, without_header
from traces.readers.delimited import UNCLOSED, delimited, field, header_line, names_in
from traces.readers.expressions import iso_time
from traces.readers.formats import Format, Head
from traces.readers.layout import parser
from traces.readers.parquet_rows import MAGIC, column_names, row_blocks, texts_of
from traces.readers.source import Source
from traces.readers.stores.s3_access_log import LAYOUT

_FIELDS = {
    "bucket": ("bucketname", "bucket"),
    "time": ("requestdatetime", "requesttime"),
    "remote": ("remoteip",),
    "operation": ("operation",),
    "name": ("key",),
    "uri": ("requesturi", "requesturioperation"),
    "code": ("httpstatus",),
    "failure": ("errorcode",),
    "sent": ("bytessent",),
    "size": ("objectsize",),
    "total": ("totaltime",),
    "turn_around": ("turnaroundtime",),
}
"""The fields of the log's layout, and the names of the columns."""

_OPTIONAL = {"id": ("requestid",)}
"""Those that a table may lack."""

# Parquet may have the time as a timestamp.
_TIME = {"time_ns": pl.coalesce("time_ns", iso_time(pl.col("time").str.replace(" UTC$", "Z")).struct.field("ns"))}


def _places(names: Sequence[str]) -> dict[str, int]:
    """Return the place of each field among columns of those names; empty unless all are there."""
    plain = [name.strip().lower().replace("_", "") for name in names]
    places = {
        field: next(i for i, name in enumerate(plain) if name in known)
        for field, known in (_FIELDS | _OPTIONAL).items()
        if not set(known).isdisjoint(plain)
    }
    return places if places.keys() >= _FIELDS.keys() else {}


def _required(names: Sequence[str], source: Source) -> dict[str, int]:
    places = _places(names)
    if not places:
        wanted = ", ".join(known[0] for known in _FIELDS.values())
        raise InputError(f"{source.name}: lacks columns of an access log; required are {wanted}")
    return places


def _missing(places: Mapping[str, int]) -> dict[str, pl.Expr]:
    return {name: pl.lit(None, pl.String) for name in _OPTIONAL if name not in places}


def read(source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
    """Read a file.

    Raises:
        InputError: the file cannot be read, or lacks a column.
    """
    head = source.head()
    layout = replace(LAYOUT, steps=(*LAYOUT.steps, _TIME))
    if head.startswith(MAGIC):
        names = column_names(source)
        places = _required(names, source)
        layout = replace(layout, steps=(_missing(places), *layout.steps))
        layout = replace(layout, divide=texts_of([names[place] for place in places.values()], list(places)))
        yield from by_block(parser(layout), row_blocks)(source, report)
        return
    at, line = header_line(head)
    if not at:
        yield from by_block(without_header)(source, report)
        return
    places = _required(names_in(line, ","), source)
    fields = {name: field(place) for name, place in places.items()} | _missing(places)
    layout = replace(
        layout,
        divide=delimited(",", 1 + max(places.values())),
        steps=(fields, *layout.steps),
        verdicts=(UNCLOSED, *layout.verdicts),
    )
    yield from by_block(parser(layout), partial(Source.lines, begin=at + 1))(source, report)


def _recognises(head: Head) -> bool:
    if head.data.startswith(MAGIC):
        return head.path is not None and bool(_places(column_names(Source(head.path))))
    return bool(_places(names_in(header_line(head.data)[1], ",")))


FORMAT = Format(
    "s3-access-log-table", "Amazon S3 server access log as CSV or Parquet (Athena)", True, _recognises, read
)
