"""`tailcast simulate`: the Run that a spec's store would give."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.common import JsonOption, OutOption, SeedOption, SetOption, print_json, progress, say, stdout
from cli.tables import rich_table, stations_grid, summary_grid
from models.spec import load_spec
from sim.simulate import EngineName, simulate
from traces.run import Run
from traces.statistics import summarise
from traces.trace import Trace

SpecArgument = Annotated[
    Path, typer.Argument(metavar="SPEC.yaml", help="The store and its workload.", show_default=False)
]


def command(
    spec: SpecArgument,
    trace: Annotated[
        Path | None, typer.Option("--trace", help="Requests to simulate instead of the spec's own.")
    ] = None,
    engine: Annotated[EngineName, typer.Option("--engine", help="Both give the same result.")] = "compiled",
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a store and print latencies, throughput and the load of each station."""
    loaded = load_spec(spec, assignments or ())
    asked = None if trace is None else Trace.read(trace)
    total = len(asked) if asked is not None else loaded.workload.operations
    with progress("simulating", total) as update:
        run = simulate(loaded, asked, seed=seed or 0, engine=engine, progress=update)
    if out is not None:
        run.write(out)
        say(f"Run written to {out}")
    result = result_of(run)
    if as_json:
        print_json(result)
    else:
        stdout.print(rich_table(summary_grid(run)))
        stdout.print(rich_table(stations_grid(result["stations"])))


def result_of(run: Run) -> dict[str, Any]:
    """What is printed of a simulated Run: its summary, its stations and its engine."""
    assert run.stations is not None
    stations = [s for s in run.stations.to_pylist() if s["visits"]]
    return {**summarise(run), "stations": stations, "engine": run.info["engine"]}
