from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.engine.latency_histogram import BINS, LatencyHistogram, bin_of, upper_edge_s


@given(st.floats(1e-9, 1e5))
def test_a_latency_is_below_its_bin_s_edge_by_a_thirty_second_at_most(latency_s):
    edge_s = upper_edge_s(bin_of(latency_s))
    assert latency_s < edge_s <= latency_s * (1 + 1 / 16)


def test_bins_ascend_and_the_extremes_have_one():
    assert [bin_of(upper_edge_s(i)) for i in range(BINS - 1)] == list(range(1, BINS))
    assert (bin_of(0.0), bin_of(1e-300), bin_of(1e300)) == (0, 0, BINS - 1)


@pytest.mark.parametrize("probability", [0.5, 0.95, 0.99])
def test_the_quantile_is_kept_up_whatever_the_order(probability):
    rng = np.random.default_rng(1)
    bins, seen = LatencyHistogram(probability), []
    for latency_s in np.concatenate([rng.exponential(1, 500), rng.exponential(9, 500), rng.exponential(0.01, 2000)]):
        bins.add(latency_s)
        seen.append(latency_s)
        exact = np.sort(seen)[int(np.ceil(probability * len(seen))) - 1]
        assert exact <= bins.quantile_s() <= exact * (1 + 1 / 16)
