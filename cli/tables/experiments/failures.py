"""Tables of failures, and sentences about their effects."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cli.tables.experiments.whatif import plus_minus
from cli.tables.forecast.extra_attempts import extra_attempts_line
from cli.tables.forecast.probability import probability_grids, probability_lines
from cli.tables.forecast.steadiness import points_lines
from cli.tables.forecast.uncertainty import unknowns_grid
from cli.tables.forecast.verdict import NOT_ENOUGH, few_note, quantile, verdict_line
from cli.tables.grid import Grid
from cli.tables.operations import is_minor, ordered
from cli.words import fraction, number, seconds
from sim.experiments.failing import Remedy
from sim.experiments.failure_result import FailureEffect, Failures, FailureWindow
from sim.replication.slo import Slo
from sim.replication.summaries import Interval

_TAIL = "p99"
_COMMON = {"kind", "at", "back_at", "until", "speed", "resource", "fraction"}
_NOUNS = {"osd": "OSD"}
_SLOWER = 2.0
"""Ratio of p99 to that of the healthy store from which a failure is stated by it."""
_FEWER, _MISSING = 0.9, 10
"""A failure is stated by the requests that wait: at most this fraction is served, at least this number is missing."""
_STATES = {
    "host_hung": "does not respond",
    "rawx_hung": "does not respond",
    "file_system_hung": "does not respond",
    "link_down": "is cut",
    "drive_frozen": "is frozen",
    "drive_replaced": "is being replaced",
    "decommission": "is emptied",
    "rebalance": "gives objects to other pools",
}


def described(failure: str, event: Mapping[str, Any]) -> str:
    """Describe a failure by its name and its entry in a spec: ``drive 0 is 10 times slower``."""
    if "resource" in event:
        return f"a neighbour takes {event['fraction']:.0%} of a host's {event['resource']}"
    part = re.split("[:=]", failure)[0].removeprefix("slow-")
    numbered = [f"{_NOUNS.get(name, name)} {number}" for name, number in event.items() if name not in _COMMON]
    what = numbered[0] if numbered else f"the {part}"
    if "speed" not in event:
        link = "link of " if event["kind"] == "link_down" else ""
        return f"{link}{what} {_STATES.get(event['kind'], 'is down')}"
    of = "" if what.endswith(part) or what.startswith(part) else f"{part} of "
    return f"{of}{what} is {1 / event['speed']:.3g} times slower"


def described_effect(effect: FailureEffect) -> str:
    """Describe a failure that was simulated."""
    return described(effect.failure, effect.event)


def failures_shown(result: Failures) -> list[str | Grid]:
    """Return what is printed of failures: the load, tables of each failure, and what they do."""
    grids = [replace(grid, layout="rows") for effect in result.failures for grid in failure_grids(result, effect)]
    after = [*findings(result), *met_lines(result), *notes(result)]
    return [*opening(result), *grids, *drawn_grids(result), *after]


def opening(result: Failures) -> list[str]:
    """State which failures make requests fail or wait and what would help, and the verdict on the healthy store."""
    healthy = [] if result.load is None else [f"Without a failure, {verdict_line(result.load)}"]
    cost = [] if result.extra is None else [f"Of this load, {extra_attempts_line(result.extra)}"]
    windows = [(f"the window {name}", found) for name, found in result.unsettled.items()]
    short = points_lines(windows, can_leave_out=False, points="windows")
    failed = [failing(described_effect(each), each.errors, each.remedies) for each in result.failures if each.errors]
    waiting = [line for each in result.failures for line in slowed(each)]
    return [*failed, *waiting, *healthy, *short, *cost]


def slowed(effect: FailureEffect) -> list[str]:
    """State the operation that waits most during a failure; nothing if none is slower than for a healthy store."""
    window, what = effect.during, described_effect(effect)
    length_s, served, tails = window.end_s - window.start_s, [], []
    for op, figures in window.ops.items():
        healthy = window.healthy.ops.get(op)
        if "." in op or healthy is None or not healthy.throughput_ops:
            continue
        some_fail = 1 - figures.errors / figures.count
        fewer = figures.throughput_ops / healthy.throughput_ops
        if fewer < _FEWER * some_fail and (some_fail - fewer) * healthy.throughput_ops * length_s >= _MISSING:
            served.append((fewer, f"{number(figures.throughput_ops)} of {number(healthy.throughput_ops)} {op}/s"))
        p99_s, usual_s = figures.latency_s[_TAIL], healthy.latency_s[_TAIL]
        if not {_TAIL} & {*figures.few, *healthy.few} and usual_s and p99_s >= _SLOWER * usual_s:
            tails.append((p99_s / usual_s, f"{op} p99 is {seconds(p99_s)} instead of {seconds(usual_s)}"))
    if served:
        return [f"While {what}, {min(served)[1]} are served; the others wait."]
    return [f"While {what}, {max(tails)[1]}."] if tails else []


def failing(what: str, errors: float, remedies: Sequence[Remedy]) -> str:
    """State which fraction of the requests fails during a failure, and the changes with which fewer would."""
    said = f"While {what}, {'all' if errors == 1 else f'{errors:.1%} of the'} requests fail"
    changes = [
        f"{' and '.join(f'{path}={value}'.replace('True', 'true') for path, value in each.set.items())} "
        f"({_few(each.errors)} would fail)"
        for each in remedies
    ]
    if not changes:
        return f"{said}; no change that was simulated would halve that."
    return f"{said}; it would help to set {_listed(changes, 'or')}."


def _few(part: float) -> str:
    """Format the fraction of requests that would still fail."""
    return "none" if not part else f"{part:.1%}" if part >= 0.001 else "less than 0.1%"


def notes(result: Failures) -> list[str]:
    """Explain the marks in the tables."""
    windows = [window for effect in result.failures for window in effect.windows.values()]
    ops = [figures for window in windows for figures in window.ops.values()]
    return few_note(name for figures in ops for name in ("p50", "p99") if name in figures.few)


def failure_grids(result: Failures, effect: FailureEffect) -> list[Grid]:
    """Table of the windows for each operation, and one of the objectives."""
    windows, what = effect.windows, described_effect(effect)
    counts: dict[str, float] = {}
    for window in windows.values():
        for op, figures in window.ops.items():
            counts[op] = counts.get(op, 0) + figures.count
    columns = ["window", "requests", "errors", "op/s", "healthy", "p50", "p99", "p99 − healthy"]
    grids = [
        Grid(
            f"{op}: {what}",
            columns,
            [_cells(name, w, op) for name, w in windows.items() if op in w.ops],
            is_folded=is_minor(op, result.slos),
        )
        for op in ordered(counts, result.slos)
    ]
    if result.slos:
        verdicts = [[name, *(_verdict(slo, window) for slo in result.slos)] for name, window in windows.items()]
        grids.append(Grid(f"Objectives: {what}", ["window", *(slo.text for slo in result.slos)], verdicts))
    met = [([name], window.met) for name, window in windows.items() if window.met is not None]
    return [*grids, *probability_grids(["window"], met, result.slos, (), what)]


def drawn_grids(result: Failures) -> list[Grid]:
    """Table of the values that were drawn; none if nothing was."""
    return [unknowns_grid(result.unknowns)] if result.unknowns else []


def _verdict(slo: Slo, window: FailureWindow) -> str:
    """Return the verdict of a window on an objective; too few requests support no verdict."""
    verdict = window.slo[slo.text]
    if verdict == "fail" and window.slo_figures[slo.text].value == math.inf:
        return "fail (errors)"
    return NOT_ENOUGH if verdict == "unsure" and window.has_too_few(slo) else verdict


def _cells(name: str, window: FailureWindow, op: str) -> list[str]:
    figures, healthy, against = window.ops[op], window.healthy.ops.get(op), window.difference.ops.get(op)
    return [
        name,
        f"{figures.count:,}",
        fraction(figures.errors, figures.count),
        number(figures.throughput_ops),
        number(None if healthy is None else healthy.throughput_ops),
        quantile("p50", figures.latency_s["p50"], figures.few),
        quantile(_TAIL, figures.latency_s[_TAIL], figures.few),
        number(None) if against is None else _change(against.latency_s[_TAIL], _TAIL in figures.few),
    ]


def _change(figure: Interval, is_few: bool = False) -> str:
    """Format a difference from the healthy store, if there is any; without its interval if too few requests have it."""
    if not math.isfinite(figure.value):
        return number(None)
    if is_few:
        return f"{seconds(figure.value)} (few)"
    return plus_minus(figure) if any((figure.value, figure.low, figure.high)) else "none"


def findings(result: Failures) -> list[str]:
    """Describe the effect of each failure in a few sentences."""
    return [_finding(result, effect) for effect in result.failures]


def met_lines(result: Failures) -> list[str]:
    """State in how many failures the objectives are met with the required probability; nothing if none is drawn."""
    return probability_lines([effect.during.met for effect in result.failures], "failures")


def _finding(result: Failures, effect: FailureEffect) -> str:
    after = effect.windows.get("after")
    sentences = [f"While {described_effect(effect)}, {_of_ops(effect.during)}"]
    if after and after.ops:
        sentences.append(f"Afterwards, {_of_ops(after)}")
    if result.slos:
        violated = [
            (slo.text, [name for name, window in effect.windows.items() if window.slo[slo.text] == "fail"])
            for slo in result.slos
        ]
        violations = [
            f"{text} is violated {_listed(windows)} the failure{_by_errors(effect, text, windows)}"
            for text, windows in violated
            if windows
        ]
        sentences += violations or ["By the 95 % intervals, no objective is violated"]
    if effect.precise is False:
        sentences.append("The precision was not reached")
    return " ".join(f"{sentence}." for sentence in (*sentences, *effect.notes))


def _by_errors(effect: FailureEffect, text: str, windows: Sequence[str]) -> str:
    """Say that errors violate an objective on a latency, as latencies in tables are of successful requests."""
    by_errors = any(effect.windows[name].slo_figures[text].value == math.inf for name in windows)
    return ", as a failed request counts as one without an end" if by_errors else ""


def _listed(parts: Sequence[str], link: str = "and") -> str:
    """``a, b and c``."""
    *others, last = parts
    return f"{', '.join(others)} {link} {last}" if others else last


def _of_ops(window: FailureWindow) -> str:
    """State the tail and the errors of each operation in a window; those of single groups are in the tables only."""
    parts = []
    for op, figures in window.ops.items():
        if "." in op:
            continue
        failed = figures.errors / figures.count
        if failed == 1:
            parts.append(f"all {op}s fail")
            continue
        against = window.difference.ops.get(op)
        is_few = _TAIL in figures.few
        more = [] if against is None else [f"change: {_change(against.latency_s[_TAIL], is_few)}"]
        more += [f"{failed:.2%} fail"] if failed else []
        details = f" ({'; '.join(more)})" if more else ""
        parts.append(f"{op} p99 is {quantile(_TAIL, figures.latency_s[_TAIL], figures.few)}{details}")
    return _listed(parts) if parts else "there are no requests"
