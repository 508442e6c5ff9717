"""`tailcast timeline`: throughput and latency of a store that fills, against the objects in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.common import json_text, kept_in, print_grid, print_json, progress, say, warn_if_slow, worker_count
from cli.figures.figure_files import FiguresOption, FormatOption, PageFiles
from cli.options import (
    JsonOption,
    KeptOption,
    PageOption,
    ProfileOption,
    SeedOption,
    SetOption,
    SpecArgument,
    WorkersOption,
)
from cli.parse.duration import seconds_of
from cli.parse.spec import spec_mapping
from cli.tables.timeline import events_grids, state_grids
from models.store import spec_of
from sim.capacity.timeline import Plan, Spacing, timeline
from sim.capacity.timeline_folder import TimelineFolder
from sim.simulate import EngineName
from traces.errors import InputError


def command(
    spec: SpecArgument,
    objects: Annotated[
        str,
        typer.Option(
            "--objects", metavar="LOW..HIGH", help="Range of objects stored, as 1e6..1e9.", show_default=False
        ),
    ],
    states: Annotated[int, typer.Option("--states", help="Number of states in this range.")] = Plan.states,
    window: Annotated[str, typer.Option("--window", help="Simulated time at each state.")] = f"{Plan.window_s:g}s",
    spacing: Annotated[
        Spacing, typer.Option("--spacing", help="Equal ratios (log) or equal differences (linear) of objects.")
    ] = Plan.spacing,
    engine: Annotated[
        EngineName, typer.Option("--engine", help="Simulation engine; both give the same result, compiled is faster.")
    ] = "compiled",
    profile: ProfileOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    out: KeptOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a store as it fills: throughput and latency against the objects stored."""
    plan = Plan(*_ends(objects), states, spacing, seconds_of("--window", window) or 0.0)
    store = spec_of(spec_mapping(spec, profile, assignments), str(spec))
    folder = None if out is None else TimelineFolder(out)
    pages = PageFiles(report, figures_to, figure_format)
    if engine == "compiled":
        warn_if_slow()
    with kept_in(out), progress("simulating windows", plan.states) as update:
        result = timeline(
            store,
            plan,
            seed=seed or 0,
            engine=engine,
            workers=worker_count(workers),
            cache=folder,
            progress=update,
        )
    if folder is not None:
        folder.write(result, json_text(result))
        say(f"Timeline written to {out}")
    pages.write(lambda path: _write_page(path, result, f"{spec.stem} as it fills"))
    if as_json:
        print_json(result)
        return
    for grid in (*state_grids(result), *events_grids(result)):
        print_grid(grid)


def _ends(objects: str) -> tuple[float, float]:
    low, _, high = objects.partition("..")
    try:
        return float(low), float(high)
    except ValueError as error:
        raise InputError(f"--objects {objects}: write it like 1e6..1e9") from error


def _write_page(path: Path, result: dict[str, Any], title: str) -> list[Any]:
    from cli.pages.timeline import write_timeline_page  # plotly takes half a second to import

    return write_timeline_page(result, path, title)
