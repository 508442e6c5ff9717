"""Lines of objectives in figures of latencies."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import plotly.graph_objects as go

from cli.figures.runs import LABEL_GROUND, escaped
from sim.replication.slo import LATENCIES, Slo

_COLOUR = "#d5521a"


def with_objectives(figure: go.Figure, slos: Iterable[Slo], axis: Literal["x", "y"] = "y") -> go.Figure:
    """Return the figure with a dashed line for each objective on a latency; `axis` has latencies in ms."""
    for slo in slos:
        if slo.figure not in LATENCIES:
            continue
        limit_ms, line = slo.limit * 1e3, {"color": _COLOUR, "width": 1.5, "dash": "dash"}
        is_log = (figure.layout.xaxis if axis == "x" else figure.layout.yaxis).type == "log"
        at = math.log10(limit_ms) if is_log else limit_ms  # of annotations, unlike those of lines
        label = {"text": escaped(slo.text), "showarrow": False, "bgcolor": LABEL_GROUND, "font": {"size": 11}}
        if axis == "x":
            figure.add_vline(x=limit_ms, line=line)
            figure.add_annotation(x=at, y=0.02, yref="paper", textangle=-90, xanchor="right", yanchor="bottom", **label)
        else:
            figure.add_hline(y=limit_ms, line=line)
            figure.add_annotation(x=1, xref="paper", y=at, xanchor="right", yanchor="top", **label)
    return figure
