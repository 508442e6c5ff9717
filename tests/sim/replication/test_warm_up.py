from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sim.replication.warm_up import BATCH, settled, settling_times, warm_up
from tests.runs import run_of
from traces.random_streams import uniforms
from traces.statistics.summary import summarise

series = arrays(np.float64, st.integers(0, 400), elements=st.floats(0, 100))


def noise(n: int, seed: int) -> np.ndarray:
    """Correlated noise of mean 0 and standard deviation 1, as of neighbours in a queue: AR(1) with coefficient 0.5."""
    steps = (uniforms(seed, 0, 0, n) - 0.5) * np.sqrt(12 * (1 - 0.25))
    values = np.zeros(n)
    for i in range(1, n):
        values[i] = 0.5 * values[i - 1] + steps[i]
    return values


def statistic(samples: np.ndarray, cut: int) -> float:
    """MSER-5 as it is defined."""
    means = samples[: len(samples) // BATCH * BATCH].reshape(-1, BATCH).mean(axis=1)[cut // BATCH :]
    return float(((means - means.mean()) ** 2).sum() / len(means) ** 2)


@given(series)
def test_cut_is_the_least_of_the_statistic_over_the_first_half(samples):
    cut = warm_up(samples)
    assert cut % BATCH == 0
    assert cut <= len(samples) / 2
    if len(samples) >= 50:
        halves = range(0, len(samples) // BATCH // 2 * BATCH + 1, BATCH)
        assert statistic(samples, cut) <= min(statistic(samples, d) for d in halves) + 1e-9


@pytest.mark.parametrize("length", [100, 500, 900])
def test_a_step_is_cut_where_it_ends(length):
    cuts = [warm_up(10 + np.where(np.arange(2000) < length, 8, 0) + noise(2000, seed)) for seed in range(20)]
    assert all(length <= cut <= length + 100 for cut in cuts)


def test_a_decay_is_cut_when_it_has_drowned_in_the_noise():
    transient = 20 * np.exp(-np.arange(5000) / 200)
    cuts = np.array([warm_up(10 + transient + noise(5000, seed)) for seed in range(20)])
    left = transient[np.clip(cuts, 0, 4999)]
    # The noise has a standard deviation of 1, the transient begins with 20.
    assert np.all(left < 1.5)
    assert np.median(cuts) < 1500, "much more is cut than the transient"


def test_settled_noise_is_hardly_cut():
    assert np.median([warm_up(10 + noise(2000, seed)) for seed in range(20)]) < 100


def test_a_constant_series_and_a_short_one_are_not_cut():
    assert warm_up(np.full(1000, 0.1)) == 0
    assert warm_up(np.concatenate([np.full(20, 9.0), np.ones(29)])) == 0
    assert warm_up(np.empty(0)) == 0


def test_a_series_that_never_settles_loses_its_half():
    assert warm_up(-np.arange(1000.0)) == 500


def with_transient(seed: int, length: int = 200) -> np.ndarray:
    return 10 + np.where(np.arange(2000) < length, 8, 0) + noise(2000, seed)


def test_what_arrived_before_an_operation_had_settled_is_left_out_failed_or_not():
    errors = np.full(2000, None)
    errors[[3, 1990]] = "timeout"
    run = run_of(with_transient(1), error=list(errors))
    times = settling_times([run])
    rest = settled(run, times)
    assert 2.0 <= times["GET"] <= 2.6
    assert rest.column("arrival_s").min() == times["GET"]
    assert rest.info["warm_up"] == {"GET": {"requests": 2000 - len(rest), "settling_s": times["GET"]}}
    assert summarise(rest)["ops"]["GET"]["errors"] == 1
    assert "warm_up" not in run.info


def test_order_is_that_of_arrival_not_of_the_rows():
    run = run_of(with_transient(1))
    backwards = run_of(with_transient(1)[::-1], arrival_s=run.column("arrival_s")[::-1])
    assert settling_times([backwards]) == settling_times([run])


def test_each_operation_settles_on_its_own():
    writes, reads = with_transient(1), with_transient(2, 300) / 10
    run = run_of(np.concatenate([writes, reads]), op=["PUT"] * 2000 + ["GET"] * 2000)
    times = settling_times([run])
    assert 2.0 <= times["PUT"] <= 2.6
    assert 3.0 <= times["GET"] <= 3.6
    counts = {op: figures["count"] for op, figures in summarise(settled(run, times))["ops"].items()}
    assert 1740 <= counts["PUT"] <= 1800
    assert 1640 <= counts["GET"] <= 1700


def test_several_runs_settle_at_their_median_time():
    runs = [run_of(with_transient(1, length)) for length in (100, 300, 900)]
    assert settling_times(runs) == settling_times([runs[1]])


def test_a_phase_that_begins_later_settles_later():
    early, late = (run_of(with_transient(1), arrival_s=begin + np.arange(2000) / 64) for begin in (5.0, 7.0))
    assert settling_times([early]) == settling_times([late])
    assert len(settled(late, settling_times([early]))) == len(settled(early, settling_times([early])))


def test_an_operation_that_only_failed_has_no_time_to_settle():
    run = run_of(np.ones(100), error=["timeout"] * 100)
    assert settling_times([run]) == {}
    assert len(settled(run, {})) == 100
