"""`tailcast whatif`: a spec with some values varied: figures, differences, objectives; searches and sensitivities."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cli.commands.failures import FailureAtOption, FailureForOption, FailureOption, failures_command, time_of
from cli.commands.find import (
    ExtraLoadOption,
    FindOption,
    SensitivityOption,
    TargetOption,
    TrajectoriesOption,
    find_command,
    sensitivity_command,
)
from cli.commands.simulate import SpecArgument
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
from cli.pages.whatif import write_whatif_page
from cli.tables.tables import Grid
from cli.tables.whatif import findings, points_grids
from sim.experiments.failure_kinds import parse_failure
from sim.experiments.failures import Question as FailureQuestion
from sim.experiments.sweep import REPLICATIONS, Settings
from sim.experiments.sweep_folder import SweepFolder
from sim.experiments.variants import Variants
from sim.experiments.variation import parse_variation
from sim.experiments.whatif import Question, whatif
from sim.replication.replicate import Precision
from sim.replication.slo import parse_slo
from traces.errors import InputError
from traces.spec_file import load_mapping, override
from validate.calibration.profile import Profile

_LONGEST_LINE = 1000


def command(
    spec: SpecArgument,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="PATH=VALUES",
            help="Values of a path: A..B, A..B:STEP, A..B/COUNT, or a list with commas; none is nothing. Repeatable.",
        ),
    ] = None,
    slo: Annotated[
        list[str] | None,
        typer.Option(
            "--slo",
            metavar="OBJECTIVE",
            help="What must hold: 'GET.p99<50ms', 'PUT.throughput>500/s', 'GET.errors<0.1%', "
            "'drive.utilization<80%'. Repeatable.",
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", min=1, help="So many points of a Latin hypercube, not the whole grid.")
    ] = None,
    base: Annotated[
        list[str] | None,
        typer.Option("--base", metavar="PATH=VALUE", help="The point to compare with; the first unless told."),
    ] = None,
    find: FindOption = None,
    sensitive: SensitivityOption = False,
    target: TargetOption = None,
    extra_load: ExtraLoadOption = None,
    trajectories: TrajectoriesOption = 10,
    failure: FailureOption = None,
    failure_at: FailureAtOption = None,
    failure_for: FailureForOption = None,
    replications: Annotated[
        int, typer.Option(min=1, help="Runs of each point, with the same seeds at all; with --precision at a time.")
    ] = REPLICATIONS,
    precision: Annotated[
        float | None, typer.Option(help="Replicate each point until its p99 is known so precisely; 0.05 is ± 5 %.")
    ] = None,
    steady: Annotated[bool, typer.Option("--steady", help="Leave the warm-up out.")] = False,
    profile: Annotated[
        Path | None, typer.Option("--profile", help="Values from 'tailcast calibrate'; --set goes before them.")
    ] = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A dask cluster does it instead, as tcp://10.0.0.1:8786.")
    ] = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Keeps what is done, and goes on where it was interrupted."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate variants of a spec with common random numbers, and say which keep the objectives."""
    if scheduler is not None and workers is not None:
        raise InputError("--workers are processes of this machine, and --scheduler is a cluster of others; give one")
    swept = {
        "--samples": samples, "--base": base, "--precision": precision, "--scheduler": scheduler,
    }  # fmt: skip
    if failure:
        _refuse("--failure", {
            "--vary": vary, "--samples": samples, "--base": base, "--find": find, "--sensitivity": sensitive,
            "--target": target, "--extra-load": extra_load, "--scheduler": scheduler, "--steady": steady,
        })  # fmt: skip
    elif failure_at or failure_for:
        raise InputError("--failure-at and --failure-for are for --failure")
    elif find is not None:
        _refuse("--find", swept | {"--vary": vary, "--sensitivity": sensitive})
    elif sensitive:
        _refuse("--sensitivity", swept | {"--slo": slo, "--extra-load": extra_load})
    elif target is not None or extra_load is not None:
        raise InputError("--target and --extra-load are for --find and --sensitivity")
    data = load_mapping(spec)
    if profile is not None:
        data = Profile.read(profile).applied_to(data, str(spec))
    data = override(data, assignments or ())
    settings = Settings(seed or 0, replications, None if precision is None else Precision(precision), steady)
    variants = Variants(data, str(spec), settings, workers or len(os.sched_getaffinity(0)))
    folder = None if out is None else SweepFolder(out)
    pages = PageFiles(report, figures_to, figure_format)
    warn_if_slow()
    if failure:
        what, slos = [parse_failure(text) for text in failure], [parse_slo(text) for text in slo or ()]
        at_s, for_s = time_of("--failure-at", failure_at), time_of("--failure-for", failure_for)
        asked = FailureQuestion(data, str(spec), what, at_s, for_s, slos, settings)
        with kept_in(out, resumes=False):
            failures_command(asked, variants.workers, folder=folder, pages=pages, as_json=as_json)
        return
    with kept_in(out):
        if find is not None:
            find_command(variants, find, slo or (), target, extra_load, folder=folder, pages=pages, as_json=as_json)
        elif sensitive:
            sensitivity_command(variants, vary or (), target, trajectories, folder=folder, pages=pages, as_json=as_json)
        else:
            variations, slos = [parse_variation(text) for text in vary or ()], [parse_slo(text) for text in slo or ()]
            question = Question(data, str(spec), variations, slos, samples, base or (), settings)
            _sweep(question, variants.workers, scheduler, folder, pages, as_json)


def _refuse(option: str, others: Mapping[str, object]) -> None:
    for other, given in others.items():
        if given:
            raise InputError(f"{option} and {other} do not go together")


def _sweep(
    question: Question,
    workers: int,
    scheduler: str | None,
    folder: SweepFolder | None,
    pages: PageFiles,
    as_json: bool,
) -> None:
    with progress("simulating points", 1.0) as update:
        result = whatif(
            question,
            workers=workers,
            scheduler=scheduler,
            cache=folder,
            progress=lambda done, points: update(done / points),
        )
    if folder is not None:
        folder.write(result, json_text(result))
        say(f"What-if written to {folder.path}")
    pages.write(lambda path: write_whatif_page(result, path))
    if as_json:
        print_json(result)
        return
    for grid in points_grids(result):
        _print_wide(grid)
    for sentence in findings(result):
        stdout.print(sentence, markup=False, soft_wrap=True)


def _print_wide(grid: Grid) -> None:
    """The grid with a row for each point; but for a terminal, lines are as long as they need to be."""
    console = stdout if stdout.is_terminal else Console(width=_LONGEST_LINE, highlight=False)
    print_grid(grid, turn=False, console=console)
