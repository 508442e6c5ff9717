"""`tailcast simulate`: one simulated Run of a spec, or estimates from several replications."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from cli.common import print_grid, print_json, warn_if_slow
from cli.options import (
    EngineOption,
    JsonOption,
    ProfileOption,
    SeedOption,
    SetOption,
    SpecArgument,
    SteadyOption,
    TraceOption,
)
from traces.errors import InputError

_BATCH = 10  # replications at a time if only a precision is given


def command(
    spec: SpecArgument,
    trace: TraceOption = None,
    engine: EngineOption = "compiled",
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications",
            min=1,
            help="Number of independent replications, for confidence intervals (default: one run).",
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            "--precision",
            help="Add replications until every p99 is known to this relative precision; 0.05 is ± 5 % (default: none).",
        ),
    ] = None,
    steady: SteadyOption = False,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Number of worker threads or processes for replications.")
    ] = 1,
    profile: ProfileOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Write the Run to this folder (default: none)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a store and print latencies, throughput and the load of each station."""
    from cli.doubts import say_doubts
    from cli.parse.spec import described
    from cli.simulations import replicated_runs, simulated_run
    from sim.replication.replicate import Precision
    from sim.simulate import simulate

    several = replications is not None or precision is not None
    if several and out is not None:
        raise InputError("--out writes one Run; leave out --replications and --precision")
    if steady and not several:
        raise InputError("--steady needs replications; add --replications 10 or --precision 0.05")
    read = described(spec, trace, profile, assignments)
    store, requests = read.spec, read.trace
    say_doubts(read, spec)
    if engine == "compiled":
        warn_if_slow()
    if several:
        simulation = partial(simulate, store, requests, engine=engine)
        target = None if precision is None else Precision(precision)
        result, grids = replicated_runs(simulation, seed or 0, replications or _BATCH, target, steady, workers)
    else:
        result, grids = simulated_run(store, requests, seed or 0, engine, out)
    if as_json:
        print_json(result)
        return
    for grid in grids:
        print_grid(grid)
