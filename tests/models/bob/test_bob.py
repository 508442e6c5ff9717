"""Bob's model: what each request visits and waits for, with its own copy and without, and what failures do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.store import compile_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.small_traces import trace_of
from traces.errors import InputError

MIB = 1 << 20
CPU_S, CALL_S, READ_S, INDEX_S = 1e-3, 2e-3, 5e-3, 7e-3
BASE: dict[str, Any] = {
    "store": "bob",
    "workload": {"rate": "1/s", "operations": 1, "object_size": "4KiB"},
    "network": {"latency": "1ms"},
    "hosts": {
        "count": 3, "cpu": dict.fromkeys(("GET", "PUT", "HEAD", "DELETE"), CPU_S), "internode": {"call": CALL_S / 2},
    },
    "drives": {"read": READ_S, "write": {"per_byte": 1e-8}, "index": INDEX_S},
    "vdisks": {"count": 6, "replicas": 2},
}  # fmt: skip
WAYS_S = 2e-3


def cluster(**sections: Any):
    data = dict(BASE)
    for name, value in sections.items():
        data[name] = {**data.get(name, {}), **value} if isinstance(value, dict) else value
    return spec_of(data, "spec")


def ran(spec, op: str, n: int = 60, size: int = 4096, gap_s: float = 1.0, engine=compiled_engine):
    """Requests one after the other: latencies, failures, and visits by role."""
    trace = trace_of([op] * n, [f"k{i}" for i in range(n)], size_bytes=size, arrival_s=np.arange(n) * gap_s)
    network, requests = compile_spec(spec, trace)
    outcome = engine.run(Program.of(network, requests, 0))
    visits: dict[str, int] = {}
    for station, count in zip(network.stations, outcome.visits.tolist(), strict=True):
        visits[station.role] = visits.get(station.role, 0) + count
    return outcome.end_s - np.arange(n) * gap_s, outcome.failure > 0, visits, outcome


def test_a_get_reads_its_own_copy_or_all_others_at_once():
    latency_s, failed, visits, _ = ran(cluster(), "GET", n=300)
    local_s, remote_s = WAYS_S + CPU_S + READ_S, WAYS_S + CPU_S + CALL_S + READ_S
    is_local = np.isclose(latency_s, local_s)
    assert not failed.any() and is_local.mean() == pytest.approx(2 / 3, abs=0.08)
    assert latency_s[~is_local].min() >= remote_s - 1e-9
    assert visits["drive"] == is_local.sum() + 2 * (~is_local).sum()  # the slower copy is read in vain


def test_a_put_waits_for_its_own_copy_and_one_other():
    assert ran(cluster(vdisks={"replicas": 3}), "PUT")[0] == pytest.approx(
        np.full(60, WAYS_S + CPU_S + CALL_S), abs=2e-3
    )
    alone = ran(cluster(hosts={"count": 1}, vdisks={"replicas": 1}), "PUT")
    assert alone[0] == pytest.approx(np.full(60, WAYS_S + CPU_S))
    assert alone[2]["drive"] == 60  # written back, although no client waits for it


def test_a_delete_goes_to_all_nodes():
    calls = ran(cluster(hosts={"count": 5}), "DELETE", n=1)[2]["host cpu"]
    assert calls == 1 + 2 * (1 + 4)


def test_reads_of_closed_blobs_take_an_index():
    one = {"hosts": {"count": 1}, "vdisks": {"replicas": 1}}
    plain, closed = (ran(cluster(stored={"closed": c}, **one), "GET")[0] for c in (0, 1))
    assert closed == pytest.approx(plain + INDEX_S)
    full = {"objects": 6 * 2_500_000}  # two closed blobs and a half on each virtual disk
    slower = ran(cluster(stored=full, blobs={"max_size": 10**12}, **one), "GET", n=400)[0] > plain[0] + INDEX_S / 2
    assert slower.mean() == pytest.approx(0.8, abs=0.06)


def test_writes_wait_when_too_many_pages_are_dirty():
    """Objects of 1 MiB come every millisecond, and the drive takes ten for each."""
    one = {"hosts": {"count": 1}, "vdisks": {"count": 1, "replicas": 1}}
    drive_s = MIB * 1e-8
    unlimited, limited = (
        ran(cluster(drives={"dirty_limit": limit}, **one), "PUT", n=100, size=MIB, gap_s=2e-3)[0]
        for limit in (0, 10 * MIB)
    )
    assert unlimited == pytest.approx(np.full(100, WAYS_S + CPU_S))
    assert np.diff(limited[50:]) == pytest.approx(np.full(49, drive_s - 2e-3), rel=1e-6)


# Failures; they begin at 100 s and end at 200 s


def failed_at(op: str, fault: dict[str, Any], engine=compiled_engine, **sections: Any):
    spec = cluster(faults=[{"at": 100, "back_at": 200} | fault], **sections)
    latency_s, failed, _, outcome = ran(spec, op, 300, engine=engine)
    return np.split(latency_s, [100, 200]), np.split(failed, [100, 200]), outcome


@pytest.mark.parametrize("op", ["GET", "PUT"])
def test_a_dead_node_refuses_its_clients_and_is_not_missed_otherwise(op):
    (before, during, _), failed, _ = failed_at(op, {"kind": "host_down", "host": 1})
    assert [part.mean() for part in failed] == pytest.approx([0, 1 / 3, 0], abs=0.02)
    assert np.nanmax(during[~failed[1]]) <= before.max() + 1e-9


def test_a_silent_copy_is_waited_for_only_where_the_quorum_needs_it():
    fault, more = {"kind": "link_down", "host": 1, "detected_after": 30}, {"balance": "single"}
    (before, during, _), failed, _ = failed_at("GET", fault, **more)
    assert not np.concatenate(failed).any()
    assert during.max() < 1  # another copy is there
    (before, during, _), failed, _ = failed_at("PUT", fault, **more)
    assert during[:30].max() == pytest.approx(3 + before.max(), abs=0.01)
    assert during[30:].max() < 1


def test_without_a_quorum_copies_go_to_another_node():
    one = [{"kind": "host_down", "host": 2, "at": 0.5}]
    spec = cluster(hosts={"count": 4}, balance="single", quorum=2, faults=one)
    assert not ran(spec, "PUT")[1].any()
    three = [{"kind": "host_down", "host": h, "at": 0.5} for h in (1, 2, 3)]
    assert ran(cluster(hosts={"count": 4}, balance="single", quorum=2, faults=three), "PUT")[1][1:].all()


@pytest.mark.parametrize("fault", [{"kind": "host_down", "host": 1}, {"kind": "link_down", "host": 2}])
def test_engines_agree_on_failures(fault):
    more = {"client": {"retry": {"retries": 2}, "timeout": "90s"}}
    fast, plain = (failed_at("GET", fault, engine=engine, **more)[2] for engine in (compiled_engine, simpy_engine))
    assert np.array_equal(fast.end_s, plain.end_s, equal_nan=True)


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"faults": [{"kind": "host_down", "host": 3, "at": 1}]}, r"faults\.0\.host: there is no host 3"),
        ({"vdisks": {"replicas": 4}}, "vdisks.replicas"),
        ({"quorum": 3}, "quorum"),
    ],
)
def test_mistakes_are_named(sections, said):
    with pytest.raises(InputError, match=said):
        cluster(**sections)


def test_bob_has_no_listing():
    with pytest.raises(InputError, match="has LIST; store bob serves GET, PUT, HEAD, DELETE"):
        ran(cluster(), "LIST")
