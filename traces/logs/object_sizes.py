"""Object sizes, from what a log records for some requests only: between two PUTs an object has one size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.operations import rows_that

_Ints = NDArray[np.int64]
_UNKNOWN = -1


@dataclass(frozen=True)
class Recorded:
    """What rows of a log record of sizes, each of shape (rows,); there are no LISTs among the rows.

    Attributes:
        objects: object number.
        size: size of the object; -1 if it is unknown.
        least: largest size that the row proves, from its size and its range; -1 if there is neither.
        writes: whether the row is a PUT that succeeded and has a size.
    """

    objects: NDArray[np.int32]
    size: _Ints
    least: _Ints
    writes: NDArray[np.bool_]

    COLUMNS: ClassVar = ("op", "object", "size_bytes", "range_start_bytes", "range_bytes", "error")
    """The columns of rows that are needed."""

    @staticmethod
    def of(rows: pa.Table | pa.RecordBatch, objects: pa.Array) -> tuple[Recorded, NDArray[np.bool_]]:
        """Return what rows record, and which rows they are: all but LISTs."""
        op = rows.column("op").to_numpy()
        named = rows_that(op, "names_object")
        size = pc.fill_null(rows.column("size_bytes"), _UNKNOWN).to_numpy()[named]
        start, length = (pc.fill_null(rows.column(f"range_{part}"), 0).to_numpy() for part in ("start_bytes", "bytes"))
        ends = np.where(length > 0, start + length, _UNKNOWN)[named]
        well = pc.is_null(rows.column("error")).to_numpy(zero_copy_only=False)[named]
        creates = rows_that(op[named], "creates") & ~rows_that(op[named], "names_two")  # not what is copied
        writes = creates & well & (size >= 0)
        return Recorded(objects.to_numpy()[named], size, np.maximum(size, ends), writes), named


class Sizes:
    """The sizes of objects over time.

    A PUT writes an object of its size. Until the next one, the object is as large as that PUT or, if that is more, as
    the largest read of it. Before its first PUT, it is as large as its largest read, else as its first PUT.
    """

    def __init__(self) -> None:
        self._read = _PerObject(_UNKNOWN)  # largest read before the first PUT
        self._first_put = _PerObject(_UNKNOWN)
        self._first_put_ns = _PerObject(int(np.iinfo(np.int64).max))
        self._writes = _PerObject(0)  # number of PUTs so far, during a pass in order of time
        self._written = _PerObject(_UNKNOWN)  # size of the last PUT
        self._larger: dict[tuple[int, int], int] = {}  # by object and number of the PUT, if a read was larger
        self.any_writes = False

    def learn(self, rows: Recorded, time_ns: _Ints) -> None:
        """Learn from rows in any order."""
        reads = ~rows.writes & (rows.least >= 0)
        self._read.raise_to(rows.objects[reads], rows.least[reads])
        if rows.writes.any():
            self.any_writes = True
            order = np.lexsort((time_ns[rows.writes], rows.objects[rows.writes]))
            found, first = np.unique(rows.objects[rows.writes][order], return_index=True)
            at = np.flatnonzero(rows.writes)[order[first]]
            sooner = time_ns[at] < self._first_put_ns[found]
            self._first_put_ns[found[sooner]], self._first_put[found[sooner]] = (
                time_ns[at[sooner]],
                rows.size[at[sooner]],
            )

    def begin(self) -> None:
        """Begin a pass over all rows in order of time."""
        self._writes, self._written = _PerObject(0), _PerObject(_UNKNOWN)

    def forget_reads(self) -> None:
        """Forget the reads that were learned in any order, before `compare` learns them in order of time."""
        self._read = _PerObject(_UNKNOWN)

    def compare(self, rows: Recorded) -> None:
        """Learn which reads follow on which PUT; rows follow in time on those of earlier calls."""
        order, writes, written = self._follow(rows)
        objects, least = rows.objects[order], np.where(rows.writes[order], _UNKNOWN, rows.least[order])
        before = writes == 0
        self._read.raise_to(objects[before], least[before])
        for i in np.flatnonzero(~before & (least > written)):
            version = int(objects[i]), int(writes[i])
            self._larger[version] = max(int(least[i]), self._larger.get(version, 0))

    def filled(self, rows: Recorded) -> _Ints:
        """Return the size of the object of each row, -1 if unknown; rows follow in time on those of earlier calls."""
        if not self.any_writes:
            return self._read[rows.objects]
        order, writes, written = self._follow(rows)
        objects = rows.objects[order]
        first = np.where(self._read[objects] >= 0, self._read[objects], self._first_put[objects])
        size = np.where(writes == 0, first, written)
        if self._larger:
            pairs = zip(objects.tolist(), writes.tolist(), strict=True)
            size = np.maximum(size, np.array([self._larger.get(pair, _UNKNOWN) for pair in pairs], np.int64))
        size = np.where(rows.writes[order], rows.size[order], size)
        result = np.empty_like(size)
        result[order] = size
        return result

    def _follow(self, rows: Recorded) -> tuple[_Ints, _Ints, _Ints]:
        """Sort the rows by object; return the order, and the number and the size of each row's last PUT so far."""
        objects = rows.objects
        order = np.argsort(objects, kind="stable")
        of, writes = objects[order], rows.writes[order]
        begins = np.concatenate([np.ones(min(1, len(of)), bool), of[1:] != of[:-1]])
        count = np.cumsum(writes)
        above = np.maximum.accumulate(np.where(begins, count - writes, 0))
        number = self._writes[of] + count - above
        last = np.maximum.accumulate(np.where(begins | writes, np.arange(len(of)), 0))
        written = np.where(writes[last], rows.size[order][last], self._written[of])
        ends = np.append(begins[1:], np.ones(min(1, len(of)), bool))
        self._writes[of[ends]], self._written[of[ends]] = number[ends], written[ends]
        return order, number, written


class _PerObject:
    """A number for each object, which grows with the objects."""

    def __init__(self, initial: int) -> None:
        self._initial = initial
        self._values = np.empty(0, np.int64)

    def _grow(self, objects: NDArray[np.int32]) -> None:
        known = int(objects.max(initial=-1)) + 1
        if known > len(self._values):
            more = max(known, 2 * len(self._values)) - len(self._values)
            self._values = np.append(self._values, np.full(more, self._initial))

    def __getitem__(self, objects: NDArray[np.int32]) -> _Ints:
        self._grow(objects)
        return self._values[objects]

    def __setitem__(self, objects: NDArray[np.int32], values: _Ints) -> None:
        self._grow(objects)
        self._values[objects] = values

    def raise_to(self, objects: NDArray[np.int32], values: _Ints) -> None:
        """Raise the numbers of objects, which may occur repeatedly, to at least these values."""
        self._grow(objects)
        np.maximum.at(self._values, objects, values)
