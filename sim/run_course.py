"""What is known of the course of a run before it is simulated: cycles of periodic work, and changes that are meant.

A run's ``info`` has it, with ``clock_s``: when the last visit ended, until which times of stations are averaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.shared.faults import fault_times
from models.store import Spec, faults_of, warms
from sim.demands.request_work import starts_of
from traces.trace import Trace

_VARIES = ("diurnal", "profile", "multiscale")
"""Kinds of arrivals whose rate follows the time of day, a profile, or bursts on all time scales."""
_ALL = 0.99
"""Fraction of a run from which background work lasts for all of it."""


def course_of(
    spec: Spec, trace: Trace, network: Network, requests: Requests, issued: int, end_s: float
) -> dict[str, Any]:
    """Return the course of a run as JSON values.

    Args:
        spec, trace: that were simulated.
        network, requests: the compiled ones.
        issued: number of requests issued, those of repeated rows included.
        end_s: end of the last request.

    Returns:
        ``{"cycles_s": {work: mean time from one beginning to the next}, "changes": [what changes by itself, …],
        "starts": {operation: mean work in the first half over that in the second}}``, if caches are empty at first and
        these differ.
    """
    return {
        "cycles_s": _cycles_s(network, requests, issued, end_s),
        "changes": _changes(spec, trace, requests, end_s),
        "starts": starts_of(trace, network, requests) if warms(spec) and len(requests) else {},
    }


def _cycles_s(network: Network, requests: Requests, issued: int, end_s: float) -> dict[str, float]:
    found = {load.name: 1 / load.rate_ops for load in requests.background}
    found |= {station.name: station.period_s for station in network.stations if station.period_s}
    cycle = requests.cycle
    if cycle is not None and len(cycle.each) and (cycles := float(cycle.each.mean()) * issued):
        found[cycle.name] = end_s / cycles
    return found


def _changes(spec: Spec, trace: Trace, requests: Requests, end_s: float) -> list[str]:
    found = ["faults"] if any(at_s < end_s for at_s in fault_times(faults_of(spec).values())) else []
    if trace.origin is not None:
        found.append("the trace")
    elif any(part.rate is not None and part.arrivals.kind in _VARIES for part in spec.workload.parts.values()):
        found.append("the arrival rate")
    last_s = min(end_s, trace.pacing.last_start_s, _last_s(requests))
    return found + [load.name for load in requests.background if load.from_s > 0 or load.until_s < _ALL * last_s]


def _last_s(requests: Requests) -> float:
    return float(requests.arrival_s.max(initial=0.0)) if requests.pacing.loop == "open" else float("inf")


def steady_by_design(info: Mapping[str, Any]) -> bool:
    """Return whether nothing changes by itself in a simulated run, given its ``info``."""
    return "course" in info and not info["course"]["changes"]
