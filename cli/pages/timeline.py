"""Page about a timeline: throughput, latency and state against the number of objects, with effects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from cli.figures.runs import COLOURS, LABEL_GROUND, blank, escaped, with_room
from cli.pages.page import Header, Page, Section
from cli.tables.experiments.timeline import (
    effects_grids,
    millions,
    notes,
    opening,
    state_grids,
    unknown_lines,
)
from cli.tables.forecast.uncertainty import unknowns_grid
from cli.words import number, seconds
from sim.capacity.timeline import Timeline
from sim.capacity.timeline_bands import TimelineBands
from sim.replication.summaries import CONFIDENCE

_FRACTIONS = {
    "fill_fraction": ("fill of drives", "#3b82d6"),
    "onode_hit_fraction": ("onode cache hit ratio", "#109e78"),
    "block_cache_hit_fraction": ("RocksDB block cache hit ratio", "#7f6fd6"),
    "slow_write_fraction": ("RocksDB writes to the data device", "#d5521a"),
    "lost_to_reshards": ("client time lost to reshards", "#b86aa8"),
}
"""Fractions that a state may have, depending on the store; others are not drawn."""
_SIZES = (("metadata_bytes", "all", "#3b82d6"), ("spilled_bytes", "spilled", "#d5521a"))
_GREY = "rgba(128,128,128,0.8)"
_NAMES = 4  # heights of effect names, so that neighbours do not overlap


def timeline_page(result: Timeline, title: str, bands: TimelineBands | None = None) -> Page:
    """Return a page about the result of `sim.capacity.timeline.timeline`, with shaded bands of what is not known."""
    charts = [throughput(result, bands), _latency(result, bands)]
    if any(state.get(name) for state in result.states for name in _FRACTIONS):
        charts.append(_state(result))
    if all(name in result.states[0] for name, _, _ in _SIZES):
        charts.append(_metadata(result))
    header = Header.of(_requested(result), [*opening(result), _found(result)], _certainty(result))
    unknown = [] if bands is None else unknown_lines(bands)
    sections = [
        Section("", (), effects_grids(result)),
        Section("Results by objects stored", [f"Bars are {CONFIDENCE:.0%} intervals.", *unknown], charts=charts),
        Section("All states", notes(result), state_grids(result, bands)),
    ]
    if bands is not None:
        sections.append(Section("", (), [unknowns_grid(bands.unknowns)]))
    return Page(title, header, sections)


def _requested(result: Timeline) -> str:
    first, last = (millions(result.states[i]["objects"]) for i in (0, -1))
    return f"How throughput and latency change from {first} to {last} objects in the store."


def _found(result: Timeline) -> str:
    """State throughput and tail at both ends, and the first effect between them."""
    parts = []
    for op in _ops(result):
        states = [state for state in _having(result, op) if not state["full"]]
        if not states:
            continue
        rates, tails = zip(
            *((s["ops"][op]["throughput_ops"], s["ops"][op]["latency_s"]["p99"]) for s in states), strict=True
        )
        parts.append(
            f"{op} throughput goes from {number(rates[0])} to {number(rates[-1])} op/s, and p99 from "
            f"{seconds(tails[0])} to {seconds(tails[-1])}"
        )
    first = min(result.effects, key=lambda effect: effect.objects, default=None)
    if first is not None:
        parts.append(f"the first effect is {first.name}, at {millions(first.objects)} objects")
    return "; ".join(parts) + "." if parts else "The store is full in all states."


def _certainty(result: Timeline) -> str:
    """State the simulated time, and the widest interval of a throughput."""
    widths = [
        (high - low) / 2 / figures["throughput_ops"]
        for state in result.states
        for figures in state["ops"].values()
        for low, high in [figures["interval"]["throughput_ops"]]
        if figures["throughput_ops"] and math.isfinite(high - low)
    ]
    known = f"the widest {CONFIDENCE:.0%} interval of a throughput is ± {max(widths):.1%}" if widths else ""
    windows = (
        f"Each of {len(result.states)} states was simulated for {seconds(result.window_s)}, of which the first "
        f"{seconds(result.warm_up_s)} are left out as warm-up"
    )
    return "; ".join(filter(None, [windows, known])) + "."


def throughput(result: Timeline, bands: TimelineBands | None = None) -> go.Figure:
    """Requests per second against objects; dashed, without the time that clients wait for reshards."""
    figure = _axes(result, "Throughput", "requests per second")
    for op in _ops(result):
        states = _having(result, op)
        y = [state["ops"][op]["throughput_ops"] for state in states]
        bounds = [state["ops"][op]["interval"]["throughput_ops"] for state in states]
        _add_band(figure, result, bands, op, "throughput_ops", 1.0)
        figure.add_scatter(**_line(states, y, op, COLOURS[op]), error_y=_bars(y, bounds))
        lost = [state.get("lost_to_reshards", 0.0) for state in states]
        if any(lost):
            left = (np.array(y) * (1 - np.array(lost))).tolist()
            figure.add_scatter(**_line(states, left, f"{op} with reshards", COLOURS[op]), line_dash="dash")
    figure.update_yaxes(rangemode="tozero")
    return with_room(figure)


def _latency(result: Timeline, bands: TimelineBands | None) -> go.Figure:
    figure = _axes(result, "Latency: p50 (thin) and p99 (bold)", "latency (ms)")
    for op in _ops(result):
        states = _having(result, op)
        _add_band(figure, result, bands, op, "p99", 1e3)
        for name, width in (("p50", 1.2), ("p99", 2.6)):
            y = [state["ops"][op]["latency_s"][name] * 1e3 for state in states]
            bounds = [[end * 1e3 for end in state["ops"][op]["interval"]["latency_s"][name]] for state in states]
            line = _line(states, y, op, COLOURS[op], width) | {"showlegend": name == "p99"}
            line |= {"meta": {"series": f"{op} {name}"}}
            figure.add_scatter(**line, error_y=_bars(y, bounds))
    figure.update_yaxes(type="log", dtick="D2", tickformat=",~g")
    return with_room(figure)


def _state(result: Timeline) -> go.Figure:
    figure = _axes(result, "State of the store", "fraction")
    for name, (label, colour) in _FRACTIONS.items():
        y = [state.get(name) or 0.0 for state in result.states]
        if any(y):
            figure.add_scatter(**_line(result.states, y, label, colour))
    figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    return with_room(figure)


def _metadata(result: Timeline) -> go.Figure:
    figure = _axes(result, "RocksDB of an OSD", "GB")
    for name, label, colour in _SIZES:
        y = [state[name] / 1e9 for state in result.states]
        figure.add_scatter(**_line(result.states, y, label, colour))
    figure.update_yaxes(rangemode="tozero")
    return with_room(figure)


def _add_band(
    figure: go.Figure, result: Timeline, bands: TimelineBands | None, op: str, name: str, unit: float
) -> None:
    """Shade the band of a figure, in multiples of 1 / `unit`."""
    if bands is None:
        return
    ends = [
        (state["objects"], *each[op][name])
        for state, each in zip(result.states, bands.states, strict=True)
        if op in each
    ]
    ends = [each for each in ends if math.isfinite(each[1])]
    figure.add_scatter(
        x=[objects for objects, _, _ in (*ends, *reversed(ends))],
        y=[low * unit for _, low, _ in ends] + [high * unit for _, _, high in reversed(ends)],
        fill="toself",
        fillcolor=COLOURS[op],
        opacity=0.18,
        mode="none",
        name=f"{op}: {bands.level:.0%} band",
        hoverinfo="skip",
        showlegend=False,
    )


def _ops(result: Timeline) -> list[str]:
    return list({op: None for state in result.states for op in state["ops"]})


def _having(result: Timeline, op: str) -> list[dict[str, Any]]:
    return [state for state in result.states if op in state["ops"]]


def _axes(result: Timeline, title: str, unit: str) -> go.Figure:
    """Return an empty chart against objects, with a line where each effect begins."""
    figure = blank(title, "objects", unit)
    objects = np.array([state["objects"] for state in result.states])
    steps = np.diff(objects)
    is_linear = bool(steps.max() < 1.5 * steps.min())
    if is_linear:
        figure.update_xaxes(tickformat="~s")
    else:
        ticks = _ticks(max(float(objects[0]), 1.0), float(objects[-1]))
        figure.update_xaxes(type="log", tickvals=ticks, ticktext=[millions(each) for each in ticks])
    for i, effect in enumerate(result.effects):
        figure.add_vline(x=effect.objects, line={"color": _GREY, "width": 1, "dash": "dot"})
        figure.add_annotation(
            x=effect.objects if is_linear else float(np.log10(effect.objects)),
            y=1 - (i % _NAMES) * 0.07,
            yref="paper",
            yanchor="top",
            xanchor="right",
            text=escaped(effect.name),
            hovertext=escaped(effect.text),
            showarrow=False,
            font={"size": 11, "color": _GREY},
            bgcolor=LABEL_GROUND,
        )
    return figure


def _ticks(low: float, high: float) -> list[float]:
    """Return powers of ten between two numbers; within three decades also 2 and 5 times each."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if high < 1000 * low else (1,)
    return [step * 10.0**decade for decade in range(first, last + 1) for step in steps]


def _line(
    states: Sequence[dict[str, Any]], y: list[float], name: str, colour: str, width: float = 2.0
) -> dict[str, Any]:
    return {
        "x": [state["objects"] for state in states],
        "y": y,
        "mode": "lines+markers",
        "line": {"color": colour, "width": width},
        "marker": {"size": 5},
        "name": name,
    }


def _bars(values: list[float], bounds: list[list[float]]) -> dict[str, Any]:
    """Return error bars between the bounds of each value, if it has bounds."""
    half = np.array([high - value for value, (_, high) in zip(values, bounds, strict=True)])
    return {"type": "data", "array": np.where(np.isfinite(half), half, 0.0), "width": 3, "thickness": 1}
