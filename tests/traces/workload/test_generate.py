from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from traces.operations import OPERATIONS, OPS, S3
from traces.spec.spec_file import validated
from traces.trace import Pacing, Trace
from traces.workload.generate import CYCLE, generate
from traces.workload.object_names import PAGE
from traces.workload.workload import Workload

SIZES = {"kind": "lognormal", "mean": "64KiB", "cv": 2}
MIX = {"GET": 5, "PUT": 3, "HEAD": 1, "DELETE": 2, "LIST": 1}


def traced(seed: int = 1, **fields: Any) -> Trace:
    return generate(validated(Workload, {"object_size": SIZES, "operations": 1000} | fields, "w"), seed)


def strings(trace: Trace, column: str) -> list[str]:
    values: list[str] = trace.table.column(column).to_pylist()
    return values


WORKLOADS = st.fixed_dictionaries(
    {
        "operations": st.integers(1, 400),
        "mix": st.dictionaries(st.sampled_from(OPS), st.floats(0.1, 5), min_size=1),
        "keys": st.fixed_dictionaries(
            {"kind": st.sampled_from(["uniform", "zipf", "sequential"]), "count": st.integers(1, 5000)}
        ),
        "buckets": st.integers(1, 5),
    },
    optional={"loop": st.floats(1, 1e4).map(lambda x: ("rate", x)) | st.floats(0, 1).map(lambda x: ("think_time", x))}
    | {
        "duration": st.floats(0.01, 2),
        "own_objects": st.dictionaries(st.sampled_from(["GET", "PUT", "HEAD"]), st.just({"object_size": 10})),
        "ranges": st.just({"fraction": 0.5, "size": 100}),
    },
).map(lambda fields: dict([fields.pop("loop")] if "loop" in fields else []) | fields)


@given(WORKLOADS, st.integers(0, 2**64 - 1))
@examples(60)
def test_every_workload_gives_a_valid_trace_again_and_again(fields: dict[str, Any], seed: int) -> None:
    trace = traced(seed, **fields)
    assert trace.table.equals(traced(seed, **fields).table)
    assert Trace.of(trace.table, trace.pacing).table.equals(trace.table)
    assert len(trace) <= fields["operations"]
    assert {OPS[i] for i in np.unique(trace.op)} <= set(fields["mix"])
    for column in ("bucket", "key"):
        dictionary = trace.table.column(column).combine_chunks().dictionary.to_pylist()
        assert sorted(dictionary) == sorted(set(strings(trace, column)))


@given(WORKLOADS, st.integers(0, 100))
@examples(40)
def test_an_object_keeps_its_size_and_bucket(fields: dict[str, Any], seed: int) -> None:
    trace = traced(seed, **fields)
    seen: dict[str, tuple[str, int]] = {}
    rows = zip(trace.op, strings(trace, "key"), strings(trace, "bucket"), trace.size_bytes.tolist(), strict=True)
    for op, key, bucket, size in rows:
        if OPERATIONS[op].names_object:
            assert seen.setdefault(key, (bucket, size)) == (bucket, size)


def test_an_object_has_one_size_whatever_the_workload_around_it() -> None:
    sizes: dict[str, int] = {}
    for fields in ({}, {"rate": 50, "keys": "zipf"}, {"mix": {"PUT": 1}, "buckets": 3, "operations": 5000}):
        trace = traced(seed=4, **fields)
        for key, size in zip(strings(trace, "key"), trace.size_bytes.tolist(), strict=True):
            assert sizes.setdefault(key, size) == size


def test_seeds_differ() -> None:
    assert not traced(1).table.equals(traced(2).table)


def test_sizes_have_the_stated_mean() -> None:
    sizes = traced(keys="sequential", operations=10_000).size_bytes
    assert abs(sizes.mean() / 65536 - 1) < 3.3 * 2 / np.sqrt(10_000)


def test_a_longer_trace_begins_with_the_shorter() -> None:
    for fields in (
        {"rate": 20, "arrivals": "mmpp2", "mix": MIX},
        {"think_time": {"mean": 1, "distribution": "exponential"}},
    ):
        short, long = traced(operations=300, **fields), traced(operations=900, **fields)
        assert short.table.to_pylist() == long.table.slice(0, 300).to_pylist()


def test_the_mix_is_kept() -> None:
    counts = np.bincount(traced(mix=MIX, operations=24_000).op)
    expected = np.array([MIX[op] for op in S3]) / sum(MIX.values()) * 24_000
    assert (np.abs(counts - expected) < 4 * np.sqrt(expected)).all()


def test_an_open_loop_ends_with_its_duration() -> None:
    trace = traced(rate=100, arrivals="constant", duration="5s", operations=None)
    assert trace.pacing == Pacing("open", duration_s=5)
    assert trace.arrival_s.tolist() == pytest.approx(np.arange(500) / 100)
    assert not trace.think_s.any()


def test_an_open_loop_can_be_empty() -> None:
    assert len(traced(rate=1e-6, duration=1e-6, operations=None)) == 0


def test_a_closed_loop_paces_by_clients_and_think_time() -> None:
    trace = traced(
        clients=7, think_time={"mean": "20ms", "distribution": "exponential"}, stagger="5ms", operations=20_000
    )
    assert trace.pacing == Pacing("closed", clients=7, stagger_s=0.005)
    assert not trace.arrival_s.any()
    assert trace.think_s.mean() == pytest.approx(0.02, rel=0.03)
    assert trace.think_s.std() == pytest.approx(0.02, rel=0.05)
    assert (traced(think_time="3ms").think_s == 0.003).all()


def test_a_closed_loop_with_a_duration_alone_has_rows_to_cycle() -> None:
    trace = traced(operations=None, duration=9)
    assert len(trace) == CYCLE
    assert trace.pacing == Pacing("closed", duration_s=9, repeat=True)
    both = traced(operations=5, duration=9)
    assert len(both) == 5
    assert both.pacing == Pacing("closed", duration_s=9)


def test_write_once_read_once_writes_all_then_reads_all_in_order() -> None:
    trace = traced(keys="write_once_read_once", operations=5, clients=3)
    assert [OPS[i] for i in trace.op] == ["PUT"] * 5 + ["GET"] * 5
    assert trace.phase.tolist() == [0] * 5 + [1] * 5
    keys = strings(trace, "key")
    assert keys[:5] == keys[5:] == [f"object-{i:010d}" for i in range(5)]
    assert trace.size_bytes[:5].tolist() == trace.size_bytes[5:].tolist()
    assert trace.pacing.clients == 3


def test_a_list_names_the_prefix_of_a_page_of_keys() -> None:
    trace = traced(mix={"LIST": 1, "GET": 1}, keys={"kind": "sequential", "count": 3 * PAGE}, operations=3 * PAGE)
    listed = [OPS[i] == "LIST" for i in trace.op]
    for i, (key, is_list) in enumerate(zip(strings(trace, "key"), listed, strict=True)):
        assert f"object-{i:010d}".startswith(key)
        assert (len(key) == len("object-") + 7) == is_list
    assert not trace.size_bytes[listed].any()


def test_a_delete_names_a_key_of_its_own() -> None:
    trace = traced(mix=MIX, keys={"kind": "zipf", "count": 50}, operations=3000)
    is_delete = trace.op == OPS.index("DELETE")
    keys = np.array(strings(trace, "key"))
    assert len(np.unique(keys[is_delete])) == is_delete.sum()
    assert not set(keys[is_delete]) & set(keys[~is_delete])


def test_keys_spread_over_the_buckets() -> None:
    trace = traced(buckets=4, keys="sequential", operations=8000)
    _, counts = np.unique(strings(trace, "bucket"), return_counts=True)
    assert len(counts) == 4
    assert (np.abs(counts - 2000) < 4 * np.sqrt(2000)).all()


def test_sizes_of_far_apart_keys_are_those_of_their_index() -> None:
    """Draws are made a block of keys at a time; the blocks must not show."""
    dense = traced(keys={"kind": "sequential", "count": 200_000}, operations=200_000)
    sparse = traced(keys={"kind": "uniform", "count": 200_000}, operations=50)
    by_key = dict(zip(strings(dense, "key"), dense.size_bytes.tolist(), strict=True))
    for key, size in zip(strings(sparse, "key"), sparse.size_bytes.tolist(), strict=True):
        assert by_key[key] == size


def test_an_operation_may_have_objects_of_its_own() -> None:
    own = {"PUT": {"object_size": "1MiB", "keys": {"kind": "sequential", "count": 10**9}}}
    trace = traced(3, mix={"GET": 1, "PUT": 1}, operations=2000, own_objects=own)
    rows = trace.table.to_pylist()
    written = [row for row in rows if row["op"] == "PUT"]
    assert {row["size_bytes"] for row in written} == {1 << 20}
    assert [row["key"] for row in written] == [f"put-object-{i:010d}" for i in range(len(written))]
    read = {row["key"] for row in rows if row["op"] == "GET"}
    assert not any(key.startswith("put-") for key in read)


def test_own_objects_leave_those_of_others_as_they_were() -> None:
    own = {"PUT": {"object_size": "1MiB"}}
    with_own = traced(3, mix={"GET": 1, "HEAD": 1}, operations=500, own_objects=own)
    assert with_own.table.equals(traced(3, mix={"GET": 1, "HEAD": 1}, operations=500).table)


def test_ranges_lie_within_the_object() -> None:
    sizes = {"kind": "lognormal", "mean": 5000, "cv": 1}
    ranges = {"fraction": 0.5, "size": {"kind": "lognormal", "mean": 2000, "cv": 2}}
    fields = {"mix": {"GET": 3, "PUT": 1}, "operations": 4000, "object_size": sizes, "ranges": ranges}
    trace = traced(3, **fields)
    rows = [row for row in trace.table.to_pylist() if row["range_bytes"] is not None]
    assert {row["op"] for row in rows} == {"GET"}
    assert len(rows) == pytest.approx(1500, rel=0.1)
    assert all(0 <= row["range_start_bytes"] <= row["size_bytes"] - row["range_bytes"] for row in rows)
    assert any(row["range_start_bytes"] > 0 for row in rows)


def test_a_share_of_the_requests_names_a_key_once() -> None:
    keys = {"kind": "zipf", "count": 100, "one_hit": 0.25}
    trace = traced(3, mix={"GET": 9, "DELETE": 1}, operations=8000, keys=keys)
    named, hits = np.unique(trace.table.column("key").to_pylist(), return_counts=True)
    beyond = np.array([int(name.removeprefix("object-")) >= 1 << 30 for name in named])
    assert beyond.sum() == pytest.approx(0.9 * 0.25 * 8000, rel=0.1)
    assert (hits[beyond] == 1).all()
