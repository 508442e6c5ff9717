"""Quantiles of latencies that are not kept: counts in bins of a relative width, as in HdrHistogram.

A bin is one of `_PER_OCTAVE` equal parts of the range from one power of two to the next, so its number is the upper
bits of a float, without a logarithm. A latency counts as the middle of its bin. So a quantile is that of latencies each
of which differs by at most `ERROR`, relatively, from the true one, and differs from the true quantile by no more.
HdrHistogram (hdrhistogram.org) has the same bins for integers; DDSketch (Masson, Rim and Lee, "DDSketch: a fast and
fully-mergeable quantile sketch with relative-error guarantees", VLDB 12(12), 2019) has bins of a logarithm. Their
libraries for Python take a value at a time, at some microseconds each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from traces.statistics.summary import QUANTILES, Floats

_BITS = 7  # of the mantissa
_PER_OCTAVE = 2**_BITS
ERROR = 0.5 / (_PER_OCTAVE + 0.5)
"""Greatest relative difference of a latency from the middle of its bin: 0.39 %."""

_LEAST, _GREATEST = 2.0**-40, 2.0**24  # s: from a picosecond to half a year
_SHIFT = 52 - _BITS
_FIRST = int(np.float64(_LEAST).view(np.int64)) >> _SHIFT
BINS = (int(np.float64(_GREATEST).view(np.int64)) >> _SHIFT) - _FIRST
"""Number of bins."""


def bins_of(latency_s: Floats) -> NDArray[np.int64]:
    """Return the bin of each latency, which is at least 0; those out of range are in the first or the last."""
    number = (np.ascontiguousarray(latency_s).view(np.int64) >> _SHIFT) - _FIRST
    return np.clip(number, 0, BINS - 1, out=number)


def _edges_s() -> Floats:
    return (np.arange(_FIRST, _FIRST + BINS + 1) << _SHIFT).view(np.float64)


@dataclass
class LatencySketch:
    """Counts of latencies in bins; the count, the sum and the extremes are exact.

    Attributes:
        counts: shape (`BINS`,).
        sum_s, least_s, greatest_s: of all latencies.
    """

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(BINS, np.int64))
    sum_s: float = 0.0
    least_s: float = math.inf
    greatest_s: float = 0.0

    def __len__(self) -> int:
        return int(self.counts.sum())

    def add(self, latency_s: Floats) -> None:
        """Count latencies in s, shape (n,)."""
        if len(latency_s):
            self.counts += np.bincount(bins_of(latency_s), minlength=BINS)
            self.sum_s += float(latency_s.sum())
            self.least_s = min(self.least_s, float(latency_s.min()))
            self.greatest_s = max(self.greatest_s, float(latency_s.max()))

    @staticmethod
    def merged(sketches: Iterable[LatencySketch]) -> LatencySketch:
        """Return the sketch of all latencies of several ones."""
        total = LatencySketch()
        for sketch in sketches:
            total.counts += sketch.counts
            total.sum_s += sketch.sum_s
            total.least_s = min(total.least_s, sketch.least_s)
            total.greatest_s = max(total.greatest_s, sketch.greatest_s)
        return total

    def quantiles(self, probabilities: Iterable[float]) -> list[float]:
        """Return the quantiles (type 7) in s; NaN without latencies."""
        count = len(self)
        if not count:
            return [math.nan for _ in probabilities]
        ranks = np.array(list(probabilities)) * (count - 1)
        lower, upper = self._at(np.floor(ranks)), self._at(np.ceil(ranks))
        found: list[float] = (lower + (ranks - np.floor(ranks)) * (upper - lower)).tolist()
        return found

    def _at(self, rank: Floats) -> Floats:
        """Return the middle of the bin of each rank from 0, within the extremes."""
        bins = np.searchsorted(np.cumsum(self.counts), rank, side="right")
        edges_s = _edges_s()
        return np.clip((edges_s[bins] + edges_s[bins + 1]) / 2, self.least_s, self.greatest_s)

    def describe(self) -> dict[str, float]:
        """Return the same figures as `traces.statistics.summary.describe`."""
        count = len(self)
        found = dict(zip(QUANTILES, self.quantiles(QUANTILES.values()), strict=True))
        if not count:
            return {"mean": math.nan, "min": math.nan, **found, "max": math.nan}
        return {"mean": self.sum_s / count, "min": self.least_s, **found, "max": self.greatest_s}
