from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.profiles import examples
from traces.errors import InputError
from traces.workload.arrivals import Constant, Diurnal, Mmpp2, Multiscale, Poisson, Profile, RateStep, arrival_times

BURSTY = Mmpp2(burst_factor=10, burst_fraction=0.2, burst_duration=0.5)
DAILY = Diurnal(period=10, amplitude=0.9)
PROCESSES: list[Any] = [Poisson(), Constant(), BURSTY, DAILY]

any_process = st.sampled_from(PROCESSES)


def test_constant_arrivals_are_equally_spaced_from_0() -> None:
    assert Constant().times(4, seed=1, count=4).tolist() == [0, 0.25, 0.5, 0.75]


def test_poisson_gaps_are_exponential_and_independent() -> None:
    gaps = np.diff(Poisson().times(50, seed=3, count=20_000))
    assert stats.kstest(gaps, stats.expon(scale=1 / 50).cdf).pvalue > 0.01
    assert abs(np.corrcoef(gaps[:-1], gaps[1:])[0, 1]) < 3 / math.sqrt(len(gaps))


def test_poisson_counts_are_within_their_confidence_interval() -> None:
    counts = [len(arrival_times(Poisson(), 200, seed, None, 10)) for seed in range(40)]
    assert abs(np.mean(counts) - 2000) < 3.3 * math.sqrt(2000 / 40)
    low, high = stats.chi2(39).ppf([0.001, 0.999]) / 39
    assert low < np.var(counts, ddof=1) / 2000 < high


def test_mmpp_keeps_its_mean_rate_and_has_the_dispersion_of_theory() -> None:
    """Limit of the index of dispersion: Heffes and Lucantoni, IEEE JSAC 4(6), 1986, equation 13."""
    rate, horizon = 400, 2000
    times = arrival_times(BURSTY, rate, 5, None, horizon)
    calm, burst = BURSTY.calm_rate(rate), BURSTY.calm_rate(rate) * BURSTY.burst_factor
    to_calm, to_burst = 1 / BURSTY.burst_duration, 1 / BURSTY.calm_duration
    spread = 2 * (burst - calm) ** 2 * to_calm * to_burst
    limit = 1 + spread / ((to_calm + to_burst) ** 2 * (burst * to_burst + calm * to_calm))
    counts, _ = np.histogram(times, bins=horizon // 20, range=(0, horizon))
    deviation = math.sqrt(limit * rate * horizon)
    assert abs(len(times) - rate * horizon) < 3.3 * deviation
    assert 0.6 < counts.var(ddof=1) / counts.mean() / limit < 1.5
    assert limit > 50  # so that a Poisson process would fail


def test_mmpp_is_in_burst_for_its_share_of_time() -> None:
    process = Mmpp2(burst_factor=1000, burst_fraction=0.3, burst_duration=1)
    times = arrival_times(process, 500, 2, None, 1000)
    busy, _ = np.histogram(times, bins=20_000, range=(0, 1000))
    assert 0.25 < np.mean(busy > 5) < 0.35
    starts = [process.times(1000, seed, 1)[0] < 0.02 for seed in range(300)]
    assert 0.2 < np.mean(starts) < 0.4


def test_diurnal_arrivals_follow_the_sine_at_the_stated_mean() -> None:
    periods, rate = 200, 100
    times = arrival_times(DAILY, rate, 7, None, periods * DAILY.period)
    assert abs(len(times) - rate * periods * DAILY.period) < 3.3 * math.sqrt(rate * periods * DAILY.period)
    edges = np.linspace(0, 1, 21)
    counts, _ = np.histogram(times / DAILY.period % 1, bins=edges)
    cumulated = edges + DAILY.amplitude * (1 - np.cos(2 * math.pi * edges)) / (2 * math.pi)
    assert stats.chisquare(counts, np.diff(cumulated) * len(times)).pvalue > 0.01


@given(any_process, st.integers(0, 2**64 - 1), st.integers(1, 200), st.integers(1, 200), st.floats(0.1, 1e5))
@examples(60)
def test_a_longer_draw_begins_with_the_shorter(process: Any, seed: int, few: int, more: int, rate: float) -> None:
    longer = process.times(rate, seed, few + more)
    assert (longer[:few] == process.times(rate, seed, few)).all()
    assert (np.diff(longer) >= 0).all()
    assert longer[0] >= 0


@given(any_process, st.integers(0, 1000), st.integers(1, 300), st.floats(0.01, 30))
@examples(60)
def test_operations_and_duration_end_whichever_is_first(process: Any, seed: int, most: int, duration: float) -> None:
    by_count = arrival_times(process, 10, seed, most, None)
    by_time = arrival_times(process, 10, seed, None, duration)
    both = arrival_times(process, 10, seed, most, duration)
    assert len(by_count) == most
    assert (by_time < duration).all()
    assert both.tolist() == by_time[:most].tolist()
    assert both.tolist() == by_count[by_count < duration].tolist()
    assert process.times(10, seed, len(by_time) + 1)[-1] >= duration


def test_more_than_a_trace_holds_is_refused_before_it_is_drawn() -> None:
    with pytest.raises(InputError, match="200,000,000"):
        arrival_times(Poisson(), 1e9, 1, None, 3600)


def test_a_profile_holds_each_step_for_its_time_and_begins_again() -> None:
    profile = Profile(
        steps=(RateStep(duration=10, level=1), RateStep(duration=20, level=4), RateStep(duration=5, level=0))
    )
    times = arrival_times(profile, 100.0, 2, None, 70.0)
    counts, _ = np.histogram(times, bins=[0, 10, 30, 35, 45, 65, 70])
    expected = 100 * 35 / 90 * np.array([10, 80, 0, 10, 80, 0])
    assert (abs(counts - expected) <= 4 * np.sqrt(expected)).all()
    assert (np.diff(times) >= 0).all()


def test_a_profile_of_one_level_is_the_process_within() -> None:
    bursts = Mmpp2(burst_duration=0.5)
    profile = Profile(steps=(RateStep(duration=7, level=3),), within=bursts)
    assert profile.times(50.0, 4, 2000) == pytest.approx(bursts.times(50.0, 4, 2000))


def test_the_scales_of_a_cascade_have_their_variance() -> None:
    process = Multiscale(steps=(RateStep(duration=64, level=1),), shortest=1.0, spread=(0.1, 0.0, 0.3))
    counts = np.histogram(arrival_times(process, 200.0, 1, None, 64_000.0), bins=64_000, range=(0, 64_000))[0]
    for height, spread in enumerate((0.1, 0.0, 0.3, 0.0)):
        halves = counts.reshape(-1, 2, 2**height).sum(2).astype(float)
        total = halves.sum(1)
        excess = ((halves[:, 0] - halves[:, 1]) ** 2 - total).sum() / (total * (total - 1)).sum()
        assert excess == pytest.approx(spread, abs=0.01)


def test_a_cascade_without_spread_is_a_profile() -> None:
    steps = (RateStep(duration=3, level=1), RateStep(duration=10, level=0), RateStep(duration=2, level=5))
    flat = Multiscale(steps=steps, shortest=0.5, spread=(0.0, 0.0))
    assert flat.times(20.0, 1, 2000) == pytest.approx(Profile(steps=steps).times(20.0, 1, 2000))
