"""The LRU cache: against a list in order of use, by hand, and against reuse distances."""

from __future__ import annotations

import numpy as np
import pytest

from traces.statistics.lru import lru_hits
from traces.statistics.reuse_distance import previous, reuse_distances


def by_list(entries, sizes, capacity, drops):
    """The most recent entry is the last of a list."""
    held, hits = [], []
    for entry, size, drop in zip(entries, sizes, drops, strict=True):
        hits.append(any(name == entry for name, _ in held))
        known = any(name == entry and before == size for name, before in held)
        held = [(name, before) for name, before in held if name != entry]
        if not drop and (size <= capacity or known):
            held.append((entry, size))
        while sum(before for _, before in held) > capacity:
            held.pop(0)
    return hits


@pytest.mark.parametrize("capacity", [0, 7, 40, 1000])
def test_hits_are_those_of_a_list_in_order_of_use(capacity: int) -> None:
    random = np.random.default_rng(capacity)
    entries = random.zipf(1.3, 3000).clip(0, 60)
    sizes = np.where(random.random(3000) < 0.1, random.integers(0, 12, 3000), entries % 11)
    drops = random.random(3000) < 0.05
    hits = lru_hits(entries, sizes, capacity, drops)
    assert hits.tolist() == by_list(entries.tolist(), sizes.tolist(), capacity, drops.tolist())


def test_an_object_hits_if_its_reuse_distance_is_below_the_number_of_objects_that_fit() -> None:
    entries = np.random.default_rng(0).zipf(1.2, 300_000).clip(0, 5000)
    again = previous(entries) >= 0
    for most in (1, 10, 300):
        hits = lru_hits(entries, np.full(len(entries), 8), 8 * most + 7)
        assert not hits[~again].any()
        assert (hits[again] == (reuse_distances(entries) < most)).all()


def test_large_entries_pass_by_and_dropped_ones_make_room() -> None:
    entries, sizes = np.array([1, 2, 9, 1, 1, 3, 2, 1]), np.array([4, 4, 99, 4, 4, 4, 4, 4])
    drops = np.array([0, 0, 0, 0, 1, 0, 0, 0], bool)
    # 9 is larger than the cache, and the second last 1 is dropped, so that 3 evicts nothing.
    assert lru_hits(entries, sizes, 8, drops).tolist() == [False, False, False, True, True, False, True, False]


def test_no_access_hits_nothing() -> None:
    assert lru_hits(np.array([], np.int64), np.array([], np.int64), 8).tolist() == []
