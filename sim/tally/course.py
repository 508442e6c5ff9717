"""Sums over equal times from the start of a run, whose length doubles whenever the run exceeds them."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from traces.statistics.summary import Floats

_FIRST_S = 2.0**-16


class Course:
    """Sums of what happens in each of a number of equal times.

    Attributes:
        each_s: length of the times.
    """

    def __init__(self, times: int, width: int = 1):
        """Begin with no sums; `times`: their number, a power of two; `width`: number of sums of each time."""
        self._times, self._width = times, width
        self._sums: dict[Hashable, Floats] = {}
        self.each_s = _FIRST_S

    def add(
        self, name: Hashable, at_s: Floats, weights: Floats | None = None, column: NDArray[np.int64] | None = None
    ) -> None:
        """Add weights, 1 by default, at times in s, to one of the sums of each time, shape (n,)."""
        if not len(at_s):
            return
        while at_s.max() >= self._times * self.each_s:
            self._double()
        time = (at_s / self.each_s).astype(np.int64)
        first = int(time.min())
        place = (time - first) * self._width + (0 if column is None else column)
        found = np.bincount(place, weights)
        begin = first * self._width
        self._of(name).reshape(-1)[begin : begin + len(found)] += found

    def _of(self, name: Hashable) -> Floats:
        if name not in self._sums:
            self._sums[name] = np.zeros((self._times, self._width))
        return self._sums[name]

    def _double(self) -> None:
        self.each_s *= 2
        for sums in self._sums.values():
            half = len(sums) // 2
            sums[:half] = sums[::2] + sums[1::2]
            sums[half:] = 0

    def sums(self, name: Hashable) -> Floats:
        """Return the sums of each time, shape (times, width); zeros for what was never added."""
        return self._sums.get(name, np.zeros((self._times, self._width)))

    def between(self, name: Hashable, edges_s: Floats) -> Floats:
        """Return the sums between ascending times in s, shape (edges - 1,), at a constant rate in each of the times."""
        before = np.concatenate([[0.0], np.cumsum(self.sums(name)[:, 0])])
        return np.diff(np.interp(edges_s / self.each_s, np.arange(self._times + 1), before))
