"""The phase of periodic work: random, the same for each seed, and independent of other work."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, pearsonr

from models.network.background import Background, random_phase

SEEDS = range(2000)


def test_phases_are_uniform_and_independent():
    scrub, flush = ([random_phase(seed, "background", name) for seed in SEEDS] for name in ("scrub", "flush"))
    assert kstest(scrub, "uniform").pvalue > 0.01
    assert pearsonr(scrub, flush).pvalue > 0.01
    assert scrub == [random_phase(seed, "background", "scrub") for seed in SEEDS]


@pytest.mark.parametrize("operations", [0.3, 3.0, 3.3])
def test_even_operations_begin_at_a_random_moment_of_the_first_gap(operations):
    load = Background("scrub", 0, 0.5, 10.0, 10.0 + 2 * operations, poisson=False)
    counts = []
    for seed in SEEDS:
        at_s = load.arrival_s(seed)
        counts.append(len(at_s))
        assert ((at_s >= load.from_s) & (at_s < load.until_s)).all()
        assert np.diff(at_s) == pytest.approx(2.0)
    assert set(counts) == {int(np.floor(operations)), int(np.ceil(operations))}
    assert np.mean(counts) == pytest.approx(operations, abs=4 * 0.5 / len(SEEDS) ** 0.5)
