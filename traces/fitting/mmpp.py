"""Fit a two-state Markov-modulated Poisson process (MMPP) to arrivals.

First by moments of the counts: the mean rate, the index of dispersion at all window lengths (amplitude and correlation
time) and the third moment (Heffes and Lucantoni, "A Markov modulated characterization of packetized voice and data
traffic and related statistical multiplexer performance", IEEE JSAC 4(6), 1986; Gusella, "Characterizing the
variability of arrival processes with indexes of dispersion", IEEE JSAC 9(2), 1991). Then, if bursts are long enough
to be resolved individually, by maximum likelihood of the counts in short bins, as for a hidden Markov model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from traces.statistics.burstiness import Dispersion, Floats, tick
from traces.workload.arrivals import Mmpp2, Profile

_MOST_BINS = 16_384
_RESOLVED = 8.0  # minimum length of a burst, in bins, to be resolved
_SHORTEST = 3.0  # maximum length of the shortest window, in correlation times: shorter ones cannot be resolved
_MOST_FACTOR, _MIN_FRACTION = 1e4, 1e-3


@dataclass(frozen=True)
class Binned:
    """Arrival counts in equal time bins; arrays have shape (bins,).

    Attributes:
        counts: arrivals per bin.
        expected: expected arrivals per bin at the rate of a profile.
        width_s: bin width, seconds.
    """

    counts: Floats
    expected: Floats
    width_s: float

    @staticmethod
    def of(arrival_s: Floats, profile: Profile) -> Binned:
        """Count arrivals in bins with two arrivals on average, at least as wide as the tick of a coarse clock."""
        duration_s = profile.period_s
        most = min(_MOST_BINS, len(arrival_s) // 2, int(duration_s / max(tick(arrival_s), 1e-300)))
        bins = max(most, 1)
        operational, clock = profile.cumulated()
        counts, edges = np.histogram(arrival_s, bins=bins, range=(0.0, duration_s))
        expected = np.diff(np.interp(edges, clock, operational)) / duration_s * len(arrival_s)
        return Binned(counts.astype(np.float64), np.maximum(expected, 1e-9), duration_s / bins)

    def log_likelihood(self, process: Mmpp2) -> float:
        """Return the log-likelihood of the counts, up to a constant; a burst factor of 1 is a Poisson process.

        The state of a bin is the state at its end. The product of transition matrices is evaluated pair by pair.
        """
        calm = process.calm_rate(1.0)
        level = np.array([calm * process.burst_factor, calm])
        log = self.counts[:, None] * np.log(level) - self.expected[:, None] * level
        log += (self.counts * np.log(self.expected))[:, None]
        if process.burst_factor == 1:
            return float(log[:, 0].sum())
        steady = np.array([process.burst_fraction, 1 - process.burst_fraction])
        rate = 1 / process.burst_duration + 1 / process.calm_duration
        stays = math.exp(-rate * self.width_s)
        moves = stays * np.eye(2) + (1 - stays) * steady
        scale = log.max(1)
        products = moves * np.exp(log - scale[:, None])[:, None, :]
        total = float(scale.sum())
        while len(products) > 1:
            odd = products[len(products) // 2 * 2 :]
            products = np.concatenate([products[0 : len(products) - len(odd) : 2] @ products[1::2], odd])
            size = products.max((1, 2))
            products /= size[:, None, None]
            total += float(np.log(size).sum())
        return total + math.log(float((steady @ products[0]).sum()))


@dataclass(frozen=True)
class MmppFit:
    """A fitted two-state MMPP and its properties.

    Attributes:
        process: the process.
        asymptotic_idc: index of dispersion in windows much longer than the bursts.
        correlation_s: correlation time of the rate, seconds: 1 / (sum of both switching rates).
        rate_cv: coefficient of variation of the rate over time.
        idc: index of dispersion at the window lengths of the fitted counts.
    """

    process: Mmpp2
    asymptotic_idc: float
    correlation_s: float
    rate_cv: float
    idc: Floats


def fit_mmpp2(counts: Dispersion, bins: Binned | None = None) -> MmppFit:
    """Fit a two-state MMPP to mean, dispersion and third moment of counts, then refine it by maximum likelihood.

    With rates a and b, fraction p of the time at a, and r the sum of both switching rates, counts N in a window t have

        IDC(t) = 1 + A (1 - (1 - exp(-r t)) / (r t)),   A = 2 p (1 - p) (a - b)^2 / (r mean)
        third central moment = mean t + 3 (Var N - mean t) + 6 m3 G(t),   m3 = p (1 - p) (1 - 2 p) (a - b)^3
        G(t) = integral over 0 < u < t of (t - u) u exp(-r u)

    (Heffes and Lucantoni 1986, equations 8 to 13, for the first; the second follows because the centred rate X of two
    states satisfies X^2 = p (1 - p) (a - b)^2 + (1 - 2 p) (a - b) X.) A and r are weighted least-squares estimates over
    the window lengths.

    Args:
        counts: moments of the counts at one or more window lengths.
        bins: binned arrivals for the maximum-likelihood fit, which is used if bursts are much longer than the bins.
    """
    t, mean_rate = counts.window_s, float(counts.mean[0] / counts.window_s[0])
    weight = counts.windows / counts.idc**2
    rates = np.geomspace(0.1 / t[-1], _SHORTEST / t[0], 600)[:, None]
    rise = 1 - -np.expm1(-rates * t) / (rates * t)
    amplitude = np.maximum((weight * rise * (counts.idc - 1)).sum(1) / (weight * rise**2).sum(1), 0.0)
    squares = (weight * (1 + amplitude[:, None] * rise - counts.idc) ** 2).sum(1)
    best = int(np.argmin(squares))
    r, a = float(rates[best, 0]), float(amplitude[best])
    variance = a * r * mean_rate / 2  # of the rate
    third = _third_of_rate(counts, mean_rate, r)
    burst_fraction = _burst_fraction(variance, third, mean_rate)
    step = math.sqrt(variance / (burst_fraction * (1 - burst_fraction)))
    calm = max(mean_rate - burst_fraction * step, (mean_rate + step) / _MOST_FACTOR)
    process = Mmpp2(
        burst_factor=min(max((calm + step) / calm, 1.0), _MOST_FACTOR),
        burst_fraction=burst_fraction,
        burst_duration=1
        / (r * (1 - burst_fraction)),  # r = 1 / burst + 1 / calm, burst_fraction = burst / (burst + calm)
    )
    if bins is not None and min(process.burst_duration, process.calm_duration) > _RESOLVED * bins.width_s:
        process = _most_likely(bins, process)
    return MmppFit(process, 1 + a, 1 / r, _rate_cv(process), 1 + a * rise[best])


def _rate_cv(process: Mmpp2) -> float:
    p, rest = process.burst_fraction, process.burst_factor - 1
    return math.sqrt(p * (1 - p)) * rest / (1 + p * rest)


def _most_likely(bins: Binned, start: Mmpp2) -> Mmpp2:
    """Return the maximum-likelihood process, found by Nelder-Mead from two starting points."""

    def process(x: Floats) -> Mmpp2:
        return Mmpp2(
            burst_factor=1 + math.exp(min(x[0], math.log(_MOST_FACTOR))),
            burst_fraction=min(max(float(scipy.special.expit(x[1])), _MIN_FRACTION), 1 - _MIN_FRACTION),
            burst_duration=math.exp(x[2]),
        )

    def cost(x: Floats) -> float:
        return -bins.log_likelihood(process(x))

    first = [math.log(max(start.burst_factor - 1, 0.1)), float(scipy.special.logit(start.burst_fraction))]
    starts = [[*first, math.log(start.burst_duration * longer)] for longer in (1.0, 4.0)]
    options = {"xatol": 1e-2, "fatol": 0.1, "maxiter": 150}
    found = [scipy.optimize.minimize(cost, one, method="Nelder-Mead", options=options) for one in starts]
    return process(min(found, key=lambda one: float(one.fun)).x)


def _third_of_rate(counts: Dispersion, mean_rate: float, r: float) -> float:
    """Return the third central moment of the rate, a weighted mean over the window lengths."""
    t = counts.window_s
    x = np.exp(-r * t)
    g = t * (1 - x * (1 + r * t)) / r**2 - (2 - x * (2 + 2 * r * t + (r * t) ** 2)) / r**3
    mean, variance = mean_rate * t, counts.idc * counts.mean
    rest = counts.third - mean - 3 * (variance - mean)
    weight = counts.windows / variance**3  # the noise of a third moment scales with the variance to the power 3/2
    return float((weight * 6 * g * rest).sum() / (weight * (6 * g) ** 2).sum())


def _burst_fraction(variance: float, third: float, mean_rate: float) -> float:
    """Return the fraction p of time in the burst state that matches the rate's skewness (1 - 2 p) / sqrt(p (1 - p)).

    Limited so that the rate of the calm state is not negative.
    """
    skewness = third / variance**1.5
    fraction = 0.5 * (1 - skewness / math.sqrt(4 + skewness**2))
    most = 1 / (1 + variance / mean_rate**2)
    return float(min(max(fraction, _MIN_FRACTION), most * (1 - 1e-3), 1 - _MIN_FRACTION))
