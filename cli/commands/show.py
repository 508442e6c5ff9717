"""`tailcast show`: the values of a spec and where each comes from."""

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
    everything: Annotated[
        bool, typer.Option("--all", help="List all defaults, also those that the forecast does not depend on.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the values of a spec and where each comes from.

    Example: tailcast show examples/minio.yaml --set workload.clients=32
    """
    from cli.parse.spec import described
    from cli.tables.spec.origins import origin_grids
    from models.spec.assumptions import assumptions

    read = described(spec, trace, profile, assignments)
    if as_json:
        print_json({"store": read.spec.store, "values": read.origins})
        return
    shown = [assumption.path for assumption in assumptions(read.spec, read.origins)]
    for grid in origin_grids(read.origins, shown, everything):
        print_grid(grid)
    if not everything:
        defaults = sum(origin.kind == "default" for origin in read.origins)
        stdout.print(f"{defaults} values are defaults; --all lists them", markup=False, soft_wrap=True)
