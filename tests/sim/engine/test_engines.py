"""The two engines against each other: identical to the bit on random networks."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given

from models.network.demand_sheet import Requests
from models.network.discipline import DISCIPLINES, Discipline
from models.network.network import Network
from models.network.route import Route, Stage, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.engine import outcome
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import InvariantError, Outcome, Program, RequestOutcomes
from sim.engine.reference import engine as simpy_engine
from tests.networks import closed, one_station, poisson, programs
from tests.profiles import random_examples
from traces.trace import Pacing


def assert_identical(a: Outcome, b: Outcome) -> None:
    for field in dataclasses.fields(Outcome):
        assert np.array_equal(getattr(a, field.name), getattr(b, field.name), equal_nan=True), field.name


@given(programs())
@random_examples(100)
def test_engines_agree_to_the_bit(program):
    reference = simpy_engine.run(program)
    assert_identical(reference, compiled_engine.run(program))
    assert np.isfinite(reference.end_s).sum() == len(reference.end_s) - reference.in_flight


def joined(chunks: list[RequestOutcomes]) -> dict[str, np.ndarray]:
    names = [field.name for field in dataclasses.fields(RequestOutcomes)]
    return {name: np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in names}


@given(programs())
@random_examples(50)
def test_results_that_are_taken_are_those_of_the_outcome(program):
    for engine in (simpy_engine, compiled_engine):
        chunks: list[RequestOutcomes] = []
        without = engine.run(dataclasses.replace(program, chunk=3), taking=chunks.append)
        assert len(without) == 0
        assert_identical(engine.run(program), dataclasses.replace(without, **joined(chunks)))


def test_results_are_taken_while_a_run_goes_on():
    station = Station("s", "server", Discipline.FIFO)
    network = one_station(station, ServiceDemand(constant=0.5))
    program = dataclasses.replace(Program.of(network, poisson(1000, 1.0, seed=5), seed=5), chunk=10)
    chunks: list[RequestOutcomes] = []
    compiled_engine.run(program, taking=chunks.append)
    # A chunk has no more than what was in flight at the last one and the requests of a sheet.
    assert sum(map(len, chunks)) == 1000
    assert max(map(len, chunks)) < 50


@pytest.mark.parametrize("discipline", DISCIPLINES, ids=repr)
@pytest.mark.parametrize("loop", ["open", "closed"])
def test_engines_agree_over_many_chunks(discipline, loop):
    # One server for 0.9 busy or five clients: long queues, so slots, heap and results all have to grow.
    station = Station("s", "server", discipline, weights=(1.0,))
    demand = ServiceDemand(constant=0.9, distribution={"kind": "lognormal", "cv": 2})
    n = 3 * outcome.CHUNK + 17
    if loop == "open":
        program = Program.of(one_station(station, demand), poisson(n, 1.0, seed=5), seed=5)
    else:
        requests = closed(n, 10.0, seed=5, clients=200, stagger_s=0.01)
        program = Program.of(one_station(station, demand), requests, seed=5)
    assert_identical(simpy_engine.run(program), compiled_engine.run(program))


@pytest.mark.parametrize("discipline", [Discipline.INFINITE_SERVER, Discipline.FIFO, Discipline.PROCESSOR_SHARING])
def test_engines_agree_with_thousands_of_requests_in_flight(discipline):
    # From 1,024 slots on the kernel prefetches what the next events need, from 8,192 events on their heap's entries.
    station = Station("s", "server", discipline, servers=500)
    visits = [Visit(0, ServiceDemand(constant=1.0, distribution={"kind": "lognormal", "cv": 2})) for _ in range(3)]
    route = Route("r", (Stage(((visits[0], visits[1]), (visits[2],), (visits[0],)), need=2), single(visits[1])))
    network = Network((station,), (route,))
    program = Program.of(network, closed(9000, 1.0, seed=5, clients=3000), seed=5)
    assert_identical(simpy_engine.run(program), compiled_engine.run(program))


@pytest.mark.parametrize("engine", [simpy_engine, compiled_engine])
def test_result_does_not_depend_on_chunking(engine):
    network = one_station(Station("s", "server", Discipline.FIFO), ServiceDemand(constant=0.9))
    program = Program.of(network, poisson(500, 1.0, seed=2), seed=2)
    assert_identical(engine.run(program), engine.run(dataclasses.replace(program, chunk=7)))


def zeros(n: int) -> Requests:
    """n requests at time 0."""
    return dataclasses.replace(poisson(n, 1.0, seed=1), arrival_s=np.zeros(n))


@pytest.mark.parametrize("engine", [simpy_engine, compiled_engine])
def test_group_commit_serves_all_that_is_queued_together(engine):
    station = Station("journal", "journal", Discipline.GROUP_COMMIT, batch_item_s=0.25)
    result = engine.run(Program.of(one_station(station, ServiceDemand(constant=1.0)), zeros(4), seed=0))
    # The first commits alone; the three that queued behind it go together: 1 + (1 + 2 x 0.25).
    assert result.end_s.tolist() == [1.0, 2.5, 2.5, 2.5]
    assert result.waiting_s.tolist() == [3.0]
    assert result.busy_s.tolist() == [2.5]


@pytest.mark.parametrize("engine", [simpy_engine, compiled_engine])
def test_processor_sharing_slows_all_jobs_alike(engine):
    station = Station("cpu", "cpu", Discipline.PROCESSOR_SHARING, servers=2)
    result = engine.run(Program.of(one_station(station, ServiceDemand(constant=1.0)), zeros(4), seed=0))
    assert result.end_s.tolist() == [2.0, 2.0, 2.0, 2.0]
    assert result.busy_s.tolist() == [4.0]


@pytest.mark.parametrize("engine", [simpy_engine, compiled_engine])
def test_join_waits_for_need_branches_and_the_rest_go_on_loading(engine):
    stations = tuple(Station(f"s{i}", "server", Discipline.FIFO, indices=(i,)) for i in range(3))
    visits = [Visit(i, ServiceDemand(constant=float(i + 1))) for i in range(3)]
    delay = Stage(((visits[0],), (visits[1],), (visits[2],)), need=2, delivers=True)
    network = Network(stations, (Route("read", (delay, single(Visit(0, ServiceDemand(constant=0.5))))),))
    result = engine.run(Program.of(network, zeros(1), seed=0))
    assert result.first_byte_s.tolist() == [2.0]
    assert result.end_s.tolist() == [2.5]
    assert result.busy_s.tolist() == [1.5, 2.0, 3.0]
    assert result.clock_s == 3.0


@pytest.mark.parametrize("engine", [simpy_engine, compiled_engine])
def test_phases_are_barriers_and_start_staggered(engine):
    pacing = Pacing("closed", clients=2, stagger_s=0.25)
    station = Station("s", "server", Discipline.INFINITE_SERVER)
    network = one_station(station, ServiceDemand(constant=1.0))
    requests = dataclasses.replace(zeros(5), phase=np.array([0, 0, 0, 1, 1], np.int32), pacing=pacing)
    result = engine.run(Program.of(network, requests, seed=0))
    # Client 0 issues rows 0 and 2, client 1 row 1; the last of them ends at 2.0, where the second phase opens.
    assert result.start_s.tolist() == [0.0, 0.25, 1.0, 2.0, 2.25]
    assert result.client.tolist() == [0, 1, 0, 0, 1]


@pytest.mark.parametrize("engine", [simpy_engine, compiled_engine])
def test_duration_ends_a_closed_loop_whose_rows_repeat(engine):
    pacing = Pacing("closed", clients=1, duration_s=10.0, repeat=True)
    station = Station("s", "server", Discipline.FIFO)
    network = one_station(station, ServiceDemand(constant=1.0))
    requests = dataclasses.replace(zeros(3), think_s=np.full(3, 1.0), pacing=pacing)
    result = engine.run(Program.of(network, requests, seed=0))
    assert result.start_s.tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]


@pytest.mark.parametrize("engine", [simpy_engine, compiled_engine])
def test_no_requests_at_all(engine):
    network = one_station(Station("s", "server", Discipline.FIFO), ServiceDemand(constant=1.0))
    assert len(engine.run(Program.of(network, zeros(0), seed=0)).end_s) == 0


def test_outcome_that_breaks_a_law_is_refused():
    network = one_station(Station("s", "server", Discipline.FIFO), ServiceDemand(constant=1.0))
    good = simpy_engine.run(Program.of(network, zeros(2), seed=0))
    good.check(network)
    for message, broken in (
        ("2 requests in, 1 ended and 0 in flight", {"end_s": np.array([1.0, np.nan]), "unended": 1}),
        ("before it started", {"end_s": np.array([-1.0, 2.0])}),
        ("first byte", {"first_byte_s": np.array([0.5, 2.5])}),
        ("without an attempt", {"attempts": np.array([1, 0], np.int16)}),
        ("did not begin", {"winner": np.array([1, 2], np.int16)}),
        ("both failed and succeeded", {"failure": np.array([0, 5], np.int8)}),
        ("request ended after the run", {"clock_s": 1.5}),
        ("operation ended after the run", {"background_end_s": np.array([2.5])}),
        ("add up", {"path_s": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.5]])}),
        ("negative", {"path_s": np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 3.0]])}),
        ("idle", {"idle_with_queue": 1}),
        ("than the pool has", {"held": np.array([1])}),
        ("jobs wait at a server", {"waiting": np.array([1])}),
        ("did not end", {"background_end_s": np.array([np.nan])}),
        ("longer than its servers", {"busy_s": np.array([2.5])}),
        ("negative time", {"busy_s": np.array([-1.0])}),
        ("negative time", {"waiting_s": np.array([-1.0])}),
    ):
        with pytest.raises(InvariantError, match=message):
            dataclasses.replace(good, **broken).check(network)


def test_outcome_with_a_token_that_is_not_returned_is_refused():
    network = one_station(Station("s", "server", Discipline.POOL, servers=2), ServiceDemand())
    good = simpy_engine.run(Program.of(network, zeros(2), seed=0))
    gone = {"held": np.array([1])}
    for message, broken in (
        ("was not returned", gone),
        ("than the pool has", {"held": np.array([3])}),
        ("than the pool has", {"held": np.array([-1])}),
        ("that has tokens", gone | {"waiting": np.array([1])}),
        ("in flight", {"end_s": np.array([0.0, np.nan]), "in_flight": 1}),
    ):
        with pytest.raises(InvariantError, match=message):
            dataclasses.replace(good, **broken).check(network)


def test_outcome_of_a_pair_that_is_busy_for_longer_than_its_server_is_refused():
    log = Station("log", "log", Discipline.GROUP_COMMIT, shares_server=True)
    network = Network(
        (Station("s", "server", Discipline.FIFO), log),
        (Route("r", (single(Visit(0, ServiceDemand(constant=1.0)), Visit(1, ServiceDemand(constant=1.0))),)),),
    )
    good = simpy_engine.run(Program.of(network, zeros(1), seed=0))
    with pytest.raises(InvariantError, match="longer than its servers"):
        dataclasses.replace(good, busy_s=np.array([1.5, 1.0])).check(network)
