"""Refuse closed loops that would never end, or have more requests than a Run can have, before they are simulated."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from models.network.demand_sheet import Requests, sources
from models.network.descendants import by_route
from models.network.network import Network
from traces.errors import InputError
from traces.workload.arrivals import MAX_REQUESTS

_REQUEST_BYTES = 100
"""Least memory that a simulated request takes until its Run is there (measured: 200 bytes)."""


def refuse_endless(network: Network, requests: Requests, *, kept: bool = True) -> None:
    """Refuse closed loops with a duration whose requests take no time, or are too many.

    The clock of the former would never advance. Of the latter, the least number is known before: at worst, requests are
    served one at a time. Requests that are not `kept` are never too many.

    Raises:
        InputError: there is such a loop.
    """
    loops = [source.requests for source in sources(requests) if source.requests.repeat]
    works_s = [_work_s(network, loop) for loop in loops]
    clients = sum(loop.pacing.clients or 0 for loop in loops)
    most = min(MAX_REQUESTS, _memory_bytes() // _REQUEST_BYTES)
    for loop in loops:
        cycle_s = clients * max(works_s) + float(loop.think_s.mean())
        least = (loop.pacing.clients or 0) * (loop.pacing.duration_s or 0.0) / cycle_s
        if kept and least > most:
            raise InputError(
                f"a closed loop of {loop.pacing.clients:,} clients and {loop.pacing.duration_s:g} s has at least "
                f"{least:.2g} requests, more than the {most:,} that a Run can have on this machine; shorten "
                "workload.duration"
            )


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _work_s(network: Network, requests: Requests) -> float:
    """Return the most work in s of a request at all stations together, with its sub-requests.

    Raises:
        InputError: a request takes no time, or there are none.
    """
    if not len(requests):
        raise InputError("the trace has no requests to repeat until the end of its duration")
    most_s = 0.0
    for k in np.unique(requests.route):
        mine = requests.route == k
        sizes = np.unique(requests.size_bytes[mine])
        if not _takes_time(network, int(k), sizes) and not requests.think_s[mine].any():
            name = network.routes[k].name
            raise InputError(
                f"{name} requests take no time, so a closed loop never reaches its duration; add a service demand"
            )
        most_s = max(most_s, _work_of_route_s(network, int(k), sizes))
    return most_s


def _takes_time(network: Network, route: int, size_bytes: NDArray[np.int64]) -> bool:
    """Return whether requests of a route take time at a visit that all of them make, whatever their sizes."""
    for visit in network.routes[route].visits:
        if visit.fraction == 1 and (visit.demand.mean_s(size_bytes) > 0).all():
            return True
        if visit.fraction == 1 and visit.starts is not None:
            sizes = np.unique(visit.starts.all_sizes(size_bytes))
            if all(_takes_time(network, each, of) for each, of, _ in visit.starts.by_route(sizes)):
                return True
    return False


def _work_of_route_s(network: Network, k: int, sizes: NDArray[np.int64]) -> float:
    """Return the most work in s of a request of a route, with its sub-requests."""
    work_s = 0.0
    for number, (route, of, _) in enumerate(by_route(network, k, sizes)):
        for visit in network.routes[route].visits:
            demand_s = visit.demand.mean_s(of)
            # Sub-requests are those of a request of each size together.
            work_s += float(np.sum(demand_s) if number else np.max(demand_s, initial=0.0))
    return work_s
