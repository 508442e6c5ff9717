"""The rank sum test has the p-values of SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from sim.replication.rank_sum import rank_sum_p


@pytest.mark.parametrize(("n", "m"), [(1, 32), (1, 1), (4, 32), (2, 64), (8, 256), (9, 7), (8, 8), (20, 160), (30, 9)])
@pytest.mark.parametrize("values", [1, 3, 40, None])  # number of different values; None: no two are equal
def test_p_values_are_those_of_scipy(n: int, m: int, values: int | None) -> None:
    random = np.random.default_rng(n + m)
    for shift in (0.0, 0.3, 2.0):
        a, b = random.random(n) + shift, random.random(m)
        if values is not None:
            a, b = np.floor(a * values), np.floor(b * values)
        expected = scipy.stats.mannwhitneyu(a, b).pvalue
        assert rank_sum_p(a, b) == pytest.approx(expected, rel=1e-13)
        assert rank_sum_p(b, a) == pytest.approx(expected, rel=1e-13)


def test_separate_samples_have_the_p_value_of_their_only_arrangement() -> None:
    assert rank_sum_p(np.arange(2.0), np.arange(3.0) + 5) == pytest.approx(2 / 10)
    assert rank_sum_p(np.ones(5), np.ones(7)) == 1.0
