"""Series of samples of a window of time, and what follows from counters, gauges and histograms.

Series have the labels and the meaning that Prometheus gives them: a counter grows and begins anew when its process is
restarted, and a bucket of a histogram counts what is at most its label `le` (https://prometheus.io/docs/concepts/).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from traces.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """The samples of one metric with one set of labels.

    Attributes:
        name: of the metric.
        labels: without the name.
        times_s: when each sample was taken, in s since 1970, ascending, shape (samples,).
        values: shape (samples,).
    """

    name: str
    labels: Mapping[str, str]
    times_s: Floats
    values: Floats

    @property
    def growth(self) -> Floats:
        """How much a counter grew from each sample to the next, shape (samples - 1,); after a restart, from 0."""
        steps = np.diff(self.values)
        grown: Floats = np.where(steps < 0, self.values[1:], steps)
        return grown

    @property
    def rate(self) -> float:
        """Mean growth of a counter in 1/s; NaN: it has fewer than two samples."""
        if len(self.values) < 2:
            return math.nan
        return float(self.growth.sum() / (self.times_s[-1] - self.times_s[0]))


@dataclass(frozen=True)
class Metrics:
    """Series in a window of time.

    Attributes:
        series: all series, each with one sample at least.
        start_s, end_s: of the window, in s since 1970.
    """

    series: tuple[Series, ...]
    start_s: float
    end_s: float

    @classmethod
    def of(cls, series: Sequence[Series], start_s: float | None = None, end_s: float | None = None) -> Metrics:
        """Return the metrics of a window; None: it begins with the first sample, or ends with the last one.

        Raises:
            InputError: there are no samples in the window.
        """
        times_s = [each.times_s for each in series if len(each.times_s)]
        first_s = min((float(each[0]) for each in times_s), default=math.inf)
        last_s = max((float(each[-1]) for each in times_s), default=-math.inf)
        window = (first_s if start_s is None else start_s), (last_s if end_s is None else end_s)
        found = cls(tuple(series), *window).between(*window)
        if not found.series:
            raise InputError("the metrics have no samples in the window")
        return found

    @property
    def duration_s(self) -> float:
        """Length of the window in s."""
        return self.end_s - self.start_s

    @cached_property
    def _by_name(self) -> dict[str, list[Series]]:
        found: dict[str, list[Series]] = {}
        for each in self.series:
            found.setdefault(each.name, []).append(each)
        return found

    def between(self, start_s: float, end_s: float) -> Metrics:
        """Return the samples of another window; a sample on its edge belongs to it."""
        kept = []
        for each in self.series:
            inside = (each.times_s >= start_s) & (each.times_s <= end_s)
            if inside.any():
                kept.append(replace(each, times_s=each.times_s[inside], values=each.values[inside]))
        return Metrics(tuple(kept), start_s, end_s)

    def parts(self, count: int) -> Iterator[Metrics]:
        """Yield equal parts of the window in order."""
        edges = np.linspace(self.start_s, self.end_s, count + 1)
        for start_s, end_s in pairwise(edges):
            yield self.between(float(start_s), float(end_s))

    def named(self, *names: str, **labels: str) -> list[Series]:
        """Return the series with one of some names, whose labels have these values, as regular expressions."""
        patterns = {name: re.compile(pattern) for name, pattern in labels.items()}
        return [
            each
            for name in names
            for each in self._by_name.get(name, ())
            if all(pattern.fullmatch(each.labels.get(label, "")) for label, pattern in patterns.items())
        ]

    def rates(self, series: Sequence[Series], key: Callable[[Series], str]) -> dict[str, float]:
        """Return the growth of counters in 1/s, added up by a key; counters with one sample are left out."""
        found: dict[str, float] = {}
        for each in series:
            if math.isfinite(rate := each.rate):
                found[key(each)] = found.get(key(each), 0.0) + rate
        return found

    def rate(self, *names: str, **labels: str) -> float | None:
        """Return the growth of counters in 1/s, added up; None: there are none with two samples."""
        return self.rates(self.named(*names, **labels), lambda each: "").get("")

    def gauge(self, *names: str, **labels: str) -> float | None:
        """Return the mean of gauges over the window, added up over series; None: there are none."""
        found = self.named(*names, **labels)
        return sum(float(each.values.mean()) for each in found) if found else None

    def rate_over_time(self, series: Sequence[Series], edges_s: Floats) -> Floats:
        """Return the growth of counters in 1/s within intervals, added up, shape (edges - 1,).

        Between two samples a counter grows evenly.
        """
        total = np.zeros(len(edges_s) - 1)
        for each in series:
            if len(each.values) > 1:
                grown = np.concatenate([[0.0], np.cumsum(each.growth)])
                total += np.diff(np.interp(edges_s, each.times_s, grown))
        rates: Floats = total / np.diff(edges_s)
        return rates


@dataclass(frozen=True)
class Histogram:
    """Counts of observations in bins.

    Attributes:
        edges: upper edges of the bins, ascending, the last one infinite, shape (bins,); the first bin begins at 0.
        counts: observations in each bin, shape (bins,).
    """

    edges: Floats
    counts: Floats

    @classmethod
    def of(cls, buckets: Sequence[Series]) -> Histogram | None:
        """Return what the counters of a histogram's buckets counted in the window, of all series; None: nothing."""
        total: dict[float, float] = {}
        for each in buckets:
            try:
                edge = float(each.labels.get("le", ""))
            except ValueError:
                continue
            total[edge] = total.get(edge, 0.0) + float(each.growth.sum())
        edges = np.array(sorted(total))
        # Buckets are read one after the other, so that one may be ahead of a wider one.
        below = np.maximum.accumulate([total[edge] for edge in edges]) if len(edges) else np.zeros(0)
        if not len(edges) or not math.isinf(edges[-1]) or below[-1] <= 0:
            return None
        return cls(edges, np.diff(below, prepend=0.0))

    def quantile_bin(self, fraction: float) -> tuple[float, float]:
        """Return the edges of the bin that has a quantile; the last bin has no upper edge, which is infinite."""
        place = int(np.searchsorted(np.cumsum(self.counts), fraction * self.counts.sum() * (1 - 1e-12)))
        place = min(place, len(self.edges) - 1)
        return (float(self.edges[place - 1]) if place else 0.0), float(self.edges[place])
