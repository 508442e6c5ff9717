from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cli.main import main
from tests.profiles import examples
from tests.runs import run_of
from traces.errors import InputError
from validate.compare.compare import compare


def lognormal(n: int, seed: int, factor: float = 1.0, **columns):
    return run_of(np.random.default_rng(seed).lognormal(-6, 0.5, n) * factor, **columns)


def tailcast(*arguments: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(a) for a in arguments])
    return int(end.value.code or 0)


def test_a_run_agrees_with_itself():
    run = lognormal(3000, 1)
    result = compare(run, run)
    get = result.ops["GET"]
    assert result.verdict == "agree"
    assert get.distances.ks == get.distances.w1 == 0
    assert get.differs_in == get.unsure_of == ()
    for measure in get.measures.values():
        assert measure.log_ratio == 0
        assert measure.interval[0] < 0 < measure.interval[1]


def test_a_run_agrees_with_another_of_the_same_kind():
    assert compare(lognormal(5000, 1), lognormal(5000, 2)).verdict == "agree"


def test_a_run_scaled_by_more_than_the_tolerance_differs():
    result = compare(lognormal(5000, 1, 1.3), lognormal(5000, 2))
    get = result.ops["GET"]
    assert result.verdict == get.verdict == "differ"
    assert {"p50", "p99", "w1"} <= set(get.differs_in)
    assert get.measures["p50"].log_ratio == pytest.approx(math.log(1.3), abs=0.05)
    assert compare(lognormal(5000, 1, 1.3), lognormal(5000, 2), tolerance=0.5).verdict == "agree"


def test_a_difference_that_may_be_chance_is_unsure_and_not_a_difference():
    rng = np.random.default_rng(4)
    few = run_of(rng.lognormal(-6, 1.5, 40) * 1.3), run_of(rng.lognormal(-6, 1.5, 40))
    get = compare(*few).ops["GET"]
    assert get.verdict == "agree"
    assert "p50" in get.unsure_of


@examples(15)
@given(st.integers(30, 400), st.integers(30, 400), st.floats(0.3, 3), st.integers(0, 1000))
def test_swapped_sides_negate_the_ratios(n, m, factor, seed):
    a, b = lognormal(n, seed, factor), lognormal(m, seed + 1)
    there, back = compare(a, b).ops["GET"], compare(b, a).ops["GET"]
    assert there.distances.ks == pytest.approx(back.distances.ks)
    for name, measure in there.measures.items():
        assert measure.log_ratio == -back.measures[name].log_ratio
        assert measure.a == back.measures[name].b


def test_distances_are_those_of_the_samples():
    a, b = lognormal(500, 1), lognormal(700, 2, 2.0)
    get = compare(a, b).ops["GET"]
    assert get.distances.ks == pytest.approx(stats.ks_2samp(a.latency_s, b.latency_s).statistic)
    w1 = stats.wasserstein_distance(a.latency_s, b.latency_s) / b.latency_s.mean()
    assert get.distances.w1 == pytest.approx(w1)
    assert get.distances.w1_interval[0] < w1 < get.distances.w1_interval[1]


def test_quantiles_are_compared_only_where_enough_requests_lie_beyond():
    assert list(compare(lognormal(100, 1), lognormal(5000, 2)).ops["GET"].measures) == [
        "throughput_ops",
        "mean",
        "p50",
        "p90",
    ]
    assert "p99" in compare(lognormal(1000, 1), lognormal(1000, 2)).ops["GET"].measures
    assert "p99_9" in compare(lognormal(10_000, 1), lognormal(10_000, 2)).ops["GET"].measures


def test_throughput_alone_can_differ():
    n = 2000
    slow = lognormal(n, 1, arrival_s=np.arange(n) * 0.02)
    get = compare(slow, lognormal(n, 1)).ops["GET"]
    assert get.differs_in == ("throughput_ops",)
    assert get.measures["throughput_ops"].log_ratio == pytest.approx(-math.log(2), abs=0.01)


def test_an_operation_on_one_side_only_differs():
    both = run_of(np.full(100, 0.01), op=["GET"] * 50 + ["PUT"] * 50)
    result = compare(both, run_of(np.full(100, 0.01)))
    assert result.verdict == "differ"
    assert result.ops["PUT"].differs_in == ("count",)
    assert result.ops["PUT"].counts == (50, 0)


def test_an_operation_that_always_failed_on_one_side_differs_and_on_both_agrees():
    failed = run_of(np.full(10, 0.01), error=["timeout"] * 10)
    assert compare(failed, run_of(np.full(10, 0.01))).verdict == "differ"
    assert compare(failed, failed).verdict == "agree"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_tiny_and_constant_runs_compare_without_a_warning(n):
    same, zero = run_of(np.full(n, 0.01)), run_of(np.zeros(n), arrival_s=np.zeros(n))
    assert compare(same, same).verdict == "agree"
    assert compare(zero, zero).verdict == "agree"
    assert compare(same, zero).verdict == "differ"


def test_the_same_seed_gives_the_same_intervals_and_another_gives_others():
    a, b = lognormal(500, 1), lognormal(500, 2)
    assert compare(a, b, seed=3) == compare(a, b, seed=3) != compare(a, b, seed=4)


def test_intervals_of_the_log_ratio_cover_the_truth():
    covered = 0
    for seed in range(100):
        get = compare(lognormal(400, seed, 1.2), lognormal(400, 10_000 + seed), seed=seed).ops["GET"]
        low, high = get.measures["p50"].interval
        covered += low <= math.log(1.2) <= high
    assert stats.binomtest(covered, 100, 0.93, alternative="less").pvalue > 1e-3


@pytest.mark.parametrize("bad", [{"tolerance": 0.0}, {"tolerance": -1.0}, {"confidence": 1.0}, {"tolerance": math.nan}])
def test_limits_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        compare(lognormal(10, 1), lognormal(10, 2), **bad)


def test_empty_runs_are_refused():
    with pytest.raises(InputError, match="nothing to compare"):
        compare(run_of([]), run_of([]))


def test_the_command_prints_one_json_object_and_exits_by_the_verdict(tmp_path, capsys):
    lognormal(2000, 1).write(tmp_path / "a")
    lognormal(2000, 2, 1.5).write(tmp_path / "b")
    assert tailcast("compare", tmp_path / "a", tmp_path / "b", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["verdict"] == "differ"
    assert result["ops"]["GET"]["latency_s"]["p99"]["log_ratio"] < 0
    assert tailcast("compare", tmp_path / "a", tmp_path / "b", "--check") == 1
    assert tailcast("compare", tmp_path / "a", tmp_path / "b", "--check", "--tolerance", "100%") == 0
    assert tailcast("compare", tmp_path / "a", tmp_path / "a", "--check") == 0


def test_the_command_names_measures_and_the_verdict(tmp_path, capsys):
    lognormal(2000, 1).write(tmp_path / "[bold]")
    lognormal(2000, 2, 1.5).write(tmp_path / "real")
    assert tailcast("compare", tmp_path / "[bold]", tmp_path / "real") == 0
    text = capsys.readouterr().out
    assert text.count("[bold]") == 2  # in the table's head and in the verdict
    assert "[bold] differs from real by more than ±15%" in text
    assert "p99" in text and "KS" in text
