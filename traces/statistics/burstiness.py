"""Burstiness of arrivals: the index of dispersion for counts in windows of several lengths.

The index of dispersion for counts (IDC) at a window length is the variance-to-mean ratio of the number of arrivals
per window; it is 1 at every length for a Poisson process (Cox and Lewis, "The Statistical Analysis of Series of
Events", 1966, section 4.5; Gusella, "Characterizing the variability of arrival processes with indexes of dispersion",
IEEE JSAC 9(2), 1991).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SHIFTS = 8  # windows start 8 times per window length: overlapping windows are less noisy than disjoint ones
_LEAST_WINDOWS = 20  # disjoint windows that must fit into the span
_MOST_LENGTHS = 16
_FEWEST = 2  # minimum mean number of arrivals per window
_MOST_STEPS = 1 << 24  # of the grid: about 128 MB
_MOST_TICKS = 1000
_ROUNDING = 1e-6  # fraction of a tick: far above the rounding of times, far below a tick


SCALES_S = (1.0, 10.0, 100.0, 1000.0)
"""Window lengths at which traces are compared, seconds."""

_LEAST_OF_SCALE = 5  # windows that must fit into the trace


@dataclass(frozen=True)
class Bursts:
    """Counts of arrivals in disjoint windows of one length.

    Attributes:
        window_s: window length, seconds.
        peak_to_mean: most arrivals in a window over the mean.
        idc: index of dispersion for counts.
    """

    window_s: float
    peak_to_mean: float
    idc: float


@dataclass(frozen=True)
class Dispersion:
    """Moments of arrival counts in sliding windows of several lengths; all arrays have shape (lengths,).

    Attributes:
        window_s: window lengths, seconds, ascending.
        mean: mean arrivals per window.
        idc: index of dispersion for counts.
        third: third central moment of the counts.
        windows: number of disjoint windows that fit into the span.
    """

    window_s: Floats
    mean: Floats
    idc: Floats
    third: Floats
    windows: Floats

    @property
    def noise(self) -> Floats:
        """Standard deviation of the estimated IDC of a Poisson process: that of a sample variance."""
        noise: Floats = np.sqrt(2 / np.maximum(self.windows - 1, 1))
        return noise


def lengths(arrival_s: Floats) -> Floats:
    """Return suitable window lengths, seconds, ascending; empty for too few arrivals.

    Lengths double from the time of two arrivals to a twentieth of the span; those of a coarse clock are whole ticks.
    """
    if len(arrival_s) < _FEWEST * _LEAST_WINDOWS:
        return np.empty(0)
    span_s = float(arrival_s[-1] - arrival_s[0])
    tick_s = tick(arrival_s)
    least, most = max(_FEWEST * span_s / len(arrival_s), tick_s), span_s / _LEAST_WINDOWS
    least = max(least, span_s * _SHIFTS / _MOST_STEPS)
    if not 0 < least <= most:
        return np.empty(0)
    count = min(math.floor(math.log2(most / least)) + 1, _MOST_LENGTHS)
    result: Floats = np.geomspace(least, most, count) if count > 1 else np.array([most])
    return np.unique(np.floor(result / tick_s + _ROUNDING)) * tick_s if tick_s else result


def tick(arrival_s: Floats) -> float:
    """Return the tick of a coarse clock, seconds; 0: no coarse clock.

    It is the smallest gap, if at least 1 % of the gaps are 0 and the others are whole multiples of it.
    """
    gaps = np.diff(arrival_s)
    some = gaps[gaps > 0]
    if not len(some) or len(some) >= 0.99 * len(gaps):
        return 0.0
    tick_s = float(some.min())
    ticks = some[some < _MOST_TICKS * tick_s] / tick_s  # of longer gaps, rounding errors are too large
    return tick_s if (np.abs(ticks - np.rint(ticks)) < 0.01).mean() > 0.99 else 0.0


def dispersion(arrival_s: Floats, window_s: Floats | None = None) -> Dispersion:
    """Compute the moments of arrival counts at several window lengths.

    On a coarse clock, windows begin between two ticks and are whole ticks long, as windows with a varying number of
    ticks have varying counts of even a constant process. Lengths below a tick are therefore not possible.

    Args:
        arrival_s: arrival times, seconds, ascending.
        window_s: window lengths, seconds, none longer than the span of the arrivals (default: `lengths`); on a coarse
            clock each is rounded to whole ticks.
    """
    tick_s = tick(arrival_s)
    window_s = lengths(arrival_s) if window_s is None else window_s
    if tick_s:
        window_s = np.unique(np.maximum(np.rint(window_s / tick_s), 1.0)) * tick_s
    moments = np.array([_moments(arrival_s, length, tick_s) for length in window_s.tolist()]).reshape(-1, 3)
    mean = moments[:, 0]
    span_s = float(arrival_s[-1] - arrival_s[0]) if len(arrival_s) else 0.0
    return Dispersion(window_s, mean, moments[:, 1] / mean, moments[:, 2], np.floor(span_s / window_s))


def _moments(arrival_s: Floats, window_s: float, tick_s: float) -> tuple[float, float, float]:
    """Return mean, variance and third central moment of the counts in sliding windows."""
    shifts, step = _SHIFTS, window_s / _SHIFTS
    if tick_s:
        ticks = round(window_s / tick_s)
        shifts = max(d for d in range(1, _SHIFTS + 1) if ticks % d == 0)
        step = ticks // shifts * tick_s
    first = arrival_s[0] - tick_s / 2
    grid = first + step * np.arange(int((arrival_s[-1] - first) / step) + 1)
    before = np.searchsorted(arrival_s, grid)
    counts = (before[shifts:] - before[:-shifts]).astype(np.float64)
    about = counts - counts.mean()
    return float(counts.mean()), float(np.mean(about**2)), float(np.mean(about**3))


def bursts(arrival_s: Floats, scales_s: tuple[float, ...] = SCALES_S) -> list[Bursts]:
    """Return peak and dispersion of the counts in disjoint windows from time 0; lengths that do not fit are left out.

    Args:
        arrival_s: arrival times, seconds, ascending.
        scales_s: window lengths, seconds.
    """
    found = []
    tick_s = tick(arrival_s)
    for window_s in scales_s:
        ticks = window_s / tick_s if tick_s else 1.0
        counts = counts_in(arrival_s, window_s)
        if len(counts) < _LEAST_OF_SCALE or ticks < 1 - _ROUNDING or abs(ticks - round(ticks)) > _ROUNDING * ticks:
            continue
        mean = float(counts.mean())
        if mean > 0:
            found.append(Bursts(window_s, float(counts.max()) / mean, float(counts.var()) / mean))
    return found


def counts_in(arrival_s: Floats, window_s: float) -> Floats:
    """Return the arrivals in each whole window from time 0 to the last arrival, shape (windows,).

    Times on a coarse clock, of which windows are whole ticks, count at the tick that they name despite rounding.
    """
    windows = int(float(arrival_s[-1]) / window_s + _ROUNDING) if len(arrival_s) else 0
    index = np.floor(arrival_s / window_s + _ROUNDING * tick(arrival_s) / window_s).astype(np.int64)
    result: Floats = np.bincount(index, minlength=windows)[:windows].astype(np.float64)
    return result
