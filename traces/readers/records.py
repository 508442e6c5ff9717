"""What every reader gives: records, one a request, with what its log knows."""

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
    pa.field("time_ns", pa.int64(), nullable=False),  # when the request began: since 1970 UTC, or the log's own zero
    pa.field("latency_ns", pa.int64()),  # from there to its end
    pa.field("first_byte_ns", pa.int64()),  # from there to the first byte of the answer's body
    pa.field("op", pa.int8(), nullable=False),  # index in traces.tables.OPS
    pa.field("bucket", pa.string()),  # null: the format has none
    pa.field("key", pa.string(), nullable=False),  # of a LIST its prefix
    pa.field("size_bytes", pa.int64()),  # of the object
    pa.field("transfer_bytes", pa.int64()),  # payload moved
    pa.field("range_start_bytes", pa.int64()),  # ranged GET only
    pa.field("range_bytes", pa.int64()),  # ranged GET only
    pa.field("client", pa.string()),  # who asked
    pa.field("status", pa.int16()),  # HTTP status; 0 where no answer came
    pa.field("error", pa.string()),  # null where it went well
])  # fmt: skip
"""The columns of a record batch; null: the log does not say."""

NO_OBJECT = "not an operation on an object or a listing"
"""Why a row is left out that asks for nothing a Trace has a place for."""

LONGEST_NS = 10 * 86400 * 10**9
"""Ten days: no request took longer (assumed); a larger number is no duration."""

FIRST_ERROR, LAST_STATUS = 400, 999
"""The lowest HTTP status of an error, and the highest possible status."""

_PHRASES = {status.value: status.phrase for status in http.HTTPStatus}
_AMOUNTS = {name for name in RECORDS.names if name.endswith("_bytes") or name in ("latency_ns", "first_byte_ns")}


@dataclass(frozen=True)
class Parsed:
    """What a block of rows gave; every one of its rows is in one of these.

    Attributes:
        records: of `RECORDS`.
        joined: rows that were the second part of another's request.
        left_out: rows that a Trace has no place for, by reason.
        unreadable: line and reason of rows that could not be read.
    """

    records: pa.RecordBatch
    joined: int = 0
    left_out: Counter[str] | None = None
    unreadable: tuple[tuple[int, str], ...] = ()


def unread(*troubles: tuple[int, str]) -> Parsed:
    """Rows that could not be read: line and reason of each."""
    nothing = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in RECORDS], schema=RECORDS)
    return Parsed(nothing, unreadable=troubles)


class Rows:
    """The rows of a block on their way to records: which are still in, and why the others are not."""

    def __init__(self, line: NDArray[np.int64]) -> None:
        """Begin with all rows in.

        Args:
            line: the number of each row's line, shape (rows,).
        """
        self.line = line
        self.kept = np.ones(len(line), bool)
        self.left_out: Counter[str] = Counter()
        self.unreadable: list[tuple[int, str]] = []

    def refuse(self, bad: NDArray[np.bool_], why: str) -> None:
        """Take those rows out as unreadable."""
        hit = bad & self.kept
        if hit.any():
            self.unreadable += [(int(line), why) for line in self.line[hit]]
            self.kept &= ~hit

    def leave_out(self, without: NDArray[np.bool_], why: str) -> None:
        """Take those rows out as nothing that a Trace has a place for."""
        hit = int(np.count_nonzero(without & self.kept))
        if hit:
            self.left_out[why] += hit
            self.kept &= ~without

    def parsed(self, **columns: Any) -> Parsed:
        """The records of the rows that are still in; rows with a negative amount are refused.

        Args:
            columns: columns of `RECORDS` over all rows, as Arrow or numpy arrays; those not given are null.

        Raises:
            pa.ArrowInvalid: a column does not fit.
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
    """Nothing; the same for each block, which are mostly of a size."""
    return pa.nulls(count, kind)


def _array(column: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not isinstance(column, pa.Array):
        column = pa.array(column)
    return column if column.type == kind else column.cast(kind)
