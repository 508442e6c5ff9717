"""The slopes of a fit whose simulations are noisy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import pytest

from validate.calibration.fit import Linear, Problem
from validate.calibration.parameters import Parameter
from validate.calibration.simulations import Point, Simulations
from validate.calibration.targets import Targets
from validate.compare.figures import Floats

SLOPES = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.1], [0.3, 0.0, 1.0]])
NOISE = 0.1


class Noisy:
    """Figures that are linear in the logarithms, and noise: of each simulation, and of each seed."""

    def __init__(self, slopes: Floats, of_seed: float = 0.0) -> None:
        self.slopes, self.of_seed = slopes, of_seed
        self.random = np.random.default_rng(1)
        self.requested: list[Point] = []

    def figures(self, points: Sequence[Point]) -> list[Floats]:
        self.requested += points
        at = [np.log(list(point.values.values())) for point in points]
        common = [self.of_seed * np.random.default_rng(point.seed).standard_normal(3) for point in points]
        return [
            self.slopes @ x + noise + NOISE * self.random.standard_normal(3)
            for x, noise in zip(at, common, strict=True)
        ]

    def alike(self, count: int) -> int:
        """How many of the last simulations had been done before, among these."""
        return count - len({(*point.values.items(), point.seed) for point in self.requested[-count:]})


def noisy_problem(truth: Floats = SLOPES, of_seed: float = 0.0) -> tuple[Problem, Noisy]:
    simulations, zeros, width = Noisy(truth, of_seed), np.zeros(3, np.int64), truth.shape[1]
    labels = tuple(("GET", name) for name in ("p50", "p90", "p99"))
    targets = Targets(np.zeros(3), labels, zeros, zeros, ((0,),), np.eye(3))
    parameters = [Parameter(f"p{i}", 0.1, 10.0) for i in range(width)]
    matters = np.ones((1, width), np.bool_)
    problem = Problem(
        cast(Simulations, simulations), parameters, np.zeros(width), matters, targets, lengths=np.ones(3), seed=1
    )
    return problem, simulations


def near(problem: Problem, variance: Any) -> Linear:
    return problem.polish(np.zeros(3), variance)


def test_slopes_are_taken_again_where_their_noise_hides_what_is_told() -> None:
    problem, simulations = noisy_problem()
    variance = np.full(3, 1e-3)
    found = near(problem, variance)
    simulations.requested.clear()
    sharp = problem.sharpened(found, variance)
    assert sharp.errors.mean() < 0.7 * found.errors.mean()
    assert np.abs(sharp.slopes - SLOPES).max() < 4 * sharp.errors.max()
    assert (sharp.point == found.point).all()
    assert simulations.alike(8 * 8) == 0  # else the noise only seems to be less


@pytest.mark.parametrize("of_seed", [0.0, 100 * NOISE])
def test_errors_of_slopes_are_those_of_differences(of_seed: float) -> None:
    problem, _ = noisy_problem(of_seed=of_seed)
    slopes, errors = zip(*(problem.slopes(np.zeros(3), repeats=8) for _ in range(40)), strict=True)
    off = np.array(slopes) - SLOPES
    assert np.sqrt(np.mean(off**2)) == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=0.15)


@pytest.mark.parametrize("width", [3, 9, 17])
def test_no_simulation_comes_twice_in_repeated_slopes(width: int) -> None:
    problem, simulations = noisy_problem(np.tile(SLOPES, (1, 6))[:, :width])
    problem.slopes(np.zeros(width), repeats=2)
    assert len(simulations.requested) > 4 * width
    assert simulations.alike(len(simulations.requested)) == 0


def test_slopes_are_left_where_the_misfit_is_greater_than_their_noise() -> None:
    problem, simulations = noisy_problem()
    variance = np.full(3, 1.0)
    found = near(problem, variance)
    requested = len(simulations.requested)
    assert problem.sharpened(found, variance) is found
    assert len(simulations.requested) == requested


def test_a_point_that_comes_again_is_not_simulated_again() -> None:
    requested: list[Point] = []

    def mapping(simulate: Any, points: Sequence[Point]) -> Iterator[Floats]:
        for point in points:
            requested.append(point)
            yield np.array([point.values["a"], point.seed])

    simulated = Simulations(mapping, lambda count: None)
    points = [Point(0, {"a": 1.0}, 1), Point(0, {"a": 1.0}, 2), Point(0, {"a": 2.0}, 1), Point(0, {"a": 1.0}, 1)]
    expected = [(1, 1), (1, 2), (2, 1), (1, 1)]
    assert [tuple(figures) for figures in simulated.figures(points)] == expected
    assert [tuple(figures) for figures in simulated.figures(points[::-1])] == expected[::-1]
    assert requested == points[:3]
    assert simulated.count == 3
