from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.statistics.hit_ratio import footprint_bytes, hit_ratios, lru_hits
from traces.statistics.reuse_distance import reuse_distances_bytes


def lru(objects: list[int], sizes: list[int], capacity: float) -> list[bool]:
    """Which requests hit an LRU cache, request by request."""
    cached: OrderedDict[int, int] = OrderedDict()
    hits = []
    for name, size in zip(objects, sizes, strict=True):
        hits.append(name in cached)
        if size <= capacity:
            cached[name] = size
            cached.move_to_end(name)
        while sum(cached.values()) > capacity:
            cached.popitem(last=False)
    return hits


SIZES = st.lists(st.integers(1, 40), min_size=9, max_size=9)


@given(st.lists(st.integers(0, 8), max_size=60), SIZES, st.integers(1, 150))
def test_a_cache_of_bytes_hits_as_one_that_is_run(objects: list[int], size_of: list[int], capacity: int) -> None:
    sizes = [size_of[name] for name in objects]
    found = lru_hits(np.array(objects, np.int64), np.array(sizes, np.int64), capacity)
    assert found.tolist() == lru(objects, sizes, capacity)


@given(st.lists(st.integers(0, 8), max_size=60), SIZES)
def test_bytes_between_requests_are_those_of_the_other_objects(objects: list[int], size_of: list[int]) -> None:
    expected, last = [], dict[int, int]()
    for i, name in enumerate(objects):
        if name in last:
            expected.append(sum(size_of[other] for other in set(objects[last[name] + 1 : i])))
        last[name] = i
    sizes = np.array([size_of[name] for name in objects], np.int64)
    assert reuse_distances_bytes(np.array(objects, np.int64), sizes).tolist() == expected


def test_hit_ratios_are_those_of_caches_of_parts_of_the_footprint() -> None:
    draws = np.random.default_rng(1)
    size_of = draws.integers(1, 5000, 200)
    objects = draws.zipf(1.3, 3000) % 200
    sizes = size_of[objects]
    assert footprint_bytes(objects, sizes) == size_of[np.unique(objects)].sum()
    for found in hit_ratios(objects, sizes, (0.01, 0.1, 0.5)):
        hits = np.array(lru(objects.tolist(), sizes.tolist(), found.fraction * footprint_bytes(objects, sizes)))
        assert found.of_bytes == pytest.approx(hits.mean())
        assert found.bytes_of_bytes == pytest.approx(sizes[hits].sum() / sizes.sum())
        held = found.fraction * len(np.unique(objects))
        assert found.of_objects == pytest.approx(np.mean(lru(objects.tolist(), [1] * 3000, held)))
