"""`tailcast check`: what a forecast of a spec rests on, and what is doubtful in it."""

from __future__ import annotations

from typing import Annotated

import typer

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
    from cli.present import Answer, Outputs, present
    from cli.tables.spec.origins import check_grids
    from sim.analysis.check import check

    read = described(spec, trace, profile, assignments)
    read.check_assumed()
    result = check(read.spec, read.origins, read.trace, read.whole)
    clean = [] if result.has_warnings or result.doubts else [f"{spec.name}: no errors, no warnings"]
    present(Answer(result, lambda: [*check_grids(result), *clean]), Outputs(as_json))
    if strict and result.has_warnings:
        raise typer.Exit(1)
