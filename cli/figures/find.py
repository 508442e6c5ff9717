"""Figures of searches and sensitivity analyses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from cli.figures.runs import blank, dressed, escaped, with_room
from cli.figures.whatif import GREY, PLAIN, bars, by_verdict, exactly, latency_axis, value_axis, with_table
from cli.tables.experiments.find import extreme, range_of, shown
from cli.tables.experiments.measures import Estimate, Measure
from sim.experiments.find.find_best import Best
from sim.experiments.find.find_limit import FoundLimit, LimitTrial
from sim.experiments.sensitivity import Effect, Screening
from sim.replication.slo import Slo
from sim.replication.summaries import Interval

_SCALES = {"s": ("ms", 1e3), "1/s": ("1/s", 1.0), "B": ("KiB", 1 / 1024), "B/s": ("MB/s", 1e-6), "": ("", 1.0)}
"""Unit of an axis and conversion factor, by unit of the spec."""

_LIMIT, _FRESH = "#d5521a", "#109e78"
_ALLOWED = {True: ("extra load allowed", PLAIN), False: ("too much extra load", GREY)}
_NAMED = 0.1  # of the greatest strength; weaker effects lie on each other
_FEW = 2  # numbers, which both have names
_WAYS = {
    "up": ("increase makes it slower", "#e08a00"),
    "down": ("increase makes it faster", PLAIN),
    "": ("unclear", GREY),
}


def limit_figures(result: FoundLimit) -> list[go.Figure]:
    """Measure of each objective at each value, with intervals, its limit (dashed) and the result (marked)."""
    return [_objective(result, slo) for slo in result.slos] if result.simulated else []


def _objective(result: FoundLimit, slo: Slo) -> go.Figure:
    measure = Measure(slo.subject, slo.figure, slo)
    label, scale = _axis(result)
    trials = result.simulated
    x = [trial.value * scale for trial in trials]
    every = [measure.scaled(trial.slo[slo.text].interval) for trial in trials]
    figure = blank(escaped(slo.text), escaped(label), measure.label)
    _line(figure, x, every)
    for name, colour, mine in by_verdict(True, range(len(trials)), lambda i: _verdict(trials[i])):
        found = [every[i] for i in mine]
        texts = [exactly(measure, estimate) for estimate in found]
        _points(figure, [x[i] for i in mine], found, texts, name, colour)
    figure.add_hline(y=measure.limit, line={"color": _LIMIT, "width": 1.5, "dash": "dash"})
    if result.value is not None:
        at = x.index(result.value * scale)
        _mark(figure, x[at], every[at].value, f"{extreme(result)} that meets: {shown(result, result.value)}")
    limit = Estimate(measure.limit or 0.0, 0.0, 0.0)
    figure.update_yaxes(**(latency_axis([*every, limit]) if measure.is_latency else {"rangemode": "tozero"}))
    figure.update_xaxes(**_ticks(x, label == result.path))
    rows = [[place, *estimate, _verdict(trial)] for place, estimate, trial in zip(x, every, trials, strict=True)]
    return with_room(with_table(figure, [label, measure.label, "low", "high", "objectives"], rows))


def best_figures(result: Best) -> list[go.Figure]:
    """Target and extra load at each value; dashed lines are the unchanged spec and the allowed extra load.

    They are those of the search, with the same seeds; the best value also has its target in fresh replications.
    """
    measure = Measure(result.target.op, result.target.figure)
    most = result.most_extra_load
    in_search = (result.base_in_search, *result.trials)
    targets = [measure.scaled(trial.target) for trial in in_search]
    latency = _by_value(result, f"{measure.label} by value", measure.label, targets, measure)
    fresh = measure.scaled(result.best.target)
    latency.update_yaxes(**latency_axis([*targets, fresh]))
    at = result.value * _axis(result)[1]
    _points(latency, [at], [fresh], [exactly(measure, fresh)], "fresh replications", _FRESH)
    extra = [Estimate(*[100 * trial.extra_load] * 3) for trial in in_search]
    load = _by_value(result, "Extra load by value", "attempts beyond the first (%)", extra, None)
    load.update_yaxes(rangemode="tozero")
    if most is not None:
        load.add_hline(y=100 * most, line={"color": _LIMIT, "width": 1.5, "dash": "dash"})
    return [latency, load]


def _by_value(result: Best, title: str, y: str, found: Sequence[Estimate], measure: Measure | None) -> go.Figure:
    """Measure at each value and, dashed, of the unchanged spec."""
    label, scale = _axis(result)
    base, *others = found
    x = [(trial.value or 0.0) * scale for trial in result.trials]
    figure = blank(escaped(title), escaped(label), y)
    _line(figure, x, others)
    for allowed, (name, colour) in _ALLOWED.items():
        mine = [i for i, trial in enumerate(result.trials) if trial.allowed == allowed]
        texts = [exactly(measure, others[i]) if measure else f"{others[i].value:.6g} %" for i in mine]
        if mine:
            _points(figure, [x[i] for i in mine], [others[i] for i in mine], texts, name, colour)
    if measure is not None:
        line = {"color": GREY, "width": 1.5, "dash": "dash"}
        figure.add_scatter(
            x=[x[0], x[-1]], y=[base.value] * 2, mode="lines", line=line, name="as in the spec",
            hovertemplate=f"as in the spec: {exactly(measure, base)}<extra></extra>",
        )  # fmt: skip
    at = x.index(result.value * scale)
    _mark(figure, x[at], others[at].value, f"best: {shown(result, result.value)}")
    figure.update_xaxes(**_ticks(x, label == result.path))
    rows = [[place, *estimate] for place, estimate in zip([None, *x], found, strict=True)]
    return with_room(with_table(figure, [label, y, "low", "high"], rows))


def strengths(result: Screening) -> go.Figure:
    """Bar for each number: Morris's mu* of the elasticity, with its interval."""
    rows = result.parameters
    title = f"Change of {result.target} in % per 1 % of each number"
    figure = dressed(go.Figure(), escaped(title), height=190 + 48 * len(rows))
    names = {row.path: f"{escaped(row.path)}\xa0<br>{escaped(range_of(row))}\xa0" for row in rows}
    for way, (name, colour) in _WAYS.items():
        mine = [row for row in rows if _way(row.elasticity) == way]
        found = [Estimate(s.value, s.low, s.high) for s in (row.strength for row in mine)]
        if mine:
            figure.add_bar(
                y=[names[row.path] for row in mine], x=[estimate.value for estimate in found], orientation="h",
                error_x=bars(found) | {"color": GREY}, marker_color=colour, name=name, showlegend=True,
                text=[_details(row) for row in mine], textposition="none",
                hovertemplate="%{text}<extra></extra>",
            )  # fmt: skip
    figure.update_xaxes(title={"text": "strength (mu*): mean absolute elasticity, with its interval", "standoff": 8})
    figure.update_xaxes(rangemode="tozero")
    order = {"categoryorder": "array", "categoryarray": list(names.values())[::-1]}
    figure.update_yaxes(**order).update_layout(bargap=0.45)
    columns = ["number", "unit", "low", "high", "mu*", "mu* low", "mu* high", "mu", "sigma", "factor over the range"]
    table = [
        [
            row.path, row.unit, row.low, row.high, row.strength.value, row.strength.low, row.strength.high,
            row.elasticity.value,
            row.spread, row.factor,
        ]
        for row in rows
    ]  # fmt: skip
    return with_table(figure, columns, table)


def effects(result: Screening) -> go.Figure:
    """Morris's plane: strength of each number, and how much it depends on its own value or on other numbers."""
    rows = result.parameters
    figure = blank("Strength of effects, and how much they vary", "strength (mu*)", "spread (sigma)")
    most, widest = (max(values) for values in zip(*((r.strength.value, r.spread) for r in rows), strict=True))
    figure.add_scatter(
        x=[0, most], y=[0, most], mode="lines", line={"color": GREY, "width": 1, "dash": "dot"}, hoverinfo="skip",
        name="sigma = mu*",
    )  # fmt: skip
    for way, (name, colour) in _WAYS.items():
        mine = [row for row in rows if _way(row.elasticity) == way]
        if mine:
            figure.add_scatter(
                x=[row.strength.value for row in mine], y=[row.spread for row in mine], mode="markers", name=name,
                marker={"size": 11, "color": colour}, cliponaxis=False,
                text=[_details(row) for row in mine], hovertemplate="%{text}<extra></extra>",
            )  # fmt: skip
    for row in rows:
        if len(rows) <= _FEW or row.strength.value >= _NAMED * most:
            anchor, side = ("right", -1) if row.strength.value > most / 2 else ("left", 1)
            figure.add_annotation(
                x=row.strength.value, y=row.spread, text=escaped(row.path), showarrow=False, xanchor=anchor,
                xshift=10 * side,
            )  # fmt: skip
    figure.update_xaxes(range=[-0.04 * most, 1.08 * most])
    figure.update_yaxes(range=[-0.05 * max(most, widest), 1.08 * max(most, widest)])
    points = [[row.path, row.strength.value, row.spread] for row in rows]
    return with_room(with_table(figure, ["number", "mu*", "sigma"], points))


def _line(figure: go.Figure, x: Sequence[float], found: Sequence[Estimate]) -> None:
    figure.add_scatter(
        x=x, y=[estimate.value for estimate in found], mode="lines", line={"color": GREY, "width": 1},
        showlegend=False, hoverinfo="skip",
    )  # fmt: skip


def _points(
    figure: go.Figure, x: Sequence[float], found: Sequence[Estimate], texts: Sequence[str], name: str, colour: str
) -> None:
    figure.add_scatter(
        x=x, y=[estimate.value for estimate in found], error_y=bars(found), mode="markers",
        marker={"size": 8, "color": colour}, name=name, text=texts, hovertemplate="at %{x}: %{text}<extra></extra>",
    )  # fmt: skip


def _mark(figure: go.Figure, x: float, y: float, name: str) -> None:
    figure.add_scatter(
        x=[x], y=[y], mode="markers", hoverinfo="skip", name=escaped(name),
        cliponaxis=False,
        marker={"size": 18, "color": PLAIN, "symbol": "diamond-open", "line": {"width": 2}},
    )  # fmt: skip


def _axis(result: FoundLimit | Best) -> tuple[str, float]:
    """Label of the axis of the searched field, and conversion factor of its values."""
    unit, scale = _SCALES[result.unit]
    return f"{result.path} ({unit})" if unit else result.path, scale


def _ticks(x: Sequence[float], whole: bool) -> dict[str, Any]:
    # Bisection tries values close together, so not each gets a tick.
    steps = {"dtick": 1} if whole and max(x) - min(x) <= 12 else {}
    return value_axis(x) | {"tickvals": None} | steps


def _verdict(trial: LimitTrial) -> str:
    return "unsure" if not trial.sure else "pass" if trial.meets else "fail"


def _way(elasticity: Interval) -> str:
    return "up" if elasticity.low > 0 else "down" if elasticity.high < 0 else ""


def _details(row: Effect) -> str:
    figures = f"mu* {row.strength.value:.3g}, mu {row.elasticity.value:+.3g}, sigma {row.spread:.3g}"
    return f"{escaped(row.path)} in {escaped(range_of(row))}: {figures}, ×{row.factor:.3g} over the range"
