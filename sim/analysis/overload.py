"""Parts of a store that are slower than its open loop needs, from service demands alone."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container, Mapping
from dataclasses import dataclass

import numpy as np

from models.network.demand_sheet import Requests
from models.network.descendants import by_route
from models.network.network import Network
from models.network.route import Visit
from models.network.station import Bound, Member, Station
from models.store import Spec, compile_spec
from traces.statistics.arrivals import arrival_rate_ops
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.keys import UniformKeys

_SAMPLE = 200  # requests of each route, whose sizes give its mean demands


@dataclass(frozen=True)
class TooSlow:
    """A station, or all stations of a role, that cannot serve what arrives.

    Attributes:
        part: name of the station, or the role, such as ``drive``.
        stations: number of stations.
        offered_ops: arrival rate.
        max_ops: rate at which all of them are busy.
    """

    part: str
    stations: int
    offered_ops: float
    max_ops: float


def slow_parts(spec: Spec, trace: Trace | None = None) -> tuple[TooSlow, ...]:
    """Return the parts of a store that are slower than its open loop needs (`too_slow`); none in a closed loop.

    Args:
        spec: a store and its workload.
        trace: its requests; None: a few are generated from the workload.

    Raises:
        InputError: the spec cannot be compiled.
    """
    offered_ops = (spec.workload.total_rate or 0.0) if trace is None else _offered_ops(trace)
    if not offered_ops:
        return ()
    return too_slow(*compile_spec(spec, sample_of(spec) if trace is None else trace), offered_ops)


def sample_of(spec: Spec) -> Trace:
    """Return a few requests with the operations and sizes of the spec's workload, but with few keys."""
    few = spec.workload.with_fields(keys=UniformKeys(count=_SAMPLE))
    return generate(few.limited(_SAMPLE), 0)


def too_slow(network: Network, requests: Requests, offered_ops: float) -> tuple[TooSlow, ...]:
    """Return the parts that are slower than requests at a rate need, the slowest first.

    Stations among which requests are placed, by key or by load, count as a whole, and each request has one attempt:
    where requests are spread unevenly or are repeated, a part is overloaded earlier. It takes a few milliseconds,
    unlike `bounds`.
    """
    placed_roles: set[str] = set()
    work_s: defaultdict[str, float] = defaultdict(float)
    routes, counts = np.unique(requests.route, return_counts=True)
    for k, count in zip(routes.tolist(), counts.tolist(), strict=True):
        rows = np.flatnonzero(requests.route == k)
        size_bytes = requests.size_bytes[rows[:: max(1, count // _SAMPLE)]]
        for route, sizes, fraction in by_route(network, k, size_bytes):
            started = fraction * len(sizes) / len(size_bytes)
            for visit in network.routes[route].visits:
                station = _station(network, visit)
                if station.discipline.takes_time and not station.discipline.infinite:
                    each_s = visit.demand_if_made.mean_s(sizes).mean()
                    least_s = _least_s(station, float(each_s))
                    work_s[station.name] += visit.fraction * count / len(requests) * least_s * started
                    if isinstance(visit.station, Member | Bound):
                        placed_roles.add(station.role)
    return _overloaded(network, work_s, placed_roles, offered_ops)


def _overloaded(
    network: Network, work_s: Mapping[str, float], placed_roles: Container[str], offered_ops: float
) -> tuple[TooSlow, ...]:
    """Compare the work of each part with its servers.

    Args:
        network: the network.
        work_s: work of a request by station; of stations among which requests are placed, one has that of all.
        placed_roles: roles of these stations.
        offered_ops: arrival rate.
    """
    part_s: defaultdict[str, float] = defaultdict(float)
    stations: Counter[str] = Counter()
    servers: Counter[str] = Counter()
    for station in network.stations:
        part = station.role if station.role in placed_roles else station.name
        part_s[part] += work_s.get(station.name, 0.0)
        stations[part] += 1
        servers[part] += station.servers
    found = [
        TooSlow(part, stations[part], offered_ops, servers[part] / total_s)
        for part, total_s in part_s.items()
        if total_s * offered_ops > servers[part]
    ]
    return tuple(sorted(found, key=lambda each: each.max_ops))


def _least_s(station: Station, demand_s: float) -> float:
    """Return the least time that a visit occupies a station: in a batch, what each further member adds."""
    return min(demand_s, station.batch_item_s) if station.discipline.batches else demand_s


def _station(network: Network, visit: Visit) -> Station:
    """Return one of the stations that may serve a visit."""
    return network.stations[network.first_station(visit.station)]


def _offered_ops(trace: Trace) -> float:
    """Return the arrival rate of an open loop; 0 of a closed loop, or if all requests arrive at once."""
    if trace.pacing.loop != "open":
        return 0.0
    rate_ops = arrival_rate_ops(trace.arrival_s, trace.pacing.duration_s)
    return rate_ops if math.isfinite(rate_ops) else 0.0
