from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.route import Route, Stage, Visit, single
from models.network.scenario import Action, ActionKind
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Member, Station

VISIT = Visit(0, ServiceDemand())
STATION = Station("s", "server", Discipline.FIFO)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Station("s", "server", Discipline.FIFO, servers=0), "servers"),
        (lambda: Station("s", "server", Discipline.GROUP_COMMIT, servers=2), "one server"),
        (lambda: Stage((), 1), "branch"),
        (lambda: Stage(((),), 1), "visit"),
        (lambda: Stage(((VISIT,),), 2), "need 2"),
        (lambda: Route("r", ()), "no stage"),
        (lambda: Network((STATION, STATION), ()), "same name"),
        (lambda: Network((STATION, replace(STATION, name="t")), ()), "two stations have the role 'server'"),
        (lambda: Network((STATION,), (), groups=(PAIR, replace(PAIR, choice=Choice.HASH))), "two groups have the role"),
        (lambda: Network((STATION,), (Route("r", (single(Visit(1, ServiceDemand())),)),)), "station 1"),
        (lambda: Network((STATION,), (Route("r", (single(Visit(Member(0, 0), ServiceDemand())),)),)), "placement"),
        (lambda: Network((STATION,), (), (np.array([[1]], np.int32),)), "placement"),
    ],
)
def test_what_cannot_be_is_refused(build, said):
    with pytest.raises(ValueError, match=said):
        build()


def test_visits_of_a_route_are_in_order():
    a, b, c = (Visit(0, ServiceDemand(constant=float(i))) for i in range(3))
    route = Route("r", (single(a), Stage(((b,), (c,)), 1)))
    assert route.visits == (a, b, c)
    assert len(set(Network((STATION,), (route,)).streams(0).visits[0])) == 3


GATE, POOL = Station("g", "gate", Discipline.GATE), Station("p", "pool", Discipline.POOL)
PAIR = Group(Choice.RANDOM, np.array([[0], [0]], np.int32))


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Network((STATION,), (), scenario=(Action(ActionKind.DOWN, 1),)), "station that does not exist"),
        (lambda: Network((STATION,), (), scenario=(Action(ActionKind.SHUT, 0),)), "gates"),
        (lambda: Network((GATE,), (), scenario=(Action(ActionKind.DOWN, 0),)), "gates"),
        (lambda: Network((replace(GATE, period_s=1.0),), (), scenario=(Action(ActionKind.SHUT, 0),)), "periodically"),
        (lambda: Station("p", "pool", Discipline.POOL, period_s=1.0), "gate without polls"),
        (lambda: Network((POOL,), (), scenario=(Action(ActionKind.DOWN, 0),)), "pools"),
        (lambda: Network((STATION,), (), groups=(PAIR,), scenario=(Action(ActionKind.LEAVE, 0, member=2),)), "member"),
        (lambda: Network((STATION,), (Route("r", (single(Visit(Bound(0), ServiceDemand())),)),)), "in no group"),
        (lambda: Network((Station("w", "s", Discipline.WEIGHTED_SHARE),), ()), "needs 1 weights"),
        (lambda: Action(ActionKind.SPEED, 0, value=0), "value above 0"),
        (lambda: Policy(timeout_s=0), "the timeout above 0"),
        (lambda: Policy(jitter=2), "jitter must be 0 to 1"),
        (lambda: Policy(hedge_after_s=1, hedge_quantile=0.9), "give one of"),
        (lambda: Policy(retries=31), "retries must be"),
    ],
)
def test_what_cannot_happen_is_refused(build, said):
    with pytest.raises(ValueError, match=said):
        build()


def test_places_and_forks_of_a_route():
    route = Route("r", (Stage(((VISIT, VISIT), (VISIT,)), 1), single(VISIT)))
    assert route.places == ((0, 1), (0, 1), (0, 2), (1, 3))
    assert route.forks == ((0, 2), (3,))
