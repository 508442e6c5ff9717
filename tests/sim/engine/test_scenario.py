"""The agenda, gates and timeouts in short runs whose every time is known."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from models.network.background import Background, random_phase
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.route import Route, Visit, single
from models.network.scenario import Action, ActionKind
from models.network.service_demand import ServiceDemand
from models.network.station import Choice, Station
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Failure, Program
from sim.engine.reference import engine as simpy_engine
from tests.sim.engine.test_theory_features import FRACTION, NOTHING, PRIORITY, at, balanced, fifo, job, once


@pytest.mark.parametrize(
    ("poll_s", "poll_limit", "ends_s", "waiting_s"),
    [
        (0.0, 1, (0.5, 1.5, 5.5, 5.5, 5.5, 5.5, 6.5), 3 + 2 + 1),  # released at once
        (2.0, 9, (0.5, 1.5, 6.5, 5.5, 6.5, 5.5, 6.5), 4 + 2 + 2),  # each looks again on its own clock
        (2.0, 1, (0.5, 1.5, 4.0, 5.5, 6.5, 5.5, 6.5), 2 + 2 + 2),  # the one still shut out is refused
    ],
)
def test_gate_is_shut_for_a_while(poll_s, poll_limit, ends_s, waiting_s):
    gate = Station("g", "gate", Discipline.GATE, poll_s=poll_s, poll_limit=poll_limit)
    visits = Visit(0, NOTHING), Visit(1, ServiceDemand(constant=0.5))
    stations, scenario = (
        (gate, Station("d", "work", Discipline.INFINITE_SERVER)),
        (Action(ActionKind.SHUT, 0, 2), Action(ActionKind.OPEN, 0, 5)),
    )
    run = once(Network(stations, (Route("r", (single(*visits),)),), scenario=scenario), 0, 1, 2, 3, 4, 5, 6)
    assert run.end_s.tolist() == list(ends_s)
    assert run.waiting_s.tolist() == [waiting_s, 0]
    assert ((run.failure == Failure.GATE_SHUT) == (run.end_s == 4.0)).all()


def test_gate_opens_periodically():
    gate = Station("g", "gate", Discipline.GATE, period_s=2.0)
    arrivals_s = np.array([0, 0.5, 1.5, 2, 2.5, 7])
    run = once(job(gate, 0.0), *arrivals_s.tolist())
    first_s = job(gate, 0.0).at_phases(0).stations[0].phase_s
    assert first_s == 2 * random_phase(0, "gate")
    ends_s = first_s + 2 * (np.floor((arrivals_s - first_s) / 2) + 1)
    assert run.end_s.tolist() == pytest.approx(ends_s.tolist())
    assert run.waiting_s.tolist() == pytest.approx([(ends_s - arrivals_s).sum()])


def test_slow_queue_starts_at_the_next_service():
    slow, fast = Action(ActionKind.SPEED, 0, 1.5, value=0.5), Action(ActionKind.SPEED, 0, 5.0, value=2.0)
    run = once(job(fifo("s"), 1.0, slow, fast), 0, 0, 0, 0, 0)
    assert run.end_s.tolist() == [1, 2, 4, 6, 6.5]
    assert run.waiting_s[0] == 1 + 2 + 4 + 6


def test_slow_sharing_starts_at_once():
    station = Station("s", "cpu", Discipline.PROCESSOR_SHARING)
    run = once(job(station, 2.0, Action(ActionKind.SPEED, 0, 1.0, value=0.5)), 0, 2)
    # 1 s of the first is left at time 1, 0.5 s at time 2; a quarter of it a second; then the second alone has 1.5 s.
    assert run.end_s.tolist() == [4, 7]
    assert (run.busy_s[0], run.waiting_s[0]) == (7, 2)


def test_station_dies_and_comes_back():
    down, up = Action(ActionKind.DOWN, 0, 1.0), Action(ActionKind.UP, 0, 1.75)
    run = once(job(fifo("s"), 2.0, down, up), 0, 0, 0, 1.5, 1.75, 2)
    assert run.end_s.tolist() == [2, 1, 1, 1.5, 3.75, 5.75]
    assert (run.failure == Failure.STATION_DOWN).tolist() == [True, True, True, True, False, False]
    assert (run.busy_s[0], run.waiting_s[0], run.visits[0]) == (1 + 2 + 2, 1 + 1 + 1.75, 6)


def test_members_leave_and_join():
    scenario = (
        Action(ActionKind.LEAVE, 0, 1.5, member=0),
        Action(ActionKind.LEAVE, 0, 2.5, member=1),
        Action(ActionKind.JOIN, 0, 3.5, member=0),
    )
    network = dataclasses.replace(balanced(Choice.ROUND_ROBIN, 2), scenario=scenario)
    run = once(network, 0, 1, 2, 3, 4)
    assert run.visits.tolist() == [2, 2]
    assert run.failure.tolist() == [0, 0, 0, Failure.NO_MEMBER, 0]


@pytest.mark.parametrize("engine", [simpy_engine, compiled_engine])
def test_background_load_takes_its_turn(engine):
    network = job(fifo("s"), 1.0)
    load = Background("scrub", 0, rate_ops=4.0, from_s=2.5, until_s=3.0, poisson=False)
    run = engine.run(Program.of(network, dataclasses.replace(at(0, 3), background=(load,)), 0))
    first_s = 2.5 + 0.25 * random_phase(0, "background", "scrub")
    assert run.end_s.tolist() == pytest.approx([1, first_s + 3])
    assert run.background_end_s.tolist() == pytest.approx([first_s + 1, first_s + 2])
    assert (len(run.end_s), run.visits[0], run.busy_s[0]) == (2, 4, 4)


@pytest.mark.parametrize("discipline", [Discipline.FIFO, Discipline.SIRO, PRIORITY, FRACTION])
def test_who_gives_up_has_waited(discipline):
    station = Station("s", "server", discipline, weights=(1.0,))
    run = once(job(station, 4.0, policy=Policy(timeout_s=2.5)), 0, 1, 2, 8.0)
    # The first is served until 4, the second leaves at 3.5, the third is served from 4 to 8, the last from 8 to 12.
    assert run.end_s.tolist() == [2.5, 3.5, 4.5, 10.5]
    assert (run.busy_s[0], run.waiting_s[0], run.clock_s) == (12, 2.5 + 2, 12)
    assert (run.failure == Failure.TIMEOUT).all()


def test_who_gives_up_in_a_pool_has_waited_and_leaves_no_token():
    pool = Station("p", "pool", Discipline.POOL)
    visits = Visit(0, NOTHING), Visit(1, ServiceDemand(constant=4.0)), Visit(0, NOTHING, releases=True)
    route = Route("r", (single(*visits),), policy=Policy(timeout_s=2.5))
    run = once(Network((pool, Station("d", "work", Discipline.INFINITE_SERVER)), (route,)), 0, 1, 2)
    assert run.end_s.tolist() == [2.5, 3.5, 4.5]
    assert run.waiting_s.tolist() == [2.5 + 2, 0]
    assert run.busy_s.tolist() == [4 + 4, 4 + 4]
    assert run.held.tolist() == [0, 0]


def test_background_operations_have_no_client_who_gives_up():
    network = job(fifo("s"), 1.0, policy=Policy(timeout_s=2.5))
    load = Background("scrub", 0, rate_ops=4.0, from_s=0.0, until_s=1.0)
    with pytest.raises(ValueError, match="has a client policy"):
        Program.of(network, dataclasses.replace(at(0), background=(load,)), 0)
