from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from traces.errors import InputError
from traces.operations import OPS
from traces.spec.spec_file import validated
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.ranges import sequential_starts
from traces.workload.workload import Workload

MIX = {"GET": 1, "READ": 2, "WRITE": 2, "PUT": 1, "STAT": 1}


def traced(**fields: Any) -> Trace:
    base = {"object_size": "100KiB", "operations": 600, "mix": MIX, "keys": {"kind": "uniform", "count": 5}}
    return generate(validated(Workload, base | fields, "w"), 3)


def ranges_of(trace: Trace) -> dict[tuple[str, str], list[tuple[int, int]]]:
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row in trace.table.to_pylist():
        if row["range_bytes"] is not None:
            found.setdefault((row["op"], row["key"]), []).append((row["range_start_bytes"], row["range_bytes"]))
    return found


def test_reads_and_writes_have_ranges_and_whole_writes_have_none() -> None:
    trace = traced(ranges={"size": "4KiB", "fraction": 0.5})
    found = ranges_of(trace)
    assert {op for op, _ in found} == {"GET", "READ", "WRITE"}
    ranged = trace.table.column("range_bytes").is_valid().to_numpy()
    moving = np.isin(trace.op, [OPS.index(op) for op in ("GET", "READ", "WRITE")])
    assert ranged.sum() == pytest.approx(0.5 * moving.sum(), rel=0.15)
    assert (trace.transfer_bytes[ranged] == 4096).all()
    assert (trace.transfer_bytes[moving & ~ranged] == 100 << 10).all()


def test_a_sequence_goes_from_start_to_end_and_begins_again() -> None:
    found = ranges_of(traced(ranges={"size": "30KiB", "order": "sequential"}))
    assert len(found) == 3 * 5
    for ranges in found.values():
        expected = [(i * 30 << 10, min(30, 100 - i * 30) << 10) for i in range(4)]
        assert ranges == (expected * len(ranges))[: len(ranges)]


def test_the_order_changes_nothing_else() -> None:
    size = {"kind": "lognormal", "mean": "10KiB", "cv": 1}
    first, second = (traced(ranges={"size": size, "order": order}) for order in ("random", "sequential"))
    same = [name for name in first.table.column_names if not name.startswith("range")]
    assert first.table.select(same).equals(second.table.select(same))
    assert first.table.equals(traced(ranges={"size": size}).table), "random is the default"


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), min_size=1, max_size=60),
    st.lists(st.integers(0, 20), min_size=4, max_size=4),
)
@examples(200)
def test_starts_are_those_of_a_position_in_each_object(rows: list[tuple[int, int]], sizes: list[int]) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    key, length = (np.array(column) for column in zip(*rows, strict=True))
    size = np.array(sizes)[key]
    length = np.minimum(length, size)
    starts = sequential_starts(np.diff(key, prepend=-1) > 0, length, size)
    position: dict[int, int] = {}
    for k, want, whole, start in zip(key.tolist(), length.tolist(), size.tolist(), starts.tolist(), strict=True):
        assert start == position.get(k, 0)
        position[k] = 0 if start + want >= whole else start + want


def test_a_longer_trace_begins_with_the_shorter_one_in_sequence() -> None:
    ranges = {"size": {"kind": "lognormal", "mean": "10KiB", "cv": 1}, "order": "sequential"}
    short, long = traced(ranges=ranges, operations=200), traced(ranges=ranges)
    assert short.table.to_pylist() == long.table.slice(0, 200).to_pylist()


def test_files_lie_in_directories_which_readdir_names() -> None:
    keys = {"kind": "sequential", "count": 2500}
    trace = traced(mix={"READ": 3, "READDIR": 1}, keys=keys, operations=2500)
    named = {(row["op"], row["key"]) for row in trace.table.to_pylist()}
    directories = {key for op, key in named if op == "READDIR"}
    assert directories == {f"directory-000000{i}" for i in range(3)}
    files = {key for op, key in named if op == "READ"}
    assert len(files) > 1500
    assert {key.partition("/")[0] for key in files} == directories


def test_what_is_possible_once_names_files_of_its_own() -> None:
    once = ["CREATE", "RENAME", "UNLINK", "MKDIR"]
    trace = traced(mix={"READ": 2} | dict.fromkeys(once, 1), operations=1000)
    keys = np.array(trace.table.column("key").to_pylist())
    own = np.isin(trace.op, [OPS.index(op) for op in once])
    assert len(set(keys[own])) == own.sum() > 500
    assert not set(keys[own]) & set(keys[~own])
    created = trace.op == OPS.index("CREATE")
    assert not trace.size_bytes[created].any()
    assert (trace.size_bytes[trace.op == OPS.index("RENAME")] == 100 << 10).all()


def test_an_order_that_does_not_exist_is_named() -> None:
    with pytest.raises(InputError, match=r"ranges\.order: .*'random' or 'sequential'|ranges\.order: .*sequential"):
        traced(ranges={"size": "4KiB", "order": "backwards"})
    with pytest.raises(InputError, match="keys: reuse with CREATEs needs operations"):
        traced(mix={"CREATE": 1}, keys={"kind": "reuse", "classes": [{"objects": 3, "requests": 1}]})
