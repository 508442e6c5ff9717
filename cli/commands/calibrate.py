"""`tailcast calibrate`: parameters of a spec fitted to measured Runs and published tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from cli.answers.calibration import profile_answer
from cli.common import progress, say, warn_if_slow
from cli.figures.figure_files import PageFiles
from cli.options import (
    FiguresOption,
    ForceOption,
    FormatOption,
    JsonOption,
    OutOption,
    PageOption,
    SeedOption,
    SetOption,
    WorkersOption,
    fraction,
)
from cli.outputs import check_file_output
from cli.parse.spec import checked, overridden
from cli.present import Outputs, present
from models.basis.described import DescribedSpec
from traces.errors import InputError
from traces.run import Run
from traces.run_folders import run_folders, run_names
from traces.spec.spec_file import load_mapping
from validate.calibration.calibrate import calibrate
from validate.calibration.parameters import Parameter, chosen
from validate.calibration.published import doubts_of, published_rows
from validate.compare.server_trace import IN_RUN, matched


def command(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.yaml", help="Spec of the store.", show_default=False)],
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Folders of measured Runs under light load, or folders that contain such.",
            show_default=False,
        ),
    ] = None,
    tables: Annotated[
        list[Path] | None,
        typer.Option(
            "--table",
            metavar="ROWS.csv",
            help="Also fit the published figures of a table, of its rows marked used_in_fit or else of all; "
            "repeatable (default: none).",
        ),
    ] = None,
    added: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="PATH=LOW..HIGH",
            help="Also fit this value, within these bounds; repeatable (default: none).",
        ),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            "--fix",
            metavar="PATH",
            help="Do not fit this value, or any value below this path; repeatable (default: none).",
        ),
    ] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Also fit Runs that fail the run-quality check.")] = False,
    leave_out: Annotated[
        bool, typer.Option("--leave-out", help="Leave out Runs that fail the run-quality check (default: refuse).")
    ] = False,
    server_trace: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Server-side times of the same requests, from 'mc admin trace --json'; repeatable "
            f"(default: {IN_RUN} in the folders of the Runs, which is always used).",
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(metavar="FRACTION", parser=fraction, help="Confidence level of the intervals, such as 95%.")
    ] = 0.95,
    workers: WorkersOption = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fit a model to measured Runs or published tables, and write a profile for other commands.

    The fitted parameters are the service demands and distributions that the spec contains and the Runs depend on.

    Example: tailcast calibrate examples/minio.yaml light-runs/ -o mine.yaml
    """
    if anyway and leave_out:
        raise InputError("--anyway fits Runs that fail the run-quality check, and --leave-out does not; give one")
    if not runs and not tables:
        raise InputError("there is nothing to fit; give folders of Runs, or --table ROWS.csv")
    check_file_output(out, force)
    data = overridden(load_mapping(spec), assignments)
    store = checked(data, str(spec), assignments)
    published = published_rows(tables or (), data, store, str(spec))
    for doubt in doubts_of(published):
        say(f"warning: {doubt}")
    parameters = chosen(store, [Parameter.parse(text) for text in added or ()], fixed or ())
    folders = run_folders(runs) if runs else []
    named = list(zip(run_names(folders), [Run.read(folder) for folder in folders], strict=True))
    server_s = matched(named, [*(server_trace or ()), *(path for f in folders if (path := f / IN_RUN).exists())])
    outputs = Outputs(as_json, pages=PageFiles(report, figures_to, figure_format))
    warn_if_slow()
    with progress("calibrating", total=1) as advance:
        profile = calibrate(
            store,
            named,
            parameters,
            source=str(spec),
            seed=seed or 0,
            confidence=confidence,
            workers=workers or len(os.sched_getaffinity(0)),
            anyway=anyway,
            leave_out=leave_out,
            server_s=server_s,
            published=published,
            progress=advance,
        )
    if out is not None:
        profile.write(out)
        say(f"Profile written to {out}")
    present(profile_answer(profile, DescribedSpec.of(data, spec.name)), outputs)
