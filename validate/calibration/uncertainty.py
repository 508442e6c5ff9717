"""The uncertainty of a fit: model discrepancy, confidence intervals, and parameters that are not identifiable.

Near its solution the fit is linear: the parameters are ``A`` times the figures, ``A = (J' W J + P)^-1 J' W`` with
slopes J, weights W and prior P. A covariance C of the figures therefore gives the parameters the covariance ``A C A'``,
whatever the weights (the sandwich estimator; White, "Maximum likelihood estimation of misspecified models",
Econometrica 50(1), 1982), to which the prior adds its part. C has three parts: the noise of the figures from one Run to
the next, which is correlated within a Run; that of the simulations; and the model discrepancy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from validate.calibration.fit import SEEDS, Linear, Problem
from validate.compare.figures import Floats

_MAX_DISCREPANCY = 2.0
_IDENTIFIABLE = 3.0
"""A direction of the parameters is identifiable if the figures determine it this many times more precisely than the
prior does."""


def discrepancy(problem: Problem, near: Linear, covariance: Floats) -> float:
    """Return the standard deviation of log-errors that `covariance` does not explain; 0 if it explains them all.

    With this value, the weighted squares of the residuals equal their expectation, as for the variance between studies
    in a meta-analysis (Paule and Mandel, "Consensus values and weighting factors", Journal of Research of the NBS
    87(5), 1982). The estimate accounts for degrees of freedom of the fit, for correlated figures of a Run, and for a
    discrepancy that is the same in repetitions.
    """
    off = problem.targets.values - near.figures

    def excess(variance: float) -> float:
        whole = covariance + variance * problem.targets.same_figure
        weight = 1 / np.diag(whole)
        left = np.eye(len(off)) - near.slopes @ estimator(problem, near, 1 / weight)[0]
        expected = float(np.trace((left.T * weight) @ left @ whole))
        return float(off @ (off * weight)) - expected

    if excess(0.0) <= 0:
        return 0.0
    if excess(_MAX_DISCREPANCY**2) >= 0:
        return _MAX_DISCREPANCY
    return float(np.sqrt(scipy.optimize.brentq(excess, 0.0, _MAX_DISCREPANCY**2, xtol=1e-8)))


def total_noise(problem: Problem, near: Linear) -> Floats:
    """Return the covariance of measured minus simulated log-figures, without discrepancy.

    The noise of a figure is at least that of simulations with the same number of requests, because a bootstrap of few
    requests misses the part of the tail without samples.
    """
    measured, simulated = problem.targets.covariance, near.noise * problem.lengths
    raised = np.sqrt(np.fmax(1.0, np.diag(simulated) / np.diag(measured)))
    noise: Floats = measured * np.outer(raised, raised) + near.noise / SEEDS
    return noise


def estimator(problem: Problem, near: Linear, variance: Floats) -> tuple[Floats, Floats]:
    """Return ``A`` and ``(J' W J + P)^-1``, shapes (parameters, figures) and (parameters, parameters)."""
    inverse = np.linalg.inv(problem.precision(near, variance)).astype(np.float64)
    return inverse @ (near.slopes.T / variance), inverse


def intervals(
    problem: Problem, near: Linear, covariance: Floats, variance: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Return confidence intervals of the log-parameters, cut at the bounds, shapes (parameters,).

    Args:
        covariance: covariance of the log-errors.
        variance: the variance from which the weights of the fit are derived.
    """
    a, inverse = estimator(problem, near, variance)
    spread = a @ covariance @ a.T + (inverse * problem.prior**-2) @ inverse
    half = scipy.stats.norm.ppf((1 + confidence) / 2) * np.sqrt(np.diag(spread))
    low, high = np.fmax(near.point - half, problem.low), np.fmin(near.point + half, problem.high)
    return np.fmin(low, near.point), np.fmax(high, near.point)


def joined(several: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the smallest intervals that contain those of several solutions."""
    return np.min([low for low, _ in several], axis=0), np.max([high for _, high in several], axis=0)


def indistinguishable(costs: Sequence[float], confidence: float) -> list[bool]:
    """Return which solutions are indistinguishable from the best by a likelihood-ratio test (Wilks 1938)."""
    limit = min(costs) + float(scipy.stats.chi2.ppf(confidence, 1))
    return [cost <= limit for cost in costs]


def identified(problem: Problem, low: Floats, high: Floats) -> list[bool]:
    """Whether each interval is less than half as wide as the bounds (of logarithms)."""
    narrow: list[bool] = (high - low < (problem.high - problem.low) / 2).tolist()
    return narrow


def together(problem: Problem, near: Linear, variance: Floats) -> tuple[tuple[str, ...], ...]:
    """Return the parameters that the figures do not identify, in groups of which they identify a combination only.

    Groups have no parameter in common. One parameter by itself is not identified at all.
    """
    values, vectors = problem.information(near, variance)
    groups: list[set[int]] = []
    for direction in vectors.T[values < _IDENTIFIABLE**2]:
        mixed = set(np.flatnonzero(np.abs(direction) > 0.3).tolist())
        touching = [group for group in groups if group & mixed]
        groups = [group for group in groups if not group & mixed] + [mixed.union(*touching)]
    return tuple(tuple(problem.parameters[i].path for i in sorted(group)) for group in sorted(groups, key=min))
