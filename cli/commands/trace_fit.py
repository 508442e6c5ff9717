"""`tailcast trace fit`: a workload fitted to a trace, and a comparison of both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from cli.common import print_grid, print_json, print_lines, progress, say, warn_if_slow
from cli.options import ForceOption, JsonOption, SeedOption, SetOption
from cli.outputs import check_file_output
from cli.tables.grid import Grid
from cli.tables.measured.comparison import comparison_grid
from cli.words import number
from models.store import load_spec
from sim.simulate import simulate
from traces.fitting.similarity import FigureComparison, as_closed, at_clock, comparable_trace, compare_figures
from traces.fitting.workload import Fitted, fit_workload
from traces.run import read_trace_or_run
from traces.tables import atomic_file
from validate.compare.compare import Comparison, compare

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
        warn_if_slow()
        closed = as_closed(original, fitted.loop, seed or 0)
        runs = (simulate(store, requested, seed=seed or 0) for requested in (at_clock(generated, original), closed))
        latencies = compare(*runs, seed=seed or 0)
    differ = [one.name for one in comparisons if not one.agrees]
    if as_json:
        print_json(_result(fitted, comparisons, latencies) | {"verdict": "differs" if differ else "agrees"})
    else:
        _show(fitted, comparisons, latencies)
    if check and (differ or (latencies is not None and latencies.verdict == "differ")):
        raise typer.Exit(1)


def write_workload(path: Path, fields: dict[str, Any], title: str, notes: Sequence[str]) -> None:
    """Write a workload as YAML, with comments on what it omits, either completely or not at all.

    Raises:
        InputError: the file cannot be written.
    """
    text = workload_text(fields, title, notes)
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    say(f"Workload written to {path}")


def workload_text(fields: dict[str, Any], title: str, notes: Sequence[str]) -> str:
    """Return a workload as YAML with comments."""
    comments = [title, *(f"Not converted: {note}." for note in notes)]
    head = "".join(f"# {line}\n" for comment in comments for line in comment.splitlines())
    return head + yaml.safe_dump({"workload": fields}, sort_keys=False, default_flow_style=None, allow_unicode=True)


def _result(fitted: Fitted, comparisons: Sequence[FigureComparison], latencies: Comparison | None) -> dict[str, Any]:
    return {
        "workload": fitted.fields,
        "notes": list(fitted.notes),
        "comparison": [one.to_json() for one in comparisons],
        "simulated": None if latencies is None else latencies.to_json(),
    }


def _show(fitted: Fitted, comparisons: Sequence[FigureComparison], latencies: Comparison | None) -> None:
    print_lines([workload_text(fitted.fields, "Fitted workload.", fitted.notes)])
    print_grid(similarity_grid(comparisons))
    outside = [one.name for one in comparisons if not one.agrees]
    print_lines(
        [f"Outside their aims: {'; '.join(outside)}." if outside else "All characteristics are within their aims."]
    )
    if latencies is not None:
        print_grid(comparison_grid(latencies, ("generated", "original"), "Simulated latencies"))


def similarity_grid(comparisons: Sequence[FigureComparison]) -> Grid:
    """Table of the characteristics of a trace and of a trace generated by its workload."""
    rows = [
        [one.name, number(one.original), number(one.generated), number(one.ratio), _aim(one), _verdict(one)]
        for one in comparisons
    ]
    return Grid("", ["characteristic", "original", "generated", "ratio", "aim", ""], rows)


def _aim(one: FigureComparison) -> str:
    if one.factor is None:
        return ""
    absolute = f" or ±{number(one.absolute)}" if one.absolute else ""
    return f"×÷ {number(one.factor)}{absolute}"


def _verdict(one: FigureComparison) -> str:
    if one.factor is None:
        return ""
    return "within" if one.agrees else "outside"
