"""Fill in object sizes that a log records for some requests only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Sizes:
    """Known object sizes over time, and for each object its first known size."""

    def __init__(self) -> None:
        self._first_ns = np.empty(0, np.int64)
        self._size = np.empty(0, np.int64)

    def learn(
        self, objects: NDArray[np.int32], time_ns: NDArray[np.int64], size: NDArray[np.int64], known: int
    ) -> None:
        """Record the first size of each object from rows in any order.

        Args:
            objects, time_ns, size: object number, time and size of rows with a size, each of shape (rows,).
            known: number of objects so far.
        """
        self._grow(known)
        order = np.lexsort((time_ns, objects))
        found, first = np.unique(objects[order], return_index=True)
        rows = order[first]
        sooner = time_ns[rows] < self._first_ns[found]
        self._first_ns[found[sooner]], self._size[found[sooner]] = time_ns[rows[sooner]], size[rows[sooner]]

    def _grow(self, known: int) -> None:
        if known > len(self._size):
            more = max(known, 2 * len(self._size)) - len(self._size)
            self._first_ns = np.append(self._first_ns, np.full(more, np.iinfo(np.int64).max))
            self._size = np.append(self._size, np.full(more, -1, np.int64))

    def filled(self, objects: NDArray[np.int32], size: NDArray[np.int64]) -> NDArray[np.int64]:
        """Fill in unknown sizes (-1) of rows that follow in time on those of earlier calls, shape (rows,).

        The size stays -1 for objects whose size no request records.
        """
        self._grow(int(objects.max(initial=-1)) + 1)
        order = np.argsort(objects, kind="stable")
        of, given = objects[order], size[order]
        begins = np.concatenate([[True], of[1:] != of[:-1]]) if len(of) else np.empty(0, bool)
        given = np.where(begins & (given < 0), self._size[of], given)
        source = np.maximum.accumulate(np.where(begins | (given >= 0), np.arange(len(of)), 0))
        given = given[source]
        ends = np.append(begins[1:], True) if len(of) else begins
        self._size[of[ends]] = given[ends]
        result = np.empty_like(size)
        result[order] = given
        return result
