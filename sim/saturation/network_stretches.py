"""Stretches of a run in which neither the scenario nor the background work of a network changes, and that work."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from models.network.demand_sheet import Requests
from models.network.descendants import by_route
from models.network.network import Network
from models.network.route import Route, Visit
from models.shared.work import WORKERS
from sim.demands.visit_places import stations_by_visits, stations_of
from sim.engine.outcome import Floats

Stretch = tuple[float, float]
"""Beginning and end in s; an end that is not known is infinite."""

WHOLE: Stretch = (0.0, math.inf)
LEAST = 0.1
"""Least length of a stretch, as a fraction of the run."""


def stretches_of(network: Network, requests: Requests) -> list[Stretch]:
    """Return the stretches of a run, in order; one, `WHOLE`, if nothing changes.

    Shorter ones than `LEAST` are left out: there are too few requests in them to tell what they need.
    """
    last_s = requests.pacing.last_start_s
    if requests.pacing.loop == "open":
        last_s = min(last_s, float(requests.arrival_s.max(initial=0.0)))
    changes = {action.at_s for action in network.scenario}
    changes |= {time_s for load in requests.background for time_s in (load.from_s, load.until_s)}
    inside = {at_s for at_s in changes if 0 < at_s < last_s}
    length_s = last_s if last_s < math.inf else 2 * max(inside, default=0.0)
    found = [(a, b) for a, b in pairwise(sorted({0.0, *inside, last_s})) if b - a >= LEAST * length_s]
    return found if inside and found else [WHOLE]


def background_servers(network: Network, requests: Requests, stretch: Stretch) -> Floats:
    """Return how many servers of each station the background work occupies on average, shape (stations,).

    Work that takes a worker for each object is left out: in a queue that grows, workers get ever fewer turns. So is
    work that all requests go before.
    """
    busy = np.zeros(len(network.stations))
    for load in requests.background:
        overlap_s = min(load.until_s, stretch[1]) - max(load.from_s, stretch[0])
        route = network.routes[load.route]
        if overlap_s > 0 and not _takes_worker(network, route):
            is_endless = math.isinf(stretch[1])
            rate_ops = load.rate_ops * (1.0 if is_endless else overlap_s / (stretch[1] - stretch[0]))
            for k, sizes, started in by_route(network, load.route, np.array([load.size_bytes])):
                for visit in network.routes[k].visits:
                    busy += _servers(network, network.routes[k], sizes, visit, rate_ops * started * len(sizes))
    return busy


def has_lasting_workers(network: Network, requests: Requests, stretch: Stretch) -> bool:
    """Return whether several workers have work throughout a stretch.

    As queues grow, they get ever fewer turns, so a run that is too short to show long queues has more of their work.
    """
    last_s = min(stretch[1], float(requests.arrival_s.max(initial=0.0)))
    return any(
        network.stations[k].role == WORKERS and network.stations[k].servers > 1
        for load in requests.background
        if load.from_s <= stretch[0] and load.until_s >= last_s
        for visit in network.routes[load.route].visits
        for k in stations_of(network, visit.station)
    )


def _takes_worker(network: Network, route: Route) -> bool:
    return any(network.stations[k].role == WORKERS for v in route.visits for k in stations_of(network, v.station))


def _servers(network: Network, route: Route, size_bytes: NDArray[np.int64], visit: Visit, rate_ops: float) -> Floats:
    """Return how many servers of each station a visit of operations of these sizes occupies, shape (stations,)."""
    spent_s = float(visit.mean_s(size_bytes).mean())
    fraction = stations_by_visits(network, visit.station)
    for k in np.flatnonzero(fraction).tolist():
        station = network.stations[k]
        if not station.discipline.takes_time or station.discipline.infinite:
            fraction[k] = 0.0
        elif station.discipline.is_weighted:
            of_class, others = station.weights[route.priority], station.weights[0]
            most = of_class / (of_class + others) * station.servers
            fraction[k] = min(fraction[k], most / (rate_ops * spent_s)) if spent_s else 0.0
        elif station.discipline.has_classes and route.priority > 0:
            fraction[k] = 0.0
    return rate_ops * spent_s * fraction
