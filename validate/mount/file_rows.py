"""The rows of a Trace as operations on paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from traces.operations import OPERATIONS, OPS, Operation
from traces.trace import TARGET_FIELD, Trace

OPENING = ("OPEN", "CREATE", "FSYNC", "CLOSE")
"""With any of them in a trace, READs and WRITEs are of files that are open (as in `models.s3fs.mount`)."""

ON_OPEN = (*OPENING, "READ", "WRITE")
"""Operations on open files."""

Place = tuple[str, str]
"""A bucket of the trace and a path in it."""

OpenName = tuple[str, str | int]
"""What names an open file: its bucket, and a handle, or a path where the trace has no handles."""


class FileRow(NamedTuple):
    """A row of a trace: its operation, its paths, the file's size in bytes, and the range (None: all of the file).

    Of a LIST, the path is the folder that its prefix is in.
    """

    op: Operation
    place: Place
    target: Place | None
    size_bytes: int
    span: tuple[int, int] | None


def file_rows(trace: Trace) -> Iterator[FileRow]:
    """Yield the rows of a trace; paths are without slashes at their ends, and that of the topmost folder is empty."""
    table = trace.table
    names = ("bucket", "key", "size_bytes", "range_start_bytes", "range_bytes")
    targets = table.column(TARGET_FIELD.name) if TARGET_FIELD.name in table.column_names else pa.nulls(len(table))
    columns = (column.to_pylist() for column in (*map(table.column, names), targets))
    for op, bucket, key, size, start, count, target in zip(trace.op.tolist(), *columns, strict=True):
        span = None if count is None else (start or 0, (start or 0) + count)
        path = key.rpartition("/")[0] if OPS[op] == "LIST" else key
        to = None if target is None else (bucket, target.strip("/"))
        yield FileRow(OPERATIONS[op], (bucket, path.strip("/")), to, size, span)


def above(place: Place) -> list[Place]:
    """Return the folders that a path is in, the nearest first; not the topmost."""
    bucket, path = place
    parts = path.split("/")
    return [(bucket, "/".join(parts[:n])) for n in range(len(parts) - 1, 0, -1)]
