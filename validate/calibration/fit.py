"""The fit of simulated figures to measured ones: weighted nonlinear least squares whose model is a simulation.

Figures and parameters are in logarithms. All simulations use common random numbers, so figures are nearly smooth in the
parameters, but jump when a job overtakes another. Slopes are therefore taken over a distance with many such jumps, and
from a two-level design that changes all parameters at once (Plackett and Burman, "The design of optimum multifactorial
experiments", Biometrika 33(4), 1946), each row with its mirror image. For the same number of simulations, slopes are
far less noisy than with one parameter at a time, and free of two-factor interactions (Box, Hunter and Hunter,
"Statistics for Experimenters", 2nd ed. 2005, chapters 5 and 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from traces.random_streams import mixed, stream_id
from validate.calibration.parameters import Parameter
from validate.calibration.simulations import Point, Simulations
from validate.calibration.targets import Targets
from validate.compare.figures import Floats

_STEP = 0.15
"""Step of the slopes, in the logarithm of a parameter."""

_LOST = 5.0
"""The log-error of a figure that a simulation lacks because no request of its operation succeeded."""

_PRIOR = 0.25
"""Standard deviation of the prior about the first guess, relative to the width of the bounds. As ± 2 of them cover the
bounds, it has an effect only where the Runs have no information."""

_SEARCHES, _TRIES = 12, 5  # evaluations of a search, and of the last steps
_LITTLE = 0.3  # smaller reductions of the weighted squares are within the noise of the simulations
_FEW_SEEDS, _REPEATS, _MOST_REPEATS = 2, 2, 8
_HIDDEN = 9.0
"""Maximum information, in units of the prior, that noise in the slopes may imitate; above it, slopes are repeated."""

SEEDS = 16
"""Number of seeds per Run over which the last steps average."""


@dataclass(frozen=True)
class Linear:
    """The problem linearised at a point.

    Attributes:
        point: log-parameters, shape (parameters,).
        figures: simulated log-figures there, mean over seeds, shape (figures,).
        noise: covariance of one simulation's log-figures, shape (figures, figures).
        slopes, errors: slopes of the figures and their standard errors, shape (figures, parameters).
        cost: weighted sum of squares, including the prior.
    """

    point: Floats
    figures: Floats
    noise: Floats
    slopes: Floats
    errors: Floats
    cost: float


class Problem:
    """Simulated against measured figures as functions of the log-parameters."""

    def __init__(
        self,
        simulations: Simulations,
        parameters: Sequence[Parameter],
        guess: Floats,
        matters: NDArray[np.bool_],
        targets: Targets,
        lengths: Floats,
        seed: int,
    ):
        """Define the problem for some Runs and parameters.

        Args:
            guess: log-parameters, shape (parameters,).
            matters: whether a configuration's figures depend on a parameter, shape (configurations, parameters).
            lengths: requests per simulation over requests of the figure's Run, shape (figures,).
        """
        self._simulations, self._seed = simulations, seed
        self.parameters = tuple(parameters)
        self.low, self.high = (np.log([getattr(p, end) for p in parameters]) for end in ("low", "high"))
        self.guess, self.matters, self.targets, self.lengths = guess, matters, targets, lengths
        self.prior = _PRIOR * (self.high - self.low)

    def search(self, begin: Floats, variance: Floats) -> Floats:
        """Return the least-squares point with few seeds; `variance` of the log-errors, shape (figures,)."""
        weight = 1 / np.sqrt(variance)
        seeds = self.seeds(_FEW_SEEDS)

        def errors(point: Floats) -> Floats:
            off = self.centre(point, seeds)[0] - self.targets.values
            return np.concatenate([off * weight, (point - self.guess) / self.prior])

        def slopes(point: Floats) -> Floats:
            return np.vstack([self.slopes(point, seeds)[0] * weight[:, None], np.diag(1 / self.prior)])

        inside = np.clip(begin, self.low + 1e-6, self.high - 1e-6)
        bounds = self.low, self.high
        found = scipy.optimize.least_squares(
            errors, inside, jac=slopes, bounds=bounds, xtol=3e-3, ftol=3e-3, max_nfev=_SEARCHES
        )
        result: Floats = found.x
        return result

    def polish(self, begin: Floats, variance: Floats) -> Linear:
        """Take Gauss-Newton steps with figures averaged over seeds, from a point near the solution.

        A step that does not reduce the sum of squares is halved.
        """
        seeds = self.seeds(SEEDS)
        best = self._near(begin, variance, seeds)
        (step, gain), tries = self._step(best, variance), _TRIES
        # With a large discrepancy, the simulations are noisier, too, so the threshold is higher.
        while tries and gain > _LITTLE * max(1.0, best.cost / len(variance)):
            tries -= 1
            point = np.clip(best.point + step, self.low, self.high)
            if self._cost(point, self.centre(point, seeds)[0], variance) < best.cost:
                best = self._near(point, variance, seeds)
                step, gain = self._step(best, variance)
            else:
                step, gain = step / 2, gain / 2
        return best

    def _near(self, point: Floats, variance: Floats, seeds: Sequence[int]) -> Linear:
        figures, noise = self.centre(point, seeds)
        slopes, errors = self.slopes(point, repeats=_REPEATS)
        return Linear(point, figures, noise, slopes, errors, self._cost(point, figures, variance))

    def sharpened(self, near: Linear, variance: Floats) -> Linear:
        """Return the same with slopes precise enough for the variance of the log-errors, shape (figures,).

        The effort is limited; information that noise in the slopes may imitate is not counted (`information`).
        """
        repeats = _REPEATS
        while repeats < _MOST_REPEATS and np.any(self._doubt(near, variance) * self.prior**2 > _HIDDEN):
            repeats *= 2
            slopes, errors = self.slopes(near.point, repeats=repeats)
            near = replace(near, slopes=slopes, errors=errors)
        return near

    def _doubt(self, near: Linear, variance: Floats) -> Floats:
        """Return the information on each parameter that noise in the slopes adds, shape (parameters,)."""
        doubt: Floats = (near.errors**2 / variance[:, None]).sum(axis=0)
        return doubt

    def information(self, near: Linear, variance: Floats) -> tuple[Floats, Floats]:
        """Return the information of the figures on the parameters, in units of the prior: eigenvalues and eigenvectors.

        It is ``J' W J`` minus what noise in the slopes J adds; otherwise a direction in which nothing changes would
        seem to be identifiable. Eigenvectors are columns.
        """
        known = (near.slopes.T / variance) @ near.slopes - np.diag(self._doubt(near, variance))
        values, vectors = np.linalg.eigh(known * np.outer(self.prior, self.prior))
        return np.fmax(values, 0.0), vectors

    def precision(self, near: Linear, variance: Floats) -> Floats:
        """Return the information of figures and prior together, shape (parameters, parameters)."""
        values, vectors = self.information(near, variance)
        scaled = vectors / self.prior[:, None]
        whole: Floats = (scaled * (1 + values)) @ scaled.T
        return whole

    def _cost(self, point: Floats, figures: Floats, variance: Floats) -> float:
        off, prior = self.targets.values - figures, (self.guess - point) / self.prior
        return float(off @ (off / variance) + prior @ prior)

    def _step(self, near: Linear, variance: Floats) -> tuple[Floats, float]:
        """Return the least-squares step of the linear problem, within the bounds, and its reduction of the squares."""
        precision = self.precision(near, variance)
        off = (self.targets.values - near.figures) / variance
        descent = near.slopes.T @ off + (self.guess - near.point) / self.prior**2
        root = np.linalg.cholesky(precision)
        bounds = self.low - near.point - 1e-9, self.high - near.point + 1e-9
        step: Floats = scipy.optimize.lsq_linear(root.T, np.linalg.solve(root, descent), bounds=bounds).x
        return step, float(2 * descent @ step - step @ precision @ step)

    def seeds(self, count: int) -> list[int]:
        """Return seeds of simulations that differ from those of the Runs."""
        return [mixed(self._seed, stream_id("calibrate"), i) for i in range(count)]

    def centre(self, point: Floats, seeds: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the figures at a point, averaged over seeds, and the covariance of one simulation (0 for one seed)."""
        configurations = range(len(self.matters))
        drawn = self._simulations.figures(
            [Point(c, self._values(point), seed) for c in configurations for seed in seeds]
        )
        figures = np.empty(len(self.targets.values))
        noise = np.zeros((len(figures), len(figures)))
        for c in configurations:
            mine = np.flatnonzero(self.targets.configuration == c)
            of_seeds = self._of_figures(drawn[c * len(seeds) : (c + 1) * len(seeds)], mine)
            figures[mine] = of_seeds.mean(axis=0)
            if len(seeds) > 1:
                noise[np.ix_(mine, mine)] = np.cov(of_seeds, rowvar=False)
        return figures, noise

    def slopes(self, point: Floats, seeds: Sequence[int] = (), repeats: int = 1) -> tuple[Floats, Floats]:
        """Return the slopes of the figures at a point and their standard errors, each of shape (figures, parameters).

        Args:
            seeds: used by the pairs of mirror images in turn; empty: each pair has its own, so that repetitions of the
                design are independent simulations.
            repeats: number of simulations of the design.
        """
        designs = [np.tile(self._design(point, c), (repeats, 1)) for c in range(len(self.matters))]
        seeds = seeds or self.seeds(max(map(len, designs)) // 2)
        points = [
            Point(c, self._values(row), seeds[_pair(i, len(rows) // repeats) % len(seeds)])
            for c, rows in enumerate(designs)
            for i, row in enumerate(rows)
        ]
        drawn = iter(self._simulations.figures(points))
        slopes, errors = np.zeros((2, len(self.targets.values), len(point)))
        for c, rows in enumerate(designs):
            mine, moved = np.flatnonzero(self.targets.configuration == c), np.flatnonzero(self.matters[c])
            figures = self._of_figures([next(drawn) for _ in rows], mine)
            # Slopes depend only on the difference of mirror images, so the effects that their seed and two-factor
            # interactions have on both are no error.
            design, differences = (_mirrored(values, len(rows) // repeats) for values in (rows[:, moved], figures))
            inverse = np.linalg.pinv(design)
            fitted = inverse @ differences
            left = differences - design @ fitted
            spread = np.sqrt((left**2).sum(axis=0) / max(len(design) - len(moved), 1))
            slopes[np.ix_(mine, moved)] = fitted.T
            errors[np.ix_(mine, moved)] = spread[:, None] * np.sqrt((inverse**2).sum(axis=1))
        return slopes, errors

    def _design(self, point: Floats, configuration: int) -> Floats:
        """Return points for a configuration's slopes, shape (rows, parameters); the second half mirrors the first."""
        moved = np.flatnonzero(self.matters[configuration])
        order = 1 << len(moved).bit_length()
        signs = scipy.linalg.hadamard(order)[:, 1 : len(moved) + 1]
        rows = np.tile(point, (2 * order, 1))
        rows[:, moved] += _STEP * np.vstack([signs, -signs])
        return np.clip(rows, self.low, self.high)

    def _values(self, point: Floats) -> dict[str, float]:
        return dict(zip((p.path for p in self.parameters), np.exp(point).tolist(), strict=True))

    def _of_figures(self, drawn: Sequence[Floats], mine: NDArray[np.int64]) -> Floats:
        """Return an array of the simulations of a configuration (rows) and the figures of all its Runs (columns)."""
        figures = np.array(drawn)[:, self.targets.place[mine]]
        return np.where(np.isnan(figures), self.targets.values[mine] + _LOST, figures)


def _pair(row: int, size: int) -> int:
    """Return the pair number of a row, in designs of `size` rows whose second halves mirror the first."""
    design, place = divmod(row, size)
    return design * (size // 2) + place % (size // 2)


def _mirrored(values: Floats, size: int) -> Floats:
    """Return the rows of designs of `size` rows minus their mirror images, shape (pairs, columns)."""
    designs = values.reshape(-1, 2, size // 2, values.shape[1])
    return (designs[:, 0] - designs[:, 1]).reshape(-1, values.shape[1])
