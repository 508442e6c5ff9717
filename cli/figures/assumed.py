"""Figures of the effects of values that are not known."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from cli.figures.runs import blank, colour_of, escaped, ratio_axis, with_room
from cli.figures.whatif import GREY, with_table
from cli.tables.forecast.uncertainty import range_text, whole_ops
from cli.words import LABELS
from sim.experiments.uncertainty import MOVED, RangeEffects

_MOST = 20  # values in a figure
STILL = 0.005
"""Change of a figure, as a fraction, below which it does not move."""


def ranges(result: RangeEffects) -> list[go.Figure]:
    """Return a figure for each of `MOVED` that moves: how far over the range of each value, the strongest first."""
    return [_ranges(result, name) for name in MOVED[::-1] if name not in unmoved(result)]


def unmoved(result: RangeEffects) -> list[str]:
    """Return those of `MOVED` that no value moves by more than `STILL`, whose figures would be empty."""
    ratios = {
        name: [r for effect in result.effects for op in whole_ops(result) for r in effect.ops[op][name]]
        for name in MOVED
    }
    return [name for name, found in ratios.items() if all(abs(ratio - 1) < STILL for ratio in found)]


def _ranges(result: RangeEffects, name: str) -> go.Figure:
    shown = result.effects[:_MOST]
    ops = whole_ops(result)
    figure = blank(f"{LABELS[name]} at the ends of each range, over that as assumed", "ratio", "")
    places = {effect.unknown.path: i for i, effect in enumerate(shown)}
    every = [1.0]
    for k, op in enumerate(ops):
        x: list[float | None] = []
        y: list[float | None] = []
        for effect in shown:
            ends = [ratio for ratio in effect.ops[op][name] if 0 < ratio < math.inf]
            every += ends
            at = places[effect.unknown.path] + 0.3 * ((k + 0.5) / len(ops) - 0.5) * 2
            # The assumed value is between the ends, or beyond both.
            x += [min([1.0, *ends]), max([1.0, *ends]), None]
            y += [at, at, None]
        style = {"color": colour_of(op), "width": 6}
        figure.add_scatter(x=x, y=y, mode="lines", line=style, name=op, hovertemplate="×%{x:.3g}")
    figure.add_vline(x=1, line={"color": GREY, "width": 1})
    low, high = math.log10(min(every)), math.log10(max(every))
    room = 0.03 * (high - low)  # beyond the ends of the lines
    figure.update_xaxes(**({"range": [low - room, high + room]} | ratio_axis(every)))
    texts = [f"{escaped(e.unknown.path)}<br>{escaped(range_text(e.unknown))}" for e in shown]
    figure.update_yaxes(tickvals=list(places.values()), ticktext=texts, range=[len(shown) - 0.5, -0.5], ticksuffix=" ")
    rows = [[effect.unknown.path, op, *effect.ops[op][name]] for effect in result.effects for op in ops]
    columns = ["value", "op", "low end over assumed", "high end over assumed"]
    figure.update_layout(height=190 + 44 * len(shown))
    return with_room(with_table(figure, columns, rows))
