"""Sentences and tables of the verdict that opens an answer: load, saturation, objectives, and what too few support."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cli.tables.grid import Grid
from cli.words import LABELS, byte_rate, number, seconds
from sim.analysis.bounds import Bounds, OpenLoad
from sim.analysis.verdict import NEAR, LoadVerdict, Saturation
from sim.replication.objectives import Outcome
from sim.replication.slo import UTILIZATION, Slo
from traces.statistics.summary import requests_for

NOT_ENOUGH = "not enough requests"
GROWS = "Latency grows as long as this lasts."
_FEW = "few"
_NOTABLE = 0.0005  # fraction of failed requests that a verdict mentions


def verdict_line(verdict: LoadVerdict) -> str:
    """State the verdict in a line: ``overloaded: 4,000 of 6,000 op/s served; host cpu saturates at 4,010 op/s.``"""
    first = verdict.saturates_first
    if verdict.loop == "open":
        load = f"{number(verdict.served_ops)} of {number(verdict.offered_ops)} op/s served"
    else:
        who = "1 client gets" if verdict.clients == 1 else f"{verdict.clients:,} clients get"
        who = who if verdict.loop == "closed" else f"{who.rpartition(' ')[0]} and open loops get"
        load = f"{who} {number(verdict.served_ops)} op/s"
    if verdict.errors >= _NOTABLE:
        load += f", {verdict.errors * 100:.3g}% of the requests fail"
    return f"{verdict.status}: {load}; {_saturates(verdict, first)}"


def _saturates(verdict: LoadVerdict, first: Saturation | None) -> str:
    if first is None:
        return GROWS if verdict.overloaded else "no station limits the rate."
    rate = f"{number(first.capacity_ops)} op/s"
    if verdict.overloaded:
        return f"{_name(first)} saturates at {rate}. {GROWS}"
    if verdict.status == "saturated":
        return f"{_name(first)} is {first.utilization:.0%} busy; more clients only wait."
    return f"{_name(first)} ({first.utilization:.0%} busy) saturates first, at {rate} ({first.headroom:.1f}x)."


def _name(first: Saturation) -> str:
    """Return the station's name, or the first of a group's."""
    name, *others = first.station.split(", ")
    return f"{name} and {len(others)} others together" if others else name


def bounds_line(result: Bounds) -> str:
    """State the verdict on a load that was not simulated."""
    most_ops = result.max_throughput_ops
    if most_ops is None or result.bottleneck is None:
        return "no station limits the rate."
    limit = f"{result.bottleneck} saturates first, at {number(most_ops)} op/s"
    if not isinstance(result.load, OpenLoad):
        high_ops = result.throughput_ops.high
        reached = "" if high_ops is None else f"; {result.load.clients:,} clients get at most {number(high_ops)} op/s"
        return f"{limit}{reached}."
    offered_ops = result.load.offered_ops
    if offered_ops > most_ops:
        return f"overloaded: {number(offered_ops)} op/s offered; {limit}. {GROWS}"
    status = "near saturation" if offered_ops >= NEAR * most_ops else "healthy"
    return f"{status}: {number(offered_ops)} op/s offered; {limit} ({most_ops / offered_ops:.1f}x)."


def backlog_grid(verdict: LoadVerdict) -> Grid:
    """Table of the requests in flight of an overloaded store, in place of intervals."""
    after = [f"{(i + 1) / len(verdict.backlog):.0%}" for i in range(len(verdict.backlog))]
    return Grid("", ["time", *after], [["requests in flight", *map(number, verdict.backlog)]])


def objective_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """State for each objective whether it is met, with its figure: ``GET.p99<50ms: met (12.3 ms)``."""
    return [f"{each.slo.text}: {each.status} ({_evidence(each)})" for each in outcomes]


def _evidence(outcome: Outcome) -> str:
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
    return f"{seconds(value)} ({_FEW})" if name in few else seconds(value)


def few_note(shown: Iterable[str]) -> list[str]:
    """Explain the mark of quantiles (`quantile`), with the number of requests that they need; none: no line."""
    names = sorted(set(shown), key=requests_for)
    if not names:
        return []
    needed = ", ".join(f"{LABELS[name]} needs {requests_for(name):,}" for name in names)
    return [f"({_FEW}): fewer than 10 requests lie beyond this quantile; {needed} successful requests."]
