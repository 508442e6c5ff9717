"""The page about a validation: predicted against measured figures by configuration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from cli.figures.runs import COLOURS, blank, escaped, with_room
from cli.pages.page import Header, Page, Section
from cli.tables.measured.validation import joint_grid, left_out_grid, summary_grid, verdict, worst_cases
from cli.words import LABELS, percent
from traces.operations import OPS
from validate.forecast.prediction import Deviation, Ratio
from validate.forecast.validation import REPEATABILITY_FACTOR, Configuration, Validation

_SCATTERS = {"throughput_ops": ("operations a second", 1.0), "p50": ("p50 (ms)", 1e3), "p99": ("p99 (ms)", 1e3)}
_LINES = {"throughput_ops": "#3b82d6", "p50": "#109e78", "p99": "#d5521a", "w1": "#b86aa8"}


_LEAST_ERRORS = 8  # of a distribution
_MEASURES = (
    "W1/mean (Wasserstein) is the mean distance between both distributions of latencies, as a fraction of the mean; KS "
    "is the greatest difference between their cumulative fractions."
)


class _Point(NamedTuple):
    configuration: Configuration
    op: str
    measure: Deviation


class _RatioPoint(NamedTuple):
    configuration: Configuration
    op: str
    measure: Ratio


def validation_page(result: Validation, spec: Path, profile: Path | None) -> Page:
    """Return a page about the validation of a spec (with a profile, if given)."""
    values = f" with {profile.name}" if profile else ""
    name = spec.name
    charts = [_scatter(result, figure) for figure in _SCATTERS if _points(result, figure)]
    tables = {"Held-out": joint_grid(result, fitted=False), "Fitted": joint_grid(result, fitted=True)}
    noisy = (
        "Repeatability is the median difference between two measurements of the same configuration; in parentheses "
        "that of other configurations, if it was not repeated. An error is within the tolerance, within noise "
        f"({REPEATABILITY_FACTOR:g} times the repeatability), or beyond both."
    )
    sections = [
        Section("Predicted against measured", charts=[*charts, *_sorted_errors(result)]),
        *(Section(f"{name} configurations", [], grids) for name, grids in tables.items() if grids),
        Section("Runs left out", () if left_out_grid(result) else ["None."], left_out_grid(result)),
    ]
    question = f"How accurate are forecasts of {name}{values} for {len(result.runs)} measured Runs?"
    header = Header(question, verdict(result), _basis(result))
    return Page(
        f"Validation of {name}",
        header,
        [
            Section("", list(filter(None, [worst_cases(result), noisy, _MEASURES])), [summary_grid(result)]),
            *sections,
        ],
    )


def _basis(result: Validation) -> str:
    """Return a sentence on the basis of the verdict."""
    repeated = sum(
        any(measure.repetition_pairs for found in configuration.ops.values() for measure in found.measures.values())
        for configuration in result.configurations
    )
    left_out = sum(not run.quality.usable for run in result.runs)
    return (
        f"Each of {len(result.configurations)} configurations was simulated {result.seeds} times with the traces of "
        f"its Runs; {repeated} {'was' if repeated == 1 else 'were'} measured more than once, for the repeatability. "
        f"{left_out} of {len(result.runs)} Runs failed the run-quality check."
    )


def _points(result: Validation, figure: str) -> list[_Point]:
    return [
        _Point(configuration, op, found.measures[figure])
        for configuration in result.configurations
        for op, found in configuration.ops.items()
        if figure in found.measures
    ]


def _ratios(result: Validation, figure: str) -> list[_RatioPoint]:
    """Return the values of a figure that both sides have."""
    found = (
        (configuration, op, prediction.ratios.get(figure))
        for configuration in result.configurations
        for op, prediction in configuration.ops.items()
    )
    return [_RatioPoint(configuration, op, ratio) for configuration, op, ratio in found if ratio is not None]


def _scatter(result: Validation, figure: str) -> go.Figure:
    """Return a figure of predicted against measured on logarithmic axes, with tolerance and repeatability."""
    unit, scale = _SCATTERS[figure]
    points, row = _ratios(result, figure), result.summary[figure]
    chart = blank(f"{LABELS[figure]}: predicted against measured", f"measured {unit}", f"predicted {unit}")
    sides = [side for point in points for side in (point.measure.predicted, point.measure.measured)]
    values = [side * scale for side in sides if side > 0]
    ends = np.array([min(values) / 1.3, max(values) * 1.3])
    if row.repeatability is not None:
        wide = REPEATABILITY_FACTOR * row.repeatability
        _band(chart, ends, wide, "rgba(59,130,214,0.16)", f"{REPEATABILITY_FACTOR:g} × repeatability")
    _band(chart, ends, row.tolerance, "rgba(128,128,128,0.25)", "tolerance")
    chart.add_scatter(x=ends, y=ends, mode="lines", line={"color": "#808080", "width": 1}, showlegend=False)
    for op in OPS:
        for fitted in (False, True):
            mine = [p for p in points if p.op == op and p.configuration.fitted == fitted]
            if mine:
                chart.add_scatter(**_marks(mine, op, fitted, scale))
    ticks = {"type": "log", "dtick": "D2", "tickformat": ",~g"} if ends[1] / ends[0] < 1000 else {"type": "log"}
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
        "text": [f"{escaped(p.configuration.label)}: {percent(p.measure.log_ratio)}" for p in points],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _band(chart: go.Figure, ends: Any, wide: float, colour: str, name: str) -> None:
    """Add the area in which predicted and measured differ by at most a fraction."""
    x = [ends[0], ends[1], ends[1], ends[0]]
    y = [ends[0] * (1 + wide), ends[1] * (1 + wide), ends[1] / (1 + wide), ends[0] / (1 + wide)]
    line = {"width": 0}
    chart.add_scatter(x=x, y=y, fill="toself", fillcolor=colour, mode="lines", line=line, name=name, hoverinfo="skip")


def _sorted_errors(result: Validation) -> list[go.Figure]:
    """Return the cumulative distributions of held-out errors and (dashed) of repeatability; none of a few errors."""
    if max((row.count for row in result.summary.values()), default=0) < _LEAST_ERRORS:
        return []
    chart = blank("Cumulative errors (dashed: repeatability)", "fraction of the held-out configurations", "error")
    for figure, colour in _LINES.items():
        points = _points(result, figure)
        held_out = sorted((p for p in points if not p.configuration.fitted), key=lambda p: p.measure.error)
        bands = sorted(
            p.measure.repeatability
            for p in points
            if p.measure.repetition_pairs and p.measure.repeatability is not None
        )
        if held_out:
            chart.add_scatter(
                x=_ranks(len(held_out)),
                y=[_shown(p.measure.error) for p in held_out],
                mode="lines+markers",
                line={"color": colour, "width": 2},
                name=LABELS[figure],
                text=[f"{p.op}: {escaped(p.configuration.label)}" for p in held_out],
                hovertemplate="%{text}: %{y:.1%}",
            )
        if bands:
            line = {"color": colour, "width": 1.5, "dash": "dash"}
            y = [_shown(band) for band in bands]
            name = f"{LABELS[figure]}, repeatability"
            chart.add_scatter(x=_ranks(len(y)), y=y, mode="lines", line=line, name=name, showlegend=False)
    chart.update_xaxes(range=[0, 1], tickformat=".0%")
    chart.update_yaxes(type="log", dtick="D2", tickformat="~p")
    return [with_room(chart)]


def _ranks(count: int) -> Any:
    return (np.arange(count) + 0.5) / count


def _shown(error: float) -> float:
    """Return an error limited to the range of the logarithmic axis."""
    return min(max(error, 1e-3), math.exp(5))
