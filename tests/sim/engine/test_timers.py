"""Branches behind timers: hedged parts of a request, and limits of a wait; both engines do the same."""

from __future__ import annotations

import numpy as np
import pytest

from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Stage, Visit, single
from models.network.scenario import Action, ActionKind
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.demands.service_demands import mean_demands
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.networks import poisson
from tests.sim.engine.test_engines import assert_identical

CLOCK, FIRST, SECOND, LINK = range(4)
NAMES = ("clock", "first", "second", "link")


def takes(station: int, time_s: float, **flags: bool) -> Visit:
    return Visit(station, ServiceDemand(constant=time_s), **flags)


def hedged(first_s: float, *, after_s: float = 0.1, body_s: float = 0.0, scenario: tuple[Action, ...] = ()) -> Network:
    """A read of the first replica, and after a time of the second one, which takes 0.05 s; then the body."""
    body = [takes(LINK, body_s)] if body_s else []
    own = (takes(FIRST, first_s, claims=True), *body)
    other = (takes(CLOCK, after_s, timer=True), takes(SECOND, 0.05, claims=True), *body)
    stations = tuple(Station(name, name, Discipline.INFINITE_SERVER) for name in NAMES)
    return Network(stations, (Route("GET", (Stage((own, other), 1, delivers=True),)),), scenario=scenario)


def outcome_of(network: Network, n: int = 20):
    program = Program.of(network, poisson(n, 0.1, seed=1), 1, paths=True)
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    visits = dict(zip(NAMES, outcome.visits.tolist(), strict=True))
    return outcome, outcome.end_s - outcome.start_s, visits


@pytest.mark.parametrize(("first_s", "latency_s", "seconds"), [(0.08, 0.08, 0), (0.12, 0.12, 20), (1.0, 0.15, 20)])
def test_a_hedged_branch_begins_only_if_it_is_needed(first_s, latency_s, seconds):
    _, found, visits = outcome_of(hedged(first_s))
    assert found == pytest.approx(np.full(20, latency_s))
    assert (visits["first"], visits["second"]) == (20, seconds)


def test_the_branch_that_claims_a_stage_goes_on_alone():
    """The first response counts, not the first body: a hedge begins only without a response."""
    outcome, found, visits = outcome_of(hedged(0.08, body_s=5.0))
    assert found == pytest.approx(np.full(20, 5.08))
    assert outcome.first_byte_s - outcome.start_s == pytest.approx(np.full(20, 0.08))
    assert (visits["second"], visits["link"]) == (0, 20)
    _, found, visits = outcome_of(hedged(1.0, body_s=5.0))
    assert found == pytest.approx(np.full(20, 5.15))
    assert (visits["second"], visits["link"]) == (20, 20)


def test_a_timer_that_ends_in_vain_does_not_prolong_a_run():
    outcome, found, _ = outcome_of(hedged(0.08, after_s=1000.0))
    assert outcome.clock_s == outcome.end_s.max()
    assert found == pytest.approx(np.full(20, 0.08))


def test_a_failed_branch_leaves_the_stage_to_the_hedged_one():
    outcome, found, _ = outcome_of(hedged(0.08, scenario=(Action(ActionKind.DOWN, FIRST),)))
    assert found == pytest.approx(np.full(20, 0.15))
    both = tuple(Action(ActionKind.DOWN, station) for station in (FIRST, SECOND))
    outcome, *_ = outcome_of(hedged(0.08, scenario=both))
    assert (outcome.failure > 0).all()


@pytest.mark.parametrize(("last_s", "latency_s"), [(0.2, 0.2), (3.0, 0.5)])
def test_a_timer_limits_the_wait_for_the_last_of_a_quorum(last_s, latency_s):
    branches = ((takes(FIRST, 0.1),), (takes(SECOND, last_s),), (takes(CLOCK, 0.5, timer=True),))
    stations = tuple(Station(name, name, Discipline.INFINITE_SERVER) for name in NAMES)
    network = Network(stations, (Route("PUT", (Stage(branches, 2), single(takes(LINK, 0.0)))),))
    _, found, _ = outcome_of(network)
    assert found == pytest.approx(np.full(20, latency_s))


def test_demands_leave_out_what_is_behind_a_timer():
    demands = mean_demands(hedged(0.08, body_s=5.0), poisson(20, 0.1, seed=1))
    low = {name: low_s for r, low_s in zip(demands.resources, demands.low_s, strict=True) for name in [r.name]}
    assert low["first"] == pytest.approx(0.08)
    assert low["second"] == low["link"] == 0
    assert demands.no_contention_s[0] == pytest.approx(5.08)
