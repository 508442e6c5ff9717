"""MinIO's garbage collector: which requests begin a collection, and what one costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from models.minio.spec.garbage_collector import COLLECTING, GarbageCollector
from models.minio.spec.spec import MinioSpec
from models.network.demand_sheet import Cycle
from models.store import compile_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.operations import GET, PUT

COLLECTOR = {
    "mark_work": "40ms",
    "allocation_interval": 1000,
    "allocations": {"GET": {"constant": 100, "per_byte": 0.5, "up_to": 400}, "PUT": {"constant": 200}},
    "inline_allocations": {"PUT": {"per_byte": 2}},
}


def host(cores: int, **garbage_collector) -> MinioSpec:
    return spec_of(
        {
            "store": "minio",
            "workload": {"operations": 1, "object_size": "4KiB"},
            "hosts": {"cores": cores, "cpu": {"GET": "1ms"}, "garbage_collector": COLLECTOR | garbage_collector},
            "drives": {"read": 0},
            "inline_limit": 99,
        },
        "spec",
    )


def ran(spec: MinioSpec, ops: list[str], size: int, engine=compiled_engine, gap_s: float = 1.0):
    trace = trace_of(ops, ["k"] * len(ops), size_bytes=size, arrival_s=[gap_s * i for i in range(len(ops))])
    network, requests = compile_spec(spec, trace)
    program = Program.of(network, requests, 0)
    return engine.run(program), network, requests


def begun(garbage_collector, op, size, inline=False):
    """Return which of some requests begin a collection if the run begins halfway between two of them."""
    each = garbage_collector.cycles(np.full(len(size), op, np.int32), np.array(size), np.full(len(size), inline))
    return Cycle("", each, np.zeros(len(size), np.int32), 1).route() == 1


def test_a_collection_begins_whenever_so_much_has_been_allocated():
    garbage_collector = GarbageCollector.model_validate(COLLECTOR)
    first = begun(garbage_collector, GET, [400] * 12)  # 300 each; 500 before the first
    assert np.flatnonzero(first).tolist() == [1, 4, 8, 11]
    # Bytes beyond the limit allocate nothing; inline objects have their own allocation.
    assert (begun(garbage_collector, GET, [4000] * 12) == first).all()
    assert begun(garbage_collector, PUT, [50] * 12).sum() == 2
    assert begun(garbage_collector, PUT, [50] * 12, inline=True).sum() == 1


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=200), st.floats(10, 1e6))
def test_collections_are_as_many_as_the_garbage_asks_for(sizes, after):
    garbage_collector = GarbageCollector.model_validate(
        COLLECTOR | {"allocation_interval": int(after), "allocations": {"GET": {"per_byte": 1}}}
    )
    size = np.array(sizes)
    collections = begun(garbage_collector, GET, size).sum()
    assert collections <= 0.5 + size.sum() / int(after)
    if size.max() < int(after):  # one request begins at most one
        assert collections == np.floor(0.5 + size.sum() / int(after))


def test_the_first_collection_is_at_a_random_phase():
    """With 100 requests from one collection to the next, the first is any of them, other with each seed."""
    spec = host(2, allocations={"GET": {"constant": 10}})
    network, requests = compile_spec(spec, trace_of(["GET"] * 100, ["k"] * 100, size_bytes=400))
    first = []
    for seed in range(400):
        routes = requests.at_phases(seed).route
        begun = np.flatnonzero([COLLECTING in network.routes[route].variant for route in routes])
        assert len(begun) == 1
        first += begun.tolist()
    assert kstest(np.array(first) / 100, "uniform").pvalue > 0.01
    assert (requests.at_phases(7).route == requests.at_phases(7).route).all()


@pytest.mark.parametrize("engine", [compiled_engine, simpy_engine])
def test_requests_share_the_cores_with_a_collection(engine):
    # On one core a collection of 40 ms runs in quanta of 10 ms; requests wait for the current quantum.
    outcome, network, requests = ran(host(1, allocations={"GET": {"constant": 600}}), ["GET"] * 3, 400, engine, 0.0125)
    latency_s = outcome.end_s - np.array([0.0, 0.0125, 0.025])
    collecting = [COLLECTING in network.routes[route].variant for route in requests.route]
    assert collecting == [True, False, True]
    assert 0.001 <= latency_s[0] <= 0.011 + 1e-9
    assert latency_s[1:].min() > 0.002
    assert outcome.busy_s[0] == pytest.approx(3 * 0.001 + 2 * 0.040)


@pytest.mark.parametrize(("cores", "workers"), [(1, 1), (2, 1), (8, 2), (32, 8)])
def test_a_collection_takes_a_quarter_of_the_cores(cores, workers):
    _, network, _ = ran(host(cores), ["GET"], 400)
    route = next(route for route in network.routes if route.name == f"GET {COLLECTING}")
    works = [branch for branch in route.stages[0].branches if branch[0].station == 0]
    assert len(works) == workers
    assert sum(visit.demand.constant for branch in works for visit in branch) == pytest.approx(0.040)
    assert max(visit.demand.constant for branch in works for visit in branch) <= 0.010 + 1e-12


def test_without_a_cost_there_is_no_collection():
    _, network, _ = ran(host(2, mark_work=0), ["GET"] * 20, 400)
    assert not any(COLLECTING in route.variant for route in network.routes)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"mark_work": "-1ms"}, "hosts.garbage_collector.mark_work"),
        ({"allocation_interval": 0}, "hosts.garbage_collector.allocation_interval"),
        ({"allocations": {"GET": {"per_byte": -1}}}, "hosts.garbage_collector.allocations.GET.per_byte"),
        ({"allocations": {"COPY": {}}}, "hosts.garbage_collector.allocations"),
        ({"inline_allocations": {"HEAD": {}}}, "hosts.garbage_collector.inline_allocations"),
    ],
)
def test_wrong_values_are_named(wrong, field):
    with pytest.raises(InputError, match=field):
        host(2, **wrong)
