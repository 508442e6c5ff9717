"""Records, the common output of all readers: one per request, with null for everything its log does not contain."""

from __future__ import annotations

import functools
import http
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

RECORDS = pa.schema([
    pa.field("time_ns", pa.int64(), nullable=False),  # start of the request: since 1970 UTC, or relative
    pa.field("latency_ns", pa.int64()),  # from start to end
    pa.field("first_byte_ns", pa.int64()),  # from start to the first byte of the response body
    pa.field("op", pa.int8(), nullable=False),  # index in traces.tables.OPS
    pa.field("bucket", pa.string()),  # null if the format has none
    pa.field("key", pa.string(), nullable=False),  # of a LIST: the prefix
    pa.field("size_bytes", pa.int64()),  # of the object
    pa.field("transfer_bytes", pa.int64()),  # payload transferred
    pa.field("range_start_bytes", pa.int64()),  # ranged GET only
    pa.field("range_bytes", pa.int64()),  # ranged GET only
    pa.field("client", pa.string()),
    pa.field("status", pa.int16()),  # HTTP status; 0 without a response
    pa.field("error", pa.string()),  # null on success
])  # fmt: skip
"""The columns of a record batch; null stands for values that the log does not contain."""

NO_OBJECT = "not an operation on an object or a listing"
"""The reason for leaving out operations that a Trace cannot represent."""

LONGEST_NS = 10 * 86400 * 10**9
"""Ten days, the longest plausible latency (assumed)."""

FIRST_ERROR, LAST_STATUS = 400, 999
"""The lowest HTTP status of an error, and the highest possible status."""

_PHRASES = {status.value: status.phrase for status in http.HTTPStatus}
_AMOUNTS = {name for name in RECORDS.names if name.endswith("_bytes") or name in ("latency_ns", "first_byte_ns")}


@dataclass(frozen=True)
class Parsed:
    """The result of parsing a block; every row is in one of the fields.

    Attributes:
        records: a batch of `RECORDS`.
        joined: number of rows that are the second part of a request.
        left_out: number of rows that a Trace cannot represent, by reason.
        unreadable: line and reason of rows that could not be read.
    """

    records: pa.RecordBatch
    joined: int = 0
    left_out: Counter[str] | None = None
    unreadable: tuple[tuple[int, str], ...] = ()


def unread(*troubles: tuple[int, str]) -> Parsed:
    """Return a result without records, with line and reason of rows that could not be read."""
    nothing = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in RECORDS], schema=RECORDS)
    return Parsed(nothing, unreadable=troubles)


class Rows:
    """The rows of a block during parsing: which ones are kept, and why the others are not."""

    def __init__(self, line: NDArray[np.int64]) -> None:
        """Start with all rows.

        Args:
            line: line number of each row, shape (rows,).
        """
        self.line = line
        self.kept = np.ones(len(line), bool)
        self.left_out: Counter[str] = Counter()
        self.unreadable: list[tuple[int, str]] = []

    def refuse(self, bad: NDArray[np.bool_], why: str) -> None:
        """Remove rows as unreadable."""
        hit = bad & self.kept
        if hit.any():
            self.unreadable += [(int(line), why) for line in self.line[hit]]
            self.kept &= ~hit

    def leave_out(self, without: NDArray[np.bool_], why: str) -> None:
        """Remove rows that a Trace cannot represent."""
        hit = int(np.count_nonzero(without & self.kept))
        if hit:
            self.left_out[why] += hit
            self.kept &= ~without

    def parsed(self, **columns: Any) -> Parsed:
        """Return the records of the remaining rows; rows with a negative amount are unreadable.

        Args:
            columns: columns of `RECORDS` for all rows, as Arrow or numpy arrays; missing ones are null.

        Raises:
            pa.ArrowInvalid: a column has the wrong type.
        """
        if unknown := columns.keys() - set(RECORDS.names):
            raise TypeError(f"no such columns: {', '.join(unknown)}")
        given = {name: _array(column, RECORDS.field(name).type) for name, column in columns.items()}
        for name in _AMOUNTS & given.keys():
            if (pc.min(given[name]).as_py() or 0) < 0:
                below = pc.less(given[name], 0).fill_null(False)
                self.refuse(below.to_numpy(zero_copy_only=False), f"{name} is negative")
        mask = None if self.kept.all() else pa.array(self.kept)
        count = int(np.count_nonzero(self.kept))
        arrays = []
        for field in RECORDS:
            column = given.get(field.name)
            if column is None:
                column = _nulls(count, field.type)
            elif mask is not None:
                column = column.filter(mask)
            if column.null_count and not field.nullable:
                raise pa.ArrowInvalid(f"{field.name} is missing")
            arrays.append(column)
        records = pa.RecordBatch.from_arrays(arrays, schema=RECORDS)
        return Parsed(records, 0, self.left_out, tuple(sorted(self.unreadable)))


def error_of(status: int) -> str | None:
    """Return the name of an HTTP status from 400 on, such as ``Not Found``; None below."""
    return None if status < FIRST_ERROR else _PHRASES.get(status, f"HTTP {status}")


@functools.lru_cache(16)
def _nulls(count: int, kind: pa.DataType) -> pa.Array:
    """Return an array of nulls, cached because most blocks have the same number of rows."""
    return pa.nulls(count, kind)


def _array(column: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not isinstance(column, pa.Array):
        column = pa.array(column)
    return column if column.type == kind else column.cast(kind)
