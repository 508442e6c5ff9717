"""Diagrams of routes: visits from left to right, coloured by utilisation."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.colors import sample_colorscale

from cli.figures.route_boxes import Box, Branches, Fork, forks_of
from cli.figures.runs import dressed, escaped
from cli.words import seconds
from models.network.demand_sheet import Requests
from models.network.descendants import by_route
from models.network.network import Network
from sim.demands.visit_places import names_of

_COLUMNS = 7  # boxes in a line, whose text is still legible on paper
_STAGE_PX, _LINE_PX, _BOX_PX = 20, 16, 54
_LEFT, _RIGHT = 0.16, 0.98  # edges of a box in its column
_SCALE = [[0.0, "#cfe3f7"], [0.5, "#f7d774"], [0.8, "#f0a35e"], [1.0, "#e0655a"]]
_UNLIMITED, _INK, _GREY = "#ccd2da", "#1d2530", "#808a97"
_RARE = 0.01  # fraction of requests; routes with fewer are not drawn
_LETTERS = 12  # characters of a role per line
_TABLE = ["stage", "join", "branches", "visit", "role", "at", "mean_demand_s", "utilization", "greatest"]


@dataclass(frozen=True)
class _Spot:
    """A box with its position: column, and upper edge in pixels."""

    stage: int
    fork: Fork
    branches: Branches
    index: int
    column: int
    top: int

    @property
    def box(self) -> Box:
        return self.branches.boxes[self.index]


def route_figures(
    network: Network, requests: Requests, stations: Sequence[Mapping[str, Any]], most: int = 4
) -> list[go.Figure]:
    """Diagrams of the most frequent routes, in descending order of their requests, each before its sub-requests'.

    Stages are drawn one after the other. The branches of a fork are below each other; equal branches are drawn once,
    with their number.

    Args:
        network: the network with the routes.
        requests: routes and sizes of the requests; service demands are means over those of a route.
        stations: rows with ``name`` and ``utilization``, as in a Run.
        most: greatest number of routes of requests, each of which is followed by those of its sub-requests; a route
            with less than 1 % of the requests is drawn only if it is the most frequent one.
    """
    count = np.bincount(requests.route, minlength=len(network.routes))
    common = np.flatnonzero(count >= min(_RARE * len(requests), count.max()))
    ranked = sorted(common.tolist(), key=lambda k: -count[k])[:most]
    load = {row["name"]: row["utilization"] for row in stations}
    size_bytes: defaultdict[int, list[NDArray[np.int64]]] = defaultdict(list)
    for k in ranked:
        for route, sizes, _ in by_route(network, k, requests.size_bytes[requests.route == k]):
            size_bytes[route].append(sizes)
    figures = []
    for k, of_route in size_bytes.items():
        fraction = float(count[k] / len(requests))
        of_all = f" ({fraction:.1%} of requests)" if fraction < 1 else ""
        title = f"The route of a {escaped(network.routes[k].name)}{of_all if k in ranked else ', a sub-request'}"
        figures.append(_figure(network, title, forks_of(network, k, np.concatenate(of_route), load)))
    return figures


def _figure(network: Network, title: str, forks: Sequence[Fork]) -> go.Figure:
    spots = list(_spots(forks))
    height = max((spot.top + _BOX_PX for spot in spots), default=0) + 10
    figure = dressed(go.Figure(), title, height + 140)
    _draw_forks(figure, spots)
    for spot in spots:
        shape = {"x0": spot.column + _LEFT, "x1": spot.column + _RIGHT, "y0": spot.top, "y1": spot.top + _BOX_PX}
        figure.add_shape(type="rect", **shape, fillcolor=_colour(spot.box), line={"width": 0}, layer="below")
    _draw_arrows(figure, spots)
    _draw_labels(figure, network, spots)
    figure.update_xaxes(visible=False, range=[0, _COLUMNS + 0.05], fixedrange=True)
    figure.update_yaxes(visible=False, range=[height, 0], fixedrange=True)
    table = {"columns": _TABLE, "rows": [_row(network, spot) for spot in spots]}
    margin = {"l": 12, "r": 12, "t": 44, "b": 96}
    return figure.update_layout(
        showlegend=False, margin=margin, hovermode="closest", hoverdistance=50, meta={"table": table}
    )


def _spots(forks: Sequence[Fork]) -> Iterator[_Spot]:
    """Yield the boxes in order, with line breaks between forks and within long branches."""
    column = top = bottom = 0
    for stage, fork in enumerate(forks, 1):
        width = min(_COLUMNS, max(len(branches.boxes) for branches in fork.branches))
        if column + width > _COLUMNS:
            column, top = 0, bottom
        line_top = top + _STAGE_PX
        for branches in fork.branches:
            for i in range(len(branches.boxes)):
                line_top += (_LINE_PX + _BOX_PX) * (i > 0 and i % width == 0)
                yield _Spot(stage, fork, branches, i, column + i % width, line_top + _LINE_PX)
            line_top += _LINE_PX + _BOX_PX
        column, bottom = column + width, max(bottom, line_top + 8)


def _draw_forks(figure: go.Figure, spots: Sequence[_Spot]) -> None:
    """Draw an outline around the boxes of each fork, with its join condition."""
    for stage in dict.fromkeys(spot.stage for spot in spots if spot.fork.joined):
        mine = [spot for spot in spots if spot.stage == stage]
        left, right = min(s.column for s in mine) + 0.03, max(s.column for s in mine) + 1
        top, bottom = min(s.top for s in mine) - _LINE_PX, max(s.top for s in mine) + _BOX_PX + 5
        line = {"color": _GREY, "width": 1, "dash": "dot"}
        figure.add_shape(type="rect", x0=left, x1=right, y0=top, y1=bottom, line=line, layer="below")
        _write(figure, left, top - 2, mine[0].fork.joined, xanchor="left", yanchor="bottom")


def _draw_arrows(figure: go.Figure, spots: Sequence[_Spot]) -> None:
    """Draw arrows between boxes, and the number of equal branches."""
    for spot in spots:
        if spot is not spots[0]:
            _write(figure, spot.column + 0.095, spot.top + _BOX_PX / 2, "→", xanchor="center", yanchor="middle")
        if spot.index == 0 and spot.branches.count > 1:
            _write(figure, spot.column + _LEFT, spot.top, f"×{spot.branches.count}", xanchor="left", yanchor="bottom")


def _write(figure: go.Figure, x: float, y: float, text: str, **anchors: str) -> None:
    font = {"size": 11, "color": _GREY}
    figure.add_annotation(x=x, y=y, text=text, showarrow=False, font=font, borderpad=0, **anchors)


def _draw_labels(figure: go.Figure, network: Network, spots: Sequence[_Spot]) -> None:
    """Draw the text of the boxes, their hover texts, and the colour scale."""
    figure.add_scatter(
        x=[spot.column + (_LEFT + _RIGHT) / 2 for spot in spots],
        y=[spot.top + _BOX_PX / 2 for spot in spots],
        mode="markers+text",
        text=[_label(spot.box) for spot in spots],
        textfont={"size": 11, "color": _INK},
        textposition="middle center",
        hovertext=[_details(network, spot) for spot in spots],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={
            "size": 1,
            "color": [spot.box.utilization[0] if spot.box.utilization else 0.0 for spot in spots],
            "colorscale": _SCALE,
            "cmin": 0,
            "cmax": 1,
            "opacity": 0,
            "colorbar": {
                "orientation": "h", "y": 0, "yanchor": "top", "ypad": 8, "len": 0.6, "thickness": 10,
                "tickformat": ".0%", "outlinewidth": 0,
                "title": {"text": "utilisation (grey: no limit)", "side": "bottom"},
            },
        },
    )  # fmt: skip


def _colour(box: Box) -> str:
    if box.utilization is None:
        return _UNLIMITED
    colour: str = sample_colorscale(_SCALE, min(max(box.utilization[0], 0.0), 1.0))[0]
    return colour


def _label(box: Box) -> str:
    lines = textwrap.wrap(box.role, _LETTERS)
    role = lines if len(lines) < 3 else [lines[0], f"{lines[1][: _LETTERS - 1]}…"]
    return "<br>".join([*map(escaped, role), box.action or seconds(box.mean_s)])


def _details(network: Network, spot: _Spot) -> str:
    box = spot.box
    at = escaped(names_of(network, box.stations))
    many = f" ({len(box.stations)} stations)" if len(box.stations) > 3 else ""
    lines = [f"<b>{escaped(box.role)}</b>: {at}{many}", box.action or f"mean demand {box.mean_s * 1e3:.6g} ms"]
    if box.utilization:
        mean, greatest = box.utilization
        most = f", at most {greatest:.4%}" if greatest > mean else ""
        lines.append(f"utilisation {mean:.4%}{most}")
    if spot.branches.count > 1:
        lines.append(f"in {spot.branches.count} equal branches")
    return "<br>".join(lines)


def _row(network: Network, spot: _Spot) -> list[str | float | None]:
    box = spot.box
    at = names_of(network, box.stations)
    return [
        spot.stage, spot.fork.joined, spot.branches.count, spot.index + 1, box.role, at, box.mean_s,
        *(box.utilization or (None, None)),
    ]  # fmt: skip
