"""The verdict on the load: theory says which queues are stable."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from models.store import Spec, spec_of
from sim.json_form import to_json
from sim.replication.replicate import replicate
from sim.saturation.capacity import Capacity, capacity_of
from sim.saturation.stable_rate import RateLimit
from sim.saturation.station_load import StationLoad, busiest
from sim.simulate import simulate
from sim.verdict.offered_load import OfferedLoad, load_of
from sim.verdict.verdict import LoadVerdict, verdict_of, verdict_on_run
from tests.profiles import NIGHTLY
from tests.runs import run_of
from tests.specs import minio
from traces.workload.generate import generate

SEEDS = range(100 if NIGHTLY else 8)
STABLE, UNSTABLE = (0.5, 0.9, 0.95), (1.05, 1.2, 2.0)
EXPONENTIAL = "{constant: 1ms, distribution: {kind: exponential}}"


def queue(load: float, servers: int = 1, operations: int = 3000, *assignments: str) -> Spec:
    """An M/M/1 drive or M/M/c cores, with a service time of 1 ms."""
    server = (
        ["hosts.cpu={GET: 0s}", f"drives.read={EXPONENTIAL}"]
        if servers == 1
        else [f"hosts.cores.count={servers}", f"hosts.cpu={{GET: {EXPONENTIAL}}}"]
    )
    workload = f"workload={{object_size: 1, rate: {load * servers * 1000}, operations: {operations}}}"
    return spec_of(minio(workload, "client.cpu={}", "drives.commit=0", *server, *assignments), "queue")


def judged(spec: Spec, seed: int, by_demands: bool = True) -> LoadVerdict:
    trace = generate(spec.workload, seed)
    verdict = verdict_on_run(simulate(spec, trace, seed=seed), capacity_of(spec, trace) if by_demands else None)
    assert verdict is not None
    return verdict


@pytest.mark.parametrize("servers", [1, 4])
def test_a_queue_is_overloaded_exactly_beyond_saturation(servers):
    for load in (*STABLE, *UNSTABLE):
        for operations in (300, 3000):
            spec = queue(load, servers, operations)
            found = {judged(spec, seed).overloaded for seed in SEEDS}
            assert found == {load in UNSTABLE}, (load, operations)


@pytest.mark.parametrize("servers", [1, 4])
def test_the_run_alone_shows_a_clear_overload_and_never_a_false_one(servers):
    for load in (0.9, 0.95, 1.3, 2.0):
        found = {judged(queue(load, servers), seed, by_demands=False).overloaded for seed in SEEDS}
        assert found == {load > 1}, load


def test_an_overload_that_drains_for_long_is_known():
    """Until the last response, 1,000/s are served; a queue at 1.2 times that takes a fifth of the arrivals' time."""
    assert judged(queue(1.2), 0).drain_s == 0
    far = judged(queue(3.0), 0)
    assert far.drain_s == pytest.approx(2.0, rel=0.1) and far.served_ops == pytest.approx(1000, rel=0.1)
    assert judged(queue(0.5), 0).drain_s == 0


def test_bursts_of_a_stable_load_are_no_overload():
    bursty = "workload.arrivals={kind: mmpp2, burst_factor: 5, burst_fraction: 0.1, burst_duration: 200ms}"
    for by_demands in (True, False):
        verdicts = [judged(queue(0.8, 1, 6000, bursty), seed, by_demands) for seed in SEEDS]
        overloaded = [verdict for verdict in verdicts if verdict.overloaded]
        # By chance, more requests may arrive in a run than can be served in its time.
        assert all(verdict.offered_ops > verdict.saturates_first.capacity_ops for verdict in overloaded)
        assert len(overloaded) <= len(SEEDS) / 25


def test_a_stall_that_drains_is_no_overload_but_degrades():
    stall = "faults=[{kind: slow_drive, drive: 0, speed: 0.05, at: 2.5s, until: 3s}]"
    for by_demands in (True, False):
        verdict = judged(queue(0.5, 1, 3000, stall), 1, by_demands)
        assert max(verdict.backlog) > 100, "the stall is not felt"
        assert (verdict.status, verdict.overloaded) == ("degraded", False)
        assert 2.5 < verdict.jam.start_s < 3.1 < verdict.jam.end_s < 4
        assert verdict.jam.in_flight > 100


def test_requests_that_time_out_under_a_full_station_are_an_overload():
    verdict = judged(queue(1.5, 1, 6000, "client.timeout=20ms"), 0, by_demands=False)
    assert verdict.overloaded
    assert verdict.errors > 0.1


def test_the_capacity_is_that_of_theory():
    verdict = judged(queue(0.5), 3)
    first = verdict.saturates_first
    assert first is not None
    assert (first.station, first.role, first.basis) == ("drive 0", "drive", "demands")
    assert first.capacity_ops == pytest.approx(1000, rel=1e-6)
    assert first.utilization == pytest.approx(0.5, abs=0.06)
    assert verdict.served_ops == verdict.offered_ops == pytest.approx(500, rel=0.06)
    alone = judged(queue(0.5), 3, by_demands=False).saturates_first
    assert alone is not None
    assert (alone.basis, alone.capacity_ops) == ("utilization", pytest.approx(1000, rel=0.06))


@pytest.mark.parametrize(("clients", "status"), [(1, "healthy"), (3, "near saturation"), (40, "saturated")])
def test_a_closed_loop_is_saturated_but_never_overloaded(clients, status):
    closed = f"workload={{object_size: 1, operations: 4000, clients: {clients}, think_time: 1ms}}"
    verdict = judged(queue(1.0, 1, 1, closed), 0)
    assert (verdict.status, verdict.loop, verdict.clients) == (status, "closed", clients)
    assert verdict.offered_ops is None
    assert verdict.backlog == []


def test_near_saturation_begins_at_80_percent():
    assert {judged(queue(0.6, 4), seed).status for seed in SEEDS} == {"healthy"}
    assert {judged(queue(0.9, 4), seed).status for seed in SEEDS} == {"near saturation"}


def test_the_busiest_of_equal_stations_is_so_by_chance():
    equal = [StationLoad(f"drive {i}", "drive", load, 100) for i, load in enumerate((0.5, 0.6, 0.55))]
    assert busiest(equal) == StationLoad("drive 1", "drive", pytest.approx(0.55), 100)
    hot = StationLoad("drive 3", "drive", 0.95, 100)
    assert busiest([*equal, hot]) == hot
    assert busiest([StationLoad("idle", "drive", 0.0, 1)]) is None


def test_a_rate_below_capacity_in_a_calm_part_is_no_overload():
    rows = [{"name": "s", "role": "r", "servers": 1, "visits": 100, "utilization": 0.3, "mean_queue": 0.0}]
    load = OfferedLoad("open", None, 300.0, 300.0, 0.0, 10_000, [0, 1, 0, 1], False)
    calm = verdict_of([load], [rows], Capacity((RateLimit("s", "r", 1000.0),), 1100.0, frozenset()))
    assert calm.status == "healthy"


def test_a_run_without_a_trace_has_no_verdict():
    assert load_of(run_of([0.1, 0.2])) is None
    assert verdict_on_run(run_of([0.1]), None) is None


def test_replications_agree_on_a_verdict_that_json_keeps():
    spec = queue(1.2)
    capacity = capacity_of(spec, generate(spec.workload, 0))
    done = replicate(partial(simulate, spec), replications=3)
    verdict = done.verdict(capacity)
    assert verdict is not None
    assert verdict.overloaded
    assert list(np.diff(verdict.backlog) > 0) == [True] * 3
    assert LoadVerdict.from_json(to_json(verdict)) == verdict
    latency = done.summary().overloaded.ops["GET"].latency_s["p99"]
    assert latency.value > 0
    assert np.isnan([latency.low, latency.high]).all()
