from __future__ import annotations

import numpy as np
import pytest

from traces.statistics.burstiness import bursts, dispersion, lengths, tick
from traces.workload.arrivals import Constant, Mmpp2, Poisson, arrival_times


def test_a_poisson_process_has_1_in_every_window() -> None:
    counts = dispersion(arrival_times(Poisson(), 200.0, 1, None, 300.0))
    assert len(counts.window_s) > 8
    assert (abs(counts.idc - 1) < 4 * counts.noise).all()
    assert counts.mean == pytest.approx(200 * counts.window_s, rel=0.02)


def test_constant_arrivals_have_none() -> None:
    assert (dispersion(arrival_times(Constant(), 100.0, 0, None, 60.0)).idc < 0.2).all()


def test_an_mmpp_has_the_dispersion_of_its_formula() -> None:
    process = Mmpp2(burst_factor=10, burst_fraction=0.2, burst_duration=0.2)
    arrival_s = arrival_times(process, 300.0, 2, None, 900.0)
    counts = dispersion(arrival_s, np.array([0.02, 0.2, 2.0]))
    p, rate = process.burst_fraction, 1 / process.burst_duration + 1 / process.calm_duration
    spread = process.calm_rate(300.0) * 9
    rise = 1 + np.expm1(-rate * counts.window_s) / (rate * counts.window_s)
    expected = 1 + 2 * p * (1 - p) * spread**2 / (rate * 300) * rise  # Heffes and Lucantoni 1986
    assert counts.idc == pytest.approx(expected, rel=0.1)


def test_a_coarse_clock_is_told_by_its_tick() -> None:
    fine = arrival_times(Poisson(), 50.0, 3, None, 600.0)
    assert tick(fine) == 0
    assert tick(np.floor(fine)) == 1
    assert tick(np.sort(np.concatenate([fine, fine[:500]]))) == 0  # requests at the same time on a fine clock
    assert (lengths(np.floor(fine)) % 1 == 0).all()


@pytest.mark.parametrize("tick_s", [1.0, 0.1])
def test_windows_on_a_coarse_clock_are_whole_ticks(tick_s: float) -> None:
    arrival_s = np.floor(arrival_times(Poisson(), 5000.0, 1, None, 200.0) / tick_s) * tick_s
    counts = dispersion(arrival_s)
    assert len(counts.window_s)
    assert (abs(counts.idc - 1) < 5 * counts.noise).all()
    assert dispersion(arrival_s, np.array([1.04, 2.5])).idc == pytest.approx([1, 1], abs=0.6)
    for each in bursts(arrival_s, (1.0, 10.0)):
        assert each.idc == pytest.approx(1, abs=0.9)


def test_bursts_have_the_peak_and_dispersion_of_disjoint_windows() -> None:
    arrival_s = np.concatenate([np.arange(10) + 0.5, [4.6, 4.7, 4.8], [9.999]])
    found = bursts(np.sort(arrival_s), (1.0, 3.0, 0.01))
    assert [each.window_s for each in found] == [1.0, 0.01]
    assert found[0].peak_to_mean == pytest.approx(4 / np.mean([1, 1, 1, 1, 4, 1, 1, 1, 1]))


def test_too_few_arrivals_have_no_windows() -> None:
    assert len(lengths(np.arange(10.0))) == 0
    assert len(dispersion(np.array([])).idc) == 0
    assert len(dispersion(np.zeros(1000)).idc) == 0
