"""`tailcast timeline`: throughput and latency of a store that fills, against the objects in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cli.common import json_text, kept_in, print_grid, print_json, progress, say, warn_if_slow, worker_count
from cli.figures import figure_files
from cli.options import (
    EngineOption,
    FiguresOption,
    FormatOption,
    JsonOption,
    KeptOption,
    PageOption,
    ProfileOption,
    SeedOption,
    SetOption,
    SpecArgument,
    WorkersOption,
)
from cli.parse import duration
from cli.parse import spec as parse_spec
from cli.tables import timeline
from models import store as models_store
from sim.capacity import timeline as capacity_timeline
from sim.capacity import timeline_folder
from traces.errors import InputError


def command(
    spec: SpecArgument,
    objects: Annotated[
        str,
        typer.Option(
            "--objects", metavar="LOW..HIGH", help="Range of objects stored, as 1e6..1e9.", show_default=False
        ),
    ],
    states: Annotated[int, typer.Option("--states", help="Number of states in this range.")] = 20,
    window: Annotated[str, typer.Option("--window", help="Simulated time at each state.")] = "10s",
    spacing: Annotated[
        Literal["geometric", "linear"],
        typer.Option("--spacing", help="Equal ratios (log) or equal differences (linear) of objects."),
    ] = "geometric",
    engine: EngineOption = "compiled",
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
    plan = capacity_timeline.Plan(*_ends(objects), states, spacing, duration.seconds_of("--window", window) or 0.0)
    store = models_store.spec_of(parse_spec.spec_mapping(spec, profile, assignments), str(spec))
    folder = None if out is None else timeline_folder.TimelineFolder(out)
    pages = figure_files.PageFiles(report, figures_to, figure_format)
    if engine == "compiled":
        warn_if_slow()
    with kept_in(out), progress("simulating windows", plan.states) as update:
        result = capacity_timeline.timeline(
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
    for grid in (*timeline.state_grids(result), *timeline.events_grids(result)):
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
