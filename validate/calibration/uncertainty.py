"""How sure a fit is: what the model lacks, confidence intervals, and what the data cannot tell.

Near its solution the fit is linear: the parameters are ``A`` times the figures, ``A = (J' W J + P)^-1 J' W`` with
slopes J, weights W and prior P. So a covariance C of the figures makes ``A C A'`` of the parameters, whatever the
weights were (the sandwich; White, "Maximum likelihood estimation of misspecified models", Econometrica 50(1), 1982), to
which the prior adds its part. C has three parts: the figures' noise from one Run to the next, which is correlated
within a Run; that of the simulations; and the model's misfit, by which figures are off beyond their noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from validate.calibration.fit import SEEDS, Linear, Problem
from validate.compare.figures import Floats

_MAX_DISCREPANCY = 2.0
_TOLD = 3.0
"""A direction of the parameters that the figures know less than so many times better than the prior is not told."""


def discrepancy(problem: Problem, near: Linear, covariance: Floats) -> float:
    """Standard deviation of log-errors beyond what `covariance` explains; 0 where it explains them all.

    The value with which the weighted squares of the residuals have their expectation, as for the variance between
    studies in a meta-analysis (Paule and Mandel, "Consensus values and weighting factors", Journal of Research of the
    NBS 87(5), 1982). The fit has drawn the residuals in, figures of a Run move together, and what the model lacks is
    the same in repetitions: all that is accounted for.
    """
    off = problem.targets.values - near.figures

    def excess(variance: float) -> float:
        whole = covariance + variance * problem.targets.alike
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
    """The covariance of measured less simulated log-figures, without misfit.

    A figure's noise is at least what simulations of as many requests have: a bootstrap of few requests does not see the
    tail that it has no samples of.
    """
    measured, simulated = problem.targets.covariance, near.noise * problem.lengths
    raised = np.sqrt(np.fmax(1.0, np.diag(simulated) / np.diag(measured)))
    noise: Floats = measured * np.outer(raised, raised) + near.noise / SEEDS
    return noise


def estimator(problem: Problem, near: Linear, variance: Floats) -> tuple[Floats, Floats]:
    """``A`` and ``(J' W J + P)^-1``, shapes (parameters, figures) and (parameters, parameters)."""
    inverse = np.linalg.inv(problem.precision(near, variance)).astype(np.float64)
    return inverse @ (near.slopes.T / variance), inverse


def intervals(
    problem: Problem, near: Linear, covariance: Floats, variance: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Confidence intervals of the log-parameters, cut at the bounds, shapes (parameters,).

    `covariance` is that of the log-errors, `variance` what the fit's weights were made from.
    """
    a, inverse = estimator(problem, near, variance)
    spread = a @ covariance @ a.T + (inverse * problem.prior**-2) @ inverse
    half = scipy.stats.norm.ppf((1 + confidence) / 2) * np.sqrt(np.diag(spread))
    low, high = np.fmax(near.point - half, problem.low), np.fmin(near.point + half, problem.high)
    return np.fmin(low, near.point), np.fmax(high, near.point)


def joined(several: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """The least intervals that hold those of several solutions which fit about equally well."""
    return np.min([low for low, _ in several], axis=0), np.max([high for _, high in several], axis=0)


def as_good(costs: Sequence[float], confidence: float) -> list[bool]:
    """Which solutions no test tells from the best: by the weighted squares, as likelihood ratios do (Wilks 1938)."""
    limit = min(costs) + float(scipy.stats.chi2.ppf(confidence, 1))
    return [cost <= limit for cost in costs]


def identified(problem: Problem, low: Floats, high: Floats) -> list[bool]:
    """Whether each interval is less than half as wide as the bounds (of logarithms)."""
    told: list[bool] = (high - low < (problem.high - problem.low) / 2).tolist()
    return told


def untold(problem: Problem, near: Linear, variance: Floats) -> list[str]:
    """What the figures cannot tell, in words: the directions of the parameters that they say little of."""
    values, vectors = problem.information(near, variance)
    found = []
    for direction in vectors.T[values < _TOLD**2]:
        mixed = sorted(np.flatnonzero(np.abs(direction) > 0.3).tolist(), key=lambda i: -abs(direction[i]))
        names = [problem.parameters[i].path for i in mixed]
        what = f"the Runs do not tell {names[0]}"
        found.append(what if len(names) == 1 else f"{what} from {' and '.join(names[1:])}")
    return found
