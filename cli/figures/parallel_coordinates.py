"""Parallel coordinates of a what-if: a line for each point over varied fields, measures and cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from cli.figures.runs import LABEL_GROUND, dressed, escaped
from cli.figures.whatif import GREY, MOST_TICKS, by_verdict, exactly, named, steps, with_table
from cli.tables.experiments.measures import Measure, are_numbers, ordered
from cli.tables.experiments.whatif import written
from cli.words import number
from sim.experiments.whatif import SimulatedPoint, WhatIf

_TICK = {
    "showarrow": False, "xanchor": "left", "xshift": 4, "yanchor": "middle", "font": {"size": 11, "color": GREY},
    "bgcolor": LABEL_GROUND, "borderpad": 0,
}  # fmt: skip

_Axis = tuple[str, list[float], list[tuple[float, str]]]
"""Label, position of each point from 0 to 1, and ticks."""


def parallel(result: WhatIf, measures: Sequence[Measure]) -> go.Figure:
    """Line for each point, coloured by verdict, with an axis for each varied field, each measure, and the cost."""
    points = result.simulated
    axes = [_varied_axis(path, ordered(values), points) for path, values in result.vary.items()]
    axes += [_figure_axis(m.label, [m.of(p).value for p in points], m.is_latency) for m in measures]
    costs = [point.cost for point in points if point.cost is not None]
    if len(costs) == len(points):
        axes.append(_figure_axis("cost", costs, False))
    figure = dressed(go.Figure(), "All points and their results", height=520)
    for name, colour, mine in by_verdict(bool(result.slos), points, lambda point: point.verdict):
        own = [i for i, point in enumerate(points) if any(point is other for other in mine)]
        _add_lines(figure, [axis[1] for axis in axes], own, [_all_of(point, measures) for point in mine])
        figure.data[-1].update(line_color=colour, name=name)
    for a, (_, _, ticks) in enumerate(axes):
        figure.add_vline(x=a, line={"color": GREY, "width": 1}, layer="below")
        for height, text in ticks:
            figure.add_annotation(x=a, y=height, text=escaped(text), **_TICK)
    labels = [_broken(escaped(axis[0])) for axis in axes]
    figure.update_xaxes(**steps(len(axes), labels), tickangle=0, showgrid=False, zeroline=False)
    figure.update_yaxes(visible=False, range=[-0.05, 1.05])
    figure.update_layout(margin={"l": 24, "r": 24, "b": 130}, hovermode="closest")
    rows = [
        [
            *map(written, point.set.values()),
            *(m.of(point).value for m in measures),
            point.cost,
            point.verdict,
        ]
        for point in points
    ]
    return with_table(figure, [*result.vary, *(m.label for m in measures), "cost", "verdict"], rows)


def _varied_axis(path: str, values: Sequence[Any], points: Sequence[SimulatedPoint]) -> _Axis:
    if are_numbers(values) and len(values) > MOST_TICKS:
        return _figure_axis(path, [float(point.set[path]) for point in points], False)
    names = [written(value) for value in values]
    height = {name: i / max(len(names) - 1, 1) for i, name in enumerate(names)}
    return path, [height[written(point.set[path])] for point in points], [(y, name) for name, y in height.items()]


def _figure_axis(label: str, values: Sequence[float], is_log: bool) -> _Axis:
    given = np.array(values, float)
    scaled = np.log(np.where(given > 0, given, math.nan)) if is_log else given
    known = scaled[np.isfinite(scaled)]
    if not len(known):
        return label, [math.nan] * len(given), []
    low, high = float(known.min()), float(known.max())
    wide = (high - low) or 1.0
    at = np.linspace(low, high, 5) if high > low else np.array([low])
    ticks = [((t - low) / wide, number(math.exp(t) if is_log else t)) for t in at.tolist()]
    return label, ((scaled - low) / wide).tolist(), ticks


def _add_lines(
    figure: go.Figure, heights: Sequence[Sequence[float]], mine: Sequence[int], texts: Sequence[str]
) -> None:
    """Add all lines as one plotly trace, with a gap after each."""
    x = [a for _ in mine for a in (*range(len(heights)), None)]
    y = [h for i in mine for h in (*(axis[i] for axis in heights), None)]
    hover = [text for text in texts for _ in range(len(heights) + 1)]
    line, marker = {"width": 1.2}, {"size": 5}
    figure.add_scatter(
        x=x, y=y, mode="lines+markers", line=line, marker=marker, hovertext=hover, hoverinfo="text", opacity=0.75
    )


def _all_of(point: SimulatedPoint, measures: Sequence[Measure]) -> str:
    lines = [named(point), *(exactly(measure, measure.of(point)) for measure in measures)]
    return "<br>".join([*lines, *([f"cost {point.cost:,.6g}"] if point.cost is not None else [])])


def _broken(label: str) -> str:
    """Break a label into lines, as axes are close to each other."""
    return label.replace(".", ".<br>").replace(" ", "<br>")
