"""Tables of Runs and comparisons, as text: one content for the terminal and the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from cli.tables.grid import Grid
from cli.words import LABELS, byte_rate, fraction, number, percent, percent_between, seconds, tail_of
from sim.analysis.bounds import Between
from sim.replication.replicate import PrecisionVerdict
from sim.replication.summaries import Interval, StationSummary, Summary
from traces.run import Run
from traces.statistics.summary import latencies, summarise, tukey_outliers
from traces.tables import OPS
from validate.compare.compare import DECISIVE, Comparison, OpComparison

_LATENCIES = ("mean", "p50", "p90", "p99", "p99_9", "max")


def summary_grid(run: Run, title: str = "") -> Grid:
    """The key figures of a Run, a row for each operation; attempts per request where there were further ones."""
    rows, repeated = [], bool((run.column("attempts") > 1).any())
    for op, figures in summarise(run)["ops"].items():
        samples, latency = latencies(run, op), figures["latency_s"]
        outliers = tukey_outliers(samples)
        mild, severe = (outliers[f"low_{kind}"] + outliers[f"high_{kind}"] for kind in ("mild", "severe"))
        rows.append([
            op,
            f"{figures['count']:,}",
            fraction(figures["errors"], figures["count"]),
            *([f"{mean_attempts(run, op):.3f}"] if repeated else []),
            number(figures["throughput_ops"]),
            byte_rate(figures["throughput_bytes"]),
            *(seconds(latency[name]) for name in _LATENCIES),
            fraction(mild, len(samples)),
            fraction(severe, len(samples)),
        ])  # fmt: skip
    columns = ["op", "requests", "errors", *(["attempts"] if repeated else []), "op/s", "payload"]
    columns += [*(LABELS[name] for name in _LATENCIES), "mild outliers", "severe outliers"]
    return Grid(title, columns, rows)


def mean_attempts(run: Run, op: str) -> float:
    """Attempts per request of an operation: by how much retries and hedges multiply its load."""
    return float(run.column("attempts")[run.op == OPS.index(op)].mean())


_MANY = 30
"""More stations than this are shown by role."""


def stations_grid(stations: Sequence[dict[str, Any]], title: str = "") -> Grid:
    """Stations with what they served, how busy they were and how many jobs waited, the busiest first.

    Of many stations, each role's: visits of all, their mean load, and the busiest one's load and queue.
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


def _roles_grid(ordered: Sequence[dict[str, Any]], title: str) -> Grid:
    """Stations that come busiest first, by role."""
    rows = []
    for first, alike in _by_role(ordered):
        mean = sum(s["utilization"] for s in alike) / len(alike)
        rows.append([
            first["role"],
            f"{len(alike)}",
            servers(first["servers"]),
            f"{sum(s['visits'] for s in alike):,}",
            load(mean, first["servers"]),
            first["name"],
            load(first["utilization"], first["servers"]),
            number(first["mean_queue"]),
        ])  # fmt: skip
    columns = ["role", "stations", "servers", "visits", "mean util.", "busiest", "utilisation", "mean queue"]
    return Grid(title, columns, rows)


def _by_role(ordered: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The first station of each role, and all of that role."""
    roles: dict[str, list[dict[str, Any]]] = {}
    for s in ordered:
        roles.setdefault(s["role"], []).append(s)
    return [(alike[0], alike) for alike in roles.values()]


class _Station(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def role(self) -> str: ...


_AnyStation = TypeVar("_AnyStation", bound=_Station)


def shown(ordered: Sequence[_AnyStation]) -> list[tuple[str, _AnyStation]]:
    """The stations with what to call them; of many, the first of each role."""
    if len(ordered) <= _MANY:
        return [(s.name, s) for s in ordered]
    roles: dict[str, list[_AnyStation]] = {}
    for s in ordered:
        roles.setdefault(s.role, []).append(s)
    alike = roles.values()
    return [(s.name + (f" (first of {len(same)})" if len(same) > 1 else ""), s) for same in alike for s in same[:1]]


def servers(count: int | None) -> str:
    """How many servers a station has."""
    return "∞" if count is None else f"{count}"


def load(utilization: float | None, servers: int | None) -> str:
    """Utilisation; of an infinite server, how many are busy."""
    if utilization is None or not math.isfinite(utilization):
        return number(None)
    return f"{number(utilization)} busy" if servers is None else f"{utilization * 100:.1f}%"


def attribution_grid(attribution: dict[str, Any], title: str = "") -> Grid:
    """What median and tail consist of (`critical_path.attribution`) by operation; most of the tail comes first."""
    tail = tail_of({name for bands in attribution.values() for name in bands})
    rows = []
    for op, bands in attribution.items():
        in_tail = bands[tail_of(bands)]["roles"]
        for role in sorted(in_tail, key=lambda role: -sum(in_tail[role].values())):
            spent = [bands[name]["roles"][role] if name in bands else {} for name in ("p50", tail)]
            rows.append([op, role, *(seconds(s.get(kind)) for s in spent for kind in ("waiting_s", "service_s"))])
    columns = [f"{LABELS[name]} {what}" for name in ("p50", tail) for what in ("waiting", "service")]
    return Grid(title, ["op", "role", *columns], rows, labels=2)


def replications_grid(summary: Summary, precision: PrecisionVerdict | None = None) -> Grid:
    """The figures of replications with their intervals, and whether they reached a precision."""
    rows = []
    for op, figures in summary.ops.items():
        rows.append([op, "requests", f"{figures.count:,}", ""])
        rows.append([op, "errors", fraction(figures.errors, figures.count), ""])
        if figures.left_out:
            rows.append([op, "left out as warm-up", f"{figures.left_out:,}", ""])
        rows.append([op, "op/s", *_estimate(figures.throughput_ops, number)])
        rows.append([op, "payload", *_estimate(figures.throughput_bytes, byte_rate)])
        rows += [[op, LABELS[name], *_estimate(figures.latency_s[name], seconds)] for name in _LATENCIES]
    title = f"{summary.replications} replications"
    if precision is not None:
        widest = f"{precision.widest * 100:.1f}%" if math.isfinite(precision.widest) else "unknown"
        reached = "reached" if precision.reached else "not reached"
        title += f"; ± {precision.wanted * 100:g}% {reached}: {precision.figure or 'no operation'} is ± {widest}"
    return Grid(title, ["op", "measure", "estimate", f"{summary.confidence * 100:g}% interval"], rows, labels=2)


def station_intervals_grid(stations: Sequence[StationSummary]) -> Grid:
    """The load of stations in replications, with intervals, the busiest first."""
    rows = []
    for name, s in shown(sorted(stations, key=lambda s: (s.servers is None, -s.utilization.value))):
        utilization = _estimate(s.utilization, partial(load, servers=s.servers))
        rows.append([name, servers(s.servers), *utilization, *_estimate(s.mean_queue, number)])
    return Grid("", ["station", "servers", "utilisation", "interval", "mean queue", "interval"], rows)


def _estimate(figure: Interval, write: Callable[[float | None], str]) -> list[str]:
    """A value and its interval; none where it has no bounds."""
    known = math.isfinite(figure.low) and math.isfinite(figure.high)
    return [write(figure.value), between(figure, write) if known else number(None)]


def between(bounds: Between | Interval, write: Callable[[float | None], str]) -> str:
    """``low … high``, or the one value of both; None stands for no bound."""
    if bounds.high is None and bounds.low is not None:
        return f"at least {write(bounds.low)}"
    low, high = write(bounds.low), write(bounds.high)
    return low if low == high else f"{low} … {high}"


def comparison_grid(comparison: Comparison, names: tuple[str, str], title: str = "") -> Grid:
    """A comparison, a row for each measure of each operation; `names` are those of A and B."""
    rows = [row for op, result in comparison.ops.items() for row in _op_rows(op, result)]
    columns = [
        "op",
        "measure",
        names[0],
        names[1],
        "ratio",
        f"{comparison.confidence * 100:g}% interval",
        "verdict",
    ]
    return Grid(title, columns, rows, labels=2)


def _op_rows(op: str, result: OpComparison) -> list[list[str]]:
    def judged(name: str) -> str:
        if name in result.differs_in:
            return "differs"
        return "unsure" if name in result.unsure_of else "within" if name in DECISIVE else ""

    rows = [
        [op, "requests", *(f"{count:,}" for count in result.counts), "", "", judged("count")],
        [op, "errors", *map(fraction, result.errors, result.counts), "", "", ""],
    ]
    if result.distances is None:
        return rows
    for name, measure in result.measures.items():
        write = (lambda value: f"{number(value)} op/s") if name == "throughput_ops" else seconds
        rows.append([
            op, LABELS[name], write(measure.a), write(measure.b), percent(measure.log_ratio),
            percent_between(measure.interval), judged(name),
        ])  # fmt: skip
    low, high = result.distances.w1_interval
    w1 = [f"{result.distances.w1 * 100:.1f}%", f"{low * 100:.1f} … {high * 100:.1f}%"]
    return [
        *rows,
        [op, "W1 / mean", "", "", *w1, judged("w1")],
        [op, "KS", "", "", f"{result.distances.ks * 100:.1f}%", "", ""],
    ]
