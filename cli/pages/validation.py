"""The page about a validation: predicted against measured, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from cli.figures.runs import COLOURS, blank, escaped, with_room
from cli.pages.page import Header, Section, write_page
from cli.tables.validation import all_cells_grid, left_out_grid, summary_grid, verdict, worst_cases
from cli.words import LABELS, percent
from traces.tables import OPS
from validate.forecast.prediction import Deviation, Ratio
from validate.forecast.validation import REPEATABILITY_FACTOR, Cell, Validation

_SCATTERS = {"throughput_ops": ("operations a second", 1.0), "p50": ("p50 (ms)", 1e3), "p99": ("p99 (ms)", 1e3)}
_LINES = {"throughput_ops": "#3b82d6", "p50": "#109e78", "p99": "#d5521a", "w1": "#b86aa8"}


class _Point(NamedTuple):
    cell: Cell
    op: str
    measure: Deviation


class _RatioPoint(NamedTuple):
    cell: Cell
    op: str
    measure: Ratio


def write_validation_page(result: Validation, spec: Path, profile: Path | None, path: Path) -> list[go.Figure]:
    """Write a page about what Runs say of a spec, with the values of a profile if there is one; its figures.

    Raises:
        InputError: the file cannot be written.
    """
    values = f" with {profile.name}" if profile else ""
    name = spec.name
    noisy = (
        "The noise band is how far a measurement is from its own repetition, in the median; in parentheses that of "
        "other workloads, where there was no repetition. A figure is within its tolerance, within noise "
        f"({REPEATABILITY_FACTOR:g} noise bands), or beyond both."
    )
    header = Header(f"How far {name}{values} is from {len(result.runs)} measured Runs.", verdict(result), _sure(result))
    charts = [_scatter(result, figure) for figure in _SCATTERS if _points(result, figure)]
    return write_page(
        path,
        f"{name} against measurements",
        header,
        [
            Section("", list(filter(None, [worst_cases(result), noisy])), [summary_grid(result)]),
            Section("Predicted against measured", charts=[*charts, _sorted_errors(result)]),
            Section("All cells", (), [all_cells_grid(result)] if result.cells else []),
            Section("Runs left out", () if left_out_grid(result) else ["None."], left_out_grid(result)),
        ],
    )


def _sure(result: Validation) -> str:
    """What the verdict rests on."""
    repeated = sum(
        any(measure.noise_pairs for found in cell.ops.values() for measure in found.measures.values())
        for cell in result.cells
    )
    left_out = sum(not run.judgement.usable for run in result.runs)
    return (
        f"Each of {len(result.cells)} workloads was simulated {result.seeds} times with the trace of its Runs; "
        f"{repeated} of them measured more than once, which tells the noise; {left_out} Runs could not be judged by."
    )


def _points(result: Validation, figure: str) -> list[_Point]:
    return [
        _Point(cell, op, found.measures[figure])
        for cell in result.cells
        for op, found in cell.ops.items()
        if figure in found.measures
    ]


def _ratios(result: Validation, figure: str) -> list[_RatioPoint]:
    """Those of a figure that both sides have."""
    found = ((cell, op, prediction.ratios.get(figure)) for cell in result.cells for op, prediction in cell.ops.items())
    return [_RatioPoint(cell, op, ratio) for cell, op, ratio in found if ratio is not None]


def _scatter(result: Validation, figure: str) -> go.Figure:
    """Predicted against measured on logarithmic axes, with the diagonal, the tolerance and the noise band about it."""
    unit, scale = _SCATTERS[figure]
    points, row = _ratios(result, figure), result.summary[figure]
    chart = blank(f"{LABELS[figure]}: predicted against measured", f"measured {unit}", f"predicted {unit}")
    sides = [side for point in points for side in (point.measure.predicted, point.measure.measured)]
    values = [side * scale for side in sides if side > 0]
    ends = np.array([min(values) / 1.3, max(values) * 1.3])
    if row.repeatability is not None:
        wide = REPEATABILITY_FACTOR * row.repeatability
        _band(chart, ends, wide, "rgba(59,130,214,0.16)", f"{REPEATABILITY_FACTOR:g} × noise band")
    _band(chart, ends, row.tolerance, "rgba(128,128,128,0.25)", "tolerance")
    chart.add_scatter(x=ends, y=ends, mode="lines", line={"color": "#808080", "width": 1}, showlegend=False)
    for op in OPS:
        for fitted in (False, True):
            mine = [p for p in points if p.op == op and p.cell.fitted == fitted]
            if mine:
                chart.add_scatter(**_marks(mine, op, fitted, scale))
    ticks = {"type": "log", "dtick": "D2", "tickformat": "~g"} if ends[1] / ends[0] < 1000 else {"type": "log"}
    chart.update_xaxes(**ticks, range=np.log10(ends).tolist())
    chart.update_yaxes(**ticks, range=np.log10(ends).tolist())
    return with_room(chart)


def _marks(points: Sequence[_RatioPoint], op: str, fitted: bool, scale: float) -> dict[str, Any]:
    measured = np.array([p.measure.measured for p in points]) * scale
    predicted = np.array([p.measure.predicted for p in points]) * scale
    low, high = np.exp(np.clip([p.measure.interval for p in points], -50, 50)).T * measured
    return {
        "x": measured,
        "y": predicted,
        "error_y": {"type": "data", "array": high - predicted, "arrayminus": predicted - low, "width": 3},
        "mode": "markers",
        "marker": {
            "size": 9,
            "color": COLOURS[op],
            "symbol": "circle-open" if fitted else "circle",
            "line": {"width": 2 if fitted else 0},
        },
        "name": f"{op}, fitted" if fitted else op,
        "text": [f"{escaped(p.cell.cell)}: {percent(p.measure.log_ratio)}" for p in points],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _band(chart: go.Figure, ends: Any, wide: float, colour: str, name: str) -> None:
    """The area in which predicted and measured are no further apart than a share."""
    x = [ends[0], ends[1], ends[1], ends[0]]
    y = [ends[0] * (1 + wide), ends[1] * (1 + wide), ends[1] / (1 + wide), ends[0] / (1 + wide)]
    line = {"width": 0}
    chart.add_scatter(x=x, y=y, fill="toself", fillcolor=colour, mode="lines", line=line, name=name, hoverinfo="skip")


def _sorted_errors(result: Validation) -> go.Figure:
    """Each figure's held-out errors in ascending order, and dashed the noise bands of all cells in theirs."""
    chart = blank("Errors in order (dashed: noise bands)", "share of the held-out cells", "error")
    for figure, colour in _LINES.items():
        points = _points(result, figure)
        held_out = sorted((p for p in points if not p.cell.fitted), key=lambda p: p.measure.error)
        bands = sorted(
            p.measure.repeatability for p in points if p.measure.noise_pairs and p.measure.repeatability is not None
        )
        if held_out:
            chart.add_scatter(
                x=_ranks(len(held_out)),
                y=[_shown(p.measure.error) for p in held_out],
                mode="lines+markers",
                line={"color": colour, "width": 2},
                name=LABELS[figure],
                text=[f"{p.op}: {escaped(p.cell.cell)}" for p in held_out],
                hovertemplate="%{text}: %{y:.1%}",
            )
        if bands:
            line = {"color": colour, "width": 1.5, "dash": "dash"}
            y = [_shown(band) for band in bands]
            name = f"{LABELS[figure]}, noise"
            chart.add_scatter(x=_ranks(len(y)), y=y, mode="lines", line=line, name=name, showlegend=False)
    chart.update_xaxes(range=[0, 1], tickformat=".0%")
    chart.update_yaxes(type="log", dtick="D2", tickformat="~p")
    return with_room(chart)


def _ranks(count: int) -> Any:
    return (np.arange(count) + 0.5) / count


def _shown(error: float) -> float:
    """An error for a logarithmic axis."""
    return min(max(error, 1e-3), math.exp(5))
