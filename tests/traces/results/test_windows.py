from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from traces.results.formats.windows import LatencyWindow, pooled
from traces.results.schema import Latency

NAMES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def window(latency_s: NDArray[np.float64]) -> LatencyWindow:
    quantiles = {name: float(np.quantile(latency_s, fraction)) for name, fraction in NAMES.items()}
    statistics = (float(f) for f in (latency_s.mean(), latency_s.std(ddof=1), latency_s.min(), latency_s.max()))
    return LatencyWindow(len(latency_s), Latency(*statistics, quantiles_s=quantiles))


def drifting(seed: int, spread: float) -> list[NDArray[np.float64]]:
    """Latencies of windows whose medians differ, the last window a short one."""
    rng = np.random.default_rng(seed)
    return [rng.lognormal(-4 + spread * rng.standard_normal(), 0.7, n) for n in (5000, 5000, 5000, 5000, 200)]


@pytest.mark.parametrize("spread", [0.1, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_statistics_of_all_requests(seed: int, spread: float) -> None:
    parts = drifting(seed, spread)
    every = np.concatenate(parts)
    latency, bounds = pooled([window(part) for part in parts])
    assert (latency.min_s, latency.max_s) == (every.min(), every.max())
    assert latency.mean_s == pytest.approx(every.mean())
    assert latency.stddev_s == pytest.approx(every.std(ddof=1))
    for name, fraction in NAMES.items():
        exact = float(np.quantile(every, fraction))
        low, high = bounds[name]
        assert low <= exact <= high
        assert latency.quantiles_s[name] == pytest.approx(exact, rel=0.12)


def test_a_mean_of_windows_would_be_worse() -> None:
    errors, of_means = [], []
    for seed in range(10):
        parts = drifting(seed, 0.5)
        windows = [window(part) for part in parts]
        exact = float(np.quantile(np.concatenate(parts), 0.99))
        errors.append(abs((pooled(windows)[0].quantiles_s["p99"] or 0) / exact - 1))
        of_means.append(abs(float(np.mean([one.latency.quantiles_s["p99"] for one in windows])) / exact - 1))
    assert np.mean(errors) < 0.3 * np.mean(of_means)


def test_one_window_is_exact() -> None:
    one = window(np.random.default_rng(1).exponential(size=100))
    assert pooled([one]) == (one.latency, {})


def test_without_extremes_there_are_no_quantiles() -> None:
    windows = [LatencyWindow(10, Latency(mean_s=1.0)), LatencyWindow(30, Latency(mean_s=2.0))]
    latency, bounds = pooled(windows)
    assert (latency.mean_s, dict(latency.quantiles_s), bounds) == (1.75, {}, {})
