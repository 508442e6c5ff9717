"""Diagram of a store: a column for each station role in the order of visits, a square for each station."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from cli.figures.runs import dressed, escaped
from traces.run import StationRow

MOST_DRAWN = 96
"""Stations of a role that are drawn, the busiest."""
_SCALE = [[0.0, "#cfe3f7"], [0.5, "#f7d774"], [0.8, "#f0a35e"], [1.0, "#e0655a"]]
_UNLIMITED = "#ccd2da"
_ROWS = 12
_GREY = "#5c6673"


def store_diagram(stations: Sequence[StationRow], roles: Sequence[str]) -> go.Figure:
    """Draw the stations of a Run, coloured by utilisation; infinite servers are grey.

    Args:
        stations: rows of the Run that are visited.
        roles: in the order from left to right.
    """
    figure = dressed(go.Figure(), "The store: parts in the order in which requests visit them", 380)
    left = 0.0
    used = [row for row in stations if row["servers"] is None or row["utilization"] > 0]
    for number, role in enumerate(role for role in roles if any(row["role"] == role for row in used)):
        mine = [row for row in used if row["role"] == role]
        drawn = sorted(sorted(mine, key=lambda row: -row["utilization"])[:MOST_DRAWN], key=mine.index)
        columns = math.ceil(len(drawn) / _ROWS)
        rows = min(len(drawn), _ROWS)
        width = max(columns, 2.6)
        offset = left + (width - columns) / 2
        limited = all(row["servers"] is not None for row in drawn)
        figure.add_scatter(
            x=[offset + index // _ROWS + 0.5 for index in range(len(drawn))],
            y=[(_ROWS - rows) / 2 + index % _ROWS + 0.5 for index in range(len(drawn))],
            mode="markers",
            name=escaped(role),
            marker={
                "symbol": "square",
                "size": 17 if columns < 6 else 11,
                "color": [row["utilization"] for row in drawn] if limited else _UNLIMITED,
                "colorscale": _SCALE,
                "cmin": 0,
                "cmax": 1,
                "showscale": False,
                "line": {"color": _GREY, "width": 0.6},
            },
            text=[_details(row) for row in drawn],
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
        busiest = max(row["utilization"] for row in mine)
        load = f"{busiest:.0%}" if limited else "no limit"
        of_all = f"{len(drawn)} of {len(mine)}" if len(drawn) < len(mine) else str(len(mine))
        label = f"<b>{'<br>'.join(map(escaped, role.split()))}</b><br>{of_all} · {load}"
        figure.add_annotation(
            x=left + width / 2, y=_ROWS + 0.4, text=label, showarrow=False, yanchor="top", font_size=11
        )
        if number:
            figure.add_annotation(
                x=left - 0.45, y=_ROWS / 2, text="→", showarrow=False, font={"size": 18, "color": _GREY}
            )
        left += width + 0.9
    figure.update_xaxes(visible=False, range=[-0.3, left - 0.6], fixedrange=True)
    figure.update_yaxes(visible=False, range=[_ROWS + 3.4, -0.3], fixedrange=True)
    return figure.update_layout(margin={"l": 8, "r": 8, "t": 48, "b": 8}, hovermode="closest")


def _details(row: StationRow) -> str:
    if row["servers"] is None:
        return f"<b>{escaped(row['name'])}</b><br>no limit"
    return f"<b>{escaped(row['name'])}</b><br>{row['utilization']:.1%} busy, {row['mean_queue']:.3g} waiting"
