"""Quantiles of all requests, from those of time windows.

warp keeps statistics of windows of 10 s of each client. Counts, means, deviations and extremes of all requests follow
from them. Quantiles do not: they are between bounds, and estimated from the mixture of the windows' distributions, each
log-logistic between its known quantiles. With one window they are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traces.results.schema import Latency, percent_of

_STEPS = 2000  # of the grid on which distributions are mixed
_MARGIN = 1e-9  # of fractions, for rounding
_LEAST_S = 1e-9  # of a latency, so that it has a logarithm


@dataclass(frozen=True)
class LatencyWindow:
    """Statistics of a latency in a window.

    Attributes:
        requests: number of requests.
        latency: its figures; minimum, maximum and quantiles are needed for quantiles of several windows.
    """

    requests: int
    latency: Latency


def pooled(windows: Sequence[LatencyWindow]) -> tuple[Latency, dict[str, list[float]]]:
    """Return the statistics of all requests, and bounds of the quantiles that are estimates.

    Args:
        windows: one or more, with requests.
    """
    if len(windows) == 1:
        return windows[0].latency, {}
    counts = np.array([float(window.requests) for window in windows])
    every = [window.latency for window in windows]
    mean_s = _weighted([one.mean_s for one in every], counts)
    known = _common_quantiles(every)
    quantiles, bounds = _quantiles(every, counts, known) if known else ({}, {})
    least = [one.min_s for one in every if one.min_s is not None]
    most = [one.max_s for one in every if one.max_s is not None]
    latency = Latency(
        mean_s=mean_s,
        stddev_s=_deviation(every, counts, mean_s),
        min_s=min(least) if len(least) == len(every) else None,
        max_s=max(most) if len(most) == len(every) else None,
        quantiles_s=quantiles,
    )
    return latency, bounds


def _weighted(values: Sequence[float | None], counts: NDArray[np.float64]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.average(known, weights=counts)) if len(known) == len(values) else None


def _deviation(every: Sequence[Latency], counts: NDArray[np.float64], mean_s: float | None) -> float | None:
    """Return the standard deviation of all requests, from those of the windows, which divide by n - 1."""
    if mean_s is None or any(one.stddev_s is None or one.mean_s is None for one in every) or counts.sum() < 2:
        return None
    within = sum((n - 1) * (one.stddev_s or 0.0) ** 2 for n, one in zip(counts, every, strict=True))
    between = sum(n * ((one.mean_s or 0.0) - mean_s) ** 2 for n, one in zip(counts, every, strict=True))
    variance = float((within + between) / (counts.sum() - 1))
    return math.sqrt(variance) if math.isfinite(variance) else None


def _common_quantiles(every: Sequence[Latency]) -> list[str]:
    """Return the quantiles that all windows have; empty unless all have their extremes, too."""
    if any(one.min_s is None or one.max_s is None for one in every):
        return []
    names = [name for name in every[0].quantiles_s if name != "max"]
    return [name for name in names if all(one.quantiles_s.get(name) is not None for one in every)]


def _quantiles(
    every: Sequence[Latency], counts: NDArray[np.float64], names: Sequence[str]
) -> tuple[Mapping[str, float | None], dict[str, list[float]]]:
    fractions = np.array([0.0, *(percent_of(name) / 100 for name in names), 1.0])
    points = np.array([[one.min_s, *(one.quantiles_s[name] for name in names), one.max_s] for one in every], float)
    points = np.maximum.accumulate(np.maximum(points, _LEAST_S), axis=1)
    estimated = _mixture_quantiles(points, fractions[1:-1], counts)
    weights = counts / counts.sum()
    grid = np.unique(points)
    # Between two known quantiles, a window's distribution is at least the lower and less than the upper one.
    at = [np.searchsorted(row, grid, side="right") for row in points]
    least = sum(w * np.concatenate([[0.0], fractions])[i] for w, i in zip(weights, at, strict=True))
    below = sum(w * np.append(fractions, 1.0 + _MARGIN)[i] for w, i in zip(weights, at, strict=True))
    quantiles: dict[str, float | None] = {}
    bounds: dict[str, list[float]] = {}
    for name, estimate in zip(names, estimated, strict=True):
        fraction = percent_of(name) / 100
        low, high = _first(grid, below, fraction + _MARGIN), _first(grid, least, fraction - _MARGIN)
        quantiles[name] = min(max(estimate, low), high)
        bounds[name] = [low, high]
    return quantiles, bounds


def _mixture_quantiles(
    points: NDArray[np.float64], fractions: NDArray[np.float64], counts: NDArray[np.float64]
) -> list[float]:
    """Return quantiles of the mixture of distributions, each log-logistic between its known quantiles.

    Args:
        points: minimum, quantiles and maximum of each, seconds, shape (windows, quantiles + 2).
        fractions: of the quantiles.
        counts: number of requests of each.
    """
    grid = np.linspace(np.log(points.min()), np.log(points.max()), _STEPS)
    mixture = np.zeros(_STEPS)
    for row, count in zip(np.log(points), counts, strict=True):
        ends = np.array([1.0, count]) / (count + 1)  # expected ranks of minimum and maximum
        known = np.maximum.accumulate(np.concatenate([ends[:1], fractions, ends[1:]]))
        scores = np.interp(grid, row, _logit(known), left=-np.inf, right=np.inf)
        mixture += count / counts.sum() / (1 + np.exp(-scores))
    inner = (mixture > 0) & (mixture < 1)
    if not inner.any():
        return [float(points.max())] * len(fractions)
    found = np.interp(_logit(fractions), _logit(mixture[inner]), grid[inner])
    return [float(np.exp(each)) for each in found]


def _logit(fractions: NDArray[np.float64]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = np.log(fractions / (1 - fractions))
    return result


def _first(grid: NDArray[np.float64], reached: NDArray[np.float64] | float, fraction: float) -> float:
    """Return the first latency at which a distribution reaches a fraction."""
    enough = np.asarray(reached) >= fraction
    return float(grid[np.argmax(enough)] if enough.any() else grid[-1])
