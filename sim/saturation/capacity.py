"""The rate at which a store saturates: by expected service demands, or by simulation where these do not tell it.

A rate above it cannot be served in the long run, whatever a finite run shows (`sim.saturation.saturation`).

Of many equal stations, chance makes one the busiest in a finite number of requests. So stations of a role count as
equally loaded, unless one has more load than chance explains (`sim.demands.chance`; of the utilisations of a run,
`busiest`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from models.devices.hdd_scheduling import DRIVE
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.station import Station
from models.shared.recent import Recent
from models.store import Spec, before, compile_spec, faults_of
from sim.demands.run_end import compile_until_end, latest_end_s
from sim.saturation.enough_requests import with_enough_requests
from sim.saturation.saturation import at_saturation
from sim.saturation.stable_rate import RateLimit, batching_of, pools_of, with_other_work
from traces.errors import InputError
from traces.statistics.arrivals import arrival_span_s
from traces.trace import Trace

_FIRST_ROWS = 1000  # of a trace, whose service times are compared
_PARTS = ("host", "rack", "gateway", "proxy", "osd", "drive", "bucket", "pool")  # fields of a fault that name its part
_DEVIATIONS = 3.0  # times 1/√visits: the load of the busiest of equal stations rarely exceeds their mean by more


@dataclass(frozen=True)
class Capacity:
    """What saturates first, in each stretch of a run in which the store does not change.

    Attributes:
        limits: of each stretch, in order of time; empty: no resource limits the rate.
        rate_ops: mean rate of the workload that generated the requests; None: a closed loop, or a given trace.
        bent: stations whose utilisation does not grow in proportion to the load: they serve a queue in batches, jobs at
            an idle server take longer, waiting accesses shorten each other's seeks, also where tokens are held
            meanwhile, or they have background work. So it does not show how far they are from saturation.
        batching: those that serve a queue in batches, so that they may have no idle time at any load.
        faults: start in s and text of each entry of the spec's `faults`, such as ``host down: host 0``.
    """

    limits: tuple[RateLimit, ...]
    rate_ops: float | None
    bent: frozenset[str]
    faults: tuple[tuple[float, str], ...] = ()
    batching: frozenset[str] = frozenset()

    @property
    def least(self) -> RateLimit | None:
        """The limit of the stretch with the least; None: no resource limits the rate."""
        return min(self.limits, key=lambda each: each.ops, default=None)

    @property
    def station(self) -> str | None:
        """The resource with the least limit; None: no resource limits the rate."""
        return None if self.least is None else self.least.station

    @property
    def capacity_ops(self) -> float | None:
        """Requests per second at which it saturates; None: no limit."""
        return None if self.least is None else self.least.ops

    @property
    def mean_ops(self) -> float | None:
        """Requests per second that the store serves at most in the whole run; None: no limit is known."""
        if not self.limits or any(each.bound == "at least" for each in self.limits):
            return None
        length_s = [each.until_s - each.from_s for each in self.limits]
        if math.isinf(length_s[-1]):
            return self.limits[-1].ops
        return math.fsum(each.ops * a for each, a in zip(self.limits, length_s, strict=True)) / math.fsum(length_s)


_RECENT: Recent[tuple[Spec, Trace, bool], Capacity] = Recent(2)
"""Capacities calculated last: a search compares a rate with the capacity that the verdict on its trial has, too."""


def capacity_of(spec: Spec, trace: Trace, generated: bool | None = True, end_s: float | None = None) -> Capacity:
    """Return the capacity of a store for the requests of a trace.

    Args:
        spec: of the store.
        trace: the mix of requests is that of its rows, each counted once, of some of a long trace, or of more requests
            of the same workload than a short one has; its rate does not matter.
        generated: whether the trace was generated from the workload of the spec; None: if it has the same rate.
        end_s: time in s from which faults do not count, such as the end of a run; None: the latest end that a run of
            the trace may have, which in a closed loop is far later (`latest_end_s`).
    """
    spec = spec if end_s is None else before(spec, end_s)
    if generated is None:
        generated = _has_rate(trace, spec.workload.total_rate)
    if faults_of(spec):
        spec = before(spec, latest_end_s(spec, trace))
    return _RECENT.of((spec, trace, generated), lambda: _calculated(spec, trace, generated))


def _calculated(spec: Spec, trace: Trace, generated: bool) -> Capacity:
    rate_ops = spec.workload.total_rate if generated else None
    at_load, trace = trace, with_enough_requests(spec, trace) if generated else trace
    faults = _named(faults_of(spec).values())
    try:
        if trace.pacing.loop == "mixed":
            raise InputError("how many requests each closed loop issues is not known beforehand")
        saturated = at_saturation(spec, trace)
    except InputError:  # a feature of the network is not supported
        network, requests = compile_until_end(spec, trace)
        return Capacity((), rate_ops, _bent(network, requests, False), faults, batching_of(network))
    bent = _bent(saturated.network, saturated.requests, _reorders(spec, at_load))
    return Capacity(saturated.limits, rate_ops, bent, faults, batching_of(saturated.network))


def _bent(network: Network, requests: Requests, reorders: bool) -> frozenset[str]:
    """`reorders`: whether drives have shorter service times at a higher load, and pools that wait for them others."""
    others = with_other_work(network, requests)
    shorter = pools_of(network, requests).keys() if reorders else frozenset()
    return frozenset(
        station.name
        for station in network.stations
        if station.name in others
        or station.name in shorter
        or _is_bent(station, bool(requests.background))
        or (reorders and station.role == DRIVE)
    )


def _reorders(spec: Spec, trace: Trace) -> bool:
    """Whether service times at saturation differ from those at the load of a trace, by its first requests."""
    first = Trace(trace.table.slice(0, _FIRST_ROWS), trace.pacing)
    now, then = (compile_spec(spec, first, saturated=saturated)[0] for saturated in (False, True))
    a, b = ([visit.demand for route in network.routes for visit in route.visits] for network in (now, then))
    return a != b


def _named(faults: Iterable[Any]) -> tuple[tuple[float, str], ...]:
    """Return start and text of each fault, such as ``host down: host 0``."""
    found = []
    for fault in faults:
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
