"""Figures of stores that were compared on given hardware."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from cli.figures.objectives import with_objectives
from cli.figures.runs import blank, escaped
from cli.figures.whatif import PLAIN, bars, with_table
from cli.parse.slo import parse_objectives
from cli.tables.experiments.measures import Estimate
from sim.choose.choose import Choice
from sim.choose.hardware import HardwareFile

_COLOURS = ("#3465a4", "#e08a00", "#109e78", "#b86aa8", "#75507b", "#555753")
_STATES = {"host": "a host down", "drive": "a drive down", "slow-drive": "one drive 10 times slower"}


def choice_figures(result: Choice, file: HardwareFile) -> list[go.Figure]:
    """Greatest rate of each store, with bands of the best, and latencies at the workload's rate with failures."""
    return [_rates(result, file), *(_latencies(result, file, op) for op in file.workload.ops)]


def _rates(result: Choice, file: HardwareFile) -> go.Figure:
    drawn = {} if result.ranking is None else {each.store: each.bands.get("most_ops") for each in result.ranking.drawn}
    names = [row.candidate.store for row in result.rows]
    found = [
        Estimate(row.figures.most_ops, *((band.low, band.high) if (band := drawn.get(name)) else (math.nan, math.nan)))
        for name, row in zip(names, result.rows, strict=True)
    ]
    rate_ops = file.workload.rate or 0.0
    title = f"Greatest rate at the objectives (dashed: the workload's {rate_ops:g}/s)"
    figure = blank(title, "", "requests per second")
    figure.add_bar(
        x=[f"{escaped(row.candidate.store)}<br>{escaped(row.candidate.option.text)}" for row in result.rows],
        y=[each.value for each in found],
        error_y=bars(found) if drawn else None,
        marker={"color": PLAIN},
        showlegend=False,
    )
    figure.add_hline(y=rate_ops, line={"color": "#d5521a", "dash": "dash"})
    rows = [[name, each.value, each.low, each.high] for name, each in zip(names, found, strict=True)]
    return with_table(figure, ["store", "greatest rate (1/s)", "low", "high"], rows)


def _latencies(result: Choice, file: HardwareFile, op: str) -> go.Figure:
    figure = blank(f"p99 of {escaped(op)} at the workload's rate", "", "p99 (ms)")
    names = [row.candidate.store for row in result.rows]
    table = []
    for (kind, label), colour in zip({"": "healthy", **_STATES}.items(), _COLOURS, strict=False):
        values = []
        for row in result.rows:
            situation = row.figures.failing.get(kind) if kind else row.figures.healthy
            each = None if situation is None else situation.ops.get(op)
            values.append(None if each is None or not math.isfinite(each.p99_s) else each.p99_s * 1e3)
        if any(value is not None for value in values):  # a state in which no store serves has no bar
            figure.add_bar(x=names, y=values, name=label, marker={"color": colour})
        table += [[name, label, value] for name, value in zip(names, values, strict=True)]
    figure.update_layout(barmode="group")
    figure.update_yaxes(rangemode="tozero")
    slos = parse_objectives(file.objectives, "objectives")
    with_objectives(figure, (slo for slo in slos if (slo.subject, slo.figure) == (op, "p99")))
    return with_table(figure, ["store", "state", "p99 (ms)"], table)
