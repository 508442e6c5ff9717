from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy import stats

from tests.profiles import examples
from traces.workload.distributions import (
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    Occasional,
    SlowMode,
)
from traces.workload.sizes import FixedSize, HistogramSize, LognormalSize, MixtureSize, SizeComponent, SizeDistribution

MIDDLES = (np.arange(1_000_000) + 0.5) / 1_000_000
"""Equally spread uniforms: the mean over them is the integral of the inverse CDF."""

SHAPES: list[Any] = [
    Deterministic(),
    Exponential(),
    Hyperexponential(cv=1),
    Hyperexponential(cv=3),
    Lognormal(cv=0),
    Lognormal(cv=1.2),
    Gamma(cv=0.3),
    Gamma(cv=1.7),
    Empirical(probabilities=(0, 0.5, 0.9, 1), values=(1, 2, 3, 40)),
    SlowMode(probability=0.01, factor=50),
    Occasional(probability=0.3),
    Occasional(probability=1, of=Lognormal(cv=0.5)),
    SlowMode(base=Lognormal(cv=0.4), slow=Gamma(cv=0.5), probability=0.2, factor=1),
]

SIZES: list[tuple[Any, float]] = [
    (FixedSize(size=4096), 4096),
    (LognormalSize(mean=10_000, cv=1.5), 10_000),
    (HistogramSize(edges=(0, 10, 20, 30), weights=(1, 0, 3)), (5 + 3 * 25) / 4),
    (HistogramSize(edges=(10, 20, 40), weights=(2, 0)), 15),
    (
        MixtureSize(
            components=(
                SizeComponent(weight=3, size=FixedSize(size=100)),
                SizeComponent(weight=1, size=LognormalSize(mean=5000, cv=1)),
            )
        ),
        (300 + 5000) / 4,
    ),
]

shapes = st.sampled_from(SHAPES)
costs = st.sampled_from(SHAPES + [size for size, _ in SIZES])
probabilities = st.lists(st.integers(0, 2**52 - 1).map(lambda i: (i + 0.5) * 2.0**-52), min_size=2, max_size=40)


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_shapes_have_mean_1_and_their_stated_variation(shape: Any) -> None:
    values = shape.quantile(MIDDLES)
    assert values.mean() == pytest.approx(1, rel=2e-3)
    assert values.var() == pytest.approx(shape.scv, rel=0.03, abs=1e-12)


@pytest.mark.parametrize(("size", "mean"), SIZES, ids=repr)
def test_sizes_have_their_stated_mean(size: Any, mean: float) -> None:
    assert size.quantile(MIDDLES).mean() == pytest.approx(mean, rel=2e-3)


@given(costs, probabilities)
@examples(200)
def test_values_are_finite_and_not_negative(law: Any, u: list[float]) -> None:
    values = law.quantile(np.array(u))
    assert values.shape == (len(u),)
    assert np.isfinite(values).all()
    assert (values >= 0).all()


@given(costs, st.floats(2.0**-53, 1 - 2.0**-53), st.floats(2.0**-53, 1 - 2.0**-53))
@examples(200)
def test_inverse_cdfs_ascend_within_a_component(law: Any, a: float, b: float) -> None:
    """Mixtures ascend in each component, not over all."""
    borders = {"slow_mode": [0.8, 0.99], "mixture": [0.75], "hyperexponential": [0.5, 0.5 * (1 + np.sqrt(0.8))]}
    low, high = sorted((a, b))
    if any(low < border <= high for border in borders.get(law.kind, [])):
        return
    values = law.quantile(np.array([low, high]))
    assert values[0] <= values[1] * (1 + 1e-12)


@pytest.mark.parametrize(
    ("shape", "reference"),
    [
        (Exponential(), stats.expon()),
        (Lognormal(cv=0.8), stats.lognorm(np.sqrt(np.log1p(0.64)), scale=1 / np.sqrt(1.64))),
        (Gamma(cv=0.5), stats.gamma(4, scale=0.25)),
    ],
)
def test_quantiles_are_those_of_scipy(shape: Any, reference: Any) -> None:
    u = np.array([1e-9, 0.01, 0.5, 0.99, 0.999999])
    assert shape.quantile(u) == pytest.approx(reference.ppf(u), rel=1e-9)


def test_hyperexponential_is_two_phases_with_balanced_means() -> None:
    values = np.sort(Hyperexponential(cv=2).quantile(MIDDLES))
    p = 0.5 * (1 + np.sqrt(3 / 5))
    for t in (0.1, 1.0, 5.0):
        survival = p * np.exp(-2 * p * t) + (1 - p) * np.exp(-2 * (1 - p) * t)
        assert np.mean(values > t) == pytest.approx(survival, abs=1e-4)


def test_a_histogram_never_draws_from_an_empty_bin() -> None:
    values = HistogramSize(edges=(0, 10, 20, 30), weights=(1, 0, 1)).quantile(MIDDLES)
    assert ((values <= 10) | (values >= 20)).all()
    assert np.mean(values <= 10) == pytest.approx(0.5)


def test_a_mixture_draws_its_components_by_weight() -> None:
    values = SIZES[-1][0].quantile(MIDDLES)
    assert np.mean(values == 100) == pytest.approx(0.75, abs=1e-5)
    rest = values[values != 100]
    assert np.median(rest) == pytest.approx(5000 / np.sqrt(2), rel=1e-2)


def test_a_slow_mode_is_as_rare_and_as_slow_as_stated() -> None:
    law = SlowMode(base=Deterministic(), slow=Deterministic(), probability=0.02, factor=30)
    values, counts = np.unique(law.quantile(MIDDLES), return_counts=True)
    assert len(values) == 2
    assert values[1] / values[0] == pytest.approx(30)
    assert counts[1] / len(MIDDLES) == pytest.approx(0.02, abs=1e-5)


def test_lognormal_sizes_are_cut() -> None:
    assert LognormalSize(mean=1000, cv=2, max=5000).quantile(MIDDLES).max() == 5000


def test_a_bare_size_is_fixed_also_in_a_mixture() -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(SizeDistribution)
    assert adapter.validate_python("64KiB") == FixedSize(size=65536)
    mixture = adapter.validate_python({"kind": "mixture", "components": [{"weight": 1, "size": "1KiB"}]})
    assert mixture.components[0].size == FixedSize(size=1024)


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        (Hyperexponential, {"cv": 0.5}, "greater than or equal to 1"),
        (Gamma, {"cv": 0}, "greater than 0"),
        (Lognormal, {"cv": -1}, "greater than or equal to 0"),
        (Empirical, {"probabilities": (0, 1), "values": (1,)}, "same length"),
        (Empirical, {"probabilities": (0, 0.5), "values": (1, 2)}, "ascend from 0 to 1"),
        (Empirical, {"probabilities": (0, 0.5, 0.5, 1), "values": (1, 2, 3, 4)}, "ascend from 0 to 1"),
        (Empirical, {"probabilities": (0, 1), "values": (2, 1)}, "must not descend"),
        (Empirical, {"probabilities": (0, 1), "values": (0, 0)}, "must end above 0"),
        (SlowMode, {"probability": 1, "factor": 2}, "less than 1"),
        (SlowMode, {"probability": 0.1, "factor": 0.5}, "greater than or equal to 1"),
        (HistogramSize, {"edges": (1, 2), "weights": (1, 1)}, "one element more"),
        (HistogramSize, {"edges": (2, 1), "weights": (1,)}, "edges must ascend"),
        (HistogramSize, {"edges": (1, 2), "weights": (0,)}, "must not all be 0"),
        (MixtureSize, {"components": ()}, "at least 1 item"),
        (FixedSize, {"size": "-1KiB"}, "negative"),
        (FixedSize, {"size": 1, "sice": 1}, "Extra inputs"),
    ],
)
def test_impossible_laws_are_refused(kind: Any, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        kind(**fields)


def test_a_lognormal_without_variation_is_constant_from_its_least_quantile_on() -> None:
    assert Lognormal(cv=0).quantile(np.array([0.0, 0.5, 1 - 2**-53])).tolist() == [1.0, 1.0, 1.0]
