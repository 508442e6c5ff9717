"""The slopes of a fit whose simulations are noisy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from validate.figures import Floats
from validate.fit import Linear, Problem
from validate.parameters import Parameter
from validate.simulations import Point, Simulations
from validate.targets import Targets

NAMES = ("a", "b", "c")
SLOPES = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.1], [0.3, 0.0, 1.0]])
NOISE = 0.1


class Noisy:
    """Figures that are linear in the logarithms, and noise that no two simulations share."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(1)
        self.asked: list[Point] = []

    def figures(self, points: Sequence[Point]) -> list[Floats]:
        self.asked += points
        at = [np.log([dict(point.values)[name] for name in NAMES]) for point in points]
        return [SLOPES @ x + NOISE * self.random.standard_normal(3) for x in at]


def noisy_problem() -> tuple[Problem, Noisy]:
    simulations, zeros = Noisy(), np.zeros(3, np.int64)
    labels = tuple(("GET", name) for name in ("p50", "p90", "p99"))
    targets = Targets(np.zeros(3), labels, zeros, zeros, ((0,),), np.eye(3))
    parameters = [Parameter(name, 0.1, 10.0) for name in NAMES]
    matters = np.ones((1, 3), np.bool_)
    problem = Problem(
        cast(Simulations, simulations), parameters, np.zeros(3), matters, targets, lengths=np.ones(3), seed=1
    )
    return problem, simulations


def near(problem: Problem, variance: Any) -> Linear:
    return problem.polish(np.zeros(3), variance)


def test_slopes_are_taken_again_where_their_noise_hides_what_is_told() -> None:
    problem, simulations = noisy_problem()
    variance = np.full(3, 1e-3)
    found = near(problem, variance)
    simulations.asked.clear()
    sharp = problem.sharpened(found, variance)
    assert sharp.errors.mean() < 0.7 * found.errors.mean()
    assert np.abs(sharp.slopes - SLOPES).max() < 4 * sharp.errors.max()
    assert (sharp.point == found.point).all()
    last = [(tuple(point.values.items()), point.seed) for point in simulations.asked[-8 * 8 :]]
    assert len(set(last)) == len(last)  # else the noise only seems to be less


def test_slopes_are_left_where_the_misfit_is_greater_than_their_noise() -> None:
    problem, simulations = noisy_problem()
    variance = np.full(3, 1.0)
    found = near(problem, variance)
    asked = len(simulations.asked)
    assert problem.sharpened(found, variance) is found
    assert len(simulations.asked) == asked
