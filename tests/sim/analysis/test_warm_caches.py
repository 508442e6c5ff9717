"""The rate at saturation of a store whose caches are empty at first is that when they have filled."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from cli.tables.forecast.verdict import bounds_line, verdict_line
from models.network.demand_sheet import Cycle, Requests
from models.store import Spec, compile_spec, load_spec, warms
from sim.analysis.bounds import bounds_of
from sim.demands.request_work import settling_of
from sim.replication.summaries import Replication, Replications
from sim.saturation.capacity import Capacity, capacity_of
from sim.saturation.warm import bound_of
from sim.simulate import simulate
from sim.verdict.offered_load import load_of
from sim.verdict.verdict import verdict_on_run
from tests.paths import EXAMPLES
from traces.trace import Trace
from traces.workload.generate import generate

RATE_OPS = 60.0
WARMING = 20_000


def gateway(*assignments: str) -> Spec:
    return load_spec(EXAMPLES / "juicefs/gateway.yaml", ["workload.duration=null", *assignments])


@cache
def usual() -> Capacity:
    """The capacity of the example, calculated once."""
    spec = gateway(f"workload.rate={RATE_OPS}", "workload.operations=500")
    return capacity_of(spec, generate(spec.workload, 0))


def warmed(spec: Spec) -> Trace:
    """The requests of a spec; those before `WARMING` arrive before the start of time."""
    trace = generate(spec.workload, 1)
    column = trace.table.column_names.index("arrival_s")
    arrival_s = trace.arrival_s - trace.arrival_s[WARMING - 1]
    return replace(trace, table=trace.table.set_column(column, "arrival_s", pa.array(arrival_s)))


@pytest.mark.parametrize("loop", [["workload.rate=400"], ["workload.rate=null", "workload.clients=3"]])
def test_the_rate_at_saturation_does_not_depend_on_the_load(loop: list[str]) -> None:
    """It was 5,391 op/s at 60 op/s, and 7,801 at 400 op/s."""
    spec = gateway("workload.operations=2000", *loop)
    assert capacity_of(spec, generate(spec.workload, 0)).capacity_ops == pytest.approx(usual().capacity_ops, rel=0.02)


def test_bounds_and_the_verdict_on_a_short_run_state_the_same_rate() -> None:
    spec = gateway(f"workload.rate={RATE_OPS}", "workload.operations=500")
    trace = generate(spec.workload, 0)
    bounds = bounds_of(spec, trace)
    verdict = verdict_on_run(simulate(spec, trace), usual())
    assert verdict is not None and verdict.saturates_first is not None
    assert verdict.saturates_first.capacity_ops == pytest.approx(bounds.max_throughput_ops)
    rate = f"at {bounds.max_throughput_ops:,.0f} op/s with warm caches"
    assert rate in verdict_line(verdict) and rate in bounds_line(bounds)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_it_is_served_when_caches_have_filled(factor: float) -> None:
    assert usual().capacity_ops is not None
    rate_ops = factor * usual().capacity_ops
    spec = gateway(f"workload.rate={rate_ops}", f"workload.operations={WARMING + 10_000}")
    run = simulate(spec, warmed(spec), seed=1, first=WARMING)
    assert len(run) == 10_000
    verdict = verdict_on_run(run, replace(usual(), rate_ops=rate_ops))
    busy = max(row["utilization"] for row in run.station_rows if row["role"] == usual().limits[0].role)
    assert verdict is not None and verdict.overloaded == (factor > 1)
    assert (busy > 0.98) == (factor > 1), busy  # of a lock, for which only those that create objects wait


def test_a_run_whose_caches_fill_has_not_settled() -> None:
    """Response times of a calm store hardly show it; the work of its requests does."""
    found = {}
    for first in (0, WARMING):
        spec = gateway(f"workload.rate={RATE_OPS}", f"workload.operations={WARMING + 4000}")
        trace = warmed(spec) if first else generate(gateway("workload.operations=4000").workload, 1)
        run = simulate(spec, trace, seed=1, first=first)
        runs = Replications((Replication.of(run, 1, load_of(run)),))
        found[first] = {(each.cause, each.op) for each in runs.unsettled if each.figure == "service time"}
    assert ("start", "GET") in found[0] and not found[WARMING]


def test_requests_before_the_first_decide_what_caches_hold() -> None:
    spec = load_spec(EXAMPLES / "minio.yaml", ["hosts.page_cache.size=16GiB", "workload.operations=4000"])
    assert warms(spec) and not warms(load_spec(EXAMPLES / "minio.yaml"))
    trace = generate(spec.workload, 0)
    network, requests = compile_spec(spec, trace)
    later = compile_spec(spec, trace, first=3000)[1]
    cold = compile_spec(spec, replace(trace, table=trace.table.slice(3000)))
    assert np.array_equal(later.route, requests.route[3000:]) and len(later) == 1000
    names = [[net.routes[k].name for k in each.route] for net, each in ((network, later), cold)]
    assert names[0] != names[1]


def test_periodic_work_of_later_requests_begins_where_their_routes_say() -> None:
    each, plain = np.full(10, 0.31), np.zeros(10, np.int32)
    cycle = Cycle("collection", each, plain, 1)
    some = np.zeros(10)
    requests = Requests(cycle.route(), plain.astype(np.int64), plain.astype(np.uint64), some, some, plain, cycle=cycle)
    assert requests.route.sum() == 3
    for first in range(1, 10):
        later = requests.after(first)
        assert later.cycle is not None and len(later) == 10 - first
        assert np.array_equal(later.route, requests.route[first:]) and np.array_equal(later.route, later.cycle.route())


def test_work_settles_when_it_does_not_change_any_more() -> None:
    row = np.arange(16_000)
    steady, short = np.ones(16_000), 1 + np.exp(-row / 300)
    falls, grows = 1 + np.exp(-row / 8000), 2 - np.exp(-row / 8000)
    assert settling_of(steady).first == settling_of(short).first == 1000
    assert settling_of(1 + np.exp(-row / 700)).first == 2000
    assert [bound_of(settling_of(each)) for each in (short, falls, grows)] == ["at", "at least", "at most"]
    noisy = np.random.default_rng(0).exponential(1.0, 16_000)
    assert bound_of(settling_of(noisy)) == "at"
