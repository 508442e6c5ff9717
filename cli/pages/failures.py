"""Page about failures: latency and throughput before, during and after each, and tables of these windows."""

from __future__ import annotations

import math
from pathlib import Path

import plotly.graph_objects as go

from cli.figures.objectives import with_objectives
from cli.figures.runs import COLOURS, LABEL_GROUND, blank, with_room
from cli.pages.page import Header, Page, Section
from cli.tables.experiments.failures import described_effect, failure_grids, findings, met_lines, notes, opening
from cli.words import seconds
from sim.experiments.failure_result import FailureEffect, Failures
from sim.experiments.failure_windows import FailureTimeline, OpTimeline

_SHADE = "rgba(213,90,26,0.14)"
_NOTHING = OpTimeline([], [], [], [])  # of an operation that has no requests


def failures_page(result: Failures) -> Page:
    """Return a page about the result of `sim.experiments.failures.failures`."""
    found = findings(result)
    sections = [
        Section(
            f"{effect.failure}: {described_effect(effect)}",
            [sentence] if len(found) > 1 else (),
            failure_grids(result, effect),
            [latency(result, effect), throughput(result, effect)],
        )
        for effect, sentence in zip(result.failures, found, strict=True)
    ]
    sections += [Section("", notes(result))] if notes(result) else []
    header = Header.of(
        _requested(result),
        [*opening(result), found[0] if len(found) == 1 else _worst(result), *met_lines(result)],
        _certainty(result),
    )
    return Page(f"Failures of {Path(result.spec).name}", header, sections)


def _requested(result: Failures) -> str:
    what = "; ".join(described_effect(effect) for effect in result.failures)
    times = f"from {seconds(result.at_s)} to {seconds(min(result.until_s, result.end_s))}"
    return f"The effect of a failure {times} of {seconds(result.end_s)}: {what}."


def _worst(result: Failures) -> str:
    """State the worst failure for each operation, by errors and then by tail latency during the failure."""
    parts = []
    for op in dict.fromkeys(op for effect in result.failures for op in effect.during.ops):
        having = [effect for effect in result.failures if op in effect.during.ops]

        def severity(effect: FailureEffect, op: str = op) -> tuple[float, float]:
            figures = effect.during.ops[op]
            tail = figures.latency_s["p99"]
            return round(figures.errors / figures.count, 3), tail if math.isfinite(tail) else math.inf

        worst = max(having, key=severity)
        failed, tail = severity(worst)
        errors = f", and {failed:.1%} fail" if failed else ""
        what = "all fail" if failed == 1 else f"p99 is {seconds(tail)}{errors}"
        parts.append(f"{op}s are affected most while {described_effect(worst)}: {what}")
    if result.slos:
        count = sum("fail" in effect.during.slo.values() for effect in result.failures)
        parts.append(f"{count} of {len(result.failures)} failures violate an objective while they last")
    return f"{'; '.join(parts)}."


def _certainty(result: Failures) -> str:
    counts = sorted({effect.replications for effect in result.failures})
    times = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    widths = [
        ((high - low) / 2 / figures.latency_s["p99"], f"{op} {name}, {effect.failure}")
        for effect in result.failures
        for name, window in effect.windows.items()
        for op, figures in window.ops.items()
        for low, high in [figures.interval.latency_s["p99"]]
        if figures.latency_s["p99"] and math.isfinite(high - low)
    ]
    how = f"Each failure has {times} replications, each compared with a healthy one with the same random numbers"
    if not widths:
        return f"{how}; these are too few for intervals."
    widest, where = max(widths)
    return f"{how}; the widest {result.confidence:.0%} interval of a p99 is ± {widest:.1%} ({where})."


def latency(result: Failures, effect: FailureEffect) -> go.Figure:
    """p50 and p99 by intended start, and (dashed) p99 without the failure."""
    figure = _axes(
        result, "Latency: p50 (thin), p99 (bold), healthy p99 (dashed)", "intended start (s)", "latency (ms)"
    )
    over = effect.timeline
    for op, healthy in over.healthy.items():
        failing = over.failing.get(op, _NOTHING)
        for name, values, width, dash in (
            (f"{op} healthy p99", healthy.p99, 1.2, "dash"),
            (f"{op} p50", failing.p50, 1.2, "solid"),
            (f"{op} p99", failing.p99, 2.6, "solid"),
        ):
            line = {"color": COLOURS[op], "width": width, "dash": dash}
            in_ms = [value * 1e3 for value in values]
            figure.add_scatter(x=_middles(over), y=in_ms, mode="lines", name=name, line=line)
    figure.update_yaxes(type="log", dtick="D2", tickformat=",~g")
    return with_room(with_objectives(figure, result.slos))


def throughput(result: Failures, effect: FailureEffect) -> go.Figure:
    """Successful requests per second by end, dashed without the failure, and failed ones by intended start."""
    figure = _axes(result, "Throughput; healthy is dashed, errors dotted", "time (s)", "requests per second")
    over = effect.timeline
    for op, healthy in over.healthy.items():
        failing = over.failing.get(op, _NOTHING)
        lines = [
            (f"{op} healthy", healthy.throughput_ops, COLOURS[op], "dash", 1.2),
            (op, failing.throughput_ops, COLOURS[op], "solid", 2.4),
        ]
        if any(failing.errors_ops):
            lines.append((f"{op} errors", failing.errors_ops, COLOURS[op], "dot", 1.6))
        for name, values, colour, dash, width in lines:
            line = {"color": colour, "width": width, "dash": dash, "shape": "hvh"}
            figure.add_scatter(x=_middles(over), y=values, mode="lines", name=name, line=line)
    figure.update_yaxes(rangemode="tozero")
    return with_room(figure)


def _middles(over: FailureTimeline) -> list[float]:
    return [(start + end) / 2 for start, end in zip(over.start_s, over.end_s, strict=True)]


def _axes(result: Failures, title: str, x: str, y: str) -> go.Figure:
    """Return an empty chart over time with labelled windows; the one during the failure is shaded."""
    figure = blank(title, x, y)
    until_s = min(result.until_s, result.end_s)
    figure.add_vrect(x0=result.at_s, x1=until_s, fillcolor=_SHADE, line_width=0, layer="below")
    edges = {"before": (0.0, result.at_s), "during": (result.at_s, until_s), "after": (until_s, result.end_s)}
    for name, (start, end) in edges.items():
        if end > start:
            figure.add_annotation(
                x=(start + end) / 2, y=1, yref="paper", yanchor="top", text=name, showarrow=False,
                font={"size": 11}, bgcolor=LABEL_GROUND,
            )  # fmt: skip
    figure.update_xaxes(range=[0, result.end_s])
    return figure
