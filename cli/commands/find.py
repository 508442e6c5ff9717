"""The search and the sensitivity of `tailcast whatif`: options, work, and what is printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import plotly.graph_objects as go
import typer

from cli.common import json_text, print_grid, print_json, progress, say
from cli.figures.figure_files import PageFiles
from cli.pages.find import write_best_page, write_limit_page, write_sensitivity_page
from cli.tables.find import best_grid, limit_grid, sensitivity_grid
from cli.tables.tables import Grid
from sim.experiments.find import find_best, find_limit
from sim.experiments.goal import Goal
from sim.experiments.sensitivity import Range, sensitivity
from sim.experiments.sweep_folder import SweepFolder
from sim.experiments.variants import Variants
from sim.replication.slo import parse_slo
from traces.errors import InputError

FindOption = Annotated[
    str | None,
    typer.Option(
        "--find",
        metavar="'max|min|best PATH [in LOW..HIGH]'",
        help="Search: the most or the least that keeps every --slo, or what makes --target least.",
    ),
]
SensitivityOption = Annotated[
    bool, typer.Option("--sensitivity", help="Which of the --vary PATH=LOW..HIGH moves --target most.")
]
TargetOption = Annotated[
    str | None, typer.Option("--target", metavar="OP.QUANTILE", help="For 'best' and --sensitivity, as GET.p99.")
]
ExtraLoadOption = Annotated[
    float | None,
    typer.Option("--extra-load", min=0, help="For 'best': further attempts at most, as a share: 0.05 is 5 %."),
]
TrajectoriesOption = Annotated[
    int, typer.Option("--trajectories", min=2, help="For --sensitivity: walks through the ranges.")
]

_WritePage = Callable[[dict[str, Any], Path, str], list[go.Figure]]


def find_command(
    variants: Variants,
    find: str,
    slos: Sequence[str],
    target: str | None,
    extra_load: float | None,
    *,
    folder: SweepFolder | None,
    pages: PageFiles,
    as_json: bool,
) -> None:
    """Search, and print what was found; a folder keeps it, and what was simulated, too.

    Raises:
        InputError: options do not go together, or there is nothing to find.
    """
    goal = Goal.parse(find)
    best = goal.kind == "best"
    if best != (target is not None) or (best and slos) or (extra_load is not None and not best):
        raise InputError("--find 'best …' takes --target OP.QUANTILE and --extra-load; 'max …' and 'min …' take --slo")
    with progress("searching") as update:
        if target is not None:
            result = find_best(variants, goal, target, most_extra_load=extra_load, cache=folder, progress=update)
        else:
            result = find_limit(variants, goal, [parse_slo(text) for text in slos], cache=folder, progress=update)
    grid, write_page = (best_grid(result), write_best_page) if best else (limit_grid(result), write_limit_page)
    _keep(result, "find.json", folder)
    _tell(variants, result, grid, write_page, pages, as_json)


def sensitivity_command(
    variants: Variants,
    vary: Sequence[str],
    target: str | None,
    trajectories: int,
    *,
    folder: SweepFolder | None,
    pages: PageFiles,
    as_json: bool,
) -> None:
    """Screen, and print which number moves the target most; a folder keeps it, and what was simulated, too.

    Raises:
        InputError: options do not go together, or a range does not fit.
    """
    if target is None:
        raise InputError("--sensitivity needs the latency that is to be explained; add --target GET.p99")
    ranges = [Range.parse(text) for text in vary]
    with progress("screening", trajectories * (len(ranges) + 1)) as update:
        result = sensitivity(variants, ranges, target, trajectories=trajectories, cache=folder, progress=update)
    _keep(result, "sensitivity.json", folder)
    _tell(variants, result, sensitivity_grid(result), write_sensitivity_page, pages, as_json)


def _keep(result: dict[str, Any], name: str, folder: SweepFolder | None) -> None:
    if folder is not None:
        folder.write_text(name, json_text(result))
        say(f"written to {folder.path / name}")


def _tell(
    variants: Variants, result: dict[str, Any], grid: Grid, write_page: _WritePage, pages: PageFiles, as_json: bool
) -> None:
    pages.write(lambda path: write_page(result, path, Path(variants.source).name))
    if as_json:
        print_json(result)
    else:
        print_grid(grid)
