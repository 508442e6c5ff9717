"""Tokens of pools that are returned when the service of the visit before the release begins."""

from __future__ import annotations

import pytest

from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Chance, Route, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.analysis.bounds import bounds
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.networks import closed
from tests.sim.engine.test_engines import assert_identical, zeros

NOTHING, SECOND = ServiceDemand(), ServiceDemand(constant=1.0)


def pipelined(early: bool = True, chance: Chance | None = None) -> Network:
    """A token is taken for a commit in a batch of the log, and a second of work follows."""
    stations = (
        Station("log", "log", Discipline.GROUP_COMMIT), Station("turn", "turn", Discipline.POOL),
        Station("work", "work", Discipline.INFINITE_SERVER),
    )  # fmt: skip
    give_back = Visit(1, NOTHING, releases=True, early=early)
    visits = Visit(1, NOTHING), Visit(0, SECOND, chance=chance), give_back, Visit(2, SECOND)
    return Network(stations, (Route("r", (single(*visits),)),))


def run(network: Network, requests: int) -> Outcome:
    """The result of both engines for requests at time 0."""
    program = Program.of(network, zeros(requests), seed=0)
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    return outcome


def test_the_next_one_has_its_turn_when_the_service_of_the_batch_begins():
    # Each has its turn when the commit of the one before begins, so it is in the next batch.
    outcome = run(pipelined(), 4)
    assert outcome.end_s.tolist() == [2.0, 3.0, 4.0, 5.0]
    assert outcome.waiting_s[0] == 3.0, "one always waits in the log's queue"
    assert outcome.waiting_s[1] == 0.0 + 1.0 + 2.0, "the second does not wait for its turn"
    late = run(pipelined(early=False), 4)
    assert late.end_s.tolist() == [2.0, 3.0, 4.0, 5.0]
    assert late.waiting_s[0] == 0.0 and late.waiting_s[1] == 1.0 + 2.0 + 3.0


def test_a_release_is_made_later_if_the_visit_before_it_is_passed_by():
    assert run(pipelined(chance=Chance(0.0)), 3).end_s.tolist() == [1.0, 1.0, 1.0]


def test_bounds_do_not_count_the_service_as_holding_time():
    requests = closed(400, 0.0, seed=1, clients=8)
    for early, held_s in ((True, 0.0), (False, 1.0)):
        turn = next(s for s in bounds(pipelined(early), requests).stations if s.name == "turn")
        assert turn.demand_s.low == pytest.approx(held_s)


def test_only_a_release_may_be_early():
    with pytest.raises(ValueError, match="only a visit that releases"):
        Visit(1, NOTHING, early=True)
