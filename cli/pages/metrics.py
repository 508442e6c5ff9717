"""The page of a store's metrics next to a forecast."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go

from cli.figures.runs import ROLE_COLOURS, blank
from cli.pages.page import Header, Page, Section
from cli.tables.measured.metrics import agreement_line, compared_grid, inner_grid, requests_line
from validate.metrics.measured import Measured
from validate.metrics.utilisation import Compared


def metrics_page(whole: Measured, result: Sequence[Compared], notes: Sequence[str], spec: str) -> Page:
    """Return a page about a window: its requests, and each figure next to its forecast."""
    header = Header(
        f"Forecast of {Path(spec).name} for the requests that a store's metrics show.",
        f"{agreement_line(result)} {requests_line(whole)}",
        "Metrics are means and counts; the busy time of a drive with several accesses at a time is more than its "
        "utilisation.",
    )
    sections = [
        Section(
            "Measured and forecast",
            notes,
            [compared_grid(result), *([inner_grid(whole)] if whole.inner else [])],
            [_utilisation(result), _rates(whole)],
        ),
    ]
    return Page(f"Metrics and forecast of {Path(spec).name}", header, sections)


def _utilisation(result: Sequence[Compared]) -> go.Figure:
    of_parts = [each for each in result if each.unit == "%"]
    figure = blank("Utilisation", "", "utilisation (%)")
    for name, colour in (("measured", ROLE_COLOURS[0]), ("forecast", ROLE_COLOURS[1])):
        values = [getattr(each, name) for each in of_parts]
        figure.add_bar(
            x=[each.what for each in of_parts],
            y=[None if v is None else 100 * v for v in values],
            name=name,
            marker={"color": colour},
        )
    return figure


def _rates(whole: Measured) -> go.Figure:
    minutes = [edge / 60 for edge in whole.edges_s.tolist()]
    figure = blank("Requests over time", "time (min)", "requests per second")
    figure.add_scatter(
        x=minutes,
        y=[*whole.rate_ops.tolist(), float(whole.rate_ops[-1])],
        mode="lines",
        line={"shape": "hv", "color": ROLE_COLOURS[0]},
        name="rate",
    )
    return figure.update_yaxes(rangemode="tozero")
