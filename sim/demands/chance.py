"""Service demands without the chance of a finite number of requests: of equal stations, one has the most by chance."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import scipy

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.station import Member
from sim.demands.service_demands import Demands, LeastDemands
from sim.demands.visit_places import Resource
from sim.engine.outcome import Floats

_LEVEL = 0.01  # of the tests whether equal stations have different demands


D = TypeVar("D", bound=LeastDemands)


def without_chance(demands: D, usual: LeastDemands | None = None) -> D:
    """Return the demands with the differences between stations of a role that chance does not explain.

    The demands are those of the requests at hand. If other requests of the same workload would load other stations,
    each station has the mean of its role. If some of the spread is more than chance, that part of it is left (as in
    the estimator of James and Stein, Proceedings of the Fourth Berkeley Symposium 1, 1961); if a single station has
    more than chance explains, as one with a popular object, all of it is left.

    Args:
        demands: those of the requests at hand.
        usual: those of other keys, in whose proportions equal stations would be loaded but for chance, because
            placement is uneven; None: equally.
    """
    low_s = demands.low_s.copy()
    each = [low_s]
    if isinstance(demands, Demands):
        each += [demands.high_s.copy(), demands.requested.copy()]
    alike: dict[tuple[object, ...], list[int]] = {}
    for k, resource in enumerate(demands.resources):
        alike.setdefault(_kind(k, resource), []).append(k)
    for members in alike.values():
        if len(members) > 1 and low_s[members].any():
            weight = np.ones(len(members))
            if usual is not None and usual.low_s[members].any():
                weight = usual.low_s[members] / usual.low_s[members].mean()
            expected_s = weight * low_s[members].mean()
            part = _beyond_chance(low_s[members], expected_s, demands.low_error_s[members])
            for figures in each:
                mean = figures[members].mean()
                if np.isfinite(mean):
                    figures[members] = weight * mean + part * (figures[members] - weight * mean)
    if isinstance(demands, Demands):
        return replace(demands, low_s=low_s, high_s=each[1], requested=each[2])
    return replace(demands, low_s=low_s)


def are_keys_even(network: Network, requests: Requests, route: int) -> bool:
    """Return whether a route's keys select the rows of placement tables equally often, apart from chance.

    Popular keys do not, nor do keys of which the route depends.
    """
    places = (visit.station for visit in network.routes[route].visits)
    lengths = {len(network.placements[place.table]) for place in places if isinstance(place, Member)}
    hashes = requests.key_hash[requests.route == route]
    for rows in lengths:
        counts = np.unique(hashes % np.uint64(rows), return_counts=True)[1]
        mean = len(hashes) / rows
        apart = float(((counts - mean) ** 2).sum()) + (rows - len(counts)) * mean**2
        if apart / mean > scipy.special.chdtri(rows - 1, _LEVEL):
            return False
    return True


def _kind(k: int, resource: Resource) -> tuple[object, ...]:
    """Return what equal resources have in common; groups to which requests are bound at run time are all different."""
    if resource.is_group:
        return (k,)
    return resource.role, resource.kind, resource.servers, len(resource.stations)


def _beyond_chance(load: Floats, expected: Floats, error: Floats) -> float:
    """Return the part of what loads with these standard errors are apart from the expected ones that is not chance."""
    apart, count = load - expected, len(load)
    noise, spread = float((error**2).mean()), float((apart**2).mean())
    if spread <= 1e-18 * load.mean() ** 2:
        return 0.0
    if not noise:
        return 1.0
    top = int(load.argmax())
    if apart[top] / np.sqrt(max(noise, error[top] ** 2)) > -scipy.special.ndtri(_LEVEL / count):
        return 1.0
    if spread / noise * count <= scipy.special.chdtri(count - 1, _LEVEL):
        return 0.0
    return 1 - noise / spread
