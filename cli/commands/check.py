"""`tailcast check`: what a forecast of a spec rests on, and what is doubtful in it."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.common import print_grid, print_json, stdout
from cli.options import JsonOption, ProfileOption, SetOption, SpecArgument, TraceOption


def command(
    spec: SpecArgument,
    trace: TraceOption = None,
    profile: ProfileOption = None,
    assignments: SetOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a value is implausible or a part too slow.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a spec: assumed values, what costs nothing, is implausible, too slow or probably not meant.

    Example: tailcast check examples/minio.yaml
    """
    from cli.parse.spec import described
    from cli.tables.spec.origins import check_grids
    from sim.analysis.check import check

    read = described(spec, trace, profile, assignments)
    read.check_assumed()
    result = check(read.spec, read.origins, read.trace, read.whole)
    if as_json:
        print_json(result)
    else:
        for grid in check_grids(result):
            print_grid(grid)
        if not result.has_warnings and not result.doubts:
            stdout.print(f"{spec.name}: no errors, no warnings", markup=False, soft_wrap=True)
    if strict and result.has_warnings:
        raise typer.Exit(1)
