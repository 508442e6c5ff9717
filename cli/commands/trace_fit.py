"""`tailcast trace fit`: a workload fitted to a trace, and a comparison of both."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import print_json, progress, warn_if_slow
from cli.options import ForceOption, JsonOption, SeedOption, SetOption
from cli.outputs import check_file_output

TraceOrRun = Annotated[
    Path, typer.Argument(metavar="TRACE|RUN", help="Trace file, or folder of a Run.", show_default=False)
]


def command(
    trace: TraceOrRun,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the workload to this YAML file (default: none).")
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option(
            "--spec", help="Also simulate this store with both traces, and compare the latencies (default: none)."
        ),
    ] = None,
    assignments: SetOption = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if a characteristic or a latency differs.")
    ] = False,
    seed: SeedOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fit a workload to a trace, and compare what it generates.

    Fitted are arrivals, mix, sizes, popularity, reuse of objects, the order of operations and closed-loop workers. The
    table has each characteristic of the trace next to that of generated requests, and its aim.

    Example: tailcast trace fit trace.parquet -o workload.yaml
    """
    from cli.answers.fitted import fitted_result, show_fitted, write_workload
    from models.store import load_spec
    from traces.fitting.similarity import as_closed, at_clock, comparable_trace, compare_figures
    from traces.fitting.workload import fit_workload
    from traces.run import read_trace_or_run

    check_file_output(out, force)
    store = None if spec is None else load_spec(spec, assignments or ())
    original, run = read_trace_or_run(trace)
    with progress("fitting", 2) as update:
        fitted = fit_workload(original, run)
        update(1)
        generated = comparable_trace(fitted, original, seed or 0)
        comparisons = compare_figures(original, run, generated)
    if out is not None:
        write_workload(out, fitted.fields, f"Fitted to {trace.name}.", fitted.notes)
    latencies = None
    if store is not None:
        from sim.simulate import simulate
        from validate.compare.compare import compare

        warn_if_slow()
        closed = as_closed(original, fitted.loop, seed or 0)
        runs = (simulate(store, requested, seed=seed or 0) for requested in (at_clock(generated, original), closed))
        latencies = compare(*runs, seed=seed or 0)
    differ = [one.name for one in comparisons if not one.agrees]
    if as_json:
        print_json(fitted_result(fitted, comparisons, latencies) | {"verdict": "differs" if differ else "agrees"})
    else:
        show_fitted(fitted, comparisons, latencies)
    if check and (differ or (latencies is not None and latencies.verdict == "differ")):
        raise typer.Exit(1)
