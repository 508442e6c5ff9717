"""The station that saturates first: by the capacity of the store, or by its utilisation in the run.

If the store changes during the run, the capacity is that of the stretch in which the load is nearest to it, unless a
station is full throughout the run. Requests that fail are no capacity: where some do, the rate of the run counts as
evidence only if the capacity is not known, and is that of successful requests.

A bent station (`Capacity.bent`), such as a journal that commits in groups, may have no idle time at a fifth of the rate
that it can serve, so its utilisation counts only if the demands do not tell the capacity; then it serves at least the
rate over its utilisation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sim.saturation.capacity import Capacity
from sim.saturation.stable_rate import Bound, RateLimit
from sim.saturation.station_load import StationLoad, busiest
from sim.verdict.offered_load import OfferedLoad

SaturationBasis = Literal["demands", "utilization"]

TOLERATED = 0.001
"""Greatest fraction of the requests of an operation that may fail in a healthy store."""
FULL = 0.98
"""Utilisation of a station without idle time, apart from start and end of a run."""
BUSY = 0.9
"""The same in an open loop whose backlog grows."""
_DEVIATIONS = 3.0  # standard deviations of the number of arrivals of a Poisson process in a stretch
_CONTRADICTS = 0.9  # a capacity by utilisation below this fraction of that by demands is not due to chance


@dataclass(frozen=True)
class Saturation:
    """The station that saturates first.

    Attributes:
        station, role: its name and role.
        utilization: fraction of time that its servers are busy in the run.
        capacity_ops: requests per second at which it saturates.
        basis: ``demands``: by expected service demands; ``utilization``: the rate of the run over its utilisation.
        headroom: the capacity over the present rate.
        from_s, until_s: the stretch of the run to which capacity and headroom apply; None: the whole run, or its end.
        bound: whether the capacity is known, or only its greatest or least value.
        is_warm: whether the capacity is that when caches have filled, which are empty at first.
        again: beginning and end in s of the other stretches with the same capacity.
    """

    station: str
    role: str
    utilization: float
    capacity_ops: float
    basis: SaturationBasis
    headroom: float
    from_s: float | None = None
    until_s: float | None = None
    bound: Bound = "at"
    is_warm: bool = False
    again: tuple[tuple[float, float], ...] = ()


def saturation_of(
    busy: Sequence[StationLoad],
    completed_ops: float,
    offered_ops: float | None,
    errors: float,
    capacity: Capacity | None,
    overloaded: bool,
    by_demands: bool,
    loads: Sequence[OfferedLoad] = (),
) -> Saturation | None:
    """Return the station that saturates first: by demands, unless there are none or utilisation contradicts them.

    `loads`: of the Runs, for the rates in stretches of them.
    """
    fails, present_ops = errors > TOLERATED, offered_ops or completed_ops
    served_ops = completed_ops * (1 - errors)
    limit, at_limit_ops = _nearest(capacity, loads, present_ops)
    by_demand = None if limit is None else _by_demands(busy, limit, completed_ops, present_ops, at_limit_ops)
    rate_ops = served_ops if fails else completed_ops
    if overloaded and not by_demands:  # what demands do not show
        measured = _by_utilization(busy, rate_ops, present_ops)
    else:
        measured = _by_utilization(_telling(busy, capacity, limit, served_ops), rate_ops, present_ops)
    if by_demand is None or measured is None:
        return by_demand or measured
    if not overloaded and capacity is not None and measured.station in capacity.bent:
        measured = replace(measured, bound="at least")
    if not overloaded and offered_ops is not None and completed_ops < _CONTRADICTS * offered_ops:
        return by_demand  # the last responses take a large part of the run, so chance decides how busy a station is
    if overloaded:
        return _in_overload(by_demand, measured, present_ops, by_demands, fails, limit is not None and limit.is_tried)
    if by_demand.from_s is not None:  # utilisation is known for the whole run only
        is_less = measured.headroom < _CONTRADICTS * by_demand.headroom
        return measured if measured.utilization >= FULL and is_less and not fails else by_demand
    # A closed loop shows that a rate can be served; failed requests show nothing.
    is_served = present_ops <= completed_ops and by_demand.capacity_ops < served_ops
    # There is more work in the run than in the long run if caches are empty, or if workers get fewer turns later.
    has_more_work = by_demand.is_warm or by_demand.bound == "at least"
    is_evidence = not fails and (measured.utilization >= FULL or not has_more_work)
    contradicts = is_evidence and measured.capacity_ops < _CONTRADICTS * by_demand.capacity_ops
    return measured if contradicts or (is_served and not fails) else by_demand


def _in_overload(
    by_demand: Saturation, measured: Saturation, present_ops: float, by_demands: bool, fails: bool, is_tried: bool
) -> Saturation:
    """Return which of both saturates; `is_tried`: the capacity by demands is from simulations."""
    if by_demand.from_s is not None:  # the rate of a stretch explains the overload only if more arrives in it
        return by_demand if by_demands or by_demand.headroom < 1 else measured
    if fails:
        return by_demand if by_demands else min(by_demand, measured, key=lambda each: each.capacity_ops)
    # No more is served than the capacity, which demands have apart from chance.
    is_less = measured.utilization >= BUSY and measured.capacity_ops < present_ops
    return measured if not by_demands or (is_less and not is_tried) else by_demand


def _telling(
    busy: Sequence[StationLoad], capacity: Capacity | None, limit: RateLimit | None, served_ops: float
) -> Sequence[StationLoad]:
    """Return the stations whose utilisation may tell a capacity: of bent ones only what the demands do not tell."""
    if capacity is None or limit is None:
        return busy
    if limit.stretch == (None, None) and served_ops > limit.ops:  # the demands are less than that
        return [each for each in busy if each.station not in capacity.bent or each.load >= FULL]
    never = capacity.batching if limit.bound == "at most" else capacity.bent
    kept = (each for each in busy if each.station not in never)
    return [each for each in kept if each.station not in capacity.bent or each.load >= FULL]


def _nearest(
    capacity: Capacity | None, loads: Sequence[OfferedLoad], present_ops: float
) -> tuple[RateLimit | None, float]:
    """Return the limit of the stretch in which the load is nearest to it, and the mean rate of the Runs there."""
    limits = () if capacity is None else capacity.limits
    if len(limits) < 2:
        return next(iter(limits), None), present_ops
    end_s = max((load.end_s for load in loads), default=math.inf)
    found = [(each, _rate_in(each, loads, present_ops)) for each in limits if each.from_s < end_s]
    return max(found, key=lambda each: each[1] / each[0].ops, default=(None, present_ops))


def _rate_in(limit: RateLimit, loads: Sequence[OfferedLoad], present_ops: float) -> float:
    """Return the mean rate of the Runs in the stretch of a limit: `present_ops` if chance explains the difference."""
    parts = [load.count_in(limit.from_s, limit.until_s) for load in loads]
    count, length_s = sum(n for n, _ in parts), math.fsum(length_s for _, length_s in parts)
    expected = present_ops * length_s
    return present_ops if abs(count - expected) <= _DEVIATIONS * math.sqrt(expected) else count / length_s


def _by_demands(
    busy: Sequence[StationLoad], limit: RateLimit, completed_ops: float, present_ops: float, at_limit_ops: float
) -> Saturation:
    """`at_limit_ops`: rate in the stretch of the limit."""
    if limit.stretch != (None, None):
        used, headroom = min(at_limit_ops / limit.ops, 1.0), limit.ops / at_limit_ops if at_limit_ops else math.inf
        return Saturation(
            limit.station, limit.role, used, limit.ops, "demands", headroom, *limit.stretch, limit.bound, limit.is_warm,
            limit.again,
        )  # fmt: skip
    known = {each.station: each.load for each in busy}
    utilization = known.get(limit.station, min(completed_ops / limit.ops, 1.0))
    headroom = limit.ops / present_ops
    bound, is_warm = limit.bound, limit.is_warm
    return Saturation(
        limit.station, limit.role, utilization, limit.ops, "demands", headroom, bound=bound, is_warm=is_warm
    )


def _by_utilization(busy: Sequence[StationLoad], rate_ops: float, present_ops: float) -> Saturation | None:
    """Return the busiest station and the rate over its utilisation; None: nothing is busy, or nothing is served."""
    measured = busiest(busy)
    if measured is None or not rate_ops:
        return None
    limit_ops = rate_ops / measured.load
    return Saturation(measured.station, measured.role, measured.load, limit_ops, "utilization", limit_ops / present_ops)
