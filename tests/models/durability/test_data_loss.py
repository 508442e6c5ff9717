"""The probability of data loss, against closed formulas, linear algebra and simulated failures."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.durability.data_loss import YEAR_S, annual_loss, failure_rate, fatal_sets, mean_time_to_loss_s

DAY_S = 86400.0


def test_a_fraction_fails_within_a_year() -> None:
    rate = failure_rate(0.2)
    assert 1 - math.exp(-rate * YEAR_S) == pytest.approx(0.2)


@pytest.mark.parametrize("drives", [2, 5, 12])
def test_one_failure_tolerated_is_the_formula_of_raid_5(drives: int) -> None:
    """Patterson, Gibson and Katz, without the approximation of rare failures."""
    failing, rebuilding = 1e-3, 0.5
    exact = ((2 * drives - 1) * failing + rebuilding) / (drives * (drives - 1) * failing**2)
    assert mean_time_to_loss_s(drives, 1, failing, 1 / rebuilding) == pytest.approx(exact)


@given(st.integers(1, 4), st.integers(0, 6), st.floats(0.05, 1.0), st.floats(0.1, 5.0))
def test_mean_time_solves_the_equations_of_the_chain(
    tolerated: int, more: int, failing: float, rebuild_s: float
) -> None:
    drives, states = tolerated + 1 + more, tolerated + 1
    generator = np.zeros((states, states))
    for failed in range(states):
        up, down = (drives - failed) * failing, failed / rebuild_s
        generator[failed, failed] = -(up + down)
        if failed:
            generator[failed, failed - 1] = down
        if failed + 1 < states:
            generator[failed, failed + 1] = up
    solved = np.linalg.solve(generator, -np.ones(states))[0]
    assert mean_time_to_loss_s(drives, tolerated, failing, rebuild_s) == pytest.approx(solved, rel=1e-6)


def test_fatal_sets_of_few_groups_are_those_of_each() -> None:
    assert fatal_sets(1, 6, 2, 20, 10) == pytest.approx(math.comb(6, 3), rel=1e-6)
    assert fatal_sets(7, 3, 2, 50, 10) == pytest.approx(7, rel=1e-4)


def test_fatal_sets_of_all_groups_are_all_sets() -> None:
    assert fatal_sets(math.inf, 3, 2, 5, 4) == math.comb(5, 3) * 4**3
    assert fatal_sets(3, 3, 1, 3, 1) == 3  # each group has all drives


def test_expected_fatal_sets_are_those_of_random_groups() -> None:
    generator, domains, drives, width, parity, groups = np.random.default_rng(1), 6, 3, 3, 1, 20
    counts = []
    for _ in range(400):
        found = set()
        for _ in range(groups):
            chosen = generator.choice(domains, width, replace=False)
            places = [(int(domain), int(generator.integers(drives))) for domain in sorted(chosen)]
            found |= set(itertools.combinations(places, parity + 1))
        counts.append(len(found))
    error = float(np.std(counts)) / math.sqrt(len(counts))
    assert abs(fatal_sets(groups, width, parity, domains, drives) - float(np.mean(counts))) < 4 * error


@pytest.mark.parametrize(("sets", "size", "parity"), [(1, 4, 1), (3, 4, 1), (2, 5, 2)])
def test_annual_loss_is_that_of_simulated_failures(sets: int, size: int, parity: int) -> None:
    """Drives of several erasure sets that fail and are rebuilt for a year, many times."""
    rate, rebuild_s, years = failure_rate(0.5), 15 * DAY_S, 4000
    generator, lost = np.random.default_rng(7), 0
    for _ in range(years):
        lost += any(_loses(generator, size, parity, rate, rebuild_s) for _ in range(sets))
    fatal = sets * math.comb(size, parity + 1)
    expected = annual_loss(fatal, parity, rate, rebuild_s)
    error = math.sqrt(expected / years)
    assert expected == pytest.approx(lost / years, abs=4 * error + 0.06 * expected)


def _loses(generator: np.random.Generator, size: int, parity: int, rate: float, rebuild_s: float) -> bool:
    now_s, failed = 0.0, 0
    while True:
        up, down = (size - failed) * rate, failed / rebuild_s
        now_s += generator.exponential(1 / (up + down))
        if now_s > YEAR_S:
            return False
        failed += 1 if generator.random() < up / (up + down) else -1
        if failed > parity:
            return True


@given(st.integers(0, 4), st.floats(1.0, 1e6), st.floats(1e-3, 0.3), st.floats(60.0, 1e6))
def test_more_parity_and_faster_rebuilds_lose_less(parity: int, fatal: float, annual: float, rebuild_s: float) -> None:
    rate = failure_rate(annual)
    now = annual_loss(fatal, parity, rate, rebuild_s)
    assert 0 <= now <= 1
    assert annual_loss(fatal, parity, rate, rebuild_s / 2) <= now * (1 + 1e-9)
    assert annual_loss(fatal, parity + 1, rate, rebuild_s) <= now * (1 + 1e-9)
