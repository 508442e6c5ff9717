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
    from cli.made import Made, runs_notes
    from cli.present import Answer, Outputs, present
    from cli.tables.grid import Grid
    from cli.tables.measured.comparison import comparison_grid
    from cli.tables.measured.quality import named_warnings, run_warnings
    from cli.words import doubt, verdict
    from traces.run import Run
    from validate.compare.compare import compare

    runs = Run.read(a), Run.read(b)
    with progress("comparing", total=1) as advance:
        result = compare(*runs, tolerance=tolerance, seed=seed or 0, progress=advance)
    names = run_names([a, b])
    named = list(zip(names, runs, strict=True))
    warnings = {side: run_warnings(run) for side, run in zip("ab", runs, strict=True)}
    notes = runs_notes(named)

    def shown() -> list[str | Grid]:
        grid = comparison_grid(result, (names[0], names[1]), warnings=named_warnings(named))
        of_models = [f"note: {note}" for note in notes]
        return [grid, *of_models, verdict(result, (names[0], names[1])), doubt(result)]

    present(Answer({**result.to_json(), "warnings": warnings, "notes": notes}, shown, Made()), Outputs(as_json))
    if check and result.verdict == "differ":
        raise typer.Exit(1)


def run_names(folders: list[Path]) -> list[str]:
    """Return names for Runs: those of their folders if they differ, otherwise the whole paths."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]
