"""Figures of a what-if: curves, maps of values, differences from the base, cost against tail latency."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import plotly.graph_objects as go

from cli.figures.runs import COLOURS, blank, escaped, with_room
from cli.tables.experiments.measures import Estimate, Measure, are_numbers, ordered
from cli.tables.experiments.whatif import setting, written
from cli.tables.forecast.verdict import FEW
from cli.words import LABELS, number
from sim.experiments.whatif import SimulatedPoint, WhatIf

_Point = TypeVar("_Point")

_VERDICTS = {
    "pass": ("meets all objectives", "#109e78"),
    "unsure": ("uncertain", "#e08a00"),
    "fail": ("violates an objective", "#d5521a"),
}
PLAIN, GREY = "#3b82d6", "#808a97"
_BETTER, _WORSE = "rgba(16,158,120,0.3)", "rgba(213,82,26,0.3)"
_MARKS = {"pass": "✓", "unsure": "?", "fail": "✗"}
MOST_TICKS, _MOST_DIFFERENCES = 9, 30


def curve(result: WhatIf, measures: Sequence[Measure]) -> go.Figure:
    """Measures of one unit against the varied field, with intervals and (dashed) limits."""
    ((path, values),) = result.vary.items()
    points = result.simulated
    title = ", ".join(dict.fromkeys(measure.name for measure in measures))
    figure = blank(escaped(title), escaped(path), measures[0].unit)
    for i, measure in enumerate(measures):
        found = [measure.of(point) for point in points]
        colour = COLOURS.get(measure.subject or "", list(COLOURS.values())[i % len(COLOURS)])
        figure.add_scatter(
            x=_places(values, points, path),
            y=[estimate.value for estimate in found],
            error_y=bars(found),
            mode="lines+markers",
            line={"color": colour, "width": 2},
            marker={"size": 6},
            name=escaped(measure.name),
            text=[exactly(measure, estimate) for estimate in found],
            hovertemplate=f"{escaped(path)} %{{x}}: %{{text}}",
        )
        if measure.limit is not None:
            figure.add_hline(y=measure.limit, line={"color": colour, "width": 1.5, "dash": "dash"})
    figure.update_xaxes(**value_axis(values))
    is_latency = measures[0].is_latency
    every = [measure.of(point) for measure in measures for point in points]
    figure.update_yaxes(**(latency_axis(every) if is_latency else {"rangemode": "tozero"}))
    return with_room(figure)


def value_map(result: WhatIf, measure: Measure) -> go.Figure:
    """Measure on the grid of two fields, with its verdict in each cell.

    A cell has a colour if the whole interval of its paired difference from the base is on one side of 0.
    """
    (x_path, x_values), (y_path, y_values) = ((path, ordered(values)) for path, values in result.vary.items())
    points = {(written(p.set[x_path]), written(p.set[y_path])): p for p in result.simulated}
    cells = [
        (i, j, points.get((written(x), written(y)))) for j, y in enumerate(y_values) for i, x in enumerate(x_values)
    ]
    base = result.points[result.base]
    figure = blank(_with_objective(measure), escaped(x_path), escaped(y_path))
    figure.add_scatter(
        x=[i for i, _, _ in cells],
        y=[j for _, j, _ in cells],
        text=[_in_cell(measure, point) for _, _, point in cells],
        mode="text",
        hovertext=[_of_point(measure, point) if point else "not possible" for _, _, point in cells],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    for i, j, point in cells:
        colour = None if point is None else _tone(measure, point)
        box = {"x0": i - 0.48, "x1": i + 0.48, "y0": j - 0.48, "y1": j + 0.48, "layer": "below"}
        line = {"width": 2 if point is base else 0, "color": GREY}
        if colour is not None or point is base:
            figure.add_shape(type="rect", fillcolor=colour or "rgba(0,0,0,0)", line=line, **box)
    for update, values in ((figure.update_xaxes, x_values), (figure.update_yaxes, y_values)):
        update(**steps(len(values), [written(value) for value in values]), showgrid=False, zeroline=False)
    rows_of_csv = [
        [
            written(x_values[i]), written(y_values[j]), *(measure.of(point) if point else [None] * 3),
            _verdict(measure, point),
        ]
        for i, j, point in cells
    ]  # fmt: skip
    figure.update_layout(margin_b=60)  # no legend
    return with_table(figure, [x_path, y_path, measure.label, "low", "high", "verdict"], rows_of_csv)


def _tone(measure: Measure, point: SimulatedPoint) -> str | None:
    """Return the colour of a point that certainly differs from the base; None: it may not."""
    difference = measure.difference(point)
    if measure.is_few(point) or not (difference.low > 0 or difference.high < 0):
        return None
    return _BETTER if (difference.value > 0) == _more_is_better(measure) else _WORSE


def differences(result: WhatIf, measure: Measure) -> go.Figure:
    """Difference of each point from the base, with intervals; grey if the interval includes 0."""
    base = result.points[result.base]
    others = [point for point in result.simulated if point is not base]
    found = [(point, measure.difference(point)) for point in others]
    found = [(point, estimate) for point, estimate in found if math.isfinite(estimate.value)]
    largest = sorted(found, key=lambda pair: -abs(pair[1].value))[:_MOST_DIFFERENCES]
    shown = [pair for pair in found if any(pair[0] is point for point, _ in largest)]
    hidden = f" (largest {len(shown)} of {len(found)})" if len(shown) < len(found) else ""
    figure = blank(f"{escaped(measure.name)}: difference from the base{hidden}", f"difference ({measure.unit})", "")
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    for is_certain, colour, name in (
        (True, PLAIN, "differs"),
        (False, GREY, "interval includes 0, or too few requests"),
    ):
        mine = [(point, e) for point, e in shown if (e.low > 0 or e.high < 0) == is_certain]
        if mine:
            figure.add_scatter(
                x=[estimate.value for _, estimate in mine],
                y=[_in_short(point) for point, _ in mine],
                error_x=bars([estimate for _, estimate in mine]),
                mode="markers",
                marker={"size": 8, "color": colour},
                name=name,
                text=[f"{named(point)}: {exactly(measure, estimate)}" for point, estimate in mine],
                hovertemplate="%{text}",
            )
    order = [_in_short(point) for point, _ in shown]
    figure.update_yaxes(autorange="reversed", ticksuffix=" ", type="category", categoryarray=order, showgrid=True)
    rows = [[*map(written, point.set.values()), *estimate] for point, estimate in found]
    columns = [*result.vary, f"difference in {measure.label}", "low", "high"]
    return with_table(figure.update_layout(height=190 + 22 * len(shown)), columns, rows)


def cost_against_tail(result: WhatIf, op: str) -> go.Figure:
    """Cost and tail latency of each point; a line is the Pareto front."""
    front = result.pareto[op]
    measure = Measure(op, front.figure)
    points = [p for p in result.simulated if p.cost is not None and op in p.ops]
    figure = blank(f"{op}: cost against {LABELS[front.figure]}", "cost", measure.label)
    best = [p for i in front.points if isinstance(p := result.points[i], SimulatedPoint)]
    figure.add_scatter(
        x=[point.cost for point in best],
        y=[measure.of(point).value for point in best],
        mode="lines",
        line={"color": GREY, "width": 2, "shape": "hv"},
        name="Pareto front",
        hoverinfo="skip",
    )
    for name, colour, mine in by_verdict(bool(result.slos), points, lambda point: point.verdict):
        found = [measure.of(point) for point in mine]
        figure.add_scatter(
            x=[point.cost for point in mine],
            y=[estimate.value for estimate in found],
            error_y=bars(found),
            mode="markers",
            marker={"size": 8, "color": colour},
            name=name,
            text=[f"{named(p)}; {exactly(measure, e)}" for p, e in zip(mine, found, strict=True)],
            hovertemplate="cost %{x}: %{text}<extra></extra>",
        )
    figure.update_yaxes(**latency_axis([measure.of(point) for point in points]))
    return with_room(figure)


def by_verdict(
    has_verdicts: bool, points: Sequence[_Point], verdict_of: Callable[[_Point], str]
) -> list[tuple[str, str, list[_Point]]]:
    """Group points by verdict, and return label, colour and points of each group."""
    if not has_verdicts:
        return [("points", PLAIN, list(points))]
    groups = [(v, [point for point in points if verdict_of(point) == v]) for v in _VERDICTS]
    return [(*_VERDICTS[verdict], mine) for verdict, mine in groups if mine]


def latency_axis(found: Sequence[Estimate]) -> dict[str, Any]:
    """Logarithmic axis, or linear if all values are within a factor of 4."""
    known = [estimate.value for estimate in found if estimate.value > 0 and math.isfinite(estimate.value)]
    if not known or max(known) < 4 * min(known):
        return {"rangemode": "tozero"}
    return {"type": "log", "dtick": "D2", "tickformat": ",~g"}


def bars(found: Sequence[Estimate]) -> dict[str, Any]:
    """Error bars between the bounds of each estimate, if it has bounds."""
    above = [e.high - e.value if math.isfinite(e.high - e.value) else 0.0 for e in found]
    below = [e.value - e.low if math.isfinite(e.value - e.low) else 0.0 for e in found]
    return {"type": "data", "array": above, "arrayminus": below, "width": 4, "thickness": 1.2}


def exactly(measure: Measure, estimate: Estimate) -> str:
    """Format a measure and its interval for figures."""
    known = math.isfinite(estimate.low) and math.isfinite(estimate.high)
    between = f" ({estimate.low:.6g} … {estimate.high:.6g})" if known else ""
    return f"{escaped(measure.name)} {estimate.value:.6g} {measure.unit}{between}"


def _of_point(measure: Measure, point: SimulatedPoint) -> str:
    verdict = _verdict(measure, point)
    few = f" ({FEW})" if measure.is_few(point) else ""
    return f"{named(point)}<br>{exactly(measure, measure.of(point))}{few}{f': {verdict}' if verdict else ''}"


def named(point: SimulatedPoint) -> str:
    """Format the varied values of a point for figures."""
    return escaped(setting(point))


def _in_short(point: SimulatedPoint) -> str:
    """Format the varied values of a point without paths."""
    return escaped(", ".join(map(written, point.set.values())))


def _verdict(measure: Measure, point: SimulatedPoint | None) -> str:
    """Return the verdict for the objective of a measure."""
    return point.slo.get(measure.slo.text, "") if point and measure.slo else ""


def _in_cell(measure: Measure, point: SimulatedPoint | None) -> str:
    if point is None:
        return ""
    few = f" ({FEW})" if measure.is_few(point) else ""
    return f"{number(measure.of(point).value)}{few} {_MARKS.get(_verdict(measure, point), '')}"


def _with_objective(measure: Measure) -> str:
    """Return the label of a measure, with its objective."""
    return escaped(f"{measure.label}; objective {measure.slo.text}" if measure.slo else measure.label)


def _more_is_better(measure: Measure) -> bool:
    return measure.figure.startswith("throughput")


def _places(values: Sequence[Any], points: Sequence[SimulatedPoint], path: str) -> list[Any]:
    """Positions of points on the axis of a varied field: numbers or names."""
    return [point.set[path] if are_numbers(values) else escaped(written(point.set[path])) for point in points]


def value_axis(values: Sequence[Any]) -> dict[str, Any]:
    """Axis of a varied field: logarithmic if its numbers span a factor of 20, or with categories for names."""
    if not are_numbers(values):
        return {"type": "category", "categoryarray": [escaped(written(value)) for value in values]}
    is_log = min(values) > 0 and max(values) >= 20 * min(values)
    kind = {"type": "log", "dtick": "D2"} if is_log else {"type": "linear"}  # labels at 1, 2, 5, 10 …
    return {**kind, "tickformat": ",~g", **({"tickvals": list(values)} if len(values) <= MOST_TICKS else {})}


def steps(count: int, labels: Sequence[str]) -> dict[str, Any]:
    """Axis with one step per label."""
    return {"tickvals": list(range(count)), "ticktext": list(labels), "range": [-0.5, count - 0.5]}


def with_table(figure: go.Figure, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> go.Figure:
    """Attach the table that the CSV button saves."""
    return figure.update_layout(
        meta={"table": {"columns": list(columns), "rows": [list(map(_finite, r)) for r in rows]}}
    )


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
