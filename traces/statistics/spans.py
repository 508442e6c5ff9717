"""The time over which the rate of an operation is counted: its phase, not its own first start to its last end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from traces.operations import OPS
from traces.run import Run

_LEAST = 0.01  # fraction of the requests, and of the time, from which an operation can be a phase of its own

TimeWindow = tuple[float, float, int]
"""First start, last end and number of requests of an operation."""


def span_s(run: Run, subject: str) -> tuple[float, float]:
    """Return begin and end of the phase of an operation, or of a group's such as ``backup.PUT``, which must occur.

    A phase is the time in which a Run issues requests of some operations until the last of them ends. It ends where all
    requests issued so far have ended before those of other operations begin: reads after a phase of writes have a phase
    of their own. An operation that has less than 1 % of the requests, or takes less than 1 % of the time, does not
    separate phases: it belongs to those that it overlaps, or to the whole Run if there are none. If warm-up was removed
    (`sim.replication.warm_up.settled`), the phase of an operation begins with the first request that is left.
    """
    op = subject.rpartition(".")[2]
    settling_s = run.info.get("warm_up", {}).get(op, {}).get("settling_s", 0.0)
    return phase_of(op, _windows(run), settling_s)


def phase_of(op: str, windows: Mapping[str, TimeWindow], settling_s: float = 0.0) -> tuple[float, float]:
    """Return begin and end of an operation's phase, see `span_s`, given the window of each operation."""
    begin_s, end_s, _ = windows[op]
    whole = min(window[0] for window in windows.values()), max(window[1] for window in windows.values())
    least = _LEAST * (whole[1] - whole[0]), _LEAST * sum(window[2] for window in windows.values())
    phases = _phases([window for window in windows.values() if _is_long(window, *least)])
    mine = [phase for phase in phases if begin_s < phase[1] and phase[0] < end_s] or [whole]
    first_s, last_s = min(begin_s, *(phase[0] for phase in mine)), max(end_s, *(phase[1] for phase in mine))
    return (begin_s if settling_s and _is_long(windows[op], *least) else first_s), last_s


def _is_long(window: TimeWindow, least_s: float, least: float) -> bool:
    return window[1] - window[0] >= least_s and window[2] >= least


def _windows(run: Run) -> dict[str, TimeWindow]:
    """Return the window of each operation that occurs."""
    arrival_s, end_s, found = run.column("arrival_s"), run.column("end_s"), {}
    for k in np.flatnonzero(np.bincount(run.op, minlength=len(OPS))).tolist():
        mine = run.op == k
        found[OPS[k]] = float(arrival_s[mine].min()), float(end_s[mine].max()), int(mine.sum())
    return found


def _phases(windows: list[TimeWindow]) -> list[tuple[float, float]]:
    """Merge windows that overlap."""
    merged: list[tuple[float, float]] = []
    for begin_s, end_s, _ in sorted(windows):
        if merged and begin_s < merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end_s)
        else:
            merged.append((begin_s, end_s))
    return merged
