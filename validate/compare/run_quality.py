"""The run-quality check: the one decision whether a measured Run can be trusted.

A forecast assumes that the store receives the workload of the trace, on a machine that does nothing else and does not
change. If the client did not keep the schedule, the store fell behind, or the machine did other work, a difference says
nothing about the model. Such a Run is reported with the reason; calibration and validation leave it out, and the
demonstration does not use it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from traces.run import Run
from validate.compare.drift import FigureDrift, latency_changes, rate_changes
from validate.compare.lateness import MOST_OTHER, ClientMachine, crowded, late_sentence, other_share
from validate.replay.schedule import LATE_S, schedule_of

LEAST_REQUESTS = 30
"""Minimum number of successful requests; with fewer, even the median is imprecise."""
LEAST_DURATION_S = 1.0
MOST_ERRORS = 0.01
"""Maximum fraction of failed requests; more would affect p99."""
MOST_CLIENT_BUSY = 0.8
"""Maximum utilisation of the client's CPU; above it, queueing at the client shows in the latencies."""
MOST_BACKLOG_GROWTH = 0.01
"""Maximum growth of an open loop's backlog during the arrivals, as a fraction of its requests."""
BACKLOG_CORRELATION = 0.9
"""Correlation of backlog and time above which the backlog grows; one that only follows the load stays below."""
MOST_DRIFT = 0.2
"""Maximum relative change within a Run. Its parts then differ from the whole by about 10 %, the tolerance of a
forecast's median."""
DRIFT_LEVEL = 0.01
"""Significance level of the drift test, over all figures of a Run."""
MOST_STEAL = 0.02
"""Maximum fraction of all cores' time that the hypervisor gave to other guests; below 0.003 in quiet measurements."""
MOST_STALLED = 0.02
"""Maximum fraction of the Run in which a client that was due to start a request did not run for more than `LATE_S`.
Throughput is too low by about this fraction. 0.001 in quiet measurements, in which no start was 6 ms late."""
MOST_WAKE_LATE_S = LATE_S
"""Maximum p99 of how late a sleep of 1 ms ends, measured before the Run; below 0.5 ms in quiet measurements. A client
that wakes later than this cannot keep a schedule."""
WARNED = "aborted", "late", "client-limited", "saturated", "disturbed"
"""The kinds of issues of how a Run was measured: its results are not those of the intended load on a quiet machine.
The others say that the store was not steady, failed, or that there are few requests."""

_BACKLOG_POINTS = 200


@dataclass(frozen=True)
class RunQuality:
    """The result of the run-quality check.

    Attributes:
        issues: a sentence with figures for each quality issue of the Run, by kind: ``aborted``, ``too short``,
            ``errors``, ``late``, ``client-limited``, ``saturated``, ``drifted``, ``disturbed``.
        figures: the figures that were checked, by kind; empty for a kind that does not apply or is not recorded.
    """

    issues: Mapping[str, str]
    figures: Mapping[str, Mapping[str, object]]

    @property
    def usable(self) -> bool:
        """Whether the Run has no quality issue."""
        return not self.issues

    @property
    def reasons(self) -> list[str]:
        """The quality issues as sentences."""
        return [f"{kind}: {sentence}" for kind, sentence in self.issues.items()]

    @property
    def warnings(self) -> list[str]:
        """The issues of kinds `WARNED` as sentences: why the figures of the Run may mislead."""
        return [f"{kind}: {sentence}" for kind, sentence in self.issues.items() if kind in WARNED]


CheckResult = tuple[Mapping[str, object], str | None]
"""The figures of a check, and the quality issue as a sentence, or None."""


def check_quality(run: Run) -> RunQuality:
    """Check the quality of a Run, independently of any model.

    *Late*: the client did not keep its schedule (`replay.schedule`), because it was too slow, the machine was busy, or
    the maximum number of requests was in progress (`compare.lateness`).

    *Client-limited*: a closed loop whose client used more than `MOST_CLIENT_BUSY` of the cores of its own machine or,
    with boto3 (which holds the interpreter lock), of one core per process. On loopback, the models include the CPU use
    of the client.

    *Saturated*: an open loop whose backlog (requests due and not completed) grows linearly with time.

    *Disturbed*: other processes or other guests of the hypervisor took more CPU time than in quiet measurements, the
    client did not run when it was due, or sleeps ended late before the Run.

    *Drifted*: the median latency of an operation, or its throughput in a closed loop, changes during the Run by more
    than `MOST_DRIFT`, and significantly (`compare.drift`). An open loop whose offered load changes is not checked.
    """
    checks = {kind: check(run) for kind, check in _CHECKS.items()} if len(run) else {"too short": _too_short(run)}
    issues = {kind: sentence for kind, (_, sentence) in checks.items() if sentence is not None}
    return RunQuality(issues, {kind: figures for kind, (figures, _) in checks.items()})


def _aborted(run: Run) -> CheckResult:
    aborted = bool(run.info.get("aborted", False))
    return {"aborted": aborted}, f"the replay was interrupted after {len(run):,} requests" if aborted else None


def _too_short(run: Run) -> CheckResult:
    done = int((~run.failed).sum())
    figures = {"duration_s": run.duration_s, "successful": done}
    if done < LEAST_REQUESTS:
        return figures, f"{done or 'no'} requests succeeded; at least {LEAST_REQUESTS} are needed"
    if run.duration_s < LEAST_DURATION_S:
        return figures, f"the Run took {run.duration_s:.2g} s; at least {LEAST_DURATION_S:g} s are needed"
    return figures, None


def _errors(run: Run) -> CheckResult:
    failed, fraction = int(run.failed.sum()), float(run.failed.mean())
    issue = f"{failed:,} of {len(run):,} requests failed ({_percent(fraction)}); the limit is {_percent(MOST_ERRORS)}"
    return {"failed": failed, "fraction": fraction}, issue if fraction > MOST_ERRORS else None


def _late(run: Run) -> CheckResult:
    loop = _loop(run)
    if loop is None:
        return {}, None
    schedule = schedule_of(run.requests, loop)
    return schedule, None if schedule["kept"] else late_sentence(schedule, ClientMachine.of(run))


def _client_limited(run: Run) -> CheckResult:
    return _client_cpu(run) if _loop(run) == "closed" else ({}, None)


def _client_cpu(run: Run) -> CheckResult:
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
        f"the client used {used:.2f} of {limit:g} core{'' if limit == 1 else 's'} available to it ({what}); the limit "
        f"is {_percent(MOST_CLIENT_BUSY)}"
    )


def _saturated(run: Run) -> CheckResult:
    if _loop(run) != "open":
        return {}, None
    due_s, end_s = np.sort(run.column("arrival_s")), np.sort(run.column("end_s"))
    at_s = np.linspace(due_s[0], due_s[-1], _BACKLOG_POINTS)
    backlog = np.searchsorted(due_s, at_s, side="right") - np.searchsorted(end_s, at_s, side="right")
    elapsed = np.linspace(0, 1, _BACKLOG_POINTS)
    growth = float(np.polyfit(elapsed, backlog, 1)[0])
    correlation = float(np.corrcoef(elapsed, backlog)[0, 1]) if np.ptp(backlog) else 0.0
    growing = growth > MOST_BACKLOG_GROWTH * len(run) and correlation > BACKLOG_CORRELATION
    figures = {"backlog_growth": growth, "growth_share": growth / len(run), "correlation": correlation}
    if growing:
        return figures, (
            f"the backlog grew steadily, by {growth:,.0f} of {len(run):,} requests: the throughput of the store was "
            "below the offered load"
        )
    return figures, None


def _drifted(run: Run) -> CheckResult:
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
        f"{_percent(abs(worst.relative))} after {worst.at_s:.2g} s; the limit is {_percent(MOST_DRIFT)} "
        f"(p = {worst.p_value:.2g})"
    )


def _matters(change: FigureDrift, level: float) -> bool:
    return change.p_value < level and abs(change.relative) > MOST_DRIFT


def _disturbed(run: Run) -> CheckResult:
    figures = {
        "other_share": other_share(run),
        "steal_share": (run.info.get("cpu") or {}).get("steal_share"),
        "stalled_share": _stalled_share(run),
        "wake_late_p99_s": (run.info.get("floor") or {}).get("wake_late_p99_s"),
    }
    checks = (
        ("other_share", MOST_OTHER, "other work took {} of the cores' time", _percent),
        ("steal_share", MOST_STEAL, "the hypervisor took {} of the cores' time", _percent),
        ("stalled_share", MOST_STALLED, "the client did not run for {} of the time although it was due", _percent),
        ("wake_late_p99_s", MOST_WAKE_LATE_S, "sleeps ended {} late before the Run (p99)", _milliseconds),
    )
    issues = [
        f"{text.format(write(value))}; the limit is {write(most)}"
        for name, most, text, write in checks
        if (value := figures[name]) is not None and value > most
    ]
    return figures, " and ".join(issues) or None


def _stalled_share(run: Run) -> float | None:
    """Return the fraction of the Run in which a client was due and had not started for more than `LATE_S`.

    None if the Run is late as a whole, or if starts waited for the store, as the maximum number of requests was in
    progress.
    """
    loop = _loop(run)
    if loop is None or not run.duration_s:
        return None
    schedule = schedule_of(run.requests, loop)
    if not schedule["kept"] or (loop == "open" and crowded(schedule, run.info.get("max_in_flight"))):
        return None
    late = np.flatnonzero(run.lag_s > LATE_S)
    begin_s, end_s = run.column("arrival_s")[late], run.column("start_s")[late]
    order = np.argsort(begin_s)
    begin_s, covered_s = begin_s[order], np.maximum.accumulate(end_s[order])
    before_s = np.concatenate([[-math.inf], covered_s[:-1]]) if len(late) else covered_s
    return float((covered_s - np.maximum(begin_s, np.minimum(before_s, covered_s))).sum()) / run.duration_s


_CHECKS: dict[str, Callable[[Run], CheckResult]] = {
    "aborted": _aborted,
    "too short": _too_short,
    "errors": _errors,
    "late": _late,
    "client-limited": _client_limited,
    "saturated": _saturated,
    "drifted": _drifted,
    "disturbed": _disturbed,
}


def _loop(run: Run) -> str | None:
    """Return ``open`` or ``closed``, or None if the Run does not record it."""
    if run.trace is not None:
        return run.trace.pacing.loop
    loop = (run.info.get("pacing") or {}).get("loop")
    return None if loop is None else str(loop)


def _percent(fraction: float) -> str:
    return f"{fraction * 100:.3g} %"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
