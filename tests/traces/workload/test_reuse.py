from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import EXAMPLES
from tests.profiles import examples
from traces.errors import InputError
from traces.operations import DELETE, GET, LIST, PUT
from traces.spec.spec_file import validated
from traces.statistics.popularity import objects_of
from traces.statistics.reuse_distance import previous, reuse_distances
from traces.workload.generate import generate
from traces.workload.reuse import FIRST, LAST, MIDDLE, ONLY, PopularityClass, ReuseKeys
from traces.workload.sizes import FixedSize
from traces.workload.workload import Workload, load_workload

HOT = PopularityClass(objects=5, requests=200, gaps=(1, 20, 60), object_size=FixedSize(size=100))
WARM = PopularityClass(objects=300, requests=4, least=2, most=8, gaps=(10, 100, 1000), lasting=0.5)
COLD = PopularityClass(objects=800, requests=1, lasting=0)
ONCE = {"objects": 2, "requests": 1}
KEYS = ReuseKeys(classes=(HOT, WARM, COLD))


def workload(**fields: Any) -> Workload:
    return validated(Workload, {"operations": 2000, "object_size": "4KiB"} | fields, "w")


def test_objects_are_requested_as_often_as_their_class_says() -> None:
    cycle = int(KEYS.counts().sum())
    hits = np.bincount(KEYS.choose(1, cycle), minlength=KEYS.count)
    assert (hits[:5] == 200).all()
    assert (hits[5:305].min(), hits[5:305].max()) == (2, 8)
    assert hits[5:305].mean() == pytest.approx(4, rel=0.02)
    assert (hits[305:] == 1).all()


@pytest.mark.parametrize("requests", [2.05, 3.0, 5.9, 7.9])
def test_the_requests_of_a_class_have_its_mean_and_bounds(requests: float) -> None:
    counts = PopularityClass(objects=4000, requests=requests, least=2, most=8, gaps=(5,)).counts()
    assert counts.mean() == pytest.approx(requests, rel=0.02)
    assert counts.min() >= 2
    assert counts.max() <= 8
    assert (np.diff(counts) <= 0).all()


def test_a_request_follows_the_last_one_for_its_object_at_once_with_gaps_of_1() -> None:
    keys = ReuseKeys(classes=(PopularityClass(objects=50, requests=6, gaps=(1,)),)).choose(3, 300)
    assert (np.diff(keys.reshape(50, 6), axis=1) == 0).all()


def test_gaps_have_the_distribution_of_their_quantiles() -> None:
    classes = (PopularityClass(objects=4000, requests=5, gaps=(100, 200, 400)),)
    keys = ReuseKeys(classes=classes).choose(3, 20_000)
    last = previous(keys)
    again = np.flatnonzero(last >= 0)
    assert np.quantile(again - last[again], [0.25, 0.5, 0.75]) == pytest.approx([150, 200, 283], rel=0.1)


def test_short_gaps_are_short_reuse_distances() -> None:
    def median(*gaps: float) -> float:
        keys = ReuseKeys(classes=(PopularityClass(objects=500, requests=8, gaps=gaps),))
        return float(np.median(reuse_distances(keys.choose(1, 4000))))

    near, far = median(2, 8, 20), median(200, 400, 450)
    assert near < 10
    assert far > 100


@examples(20)
@given(st.integers(0, 2**64 - 1), st.integers(1, 6000), st.integers(1, 3000))
def test_a_longer_draw_begins_with_the_shorter(seed: int, few: int, more: int) -> None:
    assert (KEYS.choose(seed, few + more)[:few] == KEYS.choose(seed, few)).all()


def test_what_lasts_is_requested_again_in_the_next_cycle() -> None:
    cycle = int(KEYS.counts().sum())
    keys = KEYS.choose(1, 3 * cycle)
    first, second, third = (set(part.tolist()) for part in np.split(keys, 3))
    assert set(range(5)) <= first & second & third
    assert len(first & second) == pytest.approx(5 + 150, abs=40)
    assert first & second == first & third
    assert len(second) == KEYS.count


def test_sizes_are_those_of_the_class() -> None:
    trace = generate(workload(keys=KEYS.model_dump()), 2)
    objects, hits = np.unique(objects_of(trace), return_counts=True)
    of_hot = np.isin(objects_of(trace), objects[hits > 20])
    assert set(trace.size_bytes[of_hot].tolist()) == {100}
    assert set(trace.size_bytes[~of_hot].tolist()) == {4096}


def test_operations_on_an_object_come_in_order() -> None:
    order = {"only": {"PUT": 1}, "first": {"PUT": 1}, "middle": {"GET": 1}, "last": {"DELETE": 1}}
    keys = KEYS.model_dump() | {"operations": order}
    trace = generate(workload(keys=keys, operations=2900, mix={"PUT": 1, "GET": 1, "DELETE": 1, "LIST": 0.1}), 2)
    place = KEYS.in_order(2, int((trace.op != LIST).sum())).place
    op = trace.op[trace.op != LIST]
    assert set(place.tolist()) == {ONLY, FIRST, MIDDLE, LAST}
    assert (op[(place == ONLY) | (place == FIRST)] == PUT).all()
    assert (op[place == MIDDLE] == GET).all()
    assert (op[place == LAST] == DELETE).all()
    named, first, count = np.unique(objects_of(trace), return_index=True, return_counts=True)
    assert (op[first] == PUT).all()
    assert len(named) == len(count)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"classes": []}, ["classes"]),
        ({"classes": [{"objects": 2, "requests": 3}]}, ["gaps"]),
        ({"classes": [{"objects": 2, "requests": 3, "gaps": [5, 2]}]}, ["gaps", "ascend"]),
        ({"classes": [{"objects": 2, "requests": 3, "most": 2, "gaps": [5]}]}, ["requests", "most"]),
        ({"classes": [{"objects": 2, "requests": 3, "gapz": [5]}]}, ["gapz", "gaps"]),
        ({"classes": [ONCE], "operations": {"first": {"PUT": 0}, "middle": {"GET": 1}}}, ["first"]),
        ({"classes": [ONCE], "operations": {"first": {"PUT": 1}, "middle": {"GET": 1}}}, ["PUT", "mix"]),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(fields: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        workload(keys={"kind": "reuse"} | fields)
    assert all(word in str(error.value) for word in words)


def test_the_example_has_the_requests_that_it_states() -> None:
    example = load_workload(EXAMPLES / "locality.yaml")
    assert isinstance(example.keys, ReuseKeys)
    assert example.keys.counts().sum() == pytest.approx(18_600, rel=0.01)
    assert {"GET", "PUT", "DELETE"} == set(example.ops)


def test_deletes_need_an_order() -> None:
    with pytest.raises(InputError, match="operations"):
        workload(keys=KEYS.model_dump(), mix={"GET": 1, "DELETE": 1})
