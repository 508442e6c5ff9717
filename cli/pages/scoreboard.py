"""The page of the scoreboard: predicted against measured, errors by kind of figure, and each case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from cli.figures.runs import blank, escaped, with_room
from cli.pages.page import Header, Page, Section
from cli.tables.measured.scoreboard import (
    BASELINE_NAMES,
    bands_grid,
    baselines_grid,
    cases_grid,
    changes_lines,
    errors_grid,
    found_sentence,
    lines_grid,
    sentences,
)
from validate.scoreboard.changes import Changes
from validate.scoreboard.lines import FITTED, Line, error_of
from validate.scoreboard.summary import AIM, BASELINES, kind_of, summary_of

_COLOURS = {"throughput": "#3b82d6", "mean": "#109e78", "p99": "#d5521a", "cores": "#b86aa8", "duration": "#8a8f1f"}
"""Kinds with a line or a colour of their own in charts."""
_OTHER = "#7f8896"


def scoreboard_page(lines: Sequence[Line], changes: Changes | None, before: str) -> Page:
    """Return a page about a scoreboard.

    Args:
        lines: of the board.
        changes: with respect to an earlier board; None: there is none.
        before: name of the earlier board.
    """
    summary = summary_of(lines)
    cases = list(dict.fromkeys(line.case for line in lines))
    header = Header(
        f"How far are predictions from {len(lines)} figures of real stores, of {len(cases)} published tables and "
        "recordings?",
        found_sentence(lines),
        f"Models: {', '.join(dict.fromkeys(line.model for line in lines))}. An error is the greater of prediction and "
        "measurement over the lesser, minus 1. Fitted: values of the spec were fitted to the row; known: the figure "
        "was known when the model changed; unseen: the model has not changed since the prediction was first compared.",
    )
    what_changed = [] if changes is None else [Section("Changes", changes_lines(changes, before))]
    sections = [
        Section("", sentences(summary), [errors_grid(summary), *bands_grid(summary)]),
        Section("Predicted over measured", charts=[_ratios(lines, cases)]),
        Section("Errors", charts=[_cumulative(lines)]),
        Section("Simpler forecasts", (), [baselines_grid(summary)], [_baselines(lines)]),
        *what_changed,
        Section("Cases", (), [cases_grid(lines)]),
        *(_case(case, [line for line in lines if line.case == case]) for case in cases),
    ]
    return Page("Scoreboard", header, sections)


def _case(case: str, lines: Sequence[Line]) -> Section:
    statements = [f"{'Holds' if line.predicted == 1 else 'FAILS'}: {line.row}" for line in lines if line.is_statement]
    figures = [line for line in lines if not line.is_statement]
    return Section(case, statements, [lines_grid(figures)] if figures else [])


def _figures(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if not line.is_statement]


def _ratios(lines: Sequence[Line], cases: Sequence[str]) -> go.Figure:
    """Return a figure of predicted / measured by case, with a symbol for fitted rows."""
    chart = blank("Predicted / measured by case", "", "predicted / measured")
    chart.add_hrect(y0=1 / (1 + AIM), y1=1 + AIM, fillcolor="rgba(128,128,128,0.2)", line_width=0)
    for kind in dict.fromkeys([*_COLOURS, "other"]):
        for fitted in (False, True):
            mine = [
                line
                for line in _figures(lines)
                if _named(line) == kind and (line.seen == FITTED) == fitted and line.predicted > 0
            ]
            if mine:
                symbol = "circle-open" if fitted else "circle"
                chart.add_scatter(
                    x=[line.case for line in mine],
                    y=[line.predicted / line.measured for line in mine],
                    mode="markers",
                    marker={"size": 7, "color": _COLOURS.get(kind, _OTHER), "symbol": symbol},
                    name=f"{kind}, fitted" if fitted else kind,
                    text=[escaped(f"{line.row}, {line.op}, {line.figure}") for line in mine],
                    hovertemplate="%{text}: %{y:.2f}",
                )
    chart.update_yaxes(type="log", dtick="D2", tickformat=",~g")
    chart.update_xaxes(tickangle=40, categoryorder="array", categoryarray=list(cases))
    chart.update_layout(height=560, margin={"b": 190})
    return chart


def _cumulative(lines: Sequence[Line]) -> go.Figure:
    """Return a figure of the cumulative distribution of errors of figures that were not fitted."""
    chart = blank("Cumulative errors of figures that were not fitted", "fraction of the figures", "error")
    for kind, colour in _COLOURS.items():
        errors = sorted(line.error for line in _figures(lines) if _named(line) == kind and line.seen != FITTED)
        if errors:
            _add_errors(chart, errors, colour, kind)
    return _as_errors(chart)


def _baselines(lines: Sequence[Line]) -> go.Figure:
    """Return a figure of the errors of throughputs: by the simulator and by simpler forecasts."""
    chart = blank("Cumulative errors of throughputs that were not fitted", "fraction of the figures", "error")
    mine = [line for line in _figures(lines) if kind_of(line.figure) == "throughput" and line.seen != FITTED]
    if mine:
        _add_errors(chart, sorted(line.error for line in mine), _COLOURS["throughput"], "simulator")
    for name, colour in zip(BASELINES, ("#7f8896", "#e08a00", "#b86aa8"), strict=True):
        errors = sorted(error_of(value, line.measured) for line in mine if (value := getattr(line, name)) is not None)
        if errors:
            _add_errors(chart, errors, colour, BASELINE_NAMES[name])
    return _as_errors(chart)


def _add_errors(chart: go.Figure, errors: Sequence[float], colour: str, name: str) -> None:
    ranks = (np.arange(len(errors)) + 0.5) / len(errors)
    chart.add_scatter(
        x=ranks, y=np.clip(errors, 1e-3, 1e2), mode="lines+markers", line={"color": colour, "width": 2},
        marker={"size": 4}, name=name, hovertemplate="%{y:.1%}",
    )  # fmt: skip


def _as_errors(chart: go.Figure) -> go.Figure:
    chart.add_hline(y=AIM, line={"color": _OTHER, "width": 1, "dash": "dot"})
    chart.update_xaxes(range=[0, 1], tickformat=".0%")
    chart.update_yaxes(type="log", dtick="D2", tickformat="~p")
    return with_room(chart)


def _named(line: Line) -> str:
    kind = kind_of(line.figure)
    return kind if kind in _COLOURS else "other"
