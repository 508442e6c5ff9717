from __future__ import annotations

import numpy as np
import pytest

from traces.operations import OPS
from traces.random_streams import stream_id, uniforms
from traces.workload import object_names
from traces.workload.object_names import Chosen, named

GET, PUT, LIST = map(OPS.index, ("GET", "PUT", "LIST"))


@pytest.fixture(autouse=True)
def nothing_kept():
    object_names._made.clear()


def chosen(keys, op, seed: int = 3) -> Chosen:
    return Chosen("", np.ones(len(op), bool), np.array(keys, np.int64), seed)


def test_draws_of_objects_are_those_of_their_streams_however_few_there_are():
    """A block with few objects draws them one by one, a block with many all of its numbers."""
    many = np.arange(0, 3000, 3)
    keys = np.concatenate([many, [200_000, 70_000, 70_000, 10**9]])
    op = np.full(len(keys), GET, np.int32)
    found = named([chosen(keys, op)], op, is_files=False)
    (objects,) = found.objects
    assert objects.keys.tolist() == sorted(set(keys.tolist()))
    for k, size in zip(objects.keys.tolist(), objects.size_draws.tolist(), strict=True):
        assert size == uniforms(3, stream_id("workload/sizes"), k, 1)[0]
    for k, place in zip(keys.tolist(), found.place.tolist(), strict=True):
        assert place == uniforms(3, stream_id("workload/buckets"), k, 1)[0]


def test_objects_are_kept_by_operations_keys_and_seed():
    op = np.array([GET, PUT, LIST], np.int32)
    first = named([chosen([5, 1, 2500], op)], op, is_files=False)
    assert first.key.to_pylist() == ["object-0000000005", "object-0000000001", "object-0000002"]
    assert named([chosen([5, 1, 2500], op)], op, is_files=False) is first
    other = op[[1, 0, 2]]
    for again in (
        named([chosen([5, 1, 2500], op)], op, is_files=True),
        named([chosen([5, 1, 2501], op)], op, is_files=False),
        named([chosen([5, 1, 2500], op, seed=4)], op, is_files=False),
        named([chosen([5, 1, 2500], other)], other, is_files=False),
    ):
        assert again is not first


def test_objects_of_many_requests_are_let_go(monkeypatch):
    monkeypatch.setattr(object_names, "_MOST", 5)
    op = np.full(3, GET, np.int32)
    first, second = ([chosen([n, n, 2], op)] for n in (0, 1))
    kept = named(first, op, is_files=False)
    named(second, op, is_files=False)
    assert named(first, op, is_files=False) is not kept
    op = np.full(6, GET, np.int32)
    named([chosen(range(6), op)], op, is_files=False)
    assert sum(len(each.place) for each in object_names._made.values()) == 3
