"""Sentences and tables of the verdict that opens an answer: load, saturation, objectives, and what too few support."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from cli.tables.cells import Figure
from cli.tables.grid import Grid
from cli.words import LABELS, byte_rate, number, seconds
from sim.analysis.bounds_result import Bounds, OpenLoad
from sim.replication.objectives import ObjectiveOutcome
from sim.replication.slo import UTILIZATION, Slo
from sim.verdict.first_saturated import Saturation
from sim.verdict.stretches import FailingStretch
from sim.verdict.verdict import NEAR, LoadVerdict, OpVerdict
from traces.statistics.summary import requests_for

NOT_ENOUGH = "not enough requests"
GROWS = "Latency grows as long as this lasts."
FEW = "few"
_NOTABLE = 0.0005  # fraction of failed requests that a verdict mentions
_MORE_ATTEMPTS = 1.005  # attempts per request that it mentions
_MOST_OPS = 3  # operations that it names


def verdict_line(verdict: LoadVerdict) -> str:
    """State the verdict in a line: ``overloaded: 4,000 of 6,000 op/s served; host cpu saturates at 4,010 op/s.``"""
    first = verdict.saturates_first
    if verdict.loop == "open":
        load = f"{number(verdict.served_ops)} of {number(verdict.offered_ops)} op/s served"
        if verdict.drain_s:  # where only some requests need what is full, most are served while they arrive
            load += f" until the last response, {seconds(verdict.drain_s)} after the last arrival"
    else:
        who = "1 client gets" if verdict.clients == 1 else f"{verdict.clients:,} clients get"
        who = who if verdict.loop == "closed" else f"{who.rpartition(' ')[0]} and open loops get"
        load = f"{who} {number(verdict.served_ops)} op/s"
    if verdict.errors >= _NOTABLE:
        load += f", {_percent(verdict.errors)} of the requests fail{_by_operation(verdict)}"
    return "; ".join([f"{verdict.status}: {load}", *_troubles(verdict), _saturates(verdict, first)])


def _percent(fraction: float) -> str:
    """Format so that only all is 100 %, and only none 0 %."""
    return f"{fraction * 100:.3g}%" if fraction in (0.0, 1.0) or fraction < 0.9995 else "99.9%"


def _failing(verdict: LoadVerdict) -> list[tuple[str, OpVerdict]]:
    """Return the operations of which too many requests fail, the worst first."""
    found = [(op, each) for op, each in verdict.ops.items() if each.fails or each.is_failing]
    return sorted(found, key=lambda item: -item[1].errors)[:_MOST_OPS]


def _by_operation(verdict: LoadVerdict) -> str:
    """Return the fractions that fail by operation: `` (PUT 60%, GET 0.2%)``; nothing if there is only one."""
    found = _failing(verdict)
    if len(verdict.ops) < 2 or not found:
        return ""
    return f" ({', '.join(f'{op} {_percent(each.errors)}' for op, each in found)})"


def _troubles(verdict: LoadVerdict) -> list[str]:
    """State when requests fail or pile up, how often they are repeated, and which parts fail."""
    lines = [
        _stretch(op, each.worst)
        for op, each in _failing(verdict)
        if each.worst is not None and _is_notable(each.worst.errors, each.errors)
    ]
    if verdict.attempts >= _MORE_ATTEMPTS:
        lines.append(f"{number(verdict.attempts)} attempts per request")
    if jam := verdict.jam:
        lines.append(f"up to {jam.in_flight:,} requests pile up from {seconds(jam.start_s)} to {seconds(jam.end_s)}")
    if slump := verdict.slump:
        lines.append(f"only {number(slump.served_ops)} op/s from {seconds(slump.start_s)} to {seconds(slump.end_s)}")
    if verdict.status != "healthy":
        lines += [f"{text} from {seconds(at_s)}" for at_s, text in verdict.faults]
    return lines


def _is_notable(in_stretch: float, errors: float) -> bool:
    """Whether in a stretch at least twice as many requests fail as in the whole run, or half as many succeed."""
    return in_stretch > errors and in_stretch >= min(2 * errors, (1 + errors) / 2)


def _stretch(op: str, worst: FailingStretch) -> str:
    who = f"all {op}s" if worst.failed == worst.requests else f"{_percent(worst.errors)} of the {op}s"
    return f"{who} fail from {seconds(worst.start_s)} to {seconds(worst.end_s)}"


def _saturates(verdict: LoadVerdict, first: Saturation | None) -> str:
    if first is None:
        return GROWS if verdict.overloaded else "no station limits the rate."
    offered = " offered" if verdict.loop == "open" and verdict.errors >= _NOTABLE else ""
    rate = f"{number(first.capacity_ops)} op/s{offered}{_warm(first)}{_when(first)}"
    if verdict.overloaded:
        return f"{_name(first)} saturates {_at(first)} {rate}. {GROWS}"
    if verdict.status == "saturated":
        return f"{_name(first)} is {first.utilization:.0%} busy{_when(first)}; more clients only wait."
    busy = f"{first.utilization:.0%} busy{_out_of_proportion(first)}"
    return f"{_name(first)} ({busy}) saturates first, {_at(first)} {rate} ({_times(first.headroom)})."


_MOST_TIMES = 1000


def _times(headroom: float) -> str:
    """Format a ratio of rates with the digits that it has; one of thousands says that there is no load."""
    if headroom > _MOST_TIMES:
        return f"over {_MOST_TIMES:,}x"
    return f"{headroom:.0f}x" if headroom >= 99.95 else f"{headroom:.1f}x"


_PROPORTIONAL, _BUSY = 1.5, 0.1


def _out_of_proportion(first: Saturation) -> str:
    """Return that the time for which a station is busy does not follow the rate, as that of other work does not."""
    at_limit = first.utilization * first.headroom
    if first.utilization < _BUSY and first.headroom > 1 / _BUSY:
        return ""  # chance decides how busy a station is that has little to do
    return "" if 1 / _PROPORTIONAL <= at_limit <= _PROPORTIONAL else ", not in proportion to the rate"


def _at(first: Saturation | Bounds) -> str:
    """Return the word before the rate at which a station saturates: ``at``, or ``at most at`` if less is possible."""
    return "at" if first.bound == "at" else f"{first.bound} at"


def _warm(first: Saturation | Bounds) -> str:
    """Return that a rate is that of caches that have filled; nothing if none are empty at first."""
    return " with warm caches" if first.is_warm else ""


def _when(first: Saturation | Bounds) -> str:
    """Return the stretches of the run in which a station saturates first; nothing for all of it."""
    if first.from_s is None:
        return ""
    stretches = sorted([(first.from_s, math.inf if first.until_s is None else first.until_s), *first.again])
    each = (f"from {seconds(a)} {'on' if math.isinf(b) else f'to {seconds(b)}'}" for a, b in stretches)
    return f" {' and '.join(each)}"


def _name(first: Saturation) -> str:
    """Return the station's name, or the first of a group's."""
    name, *others = first.station.split(", ")
    return f"{name} and {len(others)} others together" if others else name


_BEYOND = 1.01
"""Ratio to the rate at saturation from which a bound on the throughput of clients says nothing."""


def bounds_line(result: Bounds, has_faults: bool = False) -> str:
    """State the verdict on a load that was not simulated; it does not say healthy of a store with faults."""
    most_ops = result.max_throughput_ops
    if most_ops is None or result.bottleneck is None:
        return "no station limits the rate."
    rate = f"{number(most_ops)} op/s{_warm(result)}{_when(result)}"
    limit = f"{result.bottleneck} saturates first, {_at(result)} {rate}"
    if not isinstance(result.load, OpenLoad):
        high_ops, count = result.throughput_ops.high, result.load.clients
        clients, get = ("1 client", "gets") if count == 1 else (f"{count:,} clients", "get")
        if high_ops is None:
            return f"{limit}."
        if high_ops > _BEYOND * most_ops:  # a bound by demands, which leave out tokens held while requests wait
            return f"{limit}, which {clients} may reach."
        return f"{limit}; {clients} {get} at most {number(high_ops)} op/s in the long run."
    offered_ops = result.load.offered_ops
    if offered_ops > most_ops:
        grows = GROWS if not _when(result) else ""
        return f"overloaded: {number(offered_ops)} op/s offered; {limit}. {grows}".rstrip()
    status = "near saturation" if offered_ops >= NEAR * most_ops else "below saturation" if has_faults else "healthy"
    more = " Requests that faults refuse are not counted: simulate." if has_faults else ""
    return f"{status}: {number(offered_ops)} op/s offered; {limit} ({most_ops / offered_ops:.1f}x).{more}"


def backlog_grid(verdict: LoadVerdict) -> Grid:
    """Table of the requests in flight of an overloaded store, in place of intervals."""
    after = [f"{(i + 1) / len(verdict.backlog):.0%}" for i in range(len(verdict.backlog))]
    return Grid("", ["time", *after], [["requests in flight", *map(number, verdict.backlog)]])


def objective_lines(outcomes: Sequence[ObjectiveOutcome]) -> list[str]:
    """State for each objective whether it is met, with its figure: ``GET.p99<50ms: met (12.3 ms)``."""
    return [f"{each.slo.text}: {each.status} ({_evidence(each)})" for each in outcomes]


def _evidence(outcome: ObjectiveOutcome) -> str:
    value = figure(outcome.slo, outcome.value)
    if outcome.status == "uncertain":
        return f"{value}, {figure(outcome.slo, outcome.low)} … {figure(outcome.slo, outcome.high)}; add replications"
    if outcome.requests_needed is not None:
        return f"{value}; {LABELS[outcome.slo.figure]} needs {outcome.requests_needed:,}"
    return value


def figure(slo: Slo, value: float) -> str:
    """Format a value of an objective with its unit."""
    if slo.figure in ("errors", UTILIZATION):
        return f"{value:.2%}"
    if slo.figure == "throughput_bytes":
        return byte_rate(value)
    return f"{number(value)}/s" if slo.above else seconds(value)


def quantile(name: str, value: float, few: Sequence[str]) -> str:
    """Format a latency, with a mark if too few requests support it: ``12.3 ms (few)``."""
    return Figure(f"{seconds(value)} ({FEW})", value, "s") if name in few else seconds(value)


def few_note(shown: Iterable[str]) -> list[str]:
    """Explain the mark of quantiles (`quantile`), with the number of requests that they need; none: no line."""
    names = sorted(set(shown), key=requests_for)
    if not names:
        return []
    needed = ", ".join(f"{LABELS[name]} needs {requests_for(name):,}" for name in names)
    return [f"({FEW}): fewer than 10 requests lie beyond this quantile; {needed} successful requests."]
