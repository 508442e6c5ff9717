"""Caches of stores: which requests they serve."""

from __future__ import annotations

import numpy as np
import pytest

from models.shared.caches import Cache, HitCurve, Part, hits, object_hits
from tests.small_traces import trace_of
from traces.trace import Pacing

KIB = 1024


def cache(size: int, **more) -> Cache:
    return Cache.model_validate({"size": size, **more})


def test_a_get_hits_what_was_read_or_written_and_not_what_was_deleted() -> None:
    ops = ["GET", "GET", "PUT", "GET", "DELETE", "GET", "HEAD", "PUT"]
    keys = ["a", "a", "b", "b", "a", "a", "a", "b"]
    found = object_hits(cache(1 << 20), trace_of(ops, keys))
    assert found.tolist() == [False, True, False, True, False, False, False, False]


def test_the_least_recent_bytes_are_evicted() -> None:
    trace = trace_of(["GET"] * 5, ["a", "b", "a", "c", "b"], size_bytes=[40, 40, 40, 30, 40])
    assert object_hits(cache(100), trace).tolist() == [False, False, True, False, False]
    assert object_hits(cache(110), trace).tolist() == [False, False, True, False, True]
    assert object_hits(cache(55), trace, caches=2).tolist() == [False, False, True, False, True]


def test_ranges_are_cached_one_by_one() -> None:
    starts = [0, 10, 0, 10, 0]
    sizes = [10, 10, 10, 20, 10]
    trace = trace_of(["GET"] * 5, ["a"] * 5, range_start_bytes=starts, range_bytes=sizes)
    assert object_hits(cache(1000), trace).tolist() == [False, False, True, False, True]


def test_repeated_rows_find_what_the_repetition_before_left() -> None:
    repeated = Pacing("closed", 1, duration_s=9.0, repeat=True)
    trace = trace_of(["GET"] * 3, ["a", "b", "c"], repeated)
    assert object_hits(cache(3 * 4096), trace).all()
    assert not object_hits(cache(2 * 4096), trace).any()


def test_parts_of_an_object_are_cached_one_by_one() -> None:
    trace = trace_of(["HEAD", "GET", "GET", "PUT", "HEAD"], ["a", "a", "a", "a", "a"])
    everyone, gets, puts = (np.isin(trace.op, ops) for ops in ([0, 1, 2], [0], [1]))
    none = np.zeros(5, bool)
    metadata = Part(np.full(5, 10), everyone & ~puts, puts)
    data = Part(np.full(5, 4096), gets, none, by_range=True)
    of_metadata, of_data = hits(cache(1 << 20), trace, [metadata, data])
    assert of_metadata.tolist() == [False, True, True, True, False]
    assert of_data.tolist() == [False, False, True, False, False]


def test_a_curve_gives_the_hit_ratio_and_a_larger_cache_keeps_the_hits_of_a_smaller_one() -> None:
    curve = {"sizes": ["1KiB", "3KiB"], "hit_ratios": [0.2, 0.6]}
    ratio = HitCurve.model_validate(curve).hit_ratio
    assert [ratio(size) for size in (0, 512, 1024, 2048, 1 << 20)] == pytest.approx([0, 0.1, 0.2, 0.4, 0.6])
    trace = trace_of(["GET"] * 20_000, ["a"] * 20_000)
    small, large = (object_hits(cache(size, curve=curve), trace) for size in (1024, 2048))
    assert small.mean() == pytest.approx(0.2, abs=0.01) and large.mean() == pytest.approx(0.4, abs=0.01)
    assert not (small & ~large).any()


@pytest.mark.parametrize(
    "curve",
    [
        {"sizes": [1, 2], "hit_ratios": [0.1]},
        {"sizes": [2, 1], "hit_ratios": [0.1, 0.2]},
        {"sizes": [1, 2], "hit_ratios": [0.2, 0.1]},
        {"sizes": [1], "hit_ratios": [1.2]},
    ],
)
def test_a_curve_ascends_in_size_and_hit_ratio(curve: dict) -> None:
    with pytest.raises(ValueError):
        HitCurve.model_validate(curve)


def test_without_a_size_there_is_no_cache() -> None:
    assert not object_hits(Cache(), trace_of(["GET"] * 2, ["a", "a"])).any()
