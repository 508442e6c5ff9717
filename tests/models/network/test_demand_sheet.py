from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.network.demand_sheet import draw_sheet
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Stage, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Member, Station
from tests.networks import networks, poisson, requests_for
from tests.profiles import examples
from traces.trace import Pacing
from traces.workload.distributions import Exponential


def width(route):
    """Number of visits of all attempts."""
    return len(route.visits) * route.policy.attempts


def visits_of(network, sheet):
    """Station and demand of each visit of each request, whatever the layout of the flat arrays."""
    for i, route in enumerate(sheet.route):
        first, count = sheet.first_visit[i], width(network.routes[route])
        yield sheet.station[first : first + count].tolist(), sheet.demand_s[first : first + count].tolist()


@given(st.data())
@examples(50)
def test_draws_do_not_depend_on_chunking(data):
    network = data.draw(networks())
    requests = data.draw(requests_for(network))
    n = len(requests)
    cut = data.draw(st.integers(0, n))
    whole = list(visits_of(network, draw_sheet(network, requests, 5, 0, n)))
    parts = [draw_sheet(network, requests, 5, 0, cut), draw_sheet(network, requests, 5, cut, n - cut)]
    assert [v for part in parts for v in visits_of(network, part)] == whole


def test_another_route_or_a_later_branch_does_not_change_the_draws():
    demand = ServiceDemand(constant=1.0, distribution=Exponential())
    station = Station("s", "server", Discipline.FIFO)
    one = Network((station,), (Route("a", (single(Visit(0, demand)),)),))
    wider = Stage(((Visit(0, demand),), (Visit(0, demand),)), 1)
    two = Network((station,), (Route("a", (wider,)), Route("b", (single(Visit(0, demand)),))))
    requests = poisson(100, 1.0, seed=1)
    narrow = [demands[0] for _, demands in visits_of(one, draw_sheet(one, requests, 9, 0, 100))]
    wide = [demands[0] for _, demands in visits_of(two, draw_sheet(two, requests, 9, 0, 100))]
    assert narrow == wide


def test_members_of_a_placement_group_are_the_stations():
    stations = tuple(Station(f"d{i}", "drive", Discipline.FIFO, indices=(i,)) for i in range(4))
    table = np.array([[0, 1], [3, 2]], np.int32)
    branches = tuple((Visit(Member(0, b), ServiceDemand(constant=1.0)),) for b in range(2))
    network = Network(stations, (Route("r", (Stage(branches, 2),)),), (table,))
    requests = dataclasses.replace(poisson(3, 1.0, seed=1), key_hash=np.array([4, 7, 2], np.uint64))
    assert draw_sheet(network, requests, 0, 0, 3).station.tolist() == [0, 1, 3, 2, 0, 1]


ENDLESS = Pacing("closed", duration_s=1.0, repeat=True)


def test_phases_go_on_where_rows_repeat():
    network = Network((Station("s", "s", Discipline.FIFO),), (Route("r", (single(Visit(0, ServiceDemand())),)),))
    requests = dataclasses.replace(poisson(3, 1.0, 1), phase=np.array([0, 0, 1], np.int32), pacing=ENDLESS)
    assert draw_sheet(network, requests, 0, 0, 7).phase.tolist() == [0, 0, 1, 2, 2, 3, 4]
