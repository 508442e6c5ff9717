"""Rates: those of operations over their phase, those of open loops over their arrivals."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runs import run_of
from traces.statistics.arrivals import arrival_rate_ops, arrival_span_s
from traces.statistics.bootstrap import resample
from traces.statistics.spans import span_s
from traces.statistics.summary import summarise


@pytest.mark.parametrize("at_s", [0.0, 70.0, 199.0])
def test_the_rate_of_one_request_is_over_the_run(at_s):
    arrival_s = [*np.arange(200.0), at_s]
    run = run_of([0.5] * 200 + [0.0003], arrival_s=arrival_s, op=["GET"] * 200 + ["HEAD"])
    ops = summarise(run)["ops"]
    assert ops["HEAD"]["throughput_ops"] == pytest.approx(1 / 199.5)
    assert ops["GET"]["throughput_ops"] == pytest.approx(200 / 199.5)
    assert resample(run, "HEAD", []).throughput_ops == pytest.approx(1 / 199.5)


def test_phases_that_follow_each_other_have_spans_of_their_own():
    arrival_s = [*np.arange(100.0), *np.arange(100.0, 150.0, 0.5), 120.0]
    run = run_of([1.0] * 100 + [0.5] * 100 + [0.01], arrival_s=arrival_s, op=["PUT"] * 100 + ["GET"] * 100 + ["LIST"])
    assert [span_s(run, op) for op in ("PUT", "GET", "LIST")] == [(0, 100), (100, 150), (100, 150)]


def test_requests_that_end_before_the_duration_arrive_until_the_last_one():
    assert arrival_span_s(np.arange(3000) / 3000, 10.0) == pytest.approx(1.0, rel=1e-3)
    assert arrival_rate_ops(np.arange(3000) / 3000, 10.0) == pytest.approx(3000, rel=1e-3)
    assert arrival_span_s(np.arange(3000) / 300, 10.0) == 10.0
    assert arrival_rate_ops(np.array([0.1, 0.5, 2.0]), 1.0) == 2.0
    assert arrival_rate_ops(np.empty(0), 1.0) == 0.0
    assert arrival_rate_ops(np.zeros(3), None) == np.inf
    assert arrival_span_s(np.array([1.0, 4.0]), None) == 4.0


def test_chance_hardly_ever_ends_the_arrivals_of_a_poisson_process():
    random = np.random.default_rng(1)
    for rate in (0.5, 3.0, 50.0):
        spans = [arrival_span_s(np.sort(random.uniform(0, 10, random.poisson(10 * rate))), 10.0) for _ in range(2000)]
        assert np.mean(np.array(spans) < 10) < 0.002
