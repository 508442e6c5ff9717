"""Objects that move to other pools: bytes of drives and links, duration, and the pools of requests meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

from cli.tables.experiments.failures import described
from models.minio.background.movement import moved_pools, moving_s
from models.minio.requests.parts import MESSAGE_BYTES, METADATA_BYTES
from models.store import compile_spec, load_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.experiments.failure_kinds import Failure
from tests.models.minio.test_cluster import (
    COMMIT_S,
    CPU_S,
    META_READ_S,
    META_WRITE_S,
    MIB,
    NIC,
    READ_BYTE_S,
    READ_S,
    ROUND_S,
    WRITE_BYTE_S,
    WRITE_S,
    cluster,
    shard,
)
from tests.paths import EXAMPLES
from tests.small_traces import trace_of
from traces.errors import InputError

OBJECTS, END_S = 60, 500.0
DRIVES = {
    "read": {"constant": READ_S, "per_byte": READ_BYTE_S},
    "write": {"constant": WRITE_S, "per_byte": WRITE_BYTE_S},
    "commit": COMMIT_S,
    "commit_in": "queue",
    "count": 2,
}
EMPTIED = {"kind": "decommission", "pool": 0, "at": 1}


def pools(size: int, event=EMPTIED, others: int = 1, objects: int = OBJECTS, **sections):
    """Pools of 4 hosts and 8 drives each, of which the first has a number of objects."""
    further = [{"hosts": {"count": 4, "nic": NIC}, "drives": DRIVES}] * others
    stored = {"objects": objects * (1 + others), "object_size": size}
    return cluster(pools=further, stored=stored, faults=[event] if event else [], **sections)


def program_of(spec, arrival_s=(END_S,), op: str = "HEAD") -> Program:
    count = len(arrival_s)
    trace = trace_of([op] * count, [f"k{i}" for i in range(count)], size_bytes=4096, arrival_s=np.array(arrival_s))
    return Program.of(*compile_spec(spec, trace), 0)


def more(spec) -> dict[str, float]:
    """Seconds that each station is busy for each object that moves; a HEAD at the end is subtracted."""
    busy = []
    for faults in (spec.faults, ()):
        program = program_of(spec.model_copy(update={"faults": faults}))
        outcome = compiled_engine.run(program)
        busy.append(dict(zip([s.name for s in program.network.stations], outcome.busy_s.tolist(), strict=True)))
    return {name: (s - busy[1].get(name, 0.0)) / OBJECTS for name, s in busy[0].items()}


def total(found: dict[str, float], hosts: range, ending: str) -> float:
    return sum(s for name, s in found.items() if name in {f"host {h} {ending}" for h in hosts})


@pytest.mark.parametrize("size", [4096, MIB, 8 * MIB])
def test_drives_and_links_move_the_bytes_of_each_object(size):
    """A GET without lock and a PUT: the old pool is read, the new one written to, by the first host of the old one."""
    found = more(pools(size, balance="single"))
    part, inline, old, new = shard(size), size == 4096, range(4), range(4, 8)
    read_s = sum(total(found, old, f"drive {d}") for d in (0, 1))
    written_s = sum(total(found, new, f"drive {d}") for d in (0, 1))
    metadata_s = 8 * META_READ_S
    if inline:
        assert read_s == pytest.approx(metadata_s + 8 * (READ_S + (part + METADATA_BYTES) * READ_BYTE_S), rel=0.02)
        each_s = WRITE_S + (part + METADATA_BYTES) * WRITE_BYTE_S + COMMIT_S
    else:
        assert read_s == pytest.approx(2 * metadata_s + 4 * (READ_S + part * READ_BYTE_S), rel=0.02)
        each_s = WRITE_S + part * WRITE_BYTE_S + COMMIT_S + META_WRITE_S
    assert written_s == pytest.approx(8 * each_s, rel=0.03)
    messages = (4 if inline else 5) * MESSAGE_BYTES
    assert found["host 0 out"] == pytest.approx(8 * (part + messages) / NIC)
    assert total(found, new, "in") == pytest.approx(8 * (part + messages) / NIC)
    received = 6 * (part + MESSAGE_BYTES) if inline else 3 * (part + MESSAGE_BYTES)
    assert found["host 0 in"] == pytest.approx(received / NIC, rel=0.05)
    assert found["host 0 cpu"] == pytest.approx(CPU_S["GET"] + CPU_S["PUT"])


def test_the_duration_by_hand():
    """One worker, one set: metadata, shards, the search and the lock of a PUT, shards again, metadata, removal."""
    spec, part = pools(MIB), shard(MIB)
    received_s, sent_s = 3 * (part + MESSAGE_BYTES) / NIC, 8 * (part + 5 * MESSAGE_BYTES) / NIC
    writes_s = WRITE_S + part * WRITE_BYTE_S + COMMIT_S + META_WRITE_S
    one_s = META_READ_S + READ_S + part * READ_BYTE_S + received_s + CPU_S["GET"] + CPU_S["PUT"] + sent_s + writes_s
    took_s = moving_s(spec, spec.faults[0]) / OBJECTS
    assert one_s + 8 * ROUND_S < took_s < one_s + 11 * ROUND_S + (part + MESSAGE_BYTES) / NIC
    program = program_of(spec)
    ends_s = compiled_engine.run(program).background_end_s
    assert len(ends_s) == OBJECTS
    assert ends_s[-1] - 1 == pytest.approx(took_s * OBJECTS, rel=0.2)
    half = pools(MIB, {"kind": "rebalance", "at": 1})
    assert moving_s(half, half.faults[0]) == pytest.approx(moving_s(spec, spec.faults[0]) / 2)
    four = pools(MIB, movement={"workers": 4})
    assert moving_s(four, four.faults[0]) < moving_s(spec, spec.faults[0]) / 2


def test_two_pools_take_objects_by_free_space():
    spec = pools(4096, others=2, objects=90)
    further = (spec.pools[0], spec.pools[1].model_copy(update={"weight": 2.0}))
    program = program_of(spec.model_copy(update={"pools": further}))
    assert [len(sheet.arrival_s) for sheet in program.background] == [23, 45]  # of 270 / 4 in the first pool


def test_new_objects_go_elsewhere_and_old_ones_are_found_where_they_are():
    spec = pools(4096, objects=2000, event=EMPTIED | {"at": 100})
    took_s = moving_s(spec, spec.faults[0])
    count = 4000
    for op, expected in (("PUT", (0, 0, 0)), ("GET", (1, 0.5, 0))):
        times = [99.0, 100 + took_s / 2, 101 + took_s]
        for at_s, left in zip(times[op == "PUT" :], expected[op == "PUT" :], strict=True):
            trace = trace_of([op] * count, [f"k{i}" for i in range(count)], arrival_s=np.full(count, at_s))
            found = moved_pools(spec, trace, np.zeros(count, np.int64))
            assert (found == 0).mean() == pytest.approx(left, abs=0.03)
    trace = trace_of(["PUT"], ["k"], arrival_s=np.array([300.0]))
    cancelled = pools(MIB, EMPTIED | {"at": 100, "until": 101}, objects=10**6)
    assert moved_pools(cancelled, trace, np.zeros(1, np.int64)) == [1]
    stopped = pools(MIB, {"kind": "rebalance", "at": 100, "until": 101}, objects=10**6)
    assert moved_pools(stopped, trace, np.zeros(1, np.int64)) == [0]
    trace = trace_of(["PUT"], ["k"], arrival_s=np.array([99.0]))
    assert moved_pools(spec, trace, np.zeros(1, np.int64)) == [0]


@pytest.mark.parametrize("kind", ["decommission", "rebalance"])
def test_a_failure_begins_and_stops_moves(kind):
    failure = Failure(f"{kind}:1", kind, "1")
    event = failure.event(pools(4096), 1.0, 2.0)
    assert event == {"kind": kind, "pool": 1, "at": 1.0, "until": 2.0}
    spec = pools(4096, event)
    assert f"takes {moving_s(spec, spec.faults[0]):.3g} s" in failure.fault(spec).note(spec, spec.faults[0])
    assert described(f"{kind}:1", event).startswith("pool 1 ")


def test_work_that_is_stopped_ends():
    program = program_of(pools(MIB, EMPTIED | {"until": 2}))
    assert 1 <= program.background[0].arrival_s[-1] <= 2
    assert 1 < len(program.background[0].arrival_s) < OBJECTS


@pytest.mark.parametrize("size", [4096, 8 * MIB])
def test_engines_agree_on_moves(size):
    program = program_of(pools(size, others=2), arrival_s=np.arange(0, 5, 0.1), op="PUT")
    fast, plain = compiled_engine.run(program), simpy_engine.run(program)
    assert np.array_equal(fast.end_s, plain.end_s)
    assert np.array_equal(fast.background_end_s, plain.background_end_s)


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"faults": [EMPTIED]}, "requires stored"),
        ({"faults": [EMPTIED], "stored": {"objects": 1, "object_size": 1}}, "requires pools"),
        ({"faults": [EMPTIED | {"pool": 1}], "stored": {"objects": 1, "object_size": 1}}, "no pool 1"),
    ],
)
def test_what_a_move_requires(sections, said):
    with pytest.raises(InputError, match=said):
        cluster(**sections)


def test_the_documented_duration_of_a_decommission():
    event = "faults=[{kind: decommission, pool: 0, at: 1}]"
    spec = load_spec(EXAMPLES / "minio" / "two-pools.yaml", [event])
    assert moving_s(spec, spec.faults[0]) == pytest.approx(64, abs=0.5)
