"""The rate at which a store saturates, from expected service demands, without simulation.

A rate above it cannot be served in the long run, whatever a finite run shows. What is unknown before the simulation
(background load, hedged requests, caches that cool down) can only make the store saturate earlier.

Of many equal stations, chance makes one the busiest in a finite number of requests. So stations of a role count as
equally loaded, unless one has more load than chance explains.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from models.network.station import Station
from models.store import Spec, compile_spec
from sim.analysis.service_demands import mean_demands
from traces.errors import InputError
from traces.statistics.arrivals import arrival_span_s
from traces.trace import Trace

_OPEN_ROWS, _CLOSED_ROWS = 20_000, 2_000
"""Greatest number of requests over which demands are averaged; only open loops can be overloaded."""
_PARTS = ("host", "rack", "gateway", "proxy", "osd", "drive", "bucket", "pool")  # fields of a fault that name its part
_DEVIATIONS = 3.0  # times 1/√visits: the load of the busiest of equal stations rarely exceeds their mean by more


@dataclass(frozen=True)
class StationLoad:
    """The load of a station: utilisation, or service demand per request and server.

    Attributes:
        visits: number of visits from which it was estimated.
    """

    station: str
    role: str
    load: float
    visits: float


def busiest(loads: Iterable[StationLoad]) -> StationLoad | None:
    """Return the station with the greatest load; None: no station has any.

    If the stations of its role are equally loaded apart from chance, the load is their mean.
    """
    roles: dict[str, list[StationLoad]] = {}
    for each in loads:
        if each.load > 0:
            roles.setdefault(each.role, []).append(each)
    return max((_of_role(members) for members in roles.values()), key=lambda found: found.load, default=None)


def _of_role(members: list[StationLoad]) -> StationLoad:
    top = max(members, key=lambda each: each.load)
    mean = math.fsum(each.load for each in members) / len(members)
    by_chance = top.load <= mean * (1 + _DEVIATIONS / math.sqrt(max(top.visits, 1.0)))
    return StationLoad(top.station, top.role, mean if by_chance else top.load, top.visits)


@dataclass(frozen=True)
class Capacity:
    """What saturates first by the service demands of a workload.

    Attributes:
        station, role: the resource with the least capacity; None: no resource limits the rate.
        capacity_ops: requests per second at which it saturates; None: no limit.
        rate_ops: mean rate of the workload that generated the requests; None: a closed loop, or a given trace.
        bent: stations whose utilisation does not grow in proportion to the load: they serve a queue in batches, or jobs
            at an idle server take longer. So it does not show how far they are from saturation.
        members: names of the stations that the capacity is of: all of the role that requests visit.
        faults: start in s and text of each entry of the spec's `faults`, such as ``host down: host 0``.
    """

    station: str | None
    role: str | None
    capacity_ops: float | None
    rate_ops: float | None
    bent: list[str]
    members: tuple[str, ...] = ()
    faults: tuple[tuple[float, str], ...] = ()


def capacity_of(spec: Spec, trace: Trace, generated: bool | None = True) -> Capacity:
    """Return the capacity of a store for the requests of a trace.

    Args:
        spec: of the store.
        trace: the mix of requests is that of its rows, each counted once, or of evenly spaced ones of a long trace.
        generated: whether the trace was generated from the workload of the spec; None: if it has the same rate.
    """
    network, requests = compile_spec(spec, _sampled(trace))
    bent = [station.name for station in network.stations if _is_bent(station, bool(requests.background))]
    if generated is None:
        generated = _has_rate(trace, spec.workload.total_rate)
    rate_ops = spec.workload.total_rate if generated else None
    unknown = Capacity(None, None, None, rate_ops, bent, faults=_faults_of(spec))
    if trace.pacing.loop == "mixed":  # how many requests each closed loop issues is not known beforehand
        return unknown
    try:
        demands = mean_demands(network, requests)
    except InputError:  # a feature of the network is not supported
        return unknown
    rows = len(requests)
    found = busiest(
        StationLoad(resource.name, resource.role, low_s / resource.servers, visits * rows)
        for resource, low_s, visits in zip(
            demands.resources, demands.low_s.tolist(), demands.requested.tolist(), strict=True
        )
        if math.isfinite(resource.servers)
    )
    if found is None:
        return unknown
    members = {
        network.stations[k].name
        for resource, low_s in zip(demands.resources, demands.low_s.tolist(), strict=True)
        if low_s > 0
        for k in resource.stations
        if network.stations[k].role == found.role
    }
    return replace(
        unknown,
        station=found.station,
        role=found.role,
        capacity_ops=1 / found.load,
        members=tuple(sorted(members)),
    )


def _faults_of(spec: Spec) -> tuple[tuple[float, str], ...]:
    """Return start and text of each fault of a spec, such as ``host down: host 0``."""
    found = []
    for fault in getattr(spec, "faults", ()):
        part = ", ".join(f"{name} {value}" for name, value in fault.model_dump().items() if name in _PARTS)
        kind = fault.kind.replace("_", " ")
        found.append((float(getattr(fault, "at", 0.0)), f"{kind}: {part}" if part else kind))
    return tuple(found)


def _has_rate(trace: Trace, rate_ops: float | None) -> bool:
    """Whether the arrivals of a trace have this rate, apart from chance."""
    count = trace.issued
    if rate_ops is None or trace.pacing.loop != "open" or not count:
        return False
    span_s = arrival_span_s(trace.arrival_s, trace.pacing.duration_s)
    return abs(count - rate_ops * span_s) <= _DEVIATIONS * math.sqrt(count) + 1


def _is_bent(station: Station, background: bool) -> bool:
    """Whether utilisation is not proportional to the load; idle servers are rare on a store with background load."""
    starts_slowly = bool(station.setup_s or station.caches) and not background
    return station.discipline.batches or starts_slowly


def _sampled(trace: Trace) -> Trace:
    """Return the trace, or evenly spaced rows of a long one."""
    count, most = trace.issued, _OPEN_ROWS if trace.pacing.loop == "open" else _CLOSED_ROWS
    if count <= most:
        return trace
    rows = np.linspace(0, count - 1, most).astype(np.int64)
    return Trace(trace.table.take(pa.array(rows)), trace.pacing, trace.origin)
