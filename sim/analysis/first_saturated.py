"""The station that saturates first: by expected service demands, or by its utilisation in the run.

Stations that a fault keeps from work have no part in the capacity. Requests that fail are no capacity either: where
some do, the rate of the run counts as evidence only if demands are unknown, and is that of successful requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal

from sim.analysis.capacity import Capacity
from sim.analysis.station_load import StationLoad, busiest

Basis = Literal["demands", "utilization"]

TOLERATED = 0.001
"""Greatest fraction of the requests of an operation that may fail in a healthy store."""
FULL = 0.98
"""Utilisation of a station without idle time, apart from start and end of a run."""
BUSY = 0.9
"""The same in an open loop whose backlog grows."""
_CONTRADICTS = 0.9  # a capacity by utilisation below this fraction of that by demands is not due to chance
_IDLE = 0.1  # a station with fewer visits than this fraction of its role's median is down


@dataclass(frozen=True)
class Saturation:
    """The station that saturates first.

    Attributes:
        station, role: its name and role.
        utilization: fraction of time that its servers are busy in the run.
        capacity_ops: requests per second at which it saturates.
        basis: ``demands``: by expected service demands; ``utilization``: the rate of the run over its utilisation.
        headroom: the capacity over the present rate.
    """

    station: str
    role: str
    utilization: float
    capacity_ops: float
    basis: Basis
    headroom: float


def saturation_of(
    busy: Sequence[StationLoad],
    completed_ops: float,
    offered_ops: float | None,
    errors: float,
    capacity: Capacity | None,
    overloaded: bool,
    by_demands: bool,
) -> Saturation | None:
    """Return the station that saturates first: by demands, unless there are none or utilisation contradicts them."""
    fails, present_ops = errors > TOLERATED, offered_ops or completed_ops
    served_ops = completed_ops * (1 - errors)
    by_demand = None if capacity is None else _by_demands(busy, capacity, completed_ops, present_ops)
    usual = None if overloaded else capacity
    measured = _by_utilization(busy, served_ops if fails else completed_ops, present_ops, usual, overloaded)
    if by_demand is None or measured is None:
        return by_demand or measured
    if overloaded and fails:
        return by_demand if by_demands else min(by_demand, measured, key=lambda each: each.capacity_ops)
    if overloaded:
        # No more is served than the capacity, which demands have apart from chance.
        is_less = measured.utilization >= BUSY and measured.capacity_ops < present_ops
        is_limit = not by_demands or (is_less and not (capacity and capacity.is_tried))
        return measured if is_limit else by_demand
    # A closed loop shows that a rate can be served; failed requests show nothing.
    is_served = present_ops <= completed_ops and by_demand.capacity_ops < served_ops
    contradicts = not fails and measured.capacity_ops < _CONTRADICTS * by_demand.capacity_ops
    return measured if contradicts or (is_served and not fails) else by_demand


def _by_demands(
    busy: Sequence[StationLoad], capacity: Capacity, completed_ops: float, present_ops: float
) -> Saturation | None:
    limit_ops = capacity.capacity_ops
    if not (capacity.station is not None and capacity.role and limit_ops):
        return None
    known = {each.station: each.load for each in busy}
    utilization = known.get(capacity.station, min(completed_ops / limit_ops, 1.0))
    return Saturation(capacity.station, capacity.role, utilization, limit_ops, "demands", limit_ops / present_ops)


def _by_utilization(
    busy: Sequence[StationLoad], rate_ops: float, present_ops: float, capacity: Capacity | None, overloaded: bool
) -> Saturation | None:
    """Return the busiest station and the rate over its utilisation; None: nothing is busy, or nothing is served."""
    bent = capacity.bent if capacity and capacity.station else ()
    measured = busiest(each for each in busy if each.station not in bent or each.load >= FULL)
    if measured is None or not rate_ops:
        return None
    limit_ops = rate_ops / measured.load
    headroom = limit_ops / present_ops if overloaded else 1 / measured.load
    return Saturation(measured.station, measured.role, measured.load, limit_ops, "utilization", headroom)


def of_what_is_up(capacity: Capacity, stations: Sequence[Sequence[Mapping[str, Any]]]) -> Capacity:
    """Return the capacity without the stations that faults keep from work, as the others have to do theirs."""
    if not capacity.faults or capacity.capacity_ops is None or len(capacity.members) < 2:
        return capacity
    visits = dict.fromkeys(capacity.members, 0)
    for row in (row for rows in stations for row in rows):
        if row["name"] in visits:
            visits[row["name"]] += row["visits"]
    least = _IDLE * median(visits.values())
    up = sum(count >= least for count in visits.values()) if least else len(visits)
    return replace(capacity, capacity_ops=capacity.capacity_ops * up / len(visits))
