"""The verdict that opens every answer: what was offered and served, and what saturates first.

An open loop is *overloaded* if its rate exceeds the capacity by expected demands (`sim.analysis.capacity`), or if a
station has no idle time and the backlog grows throughout the run (`sim.analysis.offered_load`) or requests fail. The
first rule is exact for any length of run; the second one finds what demands do not show, such as retries. Clients of a
closed loop wait for responses, so it is never overloaded, but *saturated*.

The capacity is that by demands, unless the utilisation of a station contradicts it or shows it in overload: then it is
the rate of the run divided by that utilisation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from models.work import WORKERS
from sim.analysis.capacity import Capacity, StationLoad, busiest
from sim.analysis.offered_load import OfferedLoad, load_of
from traces.errors import InputError
from traces.run import Run

Status = Literal["healthy", "near saturation", "saturated", "overloaded"]
Basis = Literal["demands", "utilization"]

NEAR = 0.8
"""Fraction of the capacity from which a store is near saturation: an M/M/1 queue then takes five service times."""
_FULL = 0.98  # utilisation of a station without idle time, apart from start and end of a run
_BUSY = 0.9  # the same in an open loop whose backlog grows
_CONTRADICTS = 0.9  # a capacity by utilisation below this fraction of that by demands is not due to chance
_CALM, _BURSTY = 4.0, 2.0  # standard deviations of the number of arrivals of a Poisson process
_LEAST_ERRORS = 0.01  # fraction of failed requests from which a full station sheds load


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


@dataclass(frozen=True)
class LoadVerdict:
    """The verdict on the load of one or several simulated Runs of a spec; figures are means over the Runs.

    Attributes:
        status: ``healthy``, ``near saturation`` (from 80 % of the capacity), ``saturated`` (closed loop: more clients
            only wait) or ``overloaded`` (open loop).
        loop: ``open``, ``closed``, or ``mixed`` for groups of both.
        clients: of closed loops; None: open loop.
        offered_ops: arrivals per second of an open loop; None: closed loop.
        served_ops: successful responses per second; in overload, until the last response.
        errors: fraction of the requests that failed.
        saturates_first: None: no station limits the rate.
        backlog: mean number of requests in flight after each quarter of the time in which requests of an open loop
            arrive.
    """

    status: Status
    loop: Literal["open", "closed", "mixed"]
    clients: int | None
    offered_ops: float | None
    served_ops: float
    errors: float
    saturates_first: Saturation | None
    backlog: list[float]

    @property
    def overloaded(self) -> bool:
        """Whether more requests arrive than the store can serve."""
        return self.status == "overloaded"

    @property
    def severity(self) -> tuple[int, float]:
        """Greater for a worse verdict: the status, then the fraction of the capacity in use."""
        headroom = math.inf if self.saturates_first is None else self.saturates_first.headroom
        return get_args(Status).index(self.status), 1 / headroom

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> LoadVerdict:
        """Create the verdict from its JSON values."""
        first = data["saturates_first"]
        return LoadVerdict(**{**data, "saturates_first": None if first is None else Saturation(**first)})


def verdict_on_run(run: Run, capacity: Capacity | None) -> LoadVerdict | None:
    """Return the verdict on a simulated Run; None: it has no trace, no stations or no requests."""
    load = load_of(run)
    return None if load is None or run.stations is None else verdict_of([load], [run.stations.to_pylist()], capacity)


def verdict_of(
    loads: Sequence[OfferedLoad], stations: Sequence[Sequence[Mapping[str, Any]]], capacity: Capacity | None
) -> LoadVerdict:
    """Return the verdict on Runs of the same spec.

    Args:
        loads: of each Run, at least one.
        stations: rows of the station table of each Run.
        capacity: None: unknown; then only the Runs show an overload.

    Raises:
        InputError: there are no Runs.
    """
    if not loads:
        raise InputError("there are no requests, so there is no verdict on the load")
    first, is_open = loads[0], loads[0].loop == "open"
    offered_ops = _mean([load.offered_ops for load in loads if load.offered_ops is not None]) if is_open else None
    completed_ops, errors = _mean([load.completed_ops for load in loads]), _mean([load.errors for load in loads])
    busy = _utilizations(stations)
    full = max((each.load for each in busy), default=0.0)
    by_demands = capacity is not None and offered_ops is not None and _beyond(loads, offered_ops, capacity)
    if by_demands and capacity is not None and capacity.rate_ops is not None and offered_ops is not None:
        offered_ops = max(offered_ops, capacity.rate_ops)
    grows = 2 * sum(load.grows for load in loads) > len(loads) and full >= _BUSY
    sheds = is_open and full >= _FULL and errors >= _LEAST_ERRORS
    by_run = (grows or sheds) and not by_demands
    overloaded, present_ops = by_demands or by_run, offered_ops or completed_ops
    found = _saturates_first(busy, completed_ops, present_ops, None if by_run else capacity)
    in_run = _saturates_first(busy, completed_ops, present_ops, None) if overloaded else None
    if in_run is not None and in_run.utilization >= _BUSY and in_run.capacity_ops < present_ops:
        found = in_run  # so that no more is served than the capacity, which demands have apart from chance
    status: Status = "overloaded" if overloaded else _status(found, is_open)
    rate_ops = completed_ops if overloaded or offered_ops is None else offered_ops
    backlog = [_mean(list(each)) for each in zip(*(load.backlog for load in loads), strict=False)]
    return LoadVerdict(status, first.loop, first.clients, offered_ops, rate_ops * (1 - errors), errors, found, backlog)


def _status(found: Saturation | None, is_open: bool) -> Status:
    if found is None:
        return "healthy"
    if not is_open and found.utilization >= _FULL:
        return "saturated"
    return "near saturation" if 1 / found.headroom >= NEAR else "healthy"


def _beyond(loads: Sequence[OfferedLoad], offered_ops: float, capacity: Capacity) -> bool:
    """Whether the offered rate exceeds the capacity by demands.

    The mean rate of a workload is known, but a part of its period may be calm. That of a given trace is not, so it must
    exceed the capacity by more than chance explains, and leave at least half of the backlog that this implies.
    """
    if capacity.capacity_ops is None:
        return False
    chance = 1 / math.sqrt(sum(load.requests for load in loads))
    if capacity.rate_ops is not None:
        in_run = offered_ops > capacity.capacity_ops * (1 - _CALM * chance)
        return in_run and capacity.rate_ops > capacity.capacity_ops
    excess = 1 - capacity.capacity_ops / offered_ops
    backlog = _mean([load.backlog[-1] / load.requests for load in loads])
    return excess > _BURSTY * chance and backlog > excess / 2


def _utilizations(stations: Sequence[Sequence[Mapping[str, Any]]]) -> list[StationLoad]:
    """Return the mean utilisation of each station with a limited number of servers that requests may need."""
    each: dict[str, list[Mapping[str, Any]]] = {}
    for rows in stations:
        for row in rows:
            if row["servers"] is not None and row["visits"] and row["role"] != WORKERS:
                each.setdefault(row["name"], []).append(row)
    return [
        StationLoad(
            name,
            rows[0]["role"],
            math.fsum(row["utilization"] for row in rows) / len(stations),
            sum(row["visits"] for row in rows),
        )
        for name, rows in each.items()
    ]


def _saturates_first(
    busy: Sequence[StationLoad], completed_ops: float, present_ops: float, capacity: Capacity | None
) -> Saturation | None:
    """Return the station that saturates first: by demands, unless there are none or utilisation contradicts them."""
    bent = capacity.bent if capacity and capacity.station else ()
    measured = busiest(each for each in busy if each.station not in bent or each.load >= _FULL)
    measured_ops = math.inf if measured is None else completed_ops / measured.load
    if capacity is not None and capacity.station is not None and capacity.role and capacity.capacity_ops:
        limit_ops = capacity.capacity_ops
        is_served = present_ops <= completed_ops and limit_ops < completed_ops  # a closed loop shows that it can be
        if measured_ops >= _CONTRADICTS * limit_ops and not is_served:
            known = {each.station: each.load for each in busy}
            utilization = known.get(capacity.station, min(completed_ops / limit_ops, 1.0))
            return Saturation(
                capacity.station, capacity.role, utilization, limit_ops, "demands", limit_ops / present_ops
            )
    if measured is None:
        return None
    return Saturation(
        measured.station, measured.role, measured.load, measured_ops, "utilization", measured_ops / present_ops
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
