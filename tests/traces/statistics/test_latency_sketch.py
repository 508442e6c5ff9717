from __future__ import annotations

import math

import numpy as np
import pytest

from traces.statistics.latency_sketch import BINS, ERROR, LatencySketch, bins_of
from traces.statistics.summary import QUANTILES, describe, quantiles


def sketch_of(*parts: np.ndarray) -> LatencySketch:
    sketch = LatencySketch()
    for part in parts:
        sketch.add(part)
    return sketch


@pytest.mark.parametrize("sigma", [0.01, 0.5, 3.0])
def test_quantiles_are_within_the_error(sigma):
    latency_s = np.random.default_rng(1).lognormal(-6, sigma, 20_001)
    sketch, probabilities = sketch_of(latency_s), np.linspace(0, 1, 201)
    # At every rank, and so for values interpolated between two of them.
    assert sketch.quantiles(probabilities) == pytest.approx(quantiles(latency_s, probabilities), rel=ERROR)


def test_mean_and_extremes_are_exact():
    latency_s = np.random.default_rng(2).exponential(0.01, 1000)
    found, exact = sketch_of(latency_s).describe(), describe(latency_s)
    assert list(found) == list(exact)
    assert (found["min"], found["max"]) == (exact["min"], exact["max"])
    assert found["mean"] == pytest.approx(exact["mean"], rel=1e-12)
    assert [found[name] for name in QUANTILES] == pytest.approx([exact[name] for name in QUANTILES], rel=ERROR)


def test_a_merged_sketch_is_that_of_all_latencies():
    a, b = np.random.default_rng(3).exponential(0.01, (2, 500))
    merged, whole = LatencySketch.merged([sketch_of(a), sketch_of(b)]), sketch_of(np.concatenate([a, b]))
    assert (merged.counts == whole.counts).all()
    assert merged.quantiles([0.3, 0.99]) == whole.quantiles([0.3, 0.99])
    assert (len(merged), merged.least_s, merged.greatest_s) == (1000, whole.least_s, whole.greatest_s)


def test_no_latencies_have_no_figures():
    assert all(map(math.isnan, LatencySketch().describe().values()))
    assert all(map(math.isnan, sketch_of(np.empty(0)).quantiles([0.5])))


def test_latencies_out_of_range_are_in_the_first_and_the_last_bin():
    assert bins_of(np.array([0.0, 1e-15, 1e9])).tolist() == [0, 0, BINS - 1]
    assert sketch_of(np.zeros(3)).quantiles([0.5, 1.0]) == [0.0, 0.0]


def test_an_edge_belongs_to_the_bin_above_it():
    below, edge = bins_of(np.array([np.nextafter(1.0, 0), 1.0]))
    assert edge == below + 1
