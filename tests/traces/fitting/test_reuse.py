from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traces.fitting.independence import is_independent
from traces.fitting.object_sizes import object_sizes
from traces.fitting.operations import has_order
from traces.fitting.reuse import fit_reuse
from traces.fitting.similarity import comparable_trace, compare_figures
from traces.fitting.workload import fit_workload
from traces.spec.spec_file import validated
from traces.statistics.hit_ratio import hit_ratios
from traces.statistics.reuse_distance import reuse_distances
from traces.workload.generate import generate
from traces.workload.keys import UniformKeys, ZipfKeys
from traces.workload.reuse import PopularityClass, ReuseKeys
from traces.workload.sizes import FixedSize, LognormalSize
from traces.workload.workload import Workload

CLASSES: list[dict[str, Any]] = [
    {"objects": 10, "requests": 400, "gaps": [1, 20, 100, 200], "object_size": "4KiB"},
    {"objects": 800, "requests": 8, "least": 4, "most": 16, "gaps": [1, 4, 60, 1000], "lasting": 0.5},
    {"objects": 3000, "requests": 1, "lasting": 0, "object_size": "256KiB"},
]
ORDER = {"only": {"PUT": 1}, "first": {"PUT": 1}, "middle": {"GET": 1}, "last": {"GET": 0.5, "DELETE": 0.5}}
SITE = {
    "rate": 100,
    "operations": 13_000,
    "mix": {"GET": 1, "PUT": 1, "DELETE": 0.1},
    "object_size": "64KiB",
    "keys": {"kind": "reuse", "classes": CLASSES, "operations": ORDER},
}


def test_reuse_and_the_order_of_operations_are_found_again() -> None:
    trace = generate(validated(Workload, SITE, "w"), 1)
    found = fit_workload(trace)
    keys = found.workload.keys
    assert isinstance(keys, ReuseKeys)
    assert keys.operations is not None
    assert keys.operations.first == {"PUT": 1}
    assert keys.operations.middle == {"GET": 1}
    assert keys.operations.last["DELETE"] == pytest.approx(0.5, abs=0.1)
    assert not any("DELETE" in note for note in found.notes)
    compared = compare_figures(trace, None, comparable_trace(found, trace, 5))
    # Of 13 windows of 10 s, the dispersion of counts is hardly known.
    assert [one.name for one in compared if not one.agrees and one.name != "dispersion in 10 s"] == []
    assert {"LRU hits, 1 % of the objects", "LRU hits by bytes, 1 % of the bytes"} < {one.name for one in compared}


def test_sizes_are_tied_to_popularity() -> None:
    trace = generate(validated(Workload, SITE, "w"), 1)
    keys = fit_workload(trace).workload.keys
    assert isinstance(keys, ReuseKeys)
    sizes = keys.sizes(0, np.arange(keys.count), FixedSize(size=65536))
    hits = keys.counts()
    assert set(sizes[hits > 100]) == {4096}
    assert (sizes[hits == 1] == 256 << 10).mean() > 0.95


@pytest.mark.parametrize("keys", [UniformKeys(count=3000), ZipfKeys(count=3000, exponent=0.9)])
def test_keys_by_popularity_alone_are_independent(keys: Any) -> None:
    assert is_independent(keys.choose(11, 20_000), keys)


def test_keys_that_are_requested_again_soon_are_not_independent() -> None:
    keys = UniformKeys(count=3000)
    assert not is_independent(np.repeat(keys.choose(11, 10_000), 2), keys)


def test_gaps_are_adjusted_to_the_reuse_distances() -> None:
    """Phases with few objects and phases with many: the same gaps have more objects in between when mixed."""
    draws = np.random.default_rng(1)
    phases = [draws.integers(0, 30, 1000) if i % 2 else 30 + draws.integers(0, 4000, 1000) for i in range(20)]
    objects = np.concatenate(phases)
    keys = fit_reuse(objects, np.zeros(len(objects), np.int32), np.full(len(objects), 4096), FixedSize(size=4096))
    generated = keys.choose(5, len(objects))
    first, second = (hit_ratios(each, np.full(len(each), 1)) for each in (objects, generated))
    for one, other in zip(first, second, strict=True):
        assert other.of_objects == pytest.approx(one.of_objects, abs=0.03)
    medians = [np.median(reuse_distances(each)) for each in (objects, generated)]
    assert medians[1] == pytest.approx(medians[0], rel=0.15)


def test_the_footprint_of_a_histogram_of_sizes_is_kept() -> None:
    u = (np.arange(5000) + 0.5) / 5000
    sizes = np.rint(LognormalSize(mean=50_000, cv=4).quantile(u)).astype(np.int64)
    found = object_sizes(sizes)
    assert found.quantile(u).mean() == pytest.approx(sizes.mean(), rel=0.01)


def test_the_order_of_operations_is_that_of_objects() -> None:
    objects = np.repeat(np.arange(200), 3)
    assert has_order(objects, np.tile([1, 0, 0], 200).astype(np.int32))
    assert not has_order(objects, np.zeros(600, np.int32))
    assert PopularityClass(objects=1, requests=1).counts().tolist() == [1]
