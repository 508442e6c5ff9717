"""Tables and figures as elements of Dash."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
from dash import dcc, html

from cli.tables.grid import Grid

_CONFIG: Any = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"], "responsive": True}


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
    return html.Div(html.Table([*parts, html.Thead(head), html.Tbody(body)]), className="wide")


def graph(figure: go.Figure, name: str) -> Any:
    """Return a figure with an identifier."""
    colours = {"bgcolor": "rgba(0,0,0,0)", "color": "#9aa5b3", "activecolor": "#1d2530"}
    figure.update_layout(autosize=True, font={"color": "#1d2530"}, modebar=colours)
    return dcc.Graph(id=name, figure=figure, config=_CONFIG, style={"height": f"{figure.layout.height}px"})


def _marked(cell: str) -> str:
    return "differs" if cell == "differs" else ""
