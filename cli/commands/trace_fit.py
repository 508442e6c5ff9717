"""`tailcast trace fit`: a workload learned from a trace, and how like the trace it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from cli.common import print_grid, print_json, progress, say, stdout, warn_if_slow
from cli.options import JsonOption, SeedOption, SetOption
from cli.tables.grid import Grid
from cli.tables.tables import comparison_grid
from cli.words import number
from models.store import load_spec
from sim.simulate import simulate
from traces.fitting.similarity import FigureComparison, as_closed, comparable_trace, compare_figures
from traces.fitting.workload import Fitted, fit_workload
from traces.run import read_trace_or_run
from traces.tables import atomic_file
from validate.compare.compare import Comparison, compare

TraceOrRun = Annotated[Path, typer.Argument(metavar="TRACE|RUN", help="A trace, or the folder of a Run.")]


def command(
    trace: TraceOrRun,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the workload to this YAML file.")] = None,
    spec: Annotated[
        Path | None, typer.Option("--spec", help="Also simulate this store under both, and compare the latencies.")
    ] = None,
    assignments: SetOption = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 where a judged figure differs.")] = False,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn a workload from a trace: arrivals, mix, sizes, popularity, workers; and compare what it generates."""
    store = None if spec is None else load_spec(spec, assignments or ())
    original, run = read_trace_or_run(trace)
    with progress("fitting", 2) as update:
        fitted = fit_workload(original, run)
        update(1)
        generated = comparable_trace(fitted, original, seed or 0)
        alike = compare_figures(original, run, generated)
    if out is not None:
        write_workload(out, fitted.fields, f"Learned from {trace.name}.", fitted.notes)
    latencies = None
    if store is not None:
        warn_if_slow()
        closed = as_closed(original, fitted.loop, seed or 0)
        runs = (simulate(store, requested, seed=seed or 0) for requested in (generated, closed))
        latencies = compare(*runs, seed=seed or 0)
    differ = [one.name for one in alike if not one.agrees]
    if as_json:
        print_json(_result(fitted, alike, latencies) | {"verdict": "differs" if differ else "alike"})
    else:
        _show(fitted, alike, latencies)
    if check and (differ or (latencies is not None and latencies.verdict == "differ")):
        raise typer.Exit(1)


def write_workload(path: Path, fields: dict[str, Any], title: str, notes: Sequence[str]) -> None:
    """Write a workload as YAML, with what it leaves out as comments; whole or not at all.

    Raises:
        InputError: the file cannot be written.
    """
    text = workload_text(fields, title, notes)
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    say(f"workload written to {path}")


def workload_text(fields: dict[str, Any], title: str, notes: Sequence[str]) -> str:
    """A workload as YAML with comments."""
    comments = [title, *(f"Not carried over: {note}." for note in notes)]
    head = "".join(f"# {line}\n" for comment in comments for line in comment.splitlines())
    return head + yaml.safe_dump({"workload": fields}, sort_keys=False, default_flow_style=None, allow_unicode=True)


def _result(fitted: Fitted, alike: Sequence[FigureComparison], latencies: Comparison | None) -> dict[str, Any]:
    return {
        "workload": fitted.fields,
        "notes": list(fitted.notes),
        "comparison": [one.to_json() for one in alike],
        "simulated": None if latencies is None else latencies.to_json(),
    }


def _show(fitted: Fitted, alike: Sequence[FigureComparison], latencies: Comparison | None) -> None:
    stdout.print(workload_text(fitted.fields, "The workload.", fitted.notes), markup=False, soft_wrap=True)
    print_grid(similarity_grid(alike))
    if latencies is not None:
        print_grid(comparison_grid(latencies, ("generated", "original"), "Simulated latencies"))


def similarity_grid(alike: Sequence[FigureComparison]) -> Grid:
    """The figures of a trace beside those of what its workload generates."""
    rows = [[one.name, number(one.original), number(one.generated), number(one.ratio), _word(one)] for one in alike]
    return Grid("", ["figure", "original", "generated", "ratio", ""], rows)


def _word(one: FigureComparison) -> str:
    if one.factor is None:
        return ""
    return "within" if one.agrees else "differs"
