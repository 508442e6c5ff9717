"""`tailcast simulate`: the Run that a spec's store would give, or the figures of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from cli.common import print_grid, print_json, progress, say, warn_if_slow
from cli.options import (
    Engine,
    EngineOption,
    JsonOption,
    ProfileOption,
    SeedOption,
    SetOption,
    SpecArgument,
    SteadyOption,
    TraceOption,
)
from cli.parse import workload
from cli.tables import tables
from models import store as models_store
from sim import json_form, simulate
from sim.replication import replicate
from traces import run as traces_run
from traces import trace as traces_trace
from traces.errors import InputError
from traces.statistics import critical_path
from traces.statistics import summary as statistics_summary

_BATCH = 10  # replications at a time where only a precision is asked for

_Printed: TypeAlias = "tuple[dict[str, Any], Sequence[tables.Grid]]"
"""What is printed: as JSON, and as tables."""


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
    store, requests = workload.spec_and_trace(spec, trace, profile, assignments)
    if engine == "compiled":
        warn_if_slow()
    if replicated:
        simulation = partial(simulate.simulate, store, requests, engine=engine)
        wanted = None if precision is None else replicate.Precision(precision)
        result, grids = _replicated(simulation, seed or 0, replications or _BATCH, wanted, steady, workers)
    else:
        result, grids = _simulated(store, requests, seed or 0, engine, out)
    if as_json:
        print_json(result)
        return
    for grid in grids:
        print_grid(grid)


def result_of(run: traces_run.Run) -> dict[str, Any]:
    """What is printed of a simulated Run: its summary with attempts per request, its stations and its engine.

    Of a Run with a critical path also `attribution`: what `critical_path.attribution` found, so the p99 of GETs is
    in ``["attribution"]["GET"]["p99"]["roles"]["host cpu"]["waiting_s"]``, by role.
    """
    assert run.stations is not None
    summary = statistics_summary.summarise(run)
    ops = {op: figures | {"attempts": tables.mean_attempts(run, op)} for op, figures in summary["ops"].items()}
    stations = [s for s in run.stations.to_pylist() if s["visits"]]
    parts = {} if run.critical_path is None else {"attribution": critical_path.attribution(run)}
    return {**summary, "ops": ops, "stations": stations, **parts, "engine": run.info["engine"]}


def _simulated(
    spec: models_store.Spec, trace: traces_trace.Trace | None, seed: int, engine: Engine, out: Path | None
) -> _Printed:
    with progress("simulating", len(trace) if trace is not None else spec.workload.operations) as update:
        run = simulate.simulate(spec, trace, seed=seed, engine=engine, critical_path=True, progress=update)
    if out is not None:
        run.write(out)
        say(f"Run written to {out}")
    result = result_of(run)
    grids = [tables.summary_grid(run), tables.stations_grid(result["stations"])]
    if result.get("attribution"):
        grids.append(tables.attribution_grid(result["attribution"], "What median and tail consist of"))
    return result, grids


def _replicated(
    simulation: replicate.Simulation,
    seed: int,
    replications: int,
    precision: replicate.Precision | None,
    steady: bool,
    workers: int,
) -> _Printed:
    with progress("replicating", replications if precision is None else None) as update:
        done = replicate.replicate(
            simulation,
            seed=seed,
            replications=replications,
            precision=precision,
            steady=steady,
            workers=workers,
            progress=update,
        )
    summary, verdict = done.summary(), None if precision is None else precision.verdict(done)
    visited = {row["name"] for run in done.runs for row in run.stations if row["visits"]}
    summary = replace(summary, stations=[station for station in summary.stations if station.name in visited])
    result = {**json_form.to_json(summary), "engine": done.work, **({} if verdict is None else {"precision": verdict})}
    return result, [tables.replications_grid(summary, verdict), tables.station_intervals_grid(summary.stations)]
