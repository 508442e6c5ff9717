"""`tailcast compare`: compares two Runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import print_grid, print_json, progress, stdout
from cli.options import JsonOption, SeedOption

ToleranceOption = Annotated[
    float, typer.Option("--tolerance", help="Relative difference allowed in throughput, p50, p99 and distribution.")
]


def command(
    a: Annotated[Path, typer.Argument(metavar="A", help="The folder of a Run: the forecast, say.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The folder of the Run that is the reference.")],
    tolerance: ToleranceOption = 0.15,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 when the Runs differ.")] = False,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two Runs, quantile by quantile, and say whether A agrees with B."""
    from cli.tables.tables import comparison_grid
    from cli.words import doubt, verdict
    from traces.run import Run
    from validate.compare.compare import compare

    runs = Run.read(a), Run.read(b)
    with progress("comparing", total=1) as advance:
        result = compare(*runs, tolerance=tolerance, seed=seed or 0, progress=advance)
    if as_json:
        print_json(result.to_json())
    else:
        names = run_names([a, b])
        print_grid(comparison_grid(result, (names[0], names[1])))
        stdout.print(verdict(result, (names[0], names[1])), doubt(result), sep="\n", markup=False)
    if check and result.verdict == "differ":
        raise typer.Exit(1)


def run_names(folders: list[Path]) -> list[str]:
    """What to call the Runs in folders: the folder's own name where those differ, else the whole path."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]
