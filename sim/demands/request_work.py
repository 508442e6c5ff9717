"""The work of each request, and from which one on it is as usual: caches that are empty at first fill."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from models.network.demand_sheet import Requests
from models.network.descendants import by_route
from models.network.network import Network
from sim.demands.visit_places import stations_of
from sim.engine.outcome import Floats
from traces.operations import OPS
from traces.trace import Trace

_STARTS = (16, 8, 4)  # parts of the rows after one of which caches have filled, unless it takes half of the rows
_RELEVANT, _DEVIATIONS = 0.03, 3.0  # differences of mean work that count: a fraction of it, and standard errors
_SIZES = 64  # sizes of the requests of a route of which its mean work is calculated
_LEAST = 64  # requests of an operation whose work is compared


@dataclass(frozen=True)
class Settling:
    """When the work of requests has settled.

    Attributes:
        first: row from which requests find caches that have filled.
        drift: mean work of requests in the second half over that of those before, if it still changes; otherwise 1.
    """

    first: int
    drift: float = 1.0


def settling_of(work_s: Floats) -> Settling:
    """Return from which request on the mean work does not change, given that of each, shape (requests,)."""
    count = len(work_s)
    later = work_s[count // 2 :]
    part = work_s
    for start in _STARTS:
        part = work_s[count // start : count // start * 2]
        if not _differ(part, later):
            return Settling(count // start)
    return Settling(count // 2, float(later.mean() / part.mean()) if part.any() else 1.0)


def _differ(a: Floats, b: Floats) -> bool:
    if not len(a) or not len(b):
        return False
    apart, error = abs(float(a.mean() - b.mean())), math.sqrt(a.var() / len(a) + b.var() / len(b))
    return apart > max(_RELEVANT * float(b.mean()), _DEVIATIONS * error)


def work_s(network: Network, requests: Requests, role: str | None = None) -> Floats:
    """Return the expected service time of each request, given its route, at stations of a role, shape (requests,).

    `role`: None: at all stations.
    """
    roles = None if role is None else role.split(" and ")
    of_route = np.zeros(len(network.routes))
    for k in np.unique(requests.route).tolist():
        sizes = requests.size_bytes[requests.route == k]
        sizes = sizes[:: max(len(sizes) // _SIZES, 1)]
        for started, of, fraction in by_route(network, k, sizes):
            for visit in network.routes[started].visits:
                first = network.stations[stations_of(network, visit.station)[0]]
                if (roles is None or first.role in roles) and len(of):
                    of_route[k] += float(visit.mean_s(of).sum()) * fraction / len(sizes)
    return np.asarray(of_route[requests.route], np.float64)


def starts_of(trace: Trace, network: Network, requests: Requests) -> dict[str, float]:
    """Return the mean work of the first half of a run over that of the second, of operations where they differ."""
    work, ops, found = work_s(network, requests), trace.op[: len(requests)], {}
    for op in np.unique(ops).tolist():
        mine = work[ops == op]
        first, rest = np.array_split(mine, 2)
        if len(mine) >= _LEAST and _differ(first, rest):
            found[OPS[op]] = float(first.mean() / rest.mean())
    return found
