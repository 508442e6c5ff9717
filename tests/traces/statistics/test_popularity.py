from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.statistics.popularity import fit_zipf
from traces.statistics.reuse_distance import previous, reuse_distances
from traces.workload.keys import UniformKeys, ZipfKeys


def hits(keys: UniformKeys | ZipfKeys, requests: int, seed: int = 3) -> np.ndarray:
    return np.unique(keys.choose(seed, requests), return_counts=True)[1]


@pytest.mark.parametrize(
    ("count", "exponent", "requests"), [(1000, 1.2, 50_000), (20_000, 0.9, 12_000), (100_000, 0.7, 50_000)]
)
def test_a_known_zipf_law_is_found_also_where_not_all_keys_were_named(
    count: int, exponent: float, requests: int
) -> None:
    law = fit_zipf(hits(ZipfKeys(count=count, exponent=exponent), requests))
    assert law.exponent == pytest.approx(exponent, abs=0.03)
    assert law.count == pytest.approx(count, rel=0.15)
    assert law.one_hit == 0


def test_uniform_keys_are_not_taken_for_skewed_ones() -> None:
    # Ranks by observed count would say 0.3 and more: chance alone orders them.
    for requests in (5_000, 50_000):
        law = fit_zipf(hits(UniformKeys(count=10_000), requests))
        assert (law.exponent, law.one_hit) == (0, 0)
        assert law.count == pytest.approx(10_000, rel=0.05)


def test_objects_asked_for_once_are_told_from_the_law() -> None:
    law = fit_zipf(hits(ZipfKeys(count=1000, exponent=1.0, one_hit=0.3), 50_000))
    assert (law.exponent, law.one_hit) == (pytest.approx(1.0, abs=0.05), pytest.approx(0.3, abs=0.02))
    assert law.count == pytest.approx(1000, rel=0.1)


def test_one_object_or_all_different_ones() -> None:
    assert fit_zipf(np.array([7])).count == 1
    assert fit_zipf(np.ones(50, np.int64)).count == 50


@given(st.lists(st.integers(0, 8), max_size=60))
def test_reuse_distances_count_the_other_objects_in_between(objects: list[int]) -> None:
    expected, last = [], dict[int, int]()
    for i, name in enumerate(objects):
        if name in last:
            expected.append(len(set(objects[last[name] + 1 : i])))
        last[name] = i
    assert reuse_distances(np.array(objects, np.int64)).tolist() == expected


def test_previous_request_of_the_same_object() -> None:
    assert previous(np.array([5, 6, 5, 5, 6])).tolist() == [-1, -1, 0, 2, 1]
