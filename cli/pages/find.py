"""The pages about a search and about a screening."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go

from cli.figures.find import best_figures, effects, limit_figures, strengths
from cli.pages.page import Header, Section, write_page
from cli.tables.find import (
    best_found,
    best_grid,
    best_sure,
    extreme,
    limit_found,
    limit_grid,
    limit_sure,
    range_of,
    sensitivity_grid,
)
from sim.experiments.find import Best, Limit
from sim.experiments.sensitivity import Screening

_LIMITS = "A point is a value that was tried, with its 95% interval; the dashed line is the objective."
_STRENGTHS = (
    "Values and latency are taken by their logarithms: an elasticity of 0.5 means that one percent more of the number "
    "is half a percent more latency. Colour says which way, where the interval of the mean elasticity leaves no doubt."
)
_EFFECTS = (
    "A number near the lower axis of the second figure works alike everywhere; towards the dotted line and above it, "
    "what it does depends on its own value or on the others."
)


def write_limit_page(result: Limit, path: Path, spec: str) -> list[go.Figure]:
    """Write a page about what `sim.experiments.find.find_limit` found of a spec of this name; its figures.

    Raises:
        InputError: the file cannot be written.
    """
    keeps = " and ".join(slo.text for slo in result.slos)
    header = Header(
        f"The {extreme(result)} {result.path} with which {spec} keeps {keeps}.",
        limit_found(result),
        f"{limit_sure(result)} {_simulated(result, len(result.simulated))}",
    )
    sections = [
        Section("", [_LIMITS], charts=limit_figures(result)),
        Section("Value by value", (), [replace(limit_grid(result), title="")]),
    ]
    return write_page(path, f"The {extreme(result)} {result.path}", header, sections)


def write_best_page(result: Best, path: Path, spec: str) -> list[go.Figure]:
    """Write a page about what `sim.experiments.find.find_best` found of a spec of this name; its figures.

    Raises:
        InputError: the file cannot be written.
    """
    most = result.most_extra_load
    within = "" if most is None else f", with {most:.2%} extra load at most"
    header = Header(
        f"The {result.path} with which {result.target} of {spec} is least{within}.",
        best_found(result),
        f"{best_sure(result)} {_simulated(result, len(result.trials) + 1)}",
    )
    sections = [
        Section("", charts=best_figures(result)),
        Section("Value by value", (), [replace(best_grid(result), title="")]),
    ]
    return write_page(path, f"The best {result.path}", header, sections)


def write_sensitivity_page(result: Screening, path: Path, spec: str) -> list[go.Figure]:
    """Write a page about what `sim.experiments.sensitivity.sensitivity` found of a spec of this name; its figures.

    Raises:
        InputError: the file cannot be written.
    """
    strongest = result.parameters[0]
    strength = strongest.strength
    header = Header(
        f"Which of {len(result.parameters)} numbers of {spec} moves {result.target} most.",
        f"{strongest.path}: a percent of it changes {result.target} by {strength.value:.2f} percent on the "
        f"mean, which is a factor of {strongest.factor:.3g} over {range_of(strongest)}.",
        f"Its {result.confidence:.0%} interval is {strength.low:.2f} to {strength.high:.2f}, from "
        f"{result.trajectories} walks through the ranges. {_simulated(result, result.simulated)}",
    )
    sections = [
        Section("", [_STRENGTHS, _EFFECTS], charts=[strengths(result), effects(result)]),
        Section("In figures", (), [replace(sensitivity_grid(result), title="")]),
    ]
    return write_page(path, f"What moves {result.target}", header, sections)


def _simulated(result: Limit | Best | Screening, count: int) -> str:
    return f"{count} points were simulated {result.replications} times each, with the same random numbers."
