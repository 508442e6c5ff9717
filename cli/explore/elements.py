"""Applications of Dash, and tables and figures as their elements."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
from dash import Dash, dcc, html

from cli.tables.grid import Grid

_CONFIG: Any = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"], "responsive": True}

_NAMES = """
// Dash gives sliders no names, and hidden inputs a place in the order of the keyboard.
new MutationObserver(() => {
  for (const thumb of document.querySelectorAll(".knob [role=slider]:not([aria-label])")) {
    thumb.ariaLabel = thumb.closest(".knob").querySelector(".label span").textContent;
  }
  for (const input of document.querySelectorAll("input[aria-hidden=true][tabindex='0']")) input.tabIndex = -1;
}).observe(document, {childList: true, subtree: true});
"""


def application(title: str, style: str) -> Any:
    """Return an application of Dash with a style sheet; its scripts come from this machine."""
    app = Dash("tailcast", title=title, update_title="", assets_folder="/dev/null")
    app.index_string = app.index_string.replace("<html>", '<html lang="en">').replace(
        "{%css%}", f"{{%css%}}<style>{style}</style><script>{_NAMES}</script>"
    )
    return app


def table(grid: Grid) -> Any:
    """Return a table with its title as caption."""
    head = html.Tr([html.Th(column, scope="col") for column in grid.columns])
    body = [
        html.Tr(
            [
                html.Th(cell, scope="row") if n < grid.labels else html.Td(cell, className=_marked(cell))
                for n, cell in enumerate(row)
            ]
        )
        for row in grid.rows
    ]
    parts = [html.Caption(grid.title)] if grid.title else []
    labels: Any = {"role": "group", "aria-label": grid.title or ", ".join(grid.columns)}
    return html.Div(html.Table([*parts, html.Thead(head), html.Tbody(body)]), className="wide", tabIndex=0, **labels)


def graph(figure: go.Figure, name: str) -> Any:
    """Return a figure with an identifier."""
    return dcc.Graph(id=name, figure=suited(figure), config=_CONFIG, style={"height": f"{figure.layout.height}px"})


def suited(figure: go.Figure) -> go.Figure:
    """Give a figure the width of its element, and quiet buttons."""
    colours = {"bgcolor": "rgba(0,0,0,0)", "color": "#9aa5b3", "activecolor": "#1d2530"}
    return figure.update_layout(autosize=True, font={"color": "#1d2530"}, modebar=colours)


def _marked(cell: str) -> str:
    return "differs" if cell == "differs" else ""
