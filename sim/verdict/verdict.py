"""The verdict that opens every answer: what was offered and served, what failed, and what saturates first.

It is the first of these states that applies to some part of the run:

- *failing*: at least a fraction `FAILING` of the requests of an operation fails, or `FAILING_FOR_A_TIME` in a stretch
  (`sim.verdict.stretches`);
- *overloaded*: more arrives in an open loop than the store can serve;
- *degraded*: more than a fraction `TOLERATED` of the requests of an operation fails, or requests pile up for a time,
  or clients of a closed loop get less than half of what is usual for a time;
- *saturated*: a station of a closed loop has no idle time, and more clients only wait, as the load is at least a
  fraction `BUSY` of the capacity;
- *near saturation*: the load is at least a fraction `NEAR` of the capacity;
- *healthy*: none of them.

An open loop is *overloaded* if its rate exceeds the capacity by expected demands (`sim.saturation.capacity`), or if a
station has no idle time and the backlog grows throughout the run (`sim.verdict.offered_load`) or requests fail. The
first rule is exact for any length of run; the second one finds what demands do not show, such as retries. Clients of a
closed loop wait for responses, so it is never overloaded, but *saturated*.

The capacity is in `sim.verdict.first_saturated`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from sim.saturation.capacity import Capacity
from sim.saturation.station_load import utilizations
from sim.verdict.first_saturated import BUSY, FULL, TOLERATED, Saturation, saturation_of
from sim.verdict.offered_load import OfferedLoad, load_of
from sim.verdict.stretches import FailingStretch, Jam, Slump
from traces.errors import InputError
from traces.run import Run, StationRow
from traces.statistics.summary import in_order

LoadStatus = Literal["healthy", "near saturation", "saturated", "degraded", "overloaded", "failing"]
"""From good to bad: a verdict is the last of them that applies."""

NEAR = 0.8
"""Fraction of the capacity from which a store is near saturation: an M/M/1 queue then takes five service times."""
FAILING = 0.05
"""Fraction of failed requests of an operation from which a store is failing."""
FAILING_FOR_A_TIME = 0.5
"""The same in a stretch of the run."""
_CALM, _BURSTY = 4.0, 2.0  # standard deviations of the number of arrivals of a Poisson process
_LEAST_ERRORS = 0.01  # fraction of failed requests from which a full station sheds load


@dataclass(frozen=True)
class OpVerdict:
    """The outcome of an operation.

    Attributes:
        requests: their number, in all Runs.
        served_ops: successful responses per second, over the same time as those of the verdict.
        errors: fraction of the requests that failed.
        attempts: mean number per request.
        worst: the stretch in which requests fail most, in the Run where most fail; None: none do, or too few.
    """

    requests: int
    served_ops: float
    errors: float
    attempts: float
    worst: FailingStretch | None

    @property
    def fails(self) -> bool:
        """Whether more requests fail than in a healthy store."""
        return self.errors > TOLERATED

    @property
    def is_failing(self) -> bool:
        """Whether enough requests fail, in the whole run or a stretch, for the store to be failing."""
        return self.errors >= FAILING or (self.worst is not None and self.worst.errors >= FAILING_FOR_A_TIME)


@dataclass(frozen=True)
class LoadVerdict:
    """The verdict on the load of one or several simulated Runs of a spec; figures are means over the Runs.

    Attributes:
        status: the worst of the states that apply (see the module).
        loop: ``open``, ``closed``, or ``mixed`` for groups of both.
        clients: of closed loops; None: open loop.
        offered_ops: arrivals per second of an open loop; None: closed loop.
        served_ops: successful responses per second; in overload, until the last response.
        errors: fraction of the requests that failed.
        saturates_first: None: no station limits the rate.
        backlog: mean number of requests in flight after each quarter of the time in which requests of an open loop
            arrive.
        overloaded: whether more requests arrive than the store can serve, also if it is failing.
        attempts: mean number per request.
        ops: outcomes by operation, then by those of each group of clients.
        jam: the worst time in which requests pile up; None: there is none, or it lasts for the whole run.
        slump: the longest time in which clients of a closed loop get less than half of what is usual; None: there is
            none.
        faults: of the spec, with their starts in s; those after the last response are left out.
        drain_s: mean time from the last arrival to the last response in overload, if it is longer than the time of
            arrivals; 0: it is not.
    """

    status: LoadStatus
    loop: Literal["open", "closed", "mixed"]
    clients: int | None
    offered_ops: float | None
    served_ops: float
    errors: float
    saturates_first: Saturation | None
    backlog: list[float]
    overloaded: bool = False
    attempts: float = 1.0
    ops: dict[str, OpVerdict] = field(default_factory=dict)
    jam: Jam | None = None
    slump: Slump | None = None
    faults: list[tuple[float, str]] = field(default_factory=list)
    drain_s: float = 0.0

    @property
    def severity(self) -> tuple[int, float]:
        """Greater for a worse verdict: the status, then the fraction of the capacity in use."""
        headroom = math.inf if self.saturates_first is None else self.saturates_first.headroom
        return get_args(LoadStatus).index(self.status), 1 / headroom

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> LoadVerdict:
        """Create the verdict from its JSON values."""
        first, jam, slump = data["saturates_first"], data["jam"], data["slump"]
        known = {
            "saturates_first": None if first is None else _saturation_from_json(first),
            "ops": {op: _op_from_json(each) for op, each in data["ops"].items()},
            "jam": None if jam is None else Jam(**jam),
            "slump": None if slump is None else Slump(**slump),
            "faults": [(at_s, text) for at_s, text in data["faults"]],
        }
        return LoadVerdict(**{**data, **known})


def _saturation_from_json(data: Mapping[str, Any]) -> Saturation:
    return Saturation(**{**data, "again": tuple((from_s, until_s) for from_s, until_s in data.get("again", ()))})


def _op_from_json(data: Mapping[str, Any]) -> OpVerdict:
    worst = data["worst"]
    return OpVerdict(**{**data, "worst": None if worst is None else FailingStretch(**worst)})


def verdict_on_run(run: Run, capacity: Capacity | None) -> LoadVerdict | None:
    """Return the verdict on a simulated Run; None: it has no trace, no stations or no requests."""
    load = load_of(run)
    return None if load is None or run.stations is None else verdict_of([load], [run.station_rows], capacity)


def verdict_of(
    loads: Sequence[OfferedLoad], stations: Sequence[Sequence[StationRow]], capacity: Capacity | None
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
    busy = utilizations(stations)
    full = max((each.load for each in busy), default=0.0)
    by_demands = capacity is not None and offered_ops is not None and _beyond(loads, offered_ops, capacity)
    if by_demands and capacity is not None and capacity.rate_ops is not None and offered_ops is not None:
        offered_ops = max(offered_ops, capacity.rate_ops)
    grows = 2 * sum(load.grows for load in loads) > len(loads) and full >= BUSY
    sheds = is_open and full >= FULL and errors >= _LEAST_ERRORS
    overloaded = by_demands or grows or sheds
    found = saturation_of(busy, completed_ops, offered_ops, errors, capacity, overloaded, by_demands, loads)
    rate_ops = completed_ops if overloaded or offered_ops is None else offered_ops
    ops = _ops(loads, rate_ops)
    jam, slump = None if overloaded else _worst_jam(loads), _longest_slump(loads)
    backlog = [_mean(list(each)) for each in zip(*(load.backlog for load in loads), strict=False)]
    end_s = max(load.end_s for load in loads)
    return LoadVerdict(
        _status(found, is_open, overloaded, ops, errors, jam is not None or slump is not None),
        first.loop,
        first.clients,
        offered_ops,
        rate_ops * (1 - errors),
        errors,
        found,
        backlog,
        overloaded,
        sum(each.attempts * each.requests for each in ops.values()) / sum(each.requests for each in ops.values())
        if ops
        else 1.0,
        ops,
        jam,
        slump,
        [] if capacity is None else [each for each in capacity.faults if each[0] < end_s],
        _drain_s(loads) if is_open and overloaded else 0.0,
    )


def _drain_s(loads: Sequence[OfferedLoad]) -> float:
    drain_s, end_s = _mean([load.drain_s for load in loads]), _mean([load.end_s for load in loads])
    return drain_s if drain_s > end_s - drain_s else 0.0


def _ops(loads: Sequence[OfferedLoad], rate_ops: float) -> dict[str, OpVerdict]:
    """Merge the outcomes of the Runs by operation, given the rate of all requests."""
    total, found = sum(load.requests for load in loads), {}
    for op in in_order(op for load in loads for op in load.ops):
        each = [load.ops[op] for load in loads if op in load.ops]
        requests, failed = sum(one.requests for one in each), sum(one.failed for one in each)
        worst = max((one.worst for one in each if one.worst), key=lambda one: (one.failed, one.errors), default=None)
        attempts = sum(one.attempts for one in each) / requests
        found[op] = OpVerdict(requests, rate_ops * (requests - failed) / total, failed / requests, attempts, worst)
    return found


def _worst_jam(loads: Sequence[OfferedLoad]) -> Jam | None:
    """Return the worst jam if at least half of the Runs have one: one of a single Run may be due to chance."""
    jams = [load.jam for load in loads if load.jam is not None]
    return max(jams, key=lambda jam: jam.in_flight) if jams and 2 * len(jams) >= len(loads) else None


def _longest_slump(loads: Sequence[OfferedLoad]) -> Slump | None:
    """Return the longest slump if at least half of the Runs have one."""
    slumps = [load.slump for load in loads if load.slump is not None]
    longest = max(slumps, key=lambda each: each.end_s - each.start_s, default=None)
    return longest if 2 * len(slumps) >= len(loads) else None


def _status(
    found: Saturation | None,
    is_open: bool,
    overloaded: bool,
    ops: Mapping[str, OpVerdict],
    errors: float,
    waits_long: bool,
) -> LoadStatus:
    """`waits_long`: whether requests wait far longer than usual for a time."""
    is_full = found is not None and found.utilization >= FULL and found.headroom <= 1 / BUSY
    applies: dict[LoadStatus, bool] = {
        "failing": errors >= FAILING or any(each.is_failing for each in ops.values()),
        "overloaded": overloaded,
        "degraded": waits_long or errors > TOLERATED or any(each.fails for each in ops.values()),
        "saturated": is_full and not is_open,
        "near saturation": found is not None and 1 / found.headroom >= NEAR,
    }
    return next((status for status, holds in applies.items() if holds), "healthy")


def _beyond(loads: Sequence[OfferedLoad], offered_ops: float, capacity: Capacity) -> bool:
    """Whether the offered rate exceeds the capacity by demands.

    The mean rate of a workload is known, but a part of its period may be calm. That of a given trace is not, so it must
    exceed the capacity by more than chance explains, and leave at least half of the backlog that this implies.
    """
    most_ops = capacity.mean_ops
    if most_ops is None:
        return False
    chance = 1 / math.sqrt(sum(load.requests for load in loads))
    if capacity.rate_ops is not None:
        in_run = offered_ops > most_ops * (1 - _CALM * chance)
        return in_run and capacity.rate_ops > most_ops
    excess = 1 - most_ops / offered_ops
    backlog = _mean([load.backlog[-1] / load.requests for load in loads])
    return excess > _BURSTY * chance and backlog > excess / 2


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
