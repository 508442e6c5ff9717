"""Fit the arrival process of an open loop: its rate over time and its burstiness around that rate.

First the rate: counts in equal bins are partitioned into periods of constant rate, if that explains more than chance,
which is estimated from the differences of neighbouring bins. The remaining process, in operational time, is Poisson,
constant or a two-state MMPP. Whether the rate changed or bursts merely clustered is decided by BIC: the simpler
process is chosen unless the other one explains more than its additional parameters would by chance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traces.fitting.mmpp import Binned, fit_mmpp2
from traces.statistics.burstiness import Floats, dispersion
from traces.workload.arrivals import Constant, Mmpp2, Poisson, Process, Profile, RateStep

_BINS = 50
_PENALTY = 4.0  # per change point, in units of ln(bins): BIC's 2 parameters (level and position), doubled
_PLACES = 400  # candidate positions of a change point between its neighbours
_LEAST_BIN = 10  # minimum mean number of arrivals per bin
_SIGNIFICANT = 3.5  # standard deviations beyond which dispersion is significant; assumed
_REGULAR = 0.1  # coefficient of variation of gaps below which arrivals count as evenly spaced; assumed
_NOTICEABLE = 0.15  # coefficient of variation of the rate below which bursts are ignored; assumed


def fit_arrivals(arrival_s: Floats, duration_s: float) -> Process:
    """Fit an arrival process.

    Args:
        arrival_s: arrival times, seconds, ascending, from 0 to `duration_s`.
        duration_s: length of the observation, seconds.
    """
    steady = (RateStep(duration=duration_s, level=1.0),)
    steps = rate_steps(arrival_s, duration_s)
    found = [_within(arrival_s, Profile(steps=each)) for each in ([steady] if len(steps) == 1 else [steady, steps])]
    process, profile = min(found, key=lambda one: one[0])[1:]
    return process if len(profile.steps) == 1 else profile.model_copy(update={"within": process})


def _within(arrival_s: Floats, profile: Profile) -> tuple[float, Poisson | Constant | Mmpp2, Profile]:
    """Fit the process within a profile; return half the BIC (Schwarz) of both together, the process and the profile."""
    operational, clock = profile.cumulated()
    at = np.interp(arrival_s, clock, operational)
    bins = Binned.of(arrival_s, profile)
    penalty = math.log(len(bins.counts)) / 2
    shape = 2.0 * (len(profile.steps) - 1) * penalty
    gaps = np.diff(at)
    if len(gaps) > 1 and gaps.mean() > 0 and gaps.std() / gaps.mean() < _REGULAR:
        return shape - math.inf if len(profile.steps) == 1 else shape, Constant(), profile
    poisson = shape - bins.log_likelihood(Mmpp2(burst_factor=1.0)), Poisson(), profile
    counts = dispersion(at)
    if not len(counts.idc) or (counts.idc < 1 + _SIGNIFICANT * counts.noise).all():
        return poisson
    mmpp = fit_mmpp2(counts, bins)
    if mmpp.rate_cv < _NOTICEABLE:
        return poisson
    return shape + 3 * penalty - bins.log_likelihood(mmpp.process), mmpp.process, profile


def rate_steps(arrival_s: Floats, duration_s: float) -> tuple[RateStep, ...]:
    """Return periods of constant rate, one if no change is significant; levels are relative to the mean rate."""
    bins = min(_BINS, len(arrival_s) // _LEAST_BIN)
    if bins < 4:
        return (RateStep(duration=duration_s, level=1.0),)
    counts, _ = np.histogram(arrival_s, bins=bins, range=(0.0, duration_s))
    chance = max(float(np.mean(np.diff(counts) ** 2)) / 2 / counts.mean(), 1.0)
    penalty = _PENALTY * math.log(bins) * chance
    edges = [0.0, *(_change_points(counts.astype(np.float64), penalty) * (duration_s / bins)), duration_s]
    edges = _refined(arrival_s, edges, penalty)
    arrivals = np.diff(np.searchsorted(arrival_s, edges))
    mean_rate = len(arrival_s) / duration_s
    return tuple(
        RateStep(duration=b - a, level=float(count / (b - a) / mean_rate))
        for a, b, count in zip(edges, edges[1:], arrivals, strict=False)
    )


def _change_points(counts: Floats, penalty: float) -> NDArray[np.int64]:
    """Return the bins at which the level changes: optimal partitioning of Poisson counts with a penalty per change.

    Jackson et al., "An algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters
    12(2), 2005. The penalty scales with the dispersion of neighbours, so bursts shorter than a bin do not count as
    changes of the rate.
    """
    n = len(counts)
    total = np.concatenate([[0.0], np.cumsum(counts)])
    best, last = np.zeros(n + 1), np.zeros(n + 1, np.int64)
    best[0] = -penalty
    for end in range(1, n + 1):
        begin = np.arange(end)
        along = best[begin] + _cost(total[end] - total[begin], end - begin) + penalty
        last[end] = int(np.argmin(along))
        best[end] = along[last[end]]
    cuts, end = [], int(last[n])
    while end:
        cuts.append(end)
        end = int(last[end])
    return np.array(cuts[::-1], np.int64)


def _refined(arrival_s: Floats, edges: list[float], penalty: float) -> list[float]:
    """Move each change point to its most likely position within a bin, and drop those that explain too little.

    A change of rate inside a bin results in two change points, at both edges of the bin: one of them moves to the
    actual position, and the other no longer explains anything.
    """
    i = 1
    while i < len(edges) - 1:
        before, after = edges[i - 1], edges[i + 1]
        place = np.linspace(before, after, _PLACES + 2)[1:-1]
        first, here, last = (np.searchsorted(arrival_s, at) for at in (before, place, after))
        cost = _cost(here - first, place - before) + _cost(last - here, after - place)
        best = int(np.argmin(cost))
        if float(_cost(last - first, after - before)) - cost[best] < penalty:
            del edges[i]
        else:
            edges[i] = float(place[best])
            i += 1
    return edges


def _cost(arrivals: Any, length: Any) -> Floats:
    """Return twice the negative log-likelihood of the arrivals in periods of the given lengths, at their mean rates."""
    cost: Floats = -2 * arrivals * np.log(np.maximum(arrivals, 1e-300) / length)
    return cost
