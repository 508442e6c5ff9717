"""`tailcast simulate`: the Run that a spec's store would give, or the figures of several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.common import print_grid, print_json, progress, say, warn_if_slow
from cli.options import (
    JsonOption,
    ProfileOption,
    SeedOption,
    SetOption,
    SpecArgument,
    SteadyOption,
    TraceOption,
)
from cli.parse.workload import spec_and_trace
from cli.tables.tables import (
    Grid,
    attribution_grid,
    mean_attempts,
    replications_grid,
    station_intervals_grid,
    stations_grid,
    summary_grid,
)
from models.store import Spec
from sim.replication.replicate import Precision, Simulation, replicate
from sim.replication.summaries import Replications
from sim.simulate import EngineName, simulate
from traces.errors import InputError
from traces.run import Run
from traces.statistics.critical_path import attribution
from traces.statistics.summary import summarise
from traces.trace import Trace

_BATCH = 10  # replications at a time where only a precision is asked for

_Printed = tuple[dict[str, Any], Sequence[Grid]]
"""What is printed: as JSON, and as tables."""


def command(
    spec: SpecArgument,
    trace: TraceOption = None,
    engine: Annotated[
        EngineName, typer.Option("--engine", help="Simulation engine; both give the same result, compiled is faster.")
    ] = "compiled",
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
            help="Add replications until every p99 is known to this relative precision; 0.05 is ± 5 % "
            "(default: do not).",
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
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Write the Run to this folder.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a store and print latencies, throughput and the load of each station."""
    replicated = replications is not None or precision is not None
    if replicated and out is not None:
        raise InputError("--out writes one Run; leave out --replications and --precision")
    if steady and not replicated:
        raise InputError("--steady needs replications; add --replications 10 or --precision 0.05")
    store, requests = spec_and_trace(spec, trace, profile, assignments)
    if engine == "compiled":
        warn_if_slow()
    if replicated:
        simulation = partial(simulate, store, requests, engine=engine)
        wanted = None if precision is None else Precision(precision)
        result, grids = _replicated(simulation, seed or 0, replications or _BATCH, wanted, steady, workers)
    else:
        result, grids = _simulated(store, requests, seed or 0, engine, out)
    if as_json:
        print_json(result)
        return
    for grid in grids:
        print_grid(grid)


def result_of(run: Run) -> dict[str, Any]:
    """What is printed of a simulated Run: its summary with attempts per request, its stations and its engine.

    Of a Run with a critical path also `attribution`: what `critical_path.attribution` found, so the p99 of GETs is
    in ``["attribution"]["GET"]["p99"]["roles"]["host cpu"]["waiting_s"]``, by role.
    """
    assert run.stations is not None
    summary = summarise(run)
    ops = {op: figures | {"attempts": mean_attempts(run, op)} for op, figures in summary["ops"].items()}
    stations = [s for s in run.stations.to_pylist() if s["visits"]]
    parts = {} if run.critical_path is None else {"attribution": attribution(run)}
    return {**summary, "ops": ops, "stations": stations, **parts, "engine": run.info["engine"]}


def _simulated(spec: Spec, trace: Trace | None, seed: int, engine: EngineName, out: Path | None) -> _Printed:
    with progress("simulating", len(trace) if trace is not None else spec.workload.operations) as update:
        run = simulate(spec, trace, seed=seed, engine=engine, critical_path=True, progress=update)
    if out is not None:
        run.write(out)
        say(f"Run written to {out}")
    result = result_of(run)
    grids = [summary_grid(run), stations_grid(result["stations"])]
    if result.get("attribution"):
        grids.append(attribution_grid(result["attribution"], "What median and tail consist of"))
    return result, grids


def _replicated(
    simulation: Simulation, seed: int, replications: int, precision: Precision | None, steady: bool, workers: int
) -> _Printed:
    with progress("replicating", replications if precision is None else None) as update:
        done = replicate(
            simulation,
            seed=seed,
            replications=replications,
            precision=precision,
            steady=steady,
            workers=workers,
            progress=update,
        )
    engines = [run.info["engine"] for run in done.runs]
    summary = done.summary()
    result = {
        **summary,
        "stations": _visited(summary["stations"], done),
        "engine": {"name": engines[0]["name"], **{k: sum(e[k] for e in engines) for k in ("wall_s", "visits")}},
    }
    if precision is not None:
        result["precision"] = precision.verdict(done)
    return result, [replications_grid(result), station_intervals_grid(result["stations"])]


def _visited(stations: list[dict[str, Any]], done: Replications) -> list[dict[str, Any]]:
    """Those of a summary's stations that were visited, with how many servers they have."""
    visited = {row["name"] for run in done.runs for row in run.stations if row["visits"]}
    servers = {row["name"]: row["servers"] for row in done.runs[0].stations}
    return [row | {"servers": servers[row["name"]]} for row in stations if row["name"] in visited]
