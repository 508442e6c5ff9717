"""`tailcast plan`: when a store that grows reaches its limits, and the cheapest change that keeps its objectives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from cli.common import (
    JsonOption,
    PageOption,
    SeedOption,
    SetOption,
    WorkersOption,
    json_text,
    kept_in,
    print_grid,
    print_json,
    progress,
    say,
    stdout,
    warn_if_slow,
)
from cli.figures.figure_files import FiguresOption, FormatOption, PageFiles
from cli.pages.plan import write_plan_page
from cli.tables.plan import evidence, found, plan_grids
from sim.capacity.growth import read_growth
from sim.capacity.plan import plan
from sim.capacity.plan_folder import PlanFolder
from sim.replication.slo import parse_slo
from traces.errors import InputError
from traces.spec_file import load_mapping, override
from traces.units import parse_seconds


def command(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.yaml", help="The store and its workload.", show_default=False)],
    growth: Annotated[Path, typer.Option("--growth", help="How objects and requests grow, a YAML file.")],
    slos: Annotated[
        list[str] | None, typer.Option("--slo", metavar="SLO", help="What it must keep, as GET.p99<50ms; repeatable.")
    ] = None,
    window: Annotated[str, typer.Option(help="Simulated time at each moment that is looked at.")] = "2s",
    replications: Annotated[int, typer.Option(min=1, help="Windows at each.")] = 3,
    workers: WorkersOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Keeps what is done, and goes on where it was interrupted."),
    ] = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    as_json: JsonOption = False,
) -> None:
    """Find when a store that grows reaches its limits, and the cheapest change that keeps its objectives."""
    objectives = [parse_slo(text) for text in slos or ()]
    pages = PageFiles(report, figures_to, figure_format)
    folder = None if out is None else PlanFolder(out)
    warn_if_slow()
    with kept_in(out), progress("looking at the store") as update:
        result = plan(
            override(load_mapping(spec), assignments or ()),
            read_growth(growth),
            objectives,
            source=str(spec),
            seed=seed or 0,
            window_s=_seconds(window),
            replications=replications,
            workers=workers or len(os.sched_getaffinity(0)),
            cache=folder,
            progress=update,
        )
    if folder is not None:
        folder.write(result, json_text(result.to_json()))
        say(f"plan written to {out}")
    pages.write(lambda path: write_plan_page(result, path, f"Plan of {spec.stem}"))
    if as_json:
        print_json(result.to_json())
        return
    for grid in plan_grids(result):
        print_grid(grid)
    for line in (*evidence(result), found(result)):
        stdout.print(line, markup=False)


def _seconds(text: str) -> float:
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise InputError(f"--window {text}: {error}") from error
