"""The tables that drives draw their service times from."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from models.network.service_demand import ServiceDemand
from tests.validate.lab.box.quantile_draws import drawn_s, interpolated
from traces.workload.distributions import (
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    Occasional,
    Quantiles,
    SlowMode,
)
from validate.lab.box.quantile_table import quantile_table

CONTINUOUS: dict[str, Quantiles] = {
    "exponential": Exponential(),
    "gamma": Gamma(cv=0.5),
    "lognormal": Lognormal(cv=2),
    "empirical": Empirical(probabilities=(0, 0.5, 1), values=(1, 2, 10)),
}
MIXED: dict[str, Quantiles] = {
    "hyperexponential": Hyperexponential(cv=3),
    "slow mode": SlowMode(probability=0.01, factor=20),
    "occasional": Occasional(probability=0.1, of=Gamma(cv=0.5)),
}
INNER = np.linspace(0.0005, 0.9995, 20_001)


@pytest.mark.parametrize("distribution", CONTINUOUS.values(), ids=CONTINUOUS)
def test_a_table_has_the_quantiles_of_its_distribution(distribution: Quantiles) -> None:
    table = quantile_table(distribution)
    assert interpolated(table, INNER) == pytest.approx(distribution.quantile(INNER), rel=2e-3)
    tail = 1 - np.array([1e-4, 1e-5, 1e-6])
    assert interpolated(table, tail) == pytest.approx(distribution.quantile(tail), rel=0.02)


@pytest.mark.parametrize("distribution", [*CONTINUOUS.values(), *MIXED.values()], ids=[*CONTINUOUS, *MIXED])
def test_a_table_has_the_mean_of_its_distribution(distribution: Quantiles) -> None:
    x = (np.arange(2_000_000) + 0.5) / 2_000_000
    density = np.pi / 2 * np.sin(np.pi * x)  # of the probabilities at equidistant points
    mean = float(np.mean(interpolated(quantile_table(distribution), (1 - np.cos(np.pi * x)) / 2) * density))
    assert mean == pytest.approx(1, abs=2e-3)


def test_a_constant_needs_no_more_than_two_points() -> None:
    assert quantile_table(Deterministic()).tolist() == [1, 1]


def test_draws_follow_the_distribution() -> None:
    demand = ServiceDemand(constant=0.005, per_byte=1e-9, distribution=Gamma(cv=0.5))
    draws = drawn_s(demand, "read", 3, np.full(5000, 1_000_000))
    assert scipy.stats.kstest(draws / 0.006, scipy.stats.gamma(4, scale=0.25).cdf).pvalue > 0.01


def test_draws_depend_on_seed_and_kind_and_not_on_how_many_are_drawn() -> None:
    demand = ServiceDemand(constant=1.0, distribution=Exponential())
    sizes = np.zeros(20, np.int64)
    draws = drawn_s(demand, "read", 3, sizes)
    assert draws[:5].tolist() == drawn_s(demand, "read", 3, sizes[:5]).tolist()
    for other in (drawn_s(demand, "read", 4, sizes), drawn_s(demand, "write", 3, sizes)):
        assert abs(np.corrcoef(draws, other)[0, 1]) < 0.7 and not np.isin(draws, other).any()
