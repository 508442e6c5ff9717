"""`tailcast simulate`: the Run that a spec's store would give, many of them, bounds, or a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.commands.timeline import plan_of, print_timeline
from cli.common import (
    JsonOption,
    OutOption,
    PageOption,
    SeedOption,
    SetOption,
    print_grid,
    print_json,
    progress,
    say,
    warn_if_slow,
)
from cli.figures.figure_files import FiguresOption, FormatOption, PageFiles
from cli.tables.tables import (
    Grid,
    attribution_grid,
    bounds_grids,
    mean_attempts,
    replications_grid,
    station_intervals_grid,
    stations_grid,
    summary_grid,
)
from models.store import Spec, compile_spec, spec_of
from sim.analysis.bounds import bounds
from sim.capacity.timeline import Spacing
from sim.replication.replicate import Precision, Simulation, replicate
from sim.replication.summaries import Replications
from sim.simulate import EngineName, simulate
from traces.errors import InputError
from traces.run import Run
from traces.spec_file import load_mapping, override
from traces.statistics.critical_path import attribution
from traces.statistics.summary import summarise
from traces.trace import Trace
from traces.workload.generate import generate
from validate.calibration.profile import Profile

SpecArgument = Annotated[
    Path, typer.Argument(metavar="SPEC.yaml", help="The store and its workload.", show_default=False)
]

_BATCH = 10  # replications at a time where only a precision is asked for

_Answer = tuple[dict[str, Any], Sequence[Grid]]
"""What is printed: as JSON, and as tables."""


def command(
    spec: SpecArgument,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", help="Requests to simulate instead of the spec's own, which may be absent."),
    ] = None,
    engine: Annotated[EngineName, typer.Option("--engine", help="Both give the same result.")] = "compiled",
    only_bounds: Annotated[
        bool, typer.Option("--bounds", help="Do not simulate: bottleneck, bounds, and exact means if there are any.")
    ] = False,
    replications: Annotated[
        int | None, typer.Option(min=1, help="So many runs with seeds of their own, for confidence intervals.")
    ] = None,
    precision: Annotated[
        float | None, typer.Option(help="Replicate until each p99 is known so precisely; 0.05 is ± 5 %.")
    ] = None,
    steady: Annotated[bool, typer.Option("--steady", help="Replications: leave the warm-up out.")] = False,
    timeline: Annotated[
        str | None,
        typer.Option("--timeline", metavar="objects=LOW..HIGH", help="A window at each of some states as it fills."),
    ] = None,
    states: Annotated[int | None, typer.Option(help="Timeline: how many states; 20 unless told.")] = None,
    window: Annotated[str | None, typer.Option(help="Timeline: simulated time at each; 10s unless told.")] = None,
    spacing: Annotated[
        Spacing | None, typer.Option(help="Timeline: equal ratios of objects (unless told) or equal differences.")
    ] = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of workers (default: 1; for a timeline one per core).")
    ] = None,
    profile: Annotated[
        Path | None, typer.Option("--profile", help="Values from 'tailcast calibrate'; --set goes before them.")
    ] = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a store and print latencies, throughput and the load of each station."""
    replicated = replications is not None or precision is not None
    if only_bounds and (replicated or out is not None):
        raise InputError("--bounds does not simulate; leave --replications, --precision and --out away")
    if replicated and out is not None:
        raise InputError("--out writes one Run, and replications are many; leave it away")
    if not replicated and (steady or (workers not in (None, 1) and timeline is None)):
        raise InputError("--steady and --workers are for replications; add --replications 10, or --precision 0.05")
    if timeline is not None and (only_bounds or replicated or trace is not None):
        raise InputError("--timeline makes its own windows; leave --trace, --bounds, --replications, --precision away")
    if timeline is None and any(given is not None for given in (states, window, spacing, report, figures_to)):
        raise InputError("--states, --window, --spacing, --report and --figures are for --timeline objects=LOW..HIGH")
    data = load_mapping(spec)
    if profile is not None:
        data = Profile.read(profile).applied_to(data, str(spec))
    asked = None if trace is None else Trace.read(trace)
    if asked is not None and "workload" not in data:
        data["workload"] = _workload_of(asked)
    loaded = spec_of(override(data, assignments or ()), str(spec))
    if engine == "compiled" and not only_bounds:
        warn_if_slow()
    if timeline is not None:
        print_timeline(
            loaded,
            plan_of(timeline, states, window, spacing),
            title=f"{spec.stem} as it fills",
            seed=seed or 0,
            engine=engine,
            workers=workers,
            out=out,
            pages=PageFiles(report, figures_to, figure_format),
            as_json=as_json,
        )
        return
    if only_bounds:
        result, grids = _bounded(loaded, asked, seed or 0)
    elif replicated:
        simulation = partial(simulate, loaded, asked, engine=engine)
        wanted = None if precision is None else Precision(precision)
        result, grids = _replicated(simulation, seed or 0, replications or _BATCH, wanted, steady, workers or 1)
    else:
        result, grids = _simulated(loaded, asked, seed or 0, engine, out)
    if as_json:
        print_json(result)
    else:
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


def _workload_of(trace: Trace) -> dict[str, Any]:
    """The section `workload` of a spec that has none: as much, as large and in as many buckets as the trace has it."""
    span_s = trace.pacing.duration_s or float(trace.arrival_s.max(initial=0.0))
    is_open, count = trace.pacing.loop == "open" and span_s > 0, max(len(trace), 1)
    think_s = float(trace.think_s.sum()) / count
    load = {"rate": count / span_s} if is_open else {"clients": trace.pacing.clients, "think_time": think_s}
    size_bytes = max(round(int(trace.size_bytes.sum()) / count), 1)
    buckets = max(len(trace.table.column("bucket").unique()), 1)
    return {**load, "operations": count, "object_size": size_bytes, "buckets": buckets}


def _simulated(spec: Spec, trace: Trace | None, seed: int, engine: EngineName, out: Path | None) -> _Answer:
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


def _bounded(spec: Spec, trace: Trace | None, seed: int) -> _Answer:
    result = bounds(*compile_spec(spec, generate(spec.workload, seed) if trace is None else trace))
    return result, bounds_grids(result)


def _replicated(
    simulation: Simulation, seed: int, replications: int, precision: Precision | None, steady: bool, workers: int
) -> _Answer:
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
