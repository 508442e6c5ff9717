"""Fit arrivals with bursts at many time scales: what is frequent as a random cascade, what is rare as steps.

Time is divided into intervals that are halved down to the mean time of a few arrivals. At each scale, the halves of an
interval differ by chance (Poisson) and because the rate varies. Where one interval makes up much of the variation of
its scale, no random process would repeat it: it becomes two steps of the profile. The variance of the other intervals
of a scale is its `spread`. As the variances of counts at all scales are sums of these, they are kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traces.statistics.burstiness import Floats, tick
from traces.workload.arrivals import Multiscale, RateStep

_ROOTS = 16  # at least these many intervals are steps in any case
_MOST_INTERVALS = 1 << 22
_PER_INTERVAL = 0.5  # mean number of arrivals in an interval of the shortest scale
_DOMINANT = 0.01  # fraction of the variation of a scale, above which an interval is halved into steps; assumed
_SIGNIFICANT = 3.0  # standard deviations of the variation of a scale, beyond which it is no chance
_MOST_STEPS = 256
_MOST_SPREAD = 0.95


@dataclass(frozen=True)
class _Scales:
    """Arrival counts at all scales, the shortest first.

    Attributes:
        counts: counts[h] has the arrivals in intervals of 2^h times the shortest scale, shape (roots * 2^(top - h),).
        shortest_s: length of an interval of the shortest scale, seconds.
    """

    counts: tuple[Floats, ...]
    shortest_s: float

    def differences(self, height: int) -> tuple[Floats, Floats]:
        """Return the difference of both halves of each interval at a height of at least 1, and their sum."""
        halves = self.counts[height - 1].reshape(-1, 2)
        return halves[:, 0] - halves[:, 1], self.counts[height]


def fit_multiscale(arrival_s: Floats, duration_s: float) -> Multiscale | None:
    """Fit steps and a cascade to arrivals; None if there are too few for any scale.

    Args:
        arrival_s: arrival times, seconds, ascending, from 0 to `duration_s`.
        duration_s: length of the observation, seconds.
    """
    scales = _scales(arrival_s, duration_s)
    if scales is None:
        return None
    threshold = _DOMINANT
    while True:
        halved = _halved_into_steps(scales, threshold)
        if sum(int(each.sum()) for each in halved) <= _MOST_STEPS:
            break
        threshold *= 1.5
    steps = _steps(scales, halved, arrival_s, duration_s)
    return Multiscale(steps=steps, shortest=scales.shortest_s, spread=_spread(scales, halved))


def _scales(arrival_s: Floats, duration_s: float) -> _Scales | None:
    n, tick_s = len(arrival_s), tick(arrival_s)
    least = max(tick_s, duration_s * _PER_INTERVAL / n, duration_s / _MOST_INTERVALS)
    # Whole ticks; or a second divided by a power of 2, so that some scales are those at which traces are compared.
    shortest = max(1, math.ceil(least / tick_s - 1e-6)) * tick_s if tick_s else 2.0 ** math.ceil(math.log2(least))
    top = math.floor(math.log2(duration_s / shortest / _ROOTS)) if duration_s > shortest * _ROOTS else -1
    if top < 1:
        return None
    roots = int(duration_s / (shortest * 2**top) + 1e-9)
    index = np.floor(arrival_s / shortest + (1e-6 * tick_s / shortest)).astype(np.int64)
    intervals = roots << top
    counts = [np.bincount(index[index < intervals], minlength=intervals).astype(np.float64)]
    for _ in range(top):
        counts.append(counts[-1].reshape(-1, 2).sum(1))
    return _Scales(tuple(counts), shortest)


def _halved_into_steps(scales: _Scales, threshold: float) -> list[NDArray[np.bool_]]:
    """Return for each height which intervals are halved into steps; those that contain one are, too."""
    halved = [np.zeros(len(each), bool) for each in scales.counts]
    for height in range(1, len(scales.counts)):
        difference, total = scales.differences(height)
        variation = difference**2 - total
        varies = variation.sum() > _SIGNIFICANT * math.sqrt(2 * float((total**2).sum()))
        # The largest of n independent normal differences is about sqrt(2 ln n) standard deviations.
        is_chance = np.abs(difference) < (1 + math.sqrt(2 * math.log(len(total)))) * np.sqrt(total)
        halved[height] = ~is_chance & (variation > threshold * variation.sum()) if varies else halved[height]
    for height in range(2, len(scales.counts)):
        halved[height] |= halved[height - 1].reshape(-1, 2).any(1)
    return halved


def _steps(
    scales: _Scales, halved: list[NDArray[np.bool_]], arrival_s: Floats, duration_s: float
) -> tuple[RateStep, ...]:
    """Return the steps between the edges of intervals; their levels are relative to the mean rate."""
    edges = {0.0, duration_s}
    for height, each in enumerate(halved):
        width = scales.shortest_s * 2**height
        at = np.flatnonzero(each)
        edges |= set((at * width).tolist()) | set(((at + 0.5) * width).tolist()) | set(((at + 1) * width).tolist())
    roots, width = len(halved[-1]), scales.shortest_s * 2 ** (len(halved) - 1)
    edges |= set((np.arange(roots + 1) * width).tolist())
    ranked = np.array(sorted(edges))
    ranked = ranked[(ranked <= duration_s) & np.concatenate([[True], np.diff(ranked) > 1e-6 * scales.shortest_s])]
    ranked[-1] = duration_s
    counts = np.diff(np.searchsorted(arrival_s, ranked - 1e-6 * scales.shortest_s))
    counts[-1] = len(arrival_s) - counts[:-1].sum()
    mean_rate = len(arrival_s) / duration_s
    return tuple(
        RateStep(duration=float(b - a), level=float(count / (b - a) / mean_rate))
        for a, b, count in zip(ranked, ranked[1:], counts, strict=False)
    )


def _spread(scales: _Scales, halved: list[NDArray[np.bool_]]) -> tuple[float, ...]:
    """Return the variance of the difference of halves of each scale, of the intervals that are not steps' edges.

    The counts N1 and N2 of halves with the fractions A and 1 - A have E (N1 - N2)^2 = N + N (N - 1) E (2 A - 1)^2.
    """
    spread = []
    for height in range(1, len(scales.counts)):
        difference, total = scales.differences(height)
        rest = ~halved[height]
        pairs = float((total * (total - 1))[rest].sum())
        excess = float((difference**2 - total)[rest].sum())
        spread.append(min(max(excess / pairs, 0.0), _MOST_SPREAD) if pairs > 0 else 0.0)
    return tuple(spread)
