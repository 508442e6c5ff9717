"""A column of results that grows in place, part after part."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_GROWTH = 1.25


class Column:
    """Values appended part after part, in one array: kept parts and their concatenation would take twice the memory.

    Memory that is large grows and shrinks by moving its pages, without a copy (`mremap`).
    """

    def __init__(self, empty: NDArray[Any]):
        """`empty`: any values of the same type and shape of rows."""
        self._values, self._rows = np.empty((0, *empty.shape[1:]), empty.dtype), 0

    def append(self, part: NDArray[Any]) -> None:
        """Append rows."""
        end = self._rows + len(part)
        if end > len(self._values):
            self._resize(max(end, int(_GROWTH * len(self._values))))
        self._values[self._rows : end] = part
        self._rows = end

    def array(self) -> NDArray[Any]:
        """Return all rows; no more may be appended."""
        self._resize(self._rows)
        return self._values

    def _resize(self, rows: int) -> None:
        self._values.resize((rows, *self._values.shape[1:]), refcheck=False)
