"""`tailcast compare`: a comparison of two Runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import progress
from cli.options import JsonOption, SeedOption, fraction

ToleranceOption = Annotated[
    float,
    typer.Option(
        "--tolerance",
        metavar="FRACTION",
        parser=fraction,
        help="Allowed relative difference of throughput, p50, p99 and the whole distribution, such as 15%.",
    ),
]


def command(
    a: Annotated[Path, typer.Argument(metavar="A", help="Folder of a Run, such as a forecast.", show_default=False)],
    b: Annotated[Path, typer.Argument(metavar="B", help="Folder of the reference Run.", show_default=False)],
    tolerance: ToleranceOption = 0.15,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if the Runs differ.")] = False,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two Runs quantile by quantile, and say whether A agrees with B.

    Example: tailcast compare forecast measured --tolerance 15% --check
    """
    from cli.answers.runs import comparison_answer
    from cli.present import Outputs, present
    from traces.run import Run
    from traces.run_folders import run_names
    from validate.compare.compare import compare

    runs = Run.read(a), Run.read(b)
    with progress("comparing", total=1) as advance:
        result = compare(*runs, tolerance=tolerance, seed=seed or 0, progress=advance)
    named = list(zip(run_names([a, b]), runs, strict=True))
    present(comparison_answer(result, named), Outputs(as_json))
    if check and result.verdict == "differ":
        raise typer.Exit(1)
