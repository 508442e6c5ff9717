"""`tailcast show`: the values of a spec and where each comes from."""

from __future__ import annotations

from typing import Annotated

import typer

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
    from cli.present import Answer, Outputs, present
    from cli.tables.grid import Grid
    from cli.tables.spec.origins import origin_grids
    from models.basis.assumptions import assumptions

    read = described(spec, trace, profile, assignments)

    def shown() -> list[str | Grid]:
        paths = [assumption.path for assumption in assumptions(read.spec, read.origins)]
        defaults = sum(origin.kind == "default" for origin in read.origins)
        hidden = [] if everything else [f"{defaults} values are defaults; --all lists them"]
        return [*origin_grids(read.origins, paths, everything), *hidden]

    present(Answer({"store": read.spec.store, "values": read.origins}, shown), Outputs(as_json))
