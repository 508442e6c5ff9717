"""Fit the arrival process of an open loop: its rate over time and its burstiness around that rate.

First the rate: counts in equal bins are partitioned into periods of constant rate, if that explains more than chance,
which is estimated from the differences of neighbouring bins. The remaining process, in operational time, is Poisson,
constant or a two-state MMPP. Whether the rate changed or bursts merely clustered is decided by BIC: the simpler
process is chosen unless the other one explains more than its additional parameters would by chance. If traces generated
from it do not have the peaks and the dispersion of the original from 1 s to 1,000 s, bursts have more than two time
scales, and `traces.fitting.multiscale` describes them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traces.fitting.mmpp import Binned, fit_mmpp2
from traces.fitting.multiscale import fit_multiscale
from traces.statistics.burstiness import SCALES_S, Floats, bursts, dispersion
from traces.workload.arrivals import Constant, Mmpp2, Poisson, Process, Profile, RateStep, arrival_times

_BINS = 50
_PENALTY = 4.0  # per change point, in units of ln(bins): BIC's 2 parameters (level and position), doubled
_PLACES = 400  # candidate positions of a change point between its neighbours
_LEAST_BIN = 10  # minimum mean number of arrivals per bin
_SIGNIFICANT = 3.5  # standard deviations beyond which dispersion is significant; assumed
_REGULAR = 0.1  # coefficient of variation of gaps below which arrivals count as evenly spaced; assumed
_NOTICEABLE = 0.02  # coefficient of variation of the rate below which bursts are ignored; assumed
_LEAST_MULTISCALE = 1000  # arrivals, with fewer of which the scales of bursts are not known; assumed
_SEEDS = 5
_MANY = 100_000  # arrivals, from which on peaks and dispersion must be within `_AIM`
_AIM = math.log(1.1)
_GAIN = 0.8  # ratio of the errors of a multi-scale process to those of a simpler one, from which on it is preferred
_LEAST_WINDOWS = 20  # of a scale that is compared, if there are fewer arrivals than `_MANY`
_MOST_CHANCE = 0.6  # standard deviation of a logarithm between seeds, beyond which bursts are too rare for a process
_CHANCE = 4.0  # standard deviations between seeds that count as chance with fewer arrivals


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
    simple = process if len(profile.steps) == 1 else profile.model_copy(update={"within": process})
    if len(arrival_s) < _LEAST_MULTISCALE:
        return simple
    error, chance = _errors(simple, arrival_s, duration_s)
    near = error <= np.maximum(_CHANCE * chance, _AIM)
    if len(arrival_s) < _MANY and near.all() and (chance <= _MOST_CHANCE).all():
        return simple
    if (error + chance <= _AIM).all():
        return simple
    multiscale = fit_multiscale(arrival_s, duration_s)
    if multiscale is None:
        return simple
    gained = np.add(*_errors(multiscale, arrival_s, duration_s)).mean() < _GAIN * (error + chance).mean()
    return multiscale if gained else simple


def _errors(process: Process, arrival_s: Floats, duration_s: float) -> tuple[Floats, Floats]:
    """Compare the peaks and the dispersion of a trace with those that a process generates.

    Returns:
        The difference of the logarithm of each figure from its mean over several seeds, and its standard deviation.
    """
    rate = len(arrival_s) / duration_s
    generated = [arrival_times(process, rate, seed, None, duration_s) for seed in range(_SEEDS)]
    few = len(arrival_s) < _MANY
    scales = [scale for scale in SCALES_S if not few or scale * _LEAST_WINDOWS <= duration_s]
    own, *found = (_burst_figures(times, tuple(scales)) for times in (arrival_s, *generated))
    compared = min(len(own), *(len(each) for each in found))
    logs = np.array([each[:compared] for each in found])
    return np.abs(logs.mean(0) - own[:compared]), logs.std(0)


def _burst_figures(arrival_s: Floats, scales_s: tuple[float, ...]) -> Floats:
    """Return logarithms of peak-to-mean ratio and index of dispersion, from short windows to long ones."""
    found = [figure for each in bursts(arrival_s, scales_s) for figure in (each.peak_to_mean, each.idc)]
    return np.log(np.maximum(found, 0.1))


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
