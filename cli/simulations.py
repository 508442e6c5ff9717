"""Simulations with their results as JSON and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cli.common import progress, say
from cli.tables.grid import Grid
from cli.tables.runs import (
    attribution_grid,
    mean_attempts,
    replications_grid,
    station_intervals_grid,
    stations_grid,
    summary_grid,
)
from models.store import Spec
from sim.json_form import to_json
from sim.replication.replicate import Precision, Simulation, replicate
from sim.simulate import EngineName, simulate
from traces.run import Run
from traces.statistics.critical_path import attribution
from traces.statistics.summary import summarise
from traces.trace import Trace

Printed = tuple[dict[str, Any], Sequence[Grid]]
"""JSON object and tables."""


def result_of(run: Run) -> dict[str, Any]:
    """Return the summary of a simulated Run, with attempts per request, stations and engine.

    A Run with critical paths also has the result of `critical_path.attribution`: the mean waiting time for the host's
    CPU around the p99 of GETs is ``["attribution"]["GET"]["p99"]["roles"]["host cpu"]["waiting_s"]``.
    """
    assert run.stations is not None
    summary = summarise(run)
    ops = {op: figures | {"attempts": mean_attempts(run, op)} for op, figures in summary["ops"].items()}
    stations = [s for s in run.stations.to_pylist() if s["visits"]]
    parts = {} if run.critical_path is None else {"attribution": attribution(run)}
    return {**summary, "ops": ops, "stations": stations, **parts, "engine": run.info["engine"]}


def simulated_run(spec: Spec, trace: Trace | None, seed: int, engine: EngineName, out: Path | None) -> Printed:
    """Simulate one Run, and write it to `out` if given."""
    with progress("simulating", len(trace) if trace is not None else spec.workload.operations) as update:
        run = simulate(spec, trace, seed=seed, engine=engine, critical_path=True, progress=update)
    if out is not None:
        run.write(out)
        say(f"Run written to {out}")
    result = result_of(run)
    grids = [summary_grid(run), stations_grid(result["stations"])]
    if result.get("attribution"):
        grids.append(attribution_grid(result["attribution"], "Tail attribution"))
    return result, grids


def replicated_runs(
    simulation: Simulation,
    seed: int,
    replications: int,
    precision: Precision | None,
    steady: bool,
    workers: int,
) -> Printed:
    """Simulate and summarise independent replications."""
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
    summary, verdict = done.summary(), None if precision is None else precision.verdict(done)
    visited = {row["name"] for run in done.runs for row in run.stations if row["visits"]}
    summary = replace(summary, stations=[station for station in summary.stations if station.name in visited])
    result = {**to_json(summary), "engine": done.work, **({} if verdict is None else {"precision": verdict})}
    return result, [replications_grid(summary, verdict), station_intervals_grid(summary.stations)]
