"""Whether a measured Run can be held against a forecast at all: the judgement before the comparison.

A forecast speaks of a store that is asked what the trace says, on a machine that does nothing else and stays as it is.
Where the client did not ask so, the store fell behind, or the machine did other things, a difference says nothing of
the model. So such a Run is named with its reason and left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from traces.run import Run
from validate.compare.drift import Change, latency_changes, rate_changes
from validate.replay.schedule import LATE_S, schedule_of

LEAST_REQUESTS = 30
"""Successful requests: fewer say little of even the median."""
LEAST_DURATION_S = 1.0
MOST_ERRORS = 0.01
"""Share of requests that may fail: more would reach into p99."""
MOST_CLIENT_BUSY = 0.8
"""Share of the CPU that a client can have, beyond which its own queue shows in the latencies."""
MOST_BACKLOG_GROWTH = 0.01
"""Share of an open loop's requests by which its backlog may grow while they arrive."""
BACKLOG_CORRELATION = 0.9
"""Of backlog and time: a backlog that only goes up and down with the load stays below."""
MOST_DRIFT = 0.2
"""Change within a Run: its parts are then some 10 % from the whole, as far as a forecast's median may be."""
DRIFT_LEVEL = 0.01
"""How often the test for drift would find a change where there is none, over all figures of a Run."""
MOST_OTHER = 0.08
"""Share of all cores' time used by neither client nor server. Quiet measurements of MinIO show up to 0.045, kernel
threads that write pages back among it; those with something else on the machine, 0.1 and more."""
MOST_STEAL = 0.02
"""Share of all cores' time that the hypervisor gave to others; below 0.003 in quiet measurements."""

_BACKLOG_POINTS = 200


@dataclass(frozen=True)
class Judgement:
    """What speaks against a Run, and the figures behind.

    Attributes:
        faults: kind to a sentence with its figures, for each kind that was found: ``aborted``, ``too short``,
            ``errors``, ``client-limited``, ``saturated``, ``drifted``, ``disturbed``.
        figures: the same kinds to what was looked at; a kind that does not apply, or of which the Run says
            nothing, is empty.
    """

    faults: Mapping[str, str]
    figures: Mapping[str, Mapping[str, Any]]

    @property
    def usable(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.faults

    @property
    def reasons(self) -> list[str]:
        """The faults as sentences."""
        return [f"{kind}: {sentence}" for kind, sentence in self.faults.items()]


Finding = tuple[dict[str, Any], str | None]
"""The figures of a check, and the sentence where they speak against the Run."""


def judge(run: Run) -> Judgement:
    """Judge a Run by itself, whatever a model says of it.

    *Client-limited*: an open loop that did not keep its schedule (`replay.schedule`) though fewer requests than
    allowed were under way; a closed loop whose client used more than `MOST_CLIENT_BUSY` of the cores of its own machine
    or, where it is boto3 and so under the interpreter's lock, of one core for each of its processes. On loopback the
    client's use of cores is a part of the models.

    *Saturated*: an open loop whose backlog (requests due and not ended) grows in a line with time, or that did not
    keep its schedule as all the requests allowed were under way.

    *Drifted*: the median latency of an operation, or in a closed loop its throughput, changes in the course of the
    Run by more than `MOST_DRIFT`, and more than chance does (`compare.drift`). Where the asked rate of an open loop
    itself changes, nothing is expected to stay.
    """
    findings = {kind: check(run) for kind, check in _CHECKS.items()} if len(run) else {"too short": _too_short(run)}
    faults = {kind: sentence for kind, (_, sentence) in findings.items() if sentence is not None}
    return Judgement(faults, {kind: figures for kind, (figures, _) in findings.items()})


def _aborted(run: Run) -> Finding:
    aborted = bool(run.info.get("aborted", False))
    return {"aborted": aborted}, f"the replay was interrupted after {len(run):,} requests" if aborted else None


def _too_short(run: Run) -> Finding:
    done = int((~run.failed).sum())
    figures = {"duration_s": run.duration_s, "successful": done}
    if done < LEAST_REQUESTS:
        return figures, f"{done or 'no'} requests succeeded, at least {LEAST_REQUESTS} are needed"
    if run.duration_s < LEAST_DURATION_S:
        return figures, f"the Run took {run.duration_s:.2g} s, at least {LEAST_DURATION_S:g} s are needed"
    return figures, None


def _errors(run: Run) -> Finding:
    failed, fraction = int(run.failed.sum()), float(run.failed.mean())
    told = f"{failed:,} of {len(run):,} requests failed ({_percent(fraction)}), at most {_percent(MOST_ERRORS)} may"
    return {"failed": failed, "fraction": fraction}, told if fraction > MOST_ERRORS else None


def _client_limited(run: Run) -> Finding:
    loop = _loop(run)
    if loop == "open":
        return _schedule(run)
    return _client_cpu(run) if loop == "closed" else ({}, None)


def _schedule(run: Run) -> Finding:
    schedule = schedule_of(run.requests, "open")
    if schedule["kept"] or _crowded(run, schedule):
        return schedule, None
    rate = "" if schedule["rate_ratio"] is None else f", {_percent(schedule['rate_ratio'])} of the intended rate"
    return schedule, (
        f"the schedule was not kept: {_percent(schedule['late_share'])} of the requests began more than "
        f"{LATE_S * 1e3:g} ms late, p99 of the lag is {schedule['lag_p99_s'] * 1e3:.3g} ms{rate}"
    )


def _crowded(run: Run, schedule: dict[str, Any]) -> bool:
    """Whether as many requests as allowed were under way: then it is the store that lateness comes from."""
    allowed = run.info.get("max_in_flight")
    return allowed is not None and schedule["in_flight_max"] >= allowed


def _client_cpu(run: Run) -> Finding:
    client_s = (run.info.get("cpu") or {}).get("client_s")
    if client_s is None or not run.duration_s:
        return {}, None
    used, limit, what = client_s / run.duration_s, math.inf, ""
    if (run.info.get("data_path") or {}).get("name") == "boto3":
        limit, what = float(run.info.get("processes") or 1), "interpreter lock"
    cores = (run.info.get("environment") or {}).get("cores")
    remote = (run.info.get("endpoint") or {}).get("kind") == "remote"
    if remote and cores and cores < limit:
        limit, what = float(cores), "cores"
    figures = {"client_cores": used, "limit_cores": limit if math.isfinite(limit) else None}
    if used <= MOST_CLIENT_BUSY * limit:
        return figures, None
    return figures, (
        f"the client used {used:.2f} of {limit:g} core{'' if limit == 1 else 's'} that its {what} allows, at most "
        f"{_percent(MOST_CLIENT_BUSY)} may be"
    )


def _saturated(run: Run) -> Finding:
    if _loop(run) != "open":
        return {}, None
    due_s, end_s = np.sort(run.column("arrival_s")), np.sort(run.column("end_s"))
    at_s = np.linspace(due_s[0], due_s[-1], _BACKLOG_POINTS)
    backlog = np.searchsorted(due_s, at_s, side="right") - np.searchsorted(end_s, at_s, side="right")
    elapsed = np.linspace(0, 1, _BACKLOG_POINTS)
    growth = float(np.polyfit(elapsed, backlog, 1)[0])
    correlation = float(np.corrcoef(elapsed, backlog)[0, 1]) if np.ptp(backlog) else 0.0
    growing = growth > MOST_BACKLOG_GROWTH * len(run) and correlation > BACKLOG_CORRELATION
    schedule = schedule_of(run.requests, "open")
    figures = {"backlog_growth": growth, "growth_share": growth / len(run), "correlation": correlation}
    if growing:
        return figures, (
            f"the backlog grew steadily, by {growth:,.0f} of {len(run):,} requests while they arrived: the store did "
            "less than was asked"
        )
    if not schedule["kept"] and _crowded(run, schedule):
        return figures, (
            f"{_percent(schedule['late_share'])} of the requests began more than {LATE_S * 1e3:g} ms late, when all "
            f"{run.info['max_in_flight']} allowed were under way: the store fell behind at times"
        )
    return figures, None


def _drifted(run: Run) -> Finding:
    if _loop(run) == "open":
        if any(_matters(change, DRIFT_LEVEL) for change in rate_changes(run)):
            return {}, None
        changes = latency_changes(run)
    else:
        changes = [*latency_changes(run), *rate_changes(run)]
    figures = {"changes": [asdict(change) for change in changes]}
    found = [change for change in changes if _matters(change, DRIFT_LEVEL / len(changes))]
    if not found:
        return figures, None
    worst = max(found, key=lambda change: abs(change.log_ratio))
    return figures, (
        f"the {worst.figure} of {worst.op} {'rose' if worst.log_ratio > 0 else 'fell'} by "
        f"{_percent(abs(worst.relative))} after {worst.at_s:.2g} s, more than {_percent(MOST_DRIFT)} and than chance "
        f"does (p = {worst.p_value:.2g})"
    )


def _matters(change: Change, level: float) -> bool:
    return change.p_value < level and abs(change.relative) > MOST_DRIFT


def _disturbed(run: Run) -> Finding:
    cpu = run.info.get("cpu") or {}
    other, steal = cpu.get("other_share"), cpu.get("steal_share")
    if cpu.get("server_s") is None and (run.info.get("endpoint") or {}).get("kind") != "remote":
        other = None  # the server's own use is in it
    figures = {"other_share": other, "steal_share": steal}
    told = [
        f"{what} had {_percent(fraction)} of the cores' time, at most {_percent(most)} may"
        for what, fraction, most in (("other work", other, MOST_OTHER), ("the hypervisor's others", steal, MOST_STEAL))
        if fraction is not None and fraction > most
    ]
    return figures, " and ".join(told) or None


_CHECKS: dict[str, Callable[[Run], Finding]] = {
    "aborted": _aborted,
    "too short": _too_short,
    "errors": _errors,
    "client-limited": _client_limited,
    "saturated": _saturated,
    "drifted": _drifted,
    "disturbed": _disturbed,
}


def _loop(run: Run) -> str | None:
    """Open or closed; None where the Run does not say."""
    if run.trace is not None:
        return run.trace.pacing.loop
    loop = (run.info.get("pacing") or {}).get("loop")
    return None if loop is None else str(loop)


def _percent(fraction: float) -> str:
    return f"{fraction * 100:.3g} %"
