"""Benchmark data of MinIO's warp (``.csv.zst``): tab-separated lines under a header that names the columns.

Layout: minio/warp pkg/bench/ops.go, Operations.CSV; columns have been added over the years, so all are found by name.
Comments (``# …``, at the end: the command line) and headers are not rows. A field in double quotes holds doubled ones.
`bytes` of a STAT, a LIST or a DELETE is 0, of a GET of a range those of the range. A delete of several objects is one
request, which names none of them. Before the requests of the benchmark come the PUTs that prepare its objects: those up
to the first request of another kind are phase 0, the others phase 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.operations import DELETE, GET, LIST, PUT
from traces.readers.blocks import Read, by_block
from traces.readers.delimited import UNCLOSED, delimited, field, header_line, too_few
from traces.readers.expressions import iso_time, number, operation
from traces.readers.formats import Format, Head
from traces.readers.layout import Divide, Layout, if_invalid, leave_out, parser, refuse
from traces.readers.records import NO_OBJECT
from traces.readers.source import Lines, Source
from traces.tables import with_column

NEEDED = ("op", "start", "end", "file")
_OPTIONAL = ("thread", "client_id", "n_objects", "bytes", "endpoint", "error", "first_byte")
_TIMES = ("start", "end", "first_byte")

_OPERATIONS = {
    "GET": "GET",
    "PUT": "PUT",
    "PUTPART": "PUT",
    "STAT": "HEAD",
    "HEAD": "HEAD",
    "DELETE": "DELETE",
    "LIST": "LIST",
}
URI = re.compile(r"[a-z][a-z0-9+.-]*://(?P<bucket>[^/]*)")

_SCHEME = r"^[a-z][a-z0-9+.-]*://"
_QUERY = r"\?[^\s\"']*"  # of a URL; it may hold a signature


@dataclass(frozen=True)
class Dialect:
    """Differences between the tools that write such tables.

    Attributes:
        operations: values of `op`, and the operations they stand for.
        uris: whether `endpoint` and `file` are URIs of bucket and object.
        first_byte: whether `first_byte` of a GET is the time of its first byte.
        prepares: whether the first PUTs prepare the objects of the others.
    """

    operations: Mapping[str, str]
    uris: bool
    first_byte: bool
    prepares: bool


def table_reader(dialect: Dialect) -> Read:
    """Return a reader of tables in the layout of warp."""

    def read(source: Source, report: ImportReport) -> Iterator[pa.RecordBatch]:
        header = header_of(source.head())
        missing = [name for name in NEEDED if name not in header]
        if missing:
            raise InputError(f"{source.name}: column {missing[0]!r} is missing; required are {', '.join(NEEDED)}")
        batches = by_block(parser(_layout(dialect, header)))(source, report)
        yield from _phases(batches) if dialect.prepares else batches

    return read


def header_of(data: bytes) -> tuple[str, ...]:
    """Return the column names from the first line that is neither blank nor a comment; empty if there is no line."""
    return tuple(header_line(data, "#")[1].split("\t"))


def _rows(header: tuple[str, ...], width: int) -> Divide:
    """Return a function that divides blocks without comments and headers; files put together have several headers."""
    divide, top = delimited("\t", width), "\t".join(header)

    def rows(lines: Lines) -> pl.DataFrame:
        text = pl.col("text")
        return divide(lines).filter(~text.str.starts_with("#") & ~text.str.starts_with(top))

    return rows


def _layout(dialect: Dialect, header: tuple[str, ...]) -> Layout:
    columns = {name: field(header.index(name)) for name in (*NEEDED, *_OPTIONAL) if name in header}
    if not dialect.first_byte:
        columns.pop("first_byte", None)
    columns |= {name: pl.lit("") for name in _OPTIONAL if name not in columns}
    needed = 1 + max(header.index(name) for name in NEEDED)
    width = 1 + max(header.index(name) for name in (*NEEDED, *_OPTIONAL) if name in header)
    op, error, moved, start, end = (pl.col(name) for name in ("op_", "error", "bytes_", "start_", "end_"))
    first = pl.col("first_byte_")
    batch, unnamed = (op == DELETE) & (pl.col("n_objects_") > 1), (pl.col("file") == "") & (op != LIST)
    failed, ranged = error != "", (pl.col("op") == "GET_RANGE") & (error == "")
    return Layout(
        divide=_rows(header, width),
        steps=(
            columns,
            {
                "op_": operation(pl.col("op"), dialect.operations),
                "n_objects_": number(pl.col("n_objects")),
                "bytes_": number(pl.col("bytes")),
                **{f"{name}_": iso_time(pl.col(name)).struct.field("ns") for name in _TIMES},
                **(_uris() if dialect.uris else {"bucket": pl.lit(None, pl.String)}),
                "error": pl.col("error").str.replace_all(_QUERY, ""),
            },
        ),
        verdicts=(
            UNCLOSED,
            refuse(too_few(needed), f"has too few fields; {needed} are needed"),
            leave_out(op.is_null(), NO_OBJECT),
            *if_invalid({"start_": "start", "end_": "end"}),
            refuse(start.is_null(), "has no start"),
            refuse(end < start, "ends before it starts"),
            *if_invalid({"first_byte_": "first_byte", "n_objects_": "n_objects", "bytes_": "bytes"}),
            leave_out(unnamed & ~batch, "names no object"),
        ),
        columns={
            "time_ns": start,
            "latency_ns": end - start,
            "first_byte_ns": pl.when((op == GET) & (first >= start)).then(first - start),
            "op": op,
            "bucket": pl.col("bucket"),
            "key": pl.when(unnamed).then(pl.concat_str("n_objects", pl.lit(" objects"))).otherwise("file"),
            # What failed, and what has no body, is often logged with 0 bytes.
            "size_bytes": pl.when(op == LIST)
            .then(0)
            .when(~ranged & ((moved > 0) | (op.is_in([GET, PUT]) & ~failed)))
            .then(moved),
            "transfer_bytes": pl.when((op == PUT) | ((op == GET) & ~failed)).then(moved).otherwise(0),
            "range_start_bytes": pl.when(ranged).then(0),
            "range_bytes": pl.when(ranged).then(moved),
            "client": pl.when((pl.col("client_id") != "") & (pl.col("thread") != ""))
            .then(pl.concat_str("client_id", pl.lit("/"), "thread"))
            .otherwise(pl.concat_str("client_id", "thread").replace("", None)),
            "error": error.replace("", None),
        },
    )  # fmt: skip


def _uris() -> dict[str, pl.Expr]:
    """Return the expressions of bucket and key of URIs; a URI without a scheme names no bucket."""
    file = pl.col("file").str.replace(_SCHEME, "")
    bucket = pl.col("endpoint").str.extract(_SCHEME + "([^/]+)")
    below = file.str.splitn("/", 2)
    named = below.struct.field("field_0") == bucket
    return {"bucket": bucket, "file": pl.when(named).then(below.struct.field("field_1").fill_null("")).otherwise(file)}


def _phases(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give the rows before the first that is no PUT the phase 0, and the others the phase 1."""
    began_ns = None
    for batch in batches:
        time, puts = batch.column("time_ns").to_numpy(), batch.column("op").to_numpy() == PUT
        if began_ns is None and not puts.all():
            began_ns = time[~puts].min()
        later = np.zeros(len(time), bool) if began_ns is None else time >= began_ns
        yield with_column(batch, "phase", pa.array(later.astype(np.int32)))


def named_by_uri(head: Head) -> bool:
    """Whether the rows of a table have endpoints such as ``s3://bucket``."""
    header = header_of(head.data)
    at = header.index("endpoint") if "endpoint" in header else len(header)
    rows = (line.split("\t") for line in head.lines[1:])
    return any(len(row) > at and URI.match(row[at]) and not row[at].startswith("http") for row in rows)


def _recognises(head: Head) -> bool:
    return {*NEEDED, "thread"} <= set(header_of(head.data)) and not named_by_uri(head)


FORMAT = Format(
    "warp",
    "MinIO warp benchmark data (.csv.zst)",
    True,
    _recognises,
    table_reader(Dialect(_OPERATIONS, uris=False, first_byte=True, prepares=True)),
    waits=True,
)
