"""`tailcast plan`: when a store that grows reaches its limits, and the cheapest change that keeps its objectives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import json_text, kept_in, print_grid, print_json, progress, say, stdout, warn_if_slow, worker_count
from cli.figures import figure_files
from cli.options import (
    FiguresOption,
    FormatOption,
    JsonOption,
    KeptOption,
    PageOption,
    SeedOption,
    SetOption,
    SloOption,
    SpecArgument,
    WorkersOption,
)
from cli.pages import plan
from cli.parse import duration, slo
from cli.parse import spec as parse_spec
from cli.tables import plan as tables_plan
from sim.capacity import growth as capacity_growth
from sim.capacity import plan as capacity_plan
from sim.capacity import plan_folder


def command(
    spec: SpecArgument,
    growth: Annotated[Path, typer.Option("--growth", help="YAML file of how objects and requests grow.")],
    slos: SloOption = None,
    window: Annotated[str, typer.Option(help="Simulated time at each moment.")] = "2s",
    replications: Annotated[int, typer.Option(min=1, help="Simulated windows at each moment.")] = 3,
    workers: WorkersOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: KeptOption = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    as_json: JsonOption = False,
) -> None:
    """Find when a store that grows reaches its limits, and the cheapest change that keeps its objectives."""
    objectives = slo.parse_slos(slos)
    pages = figure_files.PageFiles(report, figures_to, figure_format)
    folder = None if out is None else plan_folder.PlanFolder(out)
    warn_if_slow()
    with kept_in(out), progress("looking at the store") as update:
        result = capacity_plan.plan(
            parse_spec.spec_mapping(spec, assignments=assignments),
            capacity_growth.read_growth(growth),
            objectives,
            source=str(spec),
            seed=seed or 0,
            window_s=duration.seconds_of("--window", window) or 0.0,
            replications=replications,
            workers=worker_count(workers),
            cache=folder,
            progress=update,
        )
    if folder is not None:
        folder.write(result, json_text(result))
        say(f"plan written to {out}")
    pages.write(lambda path: plan.write_plan_page(result, path, f"Plan of {spec.stem}"))
    if as_json:
        print_json(result)
        return
    for grid in tables_plan.plan_grids(result):
        print_grid(grid)
    for line in (*tables_plan.evidence(result), tables_plan.found(result)):
        stdout.print(line, markup=False)
