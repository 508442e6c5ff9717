from __future__ import annotations

import numpy as np
import pytest

from models.demand import ServiceDemand
from models.network import Discipline, Member, Network, Route, Stage, Station, Visit, single

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
    assert len(set(route.streams)) == 3
