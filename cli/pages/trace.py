"""Page about a trace: rate over time, burstiness, sizes, popularity and reuse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from cli.figures.runs import blank, colour_of, with_room
from cli.pages.page import Header, Page, Section
from cli.tables.grid import Grid
from cli.words import number, seconds, size
from traces.errors import InputError
from traces.operations import OPS, ops_that
from traces.statistics.popularity import objects_of
from traces.statistics.reuse_distance import middle, reuse_distances
from traces.statistics.summary import tail_points
from traces.trace import Trace

_BINS = 200
_POINTS = 400
_MEASURED, _EXPECTED = "#3b82d6", "#7f8896"
_POISSON_BAND = 0.5, 2.0
"""Indices of dispersion that the axis always has, so that chance does not look like a trend."""
_MOST_DECADES = 3


def trace_page(trace: Trace, figures: dict[str, Any], title: str) -> Page:
    """Return a page about a trace and its `traces.statistics.characteristics.figures`.

    Raises:
        InputError: the trace has no requests.
    """
    if not len(trace):
        raise InputError("the trace has no requests, so there is nothing to show")
    charts = [_rate(trace)] if trace.pacing.loop == "open" and len(trace) > 1 else []
    charts += [_dispersion(figures["dispersion"])] if figures["dispersion"] else []
    charts += [_sizes(trace)]
    objects = objects_of(trace)
    if len(objects):
        charts += [_popularity(trace, figures["popularity"]), _reuse(objects)]
    header = Header(_requested(figures), _found(figures), _certainty(trace))
    sections = [Section("", charts=charts), Section("Sizes by operation", grids=[_grid(figures)])]
    return Page(title, header, sections)


def _requested(figures: dict[str, Any]) -> str:
    mix = ", ".join(f"{op} {f['count'] / figures['requests']:.1%}" for op, f in figures["ops"].items())
    moved = size(float(figures["transfer_bytes"]))
    return f"Characteristics of {figures['requests']:,} requests: {mix}, with {moved} of payload."


def _found(figures: dict[str, Any]) -> str:
    parts = []
    arrivals, workers = figures["arrivals"], figures["workers"]
    if workers is not None:
        pause = seconds(workers["think_s"]["mean"])
        parts.append(f"{workers['clients']:,} workers wait for responses, with a mean think time of {pause}")
    elif arrivals is not None and arrivals["rate_ops"] is not None:
        bursts = max((row["idc"] for row in figures["dispersion"]), default=None)
        is_bursty = bursts is not None and bursts >= 1.5
        burstiness = f"up to {number(bursts)} times" if is_bursty else "about"
        parts.append(
            f"requests arrive at {number(arrivals['rate_ops'])}/s, and their counts have {burstiness} the variance of "
            "a Poisson process"
        )
    if figures["keys"] is not None:
        keys = figures["keys"]
        fits = (
            f"{op} {number(fit['exponent'])} (fitted to {fit['count']:,} objects)"
            for op, fit in figures["popularity"].items()
        )
        once = f"{keys['distinct']:,} objects, of which {keys['one_hit_fraction']:.0%} are requested once"
        parts.append(f"they are for {once}, with Zipf exponents {', '.join(fits)}")
    text = "; ".join(parts) or "there is nothing to report"
    return f"{text[0].upper()}{text[1:]}."


def _certainty(trace: Trace) -> str:
    if trace.origin is None:
        return "All requests of the trace are counted; Zipf exponents are maximum-likelihood estimates."
    origin = trace.origin
    imported = f"Imported from {', '.join(origin.formats)}, with a clock resolution of {seconds(origin.clock_s)}"
    return f"{imported}; Zipf exponents are maximum-likelihood estimates."


def _rate(trace: Trace) -> go.Figure:
    """Requests per second by operation."""
    figure = blank("Rate over time", "time (s)", "requests per second")
    edges = np.linspace(0, float(trace.arrival_s[-1]) or 1.0, min(_BINS, max(len(trace) // 10, 2)) + 1)
    for i, op in enumerate(OPS):
        if (trace.op == i).any():
            counts, _ = np.histogram(trace.arrival_s[trace.op == i], bins=edges)
            style = {"color": colour_of(op), "width": 2.0, "shape": "hvh"}
            figure.add_scatter(x=(edges[1:] + edges[:-1]) / 2, y=counts / edges[1], name=op, mode="lines", line=style)
    figure.update_yaxes(rangemode="tozero")
    return with_room(figure)


def _dispersion(rows: list[dict[str, float]]) -> go.Figure:
    """Index of dispersion against the window length."""
    figure = blank("Burstiness: index of dispersion", "window (s)", "variance / mean of counts")
    window, values = ([row[name] for row in rows] for name in ("window_s", "idc"))
    marks = {"color": _MEASURED, "size": 7}
    figure.add_scatter(x=window, y=values, name="this trace", mode="lines+markers", marker=marks)
    line = {"color": _EXPECTED, "dash": "dash"}
    figure.add_scatter(x=window, y=[1.0] * len(rows), name="Poisson", mode="lines", line=line)
    figure.update_xaxes(_log_axis(window))
    return figure.update_yaxes(_log_axis([_POISSON_BAND[0], *values, _POISSON_BAND[1]]))


def _sizes(trace: Trace) -> go.Figure:
    """Distribution of the sizes of requested objects."""
    figure = blank("Sizes of requested objects", "size (bytes)", "fraction of requests")
    for i, op in enumerate(OPS):
        sizes = trace.size_bytes[(trace.op == i) & (trace.size_bytes > 0)].astype(np.float64)
        if op in ops_that("names_object") and len(sizes):
            values, above = tail_points(sizes)
            values, below = np.append(values[0], values), np.concatenate([[0.0], 1 - above[1:], [1.0]])
            style = {"color": colour_of(op), "width": 2.0, "shape": "hv"}
            figure.add_scatter(x=values, y=below, name=op, mode="lines", line=style)
    figure.update_xaxes(type="log", dtick="D2", tickformat="~s")
    figure.update_yaxes(range=[0, 1.02], tickformat=".0%")
    return with_room(figure)


def _popularity(trace: Trace, fits: dict[str, Any]) -> go.Figure:
    """Requests per object against its rank by operation, and the expectation of the fitted Zipf law."""
    figure = blank("Popularity: requests per object (dashed: fitted Zipf law)", "rank of the object", "requests")
    for op, fit in fits.items():
        hits = np.sort(np.unique(objects_of(trace, trace.op == OPS.index(op)), return_counts=True)[1])[::-1]
        rank = np.unique(np.geomspace(1, len(hits), _POINTS).astype(np.int64))
        marks = {"color": colour_of(op), "size": 5}
        figure.add_scatter(x=rank, y=hits[rank - 1], name=op, mode="markers", marker=marks)
        every = np.unique(np.geomspace(1, fit["count"], 10_000).astype(np.int64))
        total = float((every ** -fit["exponent"] * np.diff(every, append=fit["count"] + 1)).sum())
        expected = hits.sum() * (1 - fit["one_hit"]) * rank ** -fit["exponent"] / total
        shown = (expected >= 0.5) & (rank <= fit["count"])
        line = {"color": colour_of(op), "dash": "dash", "width": 1.2}
        name = f"{op}: Zipf"
        figure.add_scatter(x=rank[shown], y=expected[shown], name=name, mode="lines", line=line, showlegend=False)
    shown = [(trace.x, trace.y) for trace in figure.data if len(trace.x)]
    figure.update_xaxes(_log_axis([x for each, _ in shown for x in (min(each), max(each))]))
    figure.update_yaxes(_log_axis([y for _, each in shown for y in (min(each), max(each))]))
    return with_room(figure)


def _reuse(objects: np.ndarray[Any, Any]) -> go.Figure:
    """Hit ratio of an LRU cache against its size."""
    figure = blank("Reuse: hit ratio of an LRU cache", "cache size (objects)", "hit ratio")
    taken = middle(objects)
    distances = np.sort(reuse_distances(taken))
    cached = np.unique(
        np.geomspace(1, max(int(distances[-1]) + 1 if len(distances) else 1, 2), _POINTS).astype(np.int64)
    )
    fraction = np.searchsorted(distances, cached) / len(taken)  # a cache of n objects hits at distances below n
    line = {"color": _MEASURED, "width": 2.0}
    figure.add_scatter(x=cached, y=fraction, name="hit ratio", mode="lines", line=line, showlegend=False)
    figure.update_xaxes(_log_axis(cached))
    return figure.update_yaxes(range=[0, 1.02], tickformat=".0%")


def _log_axis(values: Sequence[float] | np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return a logarithmic axis around the positive values, with labels such as 0.02 and 1,000."""
    positive = [math.log10(value) for value in values if value > 0] or [0.0]
    low, high = min(positive), max(positive)
    margin = max(0.05 * (high - low), 0.02)
    each = "D2" if high - low <= _MOST_DECADES else 1
    return {"type": "log", "dtick": each, "tickformat": ",~g", "range": [low - margin, high + margin]}


def _grid(figures: dict[str, Any]) -> Grid:
    columns = ["op", "requests", "mean", "min", "p50", "p90", "p99", "max"]
    rows = [
        [op, f"{f['count']:,}", *(size(float(value)) for value in f["size_bytes"].values())]
        for op, f in figures["ops"].items()
    ]
    return Grid("", columns, rows)
