"""The connections of client machines: requests wait for one at their client if all are in use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Visit, single
from models.network.service_demand import NOTHING
from models.network.station import Station
from models.network.sub_requests import RouteChoice
from traces.operations import ops_that
from traces.trace import Trace

ROLE = "client connections"


def with_connections(network: Network, requests: Requests, client: Any, trace: Trace) -> Network:
    """Return the network in which each request of a client holds a connection until its response.

    Of a multipart upload each request holds one, the upload itself none. All client machines have their connections
    together, as requests are distributed over them evenly.

    Args:
        network: of the store.
        requests: on it.
        client: the section of the spec.
        trace: the requests; a closed loop with no more clients than connections never waits.
    """
    if client.connections is None:
        return network
    count = client.connections * getattr(client, "machines", 1)
    at_once = trace.pacing.clients if trace.pacing.loop == "closed" and client.multipart is None else None
    if at_once is not None and at_once <= count and client.hedge.after is None:
        return network
    pool = len(network.stations)
    holding = {
        each
        for number in np.unique(requests.route)
        for each in _requests_of(network.routes[number], int(number), client.multipart is not None)
    }
    routes = tuple(_held(route, pool) if number in holding else route for number, route in enumerate(network.routes))
    return replace(network, stations=(*network.stations, Station(ROLE, ROLE, Discipline.POOL, count)), routes=routes)


def _requests_of(route: Route, number: int, is_multipart: bool) -> set[int]:
    """Return the routes of what a client sends for a request: that of the request, or those of its upload's parts."""
    if not is_multipart or route.operation not in ops_that("creates") or not route.starts:
        return {number}
    started = [each.route for _, each in route.starts]
    of_choices = {
        each
        for choice in started
        if isinstance(choice, RouteChoice)
        for of_class in choice.routes
        for each, _ in of_class
    }
    return of_choices | {each for each in started if isinstance(each, int)}


def _held(route: Route, pool: int) -> Route:
    stages = single(Visit(pool, NOTHING)), *route.stages, single(Visit(pool, NOTHING, releases=True))
    return replace(route, stages=stages)
