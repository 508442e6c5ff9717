from __future__ import annotations

import numpy as np
import pytest

from traces.fitting.arrivals import fit_arrivals
from traces.fitting.multiscale import fit_multiscale
from traces.statistics.burstiness import bursts
from traces.workload.arrivals import Multiscale, Poisson, RateStep, arrival_times

STEPS = (RateStep(duration=1024, level=1.0), RateStep(duration=1024, level=2.0))
TRUTH = Multiscale(steps=STEPS, shortest=0.5, spread=(0.05, 0.1, 0.2, 0.1, 0.3, 0.1))


def test_the_spread_of_each_scale_is_found_again() -> None:
    found = fit_multiscale(arrival_times(TRUTH, 60.0, 1, None, 2048.0), 2048.0)
    assert found is not None
    finer = round(np.log2(TRUTH.shortest / found.shortest))
    assert found.shortest * 2**finer == TRUTH.shortest
    assert max(found.spread[1:finer]) < 0.02
    for i in range(3):  # of longer intervals there are few: the most different ones are steps
        assert found.spread[finer + i] == pytest.approx(TRUTH.spread[i], abs=0.04)


def test_a_burst_without_equal_has_its_time_and_height() -> None:
    quiet = arrival_times(Poisson(), 20.0, 1, None, 4000.0)
    burst = 1234.5 + arrival_times(Poisson(), 2000.0, 2, None, 3.0)
    arrival_s = np.sort(np.concatenate([quiet, burst]))
    found = fit_arrivals(arrival_s, 4000.0)
    generated = arrival_times(found, len(arrival_s) / 4000.0, 7, None, 4000.0)
    assert np.argmax(np.histogram(generated, bins=4000, range=(0, 4000))[0]) in range(1233, 1239)
    for one, other in zip(bursts(arrival_s), bursts(generated), strict=True):
        assert other.peak_to_mean == pytest.approx(one.peak_to_mean, rel=0.15)
        assert other.idc == pytest.approx(one.idc, rel=0.2)


def test_a_poisson_process_has_no_spread() -> None:
    found = fit_multiscale(arrival_times(Poisson(), 50.0, 1, None, 1000.0), 1000.0)
    assert found is not None
    assert max(found.spread) < 0.03
    assert all(step.level == pytest.approx(1, abs=0.15) for step in found.steps)


def test_few_arrivals_have_no_scales() -> None:
    assert fit_multiscale(np.array([0.0, 1.0, 5.0]), 6.0) is None
