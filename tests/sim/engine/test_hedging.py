"""The benchmark against published hedging, in short: shapes and directions."""

from __future__ import annotations

import hedging
import hedging_hurts
import latency_distributions as distributions
import numpy as np
import pytest

from models.network.retry_policy import Policy
from models.network.route import Visit, single


@pytest.mark.parametrize("points", [hedging.LEAF_MS, hedging.MINIO_MS])
def test_a_law_goes_through_its_quantiles(points):
    demand = distributions.distribution(points, "bounded" if 1.0 in points else "lognormal")
    inner = [p for p in points if 0 < p < 1]
    assert [distributions.distribution_quantile_ms(demand, p) for p in inner] == pytest.approx(
        [points[p] for p in inner], rel=1e-6
    )


def test_independent_leaves_fall_short_of_all_leaves():
    rows = {line["case"]: list(line["ours_ms"].values()) for line in hedging.fan_out(3000)}
    published = np.array(list(hedging.ALL_MS.values()))
    assert (np.array(rows["100 of 100, independent"]) < published / 2).all()
    assert rows["100 of 100, independent, heavy tail"] == pytest.approx(published, rel=0.25)


def test_hedged_tail_is_the_product_of_two():
    leaf = distributions.distribution({0.98: 10.0, 0.9999: 1800.0})
    at_s = 0.05
    values = np.array(leaf.distribution.values)
    network = distributions.never_queued(single(Visit(0, leaf)), policy=Policy(hedge_after_s=0.01))
    outcome, latency_ms = distributions.ran(network, distributions.poisson(1_000_000, 1e3, 2), 2)
    scaled = values * leaf.constant / np.trapezoid(values, leaf.distribution.probabilities)
    late = [1 - np.interp(t, scaled, leaf.distribution.probabilities) for t in (at_s, at_s - 0.01)]
    assert (latency_ms > 1000 * at_s).mean() == pytest.approx(late[0] * late[1], rel=0.4)
    assert (outcome.attempts > 1).mean() == pytest.approx(0.02, rel=0.05)


def test_hedging_shortens_the_minio_tail():
    result = hedging.minio(100)
    assert result["with, quantile known before"]["max"]["median"] < result["without"]["max"]["median"]


def test_losers_that_are_served_make_hedging_hurt():
    table = hedging_hurts.where_it_hurts(10_000, 2, (0.2, 0.9))
    for line in table:
        assert line["p99_ratio"][0] < 1
        if line["losers"] == "losers are served":
            assert line["mean_ratio"][1] > 1
