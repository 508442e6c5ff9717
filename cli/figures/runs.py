"""Figures of Runs and comparisons: colour is the operation, dash is the Run."""

from __future__ import annotations

import html
import math
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cli.sentences import part
from cli.words import LABELS, percent, percent_between, seconds
from traces.run import Run, StationRow
from traces.statistics.critical_path import AttributedBand, Attribution
from traces.statistics.summary import Floats, latencies, subjects_of, tail_points, timeline
from validate.compare.compare import Comparison

Named = Sequence[tuple[str, Run]]

COLOURS = {"GET": "#3b82d6", "PUT": "#e08a00", "HEAD": "#109e78", "DELETE": "#d5521a", "LIST": "#b86aa8"}
LABEL_GROUND = "rgba(127,127,127,0.15)"
"""Background of labels on lines; a page replaces it by its own background."""
ROLE_COLOURS = (
    "#3b82d6", "#d97a00", "#109e78", "#d8577f", "#7f6fd6", "#8a8f1f", "#1f95a8", "#d5521a", "#b86aa8", "#7f8896",
)  # fmt: skip
LOG_LATENCY = {"type": "log", "dtick": "D2", "tickformat": ",~g"}
"""An axis of latencies: logarithmic, with labels at 1, 2, 5, 10 …"""
_MARGIN = {"l": 70, "r": 24, "t": 48, "b": 88}
_SCATTERED = 1500  # greatest number of points of an operation in a scatter plot
_MOST_STATIONS = 30
_NEARLY = 1.05  # ratios within it of 1: an axis of their own range would magnify chance
_EXACT = ".6~g"
_KINDS = "service_s", "waiting_s"  # parts of a latency, in the order of a bar
_TAILS = {"p50": 0.5, "p90": 0.1, "p99": 0.01, "p99.9": 0.001, "p99.99": 1e-4, "p99.999": 1e-5}


def colour_of(op: str) -> str:
    """Return the colour of an operation, or of one of a group such as ``backup.PUT``."""
    return COLOURS.get(op) or ROLE_COLOURS[zlib.crc32(op.encode()) % len(ROLE_COLOURS)]


def cdf(runs: Named) -> go.Figure:
    """Cumulative latency distribution of each operation."""
    figure = blank("Latency: cumulative distribution", "latency (ms)", "fraction of requests")
    for run_index, name, op, run in _series(runs):
        values, above = tail_points(latencies(run, op))
        below = np.append(1 - above[1:], 1.0)
        figure.add_scatter(x=_ms(values), y=below, **_line(runs, run_index, name, op, shape="hv"))
    figure.update_xaxes(**LOG_LATENCY)
    figure.update_yaxes(range=[0, 1.02], tickformat=".0%")
    return with_room(figure)


def tail(runs: Named) -> go.Figure:
    """Complementary cumulative latency distribution of each operation, on logarithmic axes."""
    figure = blank("Latency: tail", "latency (ms)", "fraction at least as slow")
    least = 1.0
    for run_index, name, op, run in _series(runs):
        values, above = tail_points(latencies(run, op))
        least = min(least, float(above[-1]))
        figure.add_scatter(x=_ms(values), y=above, **_line(runs, run_index, name, op))
    figure.update_xaxes(**LOG_LATENCY)
    shown = {name: fraction for name, fraction in _TAILS.items() if fraction >= least / 2}
    figure.update_yaxes(
        type="log", tickvals=list(shown.values()), ticktext=list(shown), range=[math.log10(least / 1.5), 0.05]
    )
    return with_room(figure)


def latency_over_time(runs: Named) -> go.Figure:
    """p50 and p99 of windows by intended start; for a single Run also a sample of the requests."""
    figure = blank("Latency over time: p50 (thin) and p99 (bold)", "intended start (s)", "latency (ms)")
    for run_index, name, op, run in _series(runs):
        if len(runs) == 1:
            at_s, latency = _scatter(run, op)
            marker = {"color": colour_of(op), "size": 3, "opacity": 0.35}
            dots = {"mode": "markers", "marker": marker, "showlegend": False, "hoverinfo": "skip"}
            dots |= {"meta": {"series": f"{op} requests"}}
            figure.add_scatter(x=at_s, y=_ms(latency), **dots)
        over = timeline(run, op)
        for quantile, width in (("p50", 1.2), ("p99", 2.4)):
            style = _line(runs, run_index, name, op, width=width)
            style |= {"showlegend": quantile == "p99", "hovertemplate": f"{quantile} %{{y:.6~g}} ms at %{{x:.6~g}} s"}
            style |= {"meta": {"series": f"{style['name']} {quantile}"}}
            figure.add_scatter(x=over.middle_s, y=_ms(over.latency_s[quantile]), **style)
    figure.update_yaxes(**LOG_LATENCY)
    return with_room(figure)


def throughput_over_time(runs: Named) -> go.Figure:
    """Successful requests per second by end."""
    figure = blank("Throughput over time", "end (s)", "requests per second")
    for run_index, name, op, run in _series(runs):
        over = timeline(run, op)
        figure.add_scatter(x=over.middle_s, y=over.throughput_ops, **_line(runs, run_index, name, op))
    figure.update_yaxes(rangemode="tozero")
    return with_room(figure)


def stations(table: Sequence[StationRow]) -> go.Figure:
    """Utilisation and mean queue of stations with a finite number of servers, the busiest first."""
    limited = [station for station in table if station["servers"] is not None]
    busiest = sorted(limited, key=lambda station: -station["utilization"])[:_MOST_STATIONS]
    names = [escaped(station["name"]) for station in busiest]
    figure = make_subplots(cols=2, shared_yaxes=True, horizontal_spacing=0.07)
    left = go.Bar(y=names, x=[s["utilization"] for s in busiest], orientation="h", marker_color=COLOURS["GET"])
    right = go.Bar(y=names, x=[s["mean_queue"] for s in busiest], orientation="h", marker_color=COLOURS["PUT"])
    for bars, name in ((left, "utilisation"), (right, "mean queue")):
        bars.update(name=name, hovertemplate="%{y}: %{x:.6~g}<extra></extra>")
    figure.add_trace(left, row=1, col=1)
    figure.add_trace(right, row=1, col=2)
    hidden = f" (the busiest {len(busiest)} of {len(limited)})" if len(busiest) < len(limited) else ""
    dressed(figure, f"Utilisation and queues{hidden}", height=150 + 24 * max(len(busiest), 3))
    figure.update_layout(showlegend=False, bargap=0.35, margin_b=56)
    figure.update_xaxes(title="utilisation", tickformat=".0%", range=[0, 1], row=1, col=1)
    figure.update_xaxes(title="mean queue (jobs waiting)", rangemode="tozero", row=1, col=2)
    figure.update_yaxes(autorange="reversed", ticksuffix=" ")
    return figure


def role_colours(attributions: Iterable[Attribution]) -> dict[str, str]:
    """Assign a colour to each role in the attributions; colours repeat after ten roles."""
    roles = {role for ops in attributions for bands in ops.values() for role in bands["p50"]["roles"]}
    return {role: ROLE_COLOURS[i % len(ROLE_COLOURS)] for i, role in enumerate(sorted(roles))}


def attribution(op: str, bands: dict[str, AttributedBand], colours: dict[str, str]) -> go.Figure:
    """Bar for each quantile of an operation: fractions of waiting and service time by role."""
    figure = dressed(go.Figure(), f"{op}: fraction of latency; waiting is hatched", height=190 + 40 * len(bands))
    mean_s = np.array([band["latency_s"]["mean"] for band in bands.values()])
    names = [f"around {LABELS[name]}: {seconds(mean)}" for name, mean in zip(bands, mean_s.tolist(), strict=True)]
    averaged = [_averaged(band) for band in bands.values()]
    for role in sorted(bands["p50"]["roles"], key=list(colours).index):
        kinds = [kind for kind in _KINDS if any(band["roles"][role][kind] for band in bands.values())]
        for kind in kinds:
            spent_s = np.array([band["roles"][role][kind] for band in bands.values()])
            what = f"{escaped(part(role, kind))}: %{{customdata:.6~g}} ms (%{{x:.1%}})"
            figure.add_bar(
                y=names,
                x=spent_s / np.where(mean_s > 0, mean_s, 1),
                orientation="h",
                name=escaped(role),
                legendgroup=role,
                showlegend=kind == kinds[0],
                marker=_filled(colours[role], hatched=kind == "waiting_s"),
                customdata=spent_s * 1e3,
                meta={"series": part(role, kind), "customdata": "ms"},
                hovertext=averaged,
                hovertemplate=f"{what}<br>%{{hovertext}}<extra></extra>",
            )
    figure.update_layout(barmode="stack", bargap=0.3)
    figure.update_xaxes(tickformat=".0%", range=[0, 1])
    figure.update_yaxes(autorange="reversed", ticksuffix=" ")
    return figure


def _averaged(band: AttributedBand) -> str:
    low, high = (seconds(band["latency_s"][end]) for end in ("min", "max"))
    return f"mean of {band['requests']:,} requests, {low} to {high}"


def ratios(comparison: Comparison, names: tuple[str, str]) -> go.Figure:
    """Ratio of A to B for each measure of each operation, with intervals and the tolerance."""
    a, b = map(escaped, names)
    figure = blank(f"{a} over {b}: ratio and {comparison.confidence * 100:g}% interval", "", "ratio")
    limit = 1 + comparison.tolerance
    figure.add_hrect(y0=1 / limit, y1=limit, fillcolor="rgba(128,128,128,0.18)", line_width=0, layer="below")
    figure.add_hline(y=1, line={"color": "rgba(128,128,128,0.8)", "width": 1})
    for op, result in comparison.ops.items():
        if result.distances is None:
            continue
        measures = result.measures
        logs = np.array([[m.log_ratio, *m.interval] for m in measures.values()])
        ratio, low, high = np.exp(np.clip(logs, -100, 100)).T
        figure.add_scatter(
            x=[LABELS[name] for name in measures],
            y=ratio,
            error_y={"type": "data", "array": high - ratio, "arrayminus": ratio - low, "width": 5},
            mode="markers",
            marker={"size": 9, "color": colour_of(op)},
            name=op,
            text=[f"{percent(log[0])} ({percent_between([log[1], log[2]])})" for log in logs.tolist()],
            hovertemplate="%{x}: %{text}",
        )
    figure.update_layout(scattermode="group", scattergap=0.5)
    figure.update_yaxes(**ratio_axis([value for trace in figure.data for value in trace.y]))
    return figure


def ratio_axis(values: Sequence[float]) -> dict[str, Any]:
    """Logarithmic axis for ratios above 0, where 2 and 1/2 are equally far from 1; ratios of nearly 1 look like it."""
    low, high = min(values, default=1.0), max(values, default=1.0)
    axis = {"type": "log", "tickformat": ".3~g", **({"dtick": "D2"} if high > 5 * low else {"nticks": 8})}
    if low > 1 / _NEARLY and high < _NEARLY:
        axis["range"] = [-math.log10(1 + 2 * (_NEARLY - 1)), math.log10(1 + 2 * (_NEARLY - 1))]
    return axis


def _series(runs: Named) -> list[tuple[int, str, str, Run]]:
    return [
        (i, name, op, run) for i, (name, run) in enumerate(runs) for op in subjects_of(run) if len(latencies(run, op))
    ]


def _line(runs: Named, index: int, name: str, op: str, width: float = 2.0, shape: str = "linear") -> dict[str, Any]:
    """Style of a line: of two Runs, the first is dashed and the second, the reference, solid."""
    first_of_two = len(runs) > 1 and index == 0
    line = {"color": colour_of(op), "width": width, "dash": "dash" if first_of_two else "solid", "shape": shape}
    return {"mode": "lines", "line": line, "name": op if len(runs) == 1 else f"{escaped(name)} {op}"}


def blank(title: str, x: str, y: str) -> go.Figure:
    figure = dressed(go.Figure(), title, height=420)
    figure.update_xaxes(title={"text": x, "standoff": 8})
    figure.update_yaxes(title={"text": y, "standoff": 8})
    return figure


def dressed(figure: go.Figure, title: str, height: int) -> go.Figure:
    """Apply the common layout: title at the top left, legend below, transparent background."""
    legend = {"orientation": "h", "yref": "container", "y": 0.01, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"}
    figure.update_layout(
        title={"text": title, "x": 0.02, "xanchor": "left", "y": 0.97, "yanchor": "top", "font": {"size": 16}},
        height=height,
        margin=_MARGIN,
        legend=legend,
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    )
    # Hover texts have exact values; axis labels are rounded.
    figure.update_xaxes(automargin=True, hoverformat=_EXACT, separatethousands=True)
    figure.update_yaxes(automargin=True, hoverformat=_EXACT, separatethousands=True)
    return figure


def with_room(figure: go.Figure) -> go.Figure:
    """Increase the height if the legend needs more than two lines."""
    listed = sum(trace.showlegend is not False for trace in figure.data)
    return figure.update_layout(height=figure.layout.height + 10 * max(0, listed - 4))


def _filled(colour: str, hatched: bool) -> dict[str, Any]:
    """Fill of a bar: solid, or hatched with a transparent background, for light, dark and printed pages."""
    pattern = {"shape": "/", "fillmode": "replace", "size": 6, "solidity": 0.4} if hatched else {"shape": ""}
    return {"color": colour, "pattern": pattern, "line": {"color": colour, "width": 1}}


def _ms(values_s: Floats) -> Any:
    """Convert to milliseconds in single precision, which suffices for a plot."""
    return (values_s * 1e3).astype(np.float32)


def _scatter(run: Run, op: str) -> tuple[Floats, Floats]:
    """Sample intended start and latency: a tenth are the slowest requests, the others are evenly spaced in time."""
    done = np.flatnonzero(run.has(op) & ~run.failed)
    if len(done) > _SCATTERED:
        slowest = done[np.argpartition(run.latency_s[done], -_SCATTERED // 10)[-_SCATTERED // 10 :]]
        evenly = done[np.linspace(0, len(done) - 1, _SCATTERED * 9 // 10).astype(np.int64)]
        done = np.union1d(slowest, evenly)
    at_s = run.column("arrival_s")[done] - run.column("arrival_s").min()
    return at_s.astype(np.float32), run.latency_s[done]


def escaped(name: str) -> str:
    """Escape a name, as plotly interprets text as a kind of HTML."""
    return html.escape(name, quote=False)  # plotly does not know all entities of quotes
