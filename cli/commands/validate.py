"""`tailcast validate`: a comparison of a model with measured Runs that it was not fitted to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cli.common import progress, warn_if_slow
from cli.made import Made
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
)
from cli.pages.validation import validation_page
from cli.parse.spec import checked, overridden, read_profile
from cli.present import Answer, outputs_to_file, present
from cli.tables.measured.validation import validation_shown
from traces.errors import InputError
from traces.run_folders import run_folders, run_names
from traces.spec.spec_file import load_mapping
from traces.spec.suggestions import instead
from traces.spec.units import parse_fraction
from validate.forecast.validation import TOLERANCES, validate

_FIGURES = {"throughput": "throughput_ops", "p50": "p50", "p99": "p99", "w1": "w1"}
_DEFAULTS = ", ".join(f"{name}={TOLERANCES[figure]:g}" for name, figure in _FIGURES.items())


def command(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.yaml", help="Spec of the store.", show_default=False)],
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Folders of measured Runs, or folders that contain such.", show_default=False
        ),
    ],
    profile: Annotated[
        Path | None,
        typer.Option(
            "--profile",
            help="Profile written by 'tailcast calibrate'; its Runs do not count as held out (default: none).",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Exit with 1 unless held-out errors are within the tolerance or the repeatability."
        ),
    ] = False,
    tolerances: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            metavar="MEASURE=FRACTION",
            help=f"Allowed median error of a measure; repeatable (default: {_DEFAULTS}).",
        ),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Also use Runs that fail the run-quality check (default: leave them out).")
    ] = False,
    seeds: Annotated[int, typer.Option("--seeds", min=2, help="Number of simulations per workload.")] = 5,
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
    """Check measured Runs, predict those that the model was not fitted to, and report the errors.

    Errors are compared with the repeatability, which is the difference between repetitions of a measurement.

    Example: tailcast validate examples/minio.yaml --profile mine.yaml runs/ --check
    """
    outputs = outputs_to_file(out, force, as_json, report, figures_to, figure_format)
    data, fitted = load_mapping(spec), frozenset[tuple[str, int]]()
    if profile is not None:
        found = read_profile(profile)
        data, fitted = found.applied_to(data, str(spec)), frozenset((r.started_at, r.requests) for r in found.runs)
    store = checked(overridden(data, assignments), str(spec), assignments)
    allowed = _tolerances(tolerances or ())
    folders = run_folders(runs)
    warn_if_slow()
    with progress("validating", total=1) as advance:
        result = validate(
            store,
            dict(zip(run_names(folders), folders, strict=True)),
            fitted=fitted,
            tolerances=allowed,
            seeds=seeds,
            seed=seed or 0,
            workers=workers or len(os.sched_getaffinity(0)),
            anyway=anyway,
            progress=advance,
        )
    shown = {"spec": str(spec), "profile": None if profile is None else str(profile), **result.to_json()}
    made = Made.of(store, seed or 0)
    answer = Answer(
        shown,
        lambda: validation_shown(result),
        made,
        lambda: validation_page(result, spec, profile),
    )
    present(answer, outputs)
    if check and result.verdict != "pass":
        raise typer.Exit(1)


def _tolerances(given: Sequence[str]) -> dict[str, float]:
    tolerances = dict(TOLERANCES)
    for text in given:
        name, _, value = text.partition("=")
        if name not in _FIGURES:
            raise InputError(f"--tolerance {text}: {name!r} is not a measure; {instead(name, _FIGURES)}")
        try:
            fraction = parse_fraction(value)
        except ValueError as error:
            raise InputError(f"--tolerance {text}: {error}") from error
        if not fraction:
            raise InputError(f"--tolerance {text}: {value!r} is not a fraction above 0, such as 10%")
        tolerances[_FIGURES[name]] = fraction
    return tolerances
