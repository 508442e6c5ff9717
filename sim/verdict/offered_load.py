"""The load of a Run: what was offered and served, and whether requests pile up.

In an open loop beyond saturation the number of requests in flight grows throughout the run. It also grows in a burst or
while something has failed, but then falls again; and below saturation it wanders. So a backlog counts only if its
minimum rises from each quarter of the time to the next and ends far above what chance explains.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sim.verdict.stretches import STRETCHES, FailingStretch, Jam, Slump, jam_of, slump_of, worst_stretch
from traces.run import Run
from traces.statistics.arrivals import arrival_rate_ops
from traces.statistics.summary import Floats, subjects_of
from traces.trace import Pacing, Trace

QUARTERS = 4
_LEAST_FRACTION = 0.01  # of the requests, still in flight in the last quarter of an overloaded run
_DEVIATIONS = 3.0  # times √n: a random walk of n arrivals and departures rarely leads further


@dataclass(frozen=True)
class OpOutcomes:
    """Numbers of requests of an operation, of those that failed and of their attempts, and the worst stretch."""

    requests: int
    failed: int
    attempts: int
    worst: FailingStretch | None


@dataclass(frozen=True)
class OfferedLoad:
    """The load of a Run.

    Attributes:
        loop: ``open``, ``closed``, or ``mixed`` for groups of both.
        clients: of closed loops; None: open loop.
        offered_ops: arrivals per second of an open loop; None: closed loop, whose clients wait.
        completed_ops: responses per second until the last one, failed requests included.
        errors: fraction of the requests that failed.
        requests: their number.
        backlog: requests in flight after each quarter of the time in which requests of an open loop arrive.
        grows: whether the backlog grows throughout the run.
        ops: outcomes by operation, then by those of each group of clients.
        jam: the worst one of an open loop; None: there is none.
        end_s: time of the last response.
        drain_s: time from the last arrival of an open loop to the last response.
        arrivals, completions: numbers in each of `STRETCHES` equal parts of the time until then.
        slump: the longest one of a closed loop with one phase; None: there is none.
    """

    loop: Literal["open", "closed", "mixed"]
    clients: int | None
    offered_ops: float | None
    completed_ops: float
    errors: float
    requests: int
    backlog: list[int]
    grows: bool
    ops: dict[str, OpOutcomes] = field(default_factory=dict)
    jam: Jam | None = None
    end_s: float = math.inf
    arrivals: list[int] = field(default_factory=list)
    completions: list[int] = field(default_factory=list)
    slump: Slump | None = None
    drain_s: float = 0.0

    def count_in(self, from_s: float, until_s: float) -> tuple[int, float]:
        """Return the arrivals in the parts of the run within a stretch, of a closed loop the responses, and their s."""
        counts = self.arrivals if self.loop == "open" else self.completions
        length_s = self.end_s / max(len(counts), 1)
        inside = [k for k in range(len(counts)) if from_s <= k * length_s and (k + 1) * length_s <= until_s]
        return sum(counts[k] for k in inside), len(inside) * length_s


def load_of(run: Run) -> OfferedLoad | None:
    """Return the load of a Run; None: it has no trace, or no requests."""
    if run.trace is None or not len(run):
        return None
    pacing, count = run.trace.pacing, len(run)
    errors = float(run.failed.mean())
    completed_ops = count / run.duration_s if run.duration_s else math.inf
    ops, last_s = {subject: _outcomes(run, subject) for subject in subjects_of(run)}, float(run.column("end_s").max())
    arrival_s, end_s = np.sort(run.column("arrival_s")), np.sort(run.column("end_s"))
    parts_s = np.linspace(0, last_s, STRETCHES + 1)
    arrivals, completions = (np.histogram(times, parts_s)[0].tolist() for times in (arrival_s, end_s))
    if pacing.loop == "closed":
        return OfferedLoad(
            "closed", pacing.clients, None, completed_ops, errors, count, [], False, ops, None, last_s, arrivals,
            completions, _slump(run),
        )  # fmt: skip
    clients = clients_of(pacing)
    # Requests in flight when each one arrives, without itself: the minima of a quarter are among them.
    in_flight = np.arange(count) - np.searchsorted(end_s, arrival_s, side="right")
    quarters = quarters_of(arrival_s, in_flight, float(arrival_s[0]), float(arrival_s[-1]))
    return OfferedLoad(
        pacing.loop,
        clients,
        None if clients is not None else arrival_rate_ops(arrival_s, pacing.duration_s),
        completed_ops,
        errors,
        count,
        [int(quarter[-1]) for quarter in quarters],
        grows([int(quarter.min()) for quarter in quarters], count),
        ops,
        jam_of(arrival_s, in_flight),
        last_s,
        arrivals,
        completions,
        drain_s=last_s - float(arrival_s[-1]),
    )


def last_end_s(loads: Iterable[OfferedLoad | None]) -> float | None:
    """Return the time in s of the last response of several Runs; None: no load is known."""
    return max((load.end_s for load in loads if load is not None), default=None)


def clients_of(pacing: Pacing) -> int | None:
    """Return the number of clients of closed loops next to an open one; None: the loop is not mixed."""
    if pacing.loop != "mixed":
        return None
    return sum(each.clients for _, each in pacing.groups if each.loop == "closed")


def has_phases(trace: Trace) -> bool:
    """Return whether a closed loop has phases, whose rates differ."""
    return len(trace) > 0 and bool(trace.phase[-1] != trace.phase[0])


def quarters_of(at_s: Floats, in_flight: NDArray[np.int64], first_s: float, last_s: float) -> list[NDArray[np.int64]]:
    """Return the requests in flight at ascending times in each quarter of the time between two, if it has any."""
    edges_s = np.linspace(first_s, last_s, QUARTERS + 1)[1:-1]
    return [quarter for quarter in np.split(in_flight, np.searchsorted(at_s, edges_s)) if len(quarter)]


def _slump(run: Run) -> Slump | None:
    """Return the longest slump; None: there is none, or phases with different rates hide it."""
    assert run.trace is not None
    return None if has_phases(run.trace) else slump_of(run.column("end_s"), run.trace.pacing.clients)


def _outcomes(run: Run, subject: str) -> OpOutcomes:
    mine = np.flatnonzero(run.has(subject))
    mine = mine[np.argsort(run.column("arrival_s")[mine], kind="stable")]
    failed = run.failed[mine]
    worst = worst_stretch(run.column("arrival_s")[mine], failed)
    return OpOutcomes(len(mine), int(failed.sum()), int(run.column("attempts")[mine].sum(dtype=np.int64)), worst)


def grows(least: list[int], count: int) -> bool:
    """Return whether the least number in flight rises in each quarter, to more than chance explains."""
    rises = all(a < b for a, b in pairwise(least))
    return (
        len(least) == QUARTERS and rises and least[-1] >= max(_LEAST_FRACTION * count, _DEVIATIONS * math.sqrt(count))
    )
