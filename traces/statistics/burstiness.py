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

    Lengths double from the time of two arrivals, or four ticks of a coarse clock, to a twentieth of the span.
    """
    if len(arrival_s) < _FEWEST * _LEAST_WINDOWS:
        return np.empty(0)
    span_s = float(arrival_s[-1] - arrival_s[0])
    least, most = max(_FEWEST * span_s / len(arrival_s), 4 * tick(arrival_s)), span_s / _LEAST_WINDOWS
    least = max(least, span_s * _SHIFTS / _MOST_STEPS)
    if not 0 < least <= most:
        return np.empty(0)
    count = min(math.floor(math.log2(most / least)) + 1, _MOST_LENGTHS)
    result: Floats = np.geomspace(least, most, count) if count > 1 else np.array([most])
    return result


def tick(arrival_s: Floats) -> float:
    """Return the tick of a coarse clock, seconds: the smallest gap, if at least 1 % of the gaps are 0; else 0."""
    gaps = np.diff(arrival_s)
    some = gaps[gaps > 0]
    return float(some.min()) if len(some) and len(some) < 0.99 * len(gaps) else 0.0


def dispersion(arrival_s: Floats, window_s: Floats | None = None) -> Dispersion:
    """Compute the moments of arrival counts at several window lengths.

    Args:
        arrival_s: arrival times, seconds, ascending.
        window_s: window lengths, seconds, none longer than the span of the arrivals (default: `lengths`).
    """
    window_s = lengths(arrival_s) if window_s is None else window_s
    moments = np.array([_moments(arrival_s, length) for length in window_s.tolist()]).reshape(-1, 3)
    mean = moments[:, 0]
    span_s = float(arrival_s[-1] - arrival_s[0]) if len(arrival_s) else 0.0
    return Dispersion(window_s, mean, moments[:, 1] / mean, moments[:, 2], np.floor(span_s / window_s))


def _moments(arrival_s: Floats, window_s: float) -> tuple[float, float, float]:
    """Return mean, variance and third central moment of the counts in sliding windows."""
    first, last = arrival_s[0], arrival_s[-1]
    grid = np.arange(first, last, window_s / _SHIFTS)
    before = np.searchsorted(arrival_s, grid)
    counts = (before[_SHIFTS:] - before[:-_SHIFTS]).astype(np.float64)
    about = counts - counts.mean()
    return float(counts.mean()), float(np.mean(about**2)), float(np.mean(about**3))
