"""Bucket indexes on drives of their own."""

from __future__ import annotations

import json

import numpy as np
import pytest

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.index_osds import of_index
from models.store import compile_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Failure, Program
from sim.engine.reference import engine as simpy_engine
from tests.ceph_clusters import COMMIT, COMMIT_MEMBER, LOG_WRITE, WRITE, alone, ceph, compiled, latency_s, steady
from tests.sim.engine.test_engines import assert_identical
from tests.small_traces import trace_of
from traces.errors import InputError

FAST = 'index={"drives": 1, "device": {"read": "0.01ms", "write": "0.1ms", "capacity": "375GB"}}'


def of_role(network, values: np.ndarray, role: str) -> float:
    return float(sum(value for value, s in zip(values, network.stations, strict=True) if s.role == role))


def test_the_index_has_osds_of_its_own_on_each_host():
    network, _ = compiled(ceph(FAST), "PUT")
    roles = [station.role for station in network.stations]
    assert (roles.count("drive"), roles.count("index drive"), roles.count("kv sync")) == (16, 8, 24)
    assert next(station.name for station in network.stations if station.role == "index drive") == "osd 16 drive"


def test_commits_of_index_entries_take_the_time_of_their_drives():
    on_disk, on_flash = (latency_s(ceph(*index), "PUT", 4096) for index in ((), (FAST,)))
    assert on_disk - on_flash == pytest.approx(WRITE - LOG_WRITE), "an entry is committed before the data"
    outcome = alone(ceph(FAST), "PUT")
    network, _ = compiled(ceph(FAST), "PUT")
    kv_s = of_role(network, outcome.busy_s, "kv sync")
    commit_s = COMMIT + COMMIT_MEMBER
    assert kv_s == pytest.approx(3 * (WRITE + commit_s) + 2 * 3 * (LOG_WRITE + commit_s))


def test_reads_of_objects_do_not_use_them():
    outcome = alone(ceph(FAST), "GET")
    network, _ = compiled(ceph(FAST), "GET")
    assert of_role(network, outcome.visits, "index drive") == 0
    assert latency_s(ceph(FAST), "GET", 4096) == latency_s(ceph(), "GET", 4096)


def test_their_databases_have_only_entries():
    spec = ceph(FAST, "stored.objects=1e9")
    costs = of_index(CostFunctions(spec, 4096.0))
    state = costs.state
    assert state.shard_objects == pytest.approx(3e9 / 8) and state.allocated_bytes == 0
    assert state.metadata_bytes == pytest.approx(3e9 / 8 * 200)
    assert costs.spec.device == spec.index.device


@pytest.mark.parametrize("host", [0, 7])
def test_others_have_the_index_of_a_failed_host(host):
    fault = {"kind": "host_down", "host": host, "at": "0.1s", "detected_by": "refused", "peering": "0.2s"}
    spec = ceph(FAST, f"faults=[{json.dumps(fault | {'out_after': '0.1s'})}]", "buckets.shards=64")
    at_s = np.arange(1, 3, 0.02).tolist()
    trace = trace_of(["PUT"] * len(at_s), [f"k{n}" for n in range(len(at_s))], size_bytes=4096, arrival_s=at_s)
    network, requests = compile_spec(spec, trace)
    program = Program.of(steady(network), requests, 0)
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    visits = {
        station.name: count
        for station, count in zip(network.stations, outcome.visits.tolist(), strict=True)
        if station.role == "index drive"
    }
    assert visits.pop(f"osd {16 + host} drive") == 0 < min(visits.values())
    assert (outcome.failure == Failure.NONE).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("access=rados",), "index: requires access s3"),
        (("pools.failure_domain=osd", "hosts.count=2"), "index_replicas: requires 3 osds, there are 2"),
        (("stored.objects=1e12", "device.capacity=1e18"), "drives of the index"),
    ],
)
def test_what_does_not_fit_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        compiled(ceph(FAST, *settings), "PUT")
