"""Tables of Runs: requests, stations, tail attribution and replications, the same on terminals and pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from cli.sentences import tail_of
from cli.tables.cells import Figure
from cli.tables.forecast.verdict import quantile
from cli.tables.grid import Grid
from cli.tables.measured.quality import run_warnings
from cli.tables.operations import ordered
from cli.words import LABELS, byte_rate, fraction, number, seconds
from sim.analysis.bounds_result import Between
from sim.replication.replicate import PrecisionVerdict
from sim.replication.slo import Slo
from sim.replication.summaries import Interval, StationSummary, Summary
from traces.run import Run, StationRow
from traces.statistics.critical_path import Attribution
from traces.statistics.summary import latencies, summarise, too_few, tukey_outliers

_LATENCIES = ("mean", "p50", "p90", "p99", "p99_9", "max")


def summary_grid(run: Run, title: str = "", slos: Sequence[Slo] = ()) -> Grid:
    """Key figures of a Run, one row per operation; attempts per request if any request had more than one.

    Operations with objectives come first. Below the table is why the figures of a measured Run may mislead.
    """
    rows, has_retries = [], bool((run.column("attempts") > 1).any())
    ops = summarise(run)["ops"]
    for op in ordered({op: figures["count"] for op, figures in ops.items()}, slos):
        figures = ops[op]
        samples, latency, few = latencies(run, op), figures["latency_s"], too_few(figures["count"] - figures["errors"])
        outliers = tukey_outliers(samples)
        mild, severe = (outliers[f"low_{kind}"] + outliers[f"high_{kind}"] for kind in ("mild", "severe"))
        rows.append([
            op,
            f"{figures['count']:,}",
            fraction(figures["errors"], figures["count"]),
            *([f"{mean_attempts(run, op):.3f}"] if has_retries else []),
            number(figures["throughput_ops"]),
            byte_rate(figures["throughput_bytes"]),
            *(quantile(name, latency[name], few) for name in _LATENCIES),
            fraction(mild, len(samples)),
            fraction(severe, len(samples)),
        ])  # fmt: skip
    columns = ["op", "requests", "errors", *(["attempts"] if has_retries else []), "op/s", "payload"]
    columns += [*(LABELS[name] for name in _LATENCIES), "mild outliers", "severe outliers"]
    return Grid(title, columns, rows, warnings=run_warnings(run))


def mean_attempts(run: Run, op: str) -> float:
    """Attempts per request of an operation: the factor by which retries and hedges multiply its load."""
    return float(run.column("attempts")[run.has(op)].mean())


def few_in(counts: Iterable[int]) -> list[str]:
    """Return the quantiles in these tables that too few of these numbers of successful requests support."""
    unsupported = {name for count in counts for name in too_few(count)}
    return [name for name in _LATENCIES if name in unsupported]


_MANY = 30
"""Greatest number of stations that are listed one by one; more are summarised by role."""


def stations_grid(stations: Sequence[StationRow], title: str = "") -> Grid:
    """Visits, utilisation and mean queue of stations, the busiest first.

    Many stations are summarised by role: total visits, mean utilisation, and utilisation and queue of the busiest.
    """
    ordered = sorted(stations, key=lambda s: (s["servers"] is None, -s["utilization"]))
    if len(ordered) > _MANY:
        return _roles_grid(ordered, title)
    rows = [
        [
            s["name"],
            s["role"],
            servers(s["servers"]),
            f"{s['visits']:,}",
            load(s["utilization"], s["servers"]),
            number(s["mean_queue"]),
        ]
        for s in ordered
    ]
    return Grid(title, ["station", "role", "servers", "visits", "utilisation", "mean queue"], rows, labels=2)


def _roles_grid(ordered: Sequence[StationRow], title: str) -> Grid:
    """Summarise stations, which are sorted from busiest to idlest, by role."""
    rows = []
    for busiest, members in _by_role(ordered):
        mean = sum(s["utilization"] for s in members) / len(members)
        rows.append([
            busiest["role"],
            f"{len(members)}",
            servers(busiest["servers"]),
            f"{sum(s['visits'] for s in members):,}",
            load(mean, busiest["servers"]),
            busiest["name"],
            load(busiest["utilization"], busiest["servers"]),
            number(busiest["mean_queue"]),
        ])  # fmt: skip
    columns = ["role", "stations", "servers", "visits", "mean util.", "busiest", "utilisation", "mean queue"]
    return Grid(title, columns, rows)


def _by_role(ordered: Sequence[StationRow]) -> list[tuple[StationRow, list[StationRow]]]:
    """Return the first station of each role, with all stations of that role."""
    roles: dict[str, list[StationRow]] = {}
    for s in ordered:
        roles.setdefault(s["role"], []).append(s)
    return [(members[0], members) for members in roles.values()]


class _Station(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def role(self) -> str: ...


_AnyStation = TypeVar("_AnyStation", bound=_Station)


def shown(ordered: Sequence[_AnyStation]) -> list[tuple[str, _AnyStation]]:
    """Return stations with their labels; of many stations only the first of each role."""
    if len(ordered) <= _MANY:
        return [(s.name, s) for s in ordered]
    roles: dict[str, list[_AnyStation]] = {}
    for s in ordered:
        roles.setdefault(s.role, []).append(s)
    groups = roles.values()
    return [(s.name + (f" (first of {len(same)})" if len(same) > 1 else ""), s) for same in groups for s in same[:1]]


def servers(count: int | None) -> str:
    """Number of servers of a station; None is infinitely many."""
    return "∞" if count is None else f"{count}"


def load(utilization: float | None, servers: int | None) -> str:
    """Utilisation; of an infinite server, the mean number of busy servers."""
    if utilization is None or not math.isfinite(utilization):
        return number(None)
    return f"{number(utilization)} busy" if servers is None else Figure(f"{utilization * 100:.1f}%", utilization)


def attribution_grid(attribution: Attribution, title: str = "", ops: Sequence[str] = ()) -> Grid:
    """Waiting and service time at median and tail (`critical_path.attribution`), the largest part of the tail first.

    `ops`: the order of the operations (default: as in the attribution).
    """
    tail = tail_of({name for bands in attribution.values() for name in bands})
    rows = []
    for op in [op for op in ops if op in attribution] or attribution:
        bands = attribution[op]
        in_tail = bands[tail_of(bands)]["roles"]
        for role in sorted(in_tail, key=lambda role: -sum(in_tail[role].values())):
            spent = [bands[name]["roles"][role] if name in bands else {} for name in ("p50", tail)]
            rows.append([op, role, *(seconds(s.get(kind)) for s in spent for kind in ("waiting_s", "service_s"))])
    columns = [f"{LABELS[name]} {what}" for name in ("p50", tail) for what in ("waiting", "service")]
    return Grid(title, ["op", "role", *columns], rows, labels=2)


def replications_grid(summary: Summary, precision: PrecisionVerdict | None = None, slos: Sequence[Slo] = ()) -> Grid:
    """Estimates from replications with their intervals, and whether they reached the precision."""
    rows = []
    for op in ordered({op: figures.count for op, figures in summary.ops.items()}, slos):
        figures = summary.ops[op]
        rows.append([op, "requests", f"{figures.count:,}", ""])
        rows.append([op, "errors", fraction(figures.errors, figures.count), ""])
        if figures.left_out:
            rows.append([op, "left out as warm-up", f"{figures.left_out:,}", ""])
        rows.append([op, "op/s", *_estimate(figures.throughput_ops, number)])
        rows.append([op, "payload", *_estimate(figures.throughput_bytes, byte_rate)])
        for name in _LATENCIES:
            write = partial(_marked, name, figures.few)
            rows.append([op, LABELS[name], *_estimate(figures.latency_s[name], seconds, write)])
    title = "1 replication" if summary.replications == 1 else f"{summary.replications} replications"
    if precision is not None:
        widest = f"{precision.widest * 100:.1f}%" if math.isfinite(precision.widest) else "unknown"
        reached = "reached" if precision.reached else "not reached"
        title += f"; ± {precision.wanted * 100:g}% {reached}: {precision.figure or 'no operation'} is ± {widest}"
    return Grid(title, ["op", "measure", "estimate", f"{summary.confidence * 100:g}% interval"], rows, labels=2)


def station_intervals_grid(stations: Sequence[StationSummary]) -> Grid:
    """Utilisation and mean queue of stations over replications, with intervals, the busiest first."""
    rows = []
    for name, s in shown(sorted(stations, key=lambda s: (s.servers is None, -s.utilization.value))):
        utilization = _estimate(s.utilization, partial(load, servers=s.servers))
        rows.append([name, servers(s.servers), *utilization, *_estimate(s.mean_queue, number)])
    return Grid("", ["station", "servers", "utilisation", "interval", "mean queue", "interval"], rows)


def _marked(name: str, few: Sequence[str], value: float | None) -> str:
    return quantile(name, math.nan if value is None else value, few)


def _estimate(
    figure: Interval, write: Callable[[float | None], str], write_value: Callable[[float | None], str] | None = None
) -> list[str]:
    """Format a value, with `write_value` if it differs, and its interval, if it has bounds."""
    known = math.isfinite(figure.low) and math.isfinite(figure.high)
    return [(write_value or write)(figure.value), between(figure, write) if known else number(None)]


def between(bounds: Between | Interval, write: Callable[[float | None], str]) -> str:
    """Format bounds as ``low … high``, or as one value if both are equal; None is no bound."""
    if bounds.high is None and bounds.low is not None:
        return f"at least {write(bounds.low)}"
    low, high = write(bounds.low), write(bounds.high)
    return low if low == high else f"{low} … {high}"
