from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from tests.runs import run_of
from traces.statistics.bootstrap import interval, resample
from traces.statistics.summary import (
    QUANTILES,
    latencies,
    merged_latencies,
    ops_of,
    quantiles,
    summarise,
    tail_points,
    timeline,
    tukey_outliers,
)

samples_of = arrays(np.float64, st.integers(1, 300), elements=st.floats(1e-6, 10))
LATENCY_KEYS = {"mean", "min", "p25", "p50", "p75", "p90", "p95", "p99", "p99_9", "max"}


def test_summary_has_exactly_the_fields_of_the_contract():
    summary = summarise(run_of([0.1, 0.2, 0.3], op=["GET", "PUT", "GET"]))
    assert set(summary) == {"ops", "duration_s"}
    assert list(summary["ops"]) == ["GET", "PUT"]
    for figures in summary["ops"].values():
        assert set(figures) == {"count", "errors", "throughput_ops", "throughput_bytes", "latency_s"}
        assert set(figures["latency_s"]) == LATENCY_KEYS


def test_errors_count_as_requests_but_not_in_latency_or_throughput():
    run = run_of([1.0, 9.0, 3.0], arrival_s=[0.0, 0.0, 1.0], error=[None, "timeout", None])
    figures = summarise(run)["ops"]["GET"]
    assert (figures["count"], figures["errors"]) == (3, 1)
    assert figures["latency_s"]["max"] == 3.0
    assert figures["throughput_ops"] == pytest.approx(2 / 9)  # the window ends with the failed request
    assert figures["throughput_bytes"] == pytest.approx(2 * 4096 / 9)


def test_latency_counts_from_the_intended_start():
    run = run_of([5.0], arrival_s=[1.0], start_s=[4.0])
    assert summarise(run)["ops"]["GET"]["latency_s"]["mean"] == 5.0
    assert run.lag_s.tolist() == [3.0]


def test_throughput_of_an_operation_is_over_its_own_window():
    run = run_of([1.0, 1.0, 1.0, 1.0], arrival_s=[0.0, 1.0, 100.0, 101.0], op=["PUT", "PUT", "GET", "GET"])
    figures = summarise(run)["ops"]
    assert figures["PUT"]["throughput_ops"] == figures["GET"]["throughput_ops"] == 1.0


def test_an_operation_that_only_failed_has_no_latency():
    figures = summarise(run_of([0.1, 0.1], error=["a", "b"]))["ops"]["GET"]
    assert figures["throughput_ops"] == 0.0
    assert all(math.isnan(value) for value in figures["latency_s"].values())


def test_an_empty_run_has_no_operations():
    assert summarise(run_of([])) == {"ops": {}, "duration_s": 0.0}


@given(samples_of)
def test_summary_quantiles_are_those_of_the_raw_samples(samples):
    run = run_of(samples, arrival_s=np.zeros(len(samples)))
    latency = summarise(run)["ops"]["GET"]["latency_s"]
    for name, p in QUANTILES.items():
        assert latency[name] == np.quantile(samples, p, method="linear")
    assert (latency["min"], latency["max"]) == (samples.min(), samples.max())
    ordered = [latency[name] for name in ("min", *QUANTILES, "max")]
    assert ordered == sorted(ordered)


def test_quantiles_interpolate_between_order_statistics():
    assert quantiles(np.array([4.0, 1.0, 2.0, 3.0]), [0.0, 0.5, 0.9, 1.0]).tolist() == pytest.approx([1, 2.5, 3.7, 4])


def test_latencies_come_in_order_of_time():
    run = run_of([0.3, 0.1, 0.2], arrival_s=[3.0, 1.0, 2.0])
    assert latencies(run, "GET").tolist() == pytest.approx([0.1, 0.2, 0.3])


def test_pooled_merges_samples_and_does_not_average_quantiles():
    fast, slow = run_of(np.full(90, 0.1)), run_of(np.full(10, 1.0), op=["GET"] * 9 + ["PUT"])
    merged = merged_latencies([fast, slow])
    assert {op: len(samples) for op, samples in merged.items()} == {"GET": 99, "PUT": 1}
    assert quantiles(merged["GET"], 0.5) == pytest.approx(0.1)


def test_block_bootstrap_covers_the_mean_and_the_median_of_correlated_latencies():
    rng, covered, blind = np.random.default_rng(2), {"mean": 0, "p50": 0}, 0
    for i in range(120):
        noise = rng.normal(size=1000)
        level = np.empty(1000)
        level[0] = noise[0]
        for t in range(1, 1000):
            level[t] = 0.8 * level[t - 1] + 0.6 * noise[t]  # stationary, variance 1
        values = resample(run_of(10 + level), "GET", ["p50"], seed=i).latency_s
        for name in covered:
            low, high = interval(values[name], 0.95)
            covered[name] += low <= 10 <= high
        error = 1.96 * level.std() / math.sqrt(1000)
        blind += abs(level.mean()) <= error
    # √n blocks keep most, not all, of the correlation; intervals blind to it hold the truth half of the time.
    assert all(stats.binomtest(count, 120, 0.87, alternative="less").pvalue > 1e-3 for count in covered.values())
    assert blind < 0.7 * 120


def test_resamples_have_the_quantiles_of_the_sorted_resample():
    values = np.random.default_rng(3).exponential(size=50)
    drawn = resample(run_of(values), "GET", ["p50", "p90"], seed=5)
    from traces.statistics.bootstrap import _blocks  # the starts are the only way to redo a resample by hand

    starts, length = _blocks(50, 5, "bootstrap")
    for i in (0, 17, 399):
        taken = values[(starts[i][:, None] + np.arange(length)).ravel() % 50]
        assert drawn.latency_s["mean"][i] == pytest.approx(taken.mean())
        assert drawn.latency_s["p50"][i] == pytest.approx(np.quantile(taken, 0.5))
        assert drawn.latency_s["p90"][i] == pytest.approx(np.quantile(taken, 0.9))
        assert drawn.distance_s[i] == pytest.approx(stats.wasserstein_distance(taken, values))


def test_tukey_classes_of_a_sample_worked_by_hand():
    # 1 … 9 nine times over: quartiles 3 and 7, so the fences are -3, 13 and -9, 19; on a fence is not beyond it.
    base = np.repeat(np.arange(1.0, 10.0), 9)
    odd = np.array([-9.5, -9.0, -3.5, -3.0, 13.0, 13.5, 19.0, 19.5])
    samples = np.concatenate([base, odd])
    assert np.quantile(samples, [0.25, 0.75]).tolist() == [3.0, 7.0]
    assert tukey_outliers(samples) == {"low_severe": 1, "low_mild": 2, "high_mild": 2, "high_severe": 1}
    assert set(tukey_outliers(np.empty(0)).values()) == {0}


@given(samples_of)
def test_tail_points_are_exact_shares_of_the_samples(samples):
    values, fraction = tail_points(samples, extremes=5, points=20)
    assert (np.diff(values) > 0).all()
    assert fraction.tolist() == [(samples >= value).mean() for value in values]
    assert (values[0], values[-1]) == (samples.min(), samples.max())
    assert set(np.sort(samples)[-5:]) <= set(values)


def test_tail_points_of_a_million_samples_are_some_hundred():
    values, fraction = tail_points(np.random.default_rng(0).exponential(size=1_000_000))
    assert 200 < len(values) < 600
    assert fraction[-1] == 1e-6


def test_timeline_puts_starts_and_ends_into_their_windows():
    run = run_of(
        [1.0, 1.0, 4.0, 1.0], arrival_s=[0.0, 2.0, 2.0, 9.0], op=["GET", "GET", "GET", "GET"],
        error=[None, None, None, "x"],
    )  # fmt: skip
    over = timeline(run, "GET", windows=5)
    assert over.middle_s.tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]
    assert over.count.tolist() == [1, 2, 0, 0, 0]
    assert over.throughput_ops.tolist() == [0.5, 0.5, 0.0, 0.5, 0.0]
    assert over.throughput_bytes.tolist() == [2048, 2048, 0, 2048, 0]
    assert over.latency_s["p50"][:2].tolist() == [1.0, 2.5]
    assert np.isnan(over.latency_s["p50"][2:]).all()


@given(samples_of)
def test_timeline_loses_no_request(samples):
    run = run_of(samples)
    over = timeline(run, "GET", windows=7)
    assert over.count.sum() == len(samples)
    assert over.throughput_ops.sum() * run.duration_s / 7 == pytest.approx(len(samples))


def test_ops_are_listed_in_their_usual_order():
    assert ops_of(run_of([1, 1, 1], op=["LIST", "PUT", "GET"])) == ["GET", "PUT", "LIST"]
