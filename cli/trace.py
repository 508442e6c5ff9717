"""`tailcast trace`: make traces and look into them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.common import JsonOption, OutOption, SeedOption, SetOption, print_json, say, stdout
from traces.describe import describe
from traces.generate import generate
from traces.trace import Trace
from traces.workload import load_workload

app = typer.Typer(help="Make traces of requests and look into them.")


@app.command("generate")
def generate_command(
    workload: Annotated[Path, typer.Argument(help="YAML file: a workload, or a spec with the section workload.")],
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the trace of a workload; written with --out as parquet, or as CSV where the name ends in .csv."""
    trace = generate(load_workload(workload, assignments or ()), seed or 0)
    if out is not None:
        trace.write(out)
    else:
        say("The trace is not kept; give --out to write it.")
    _show({"seed": seed or 0, "out": None if out is None else str(out), **describe(trace)}, as_json)


@app.command()
def info(
    trace: Annotated[Path, typer.Argument(help="A trace: parquet, or CSV where the name ends in .csv.")],
    as_json: JsonOption = False,
) -> None:
    """Describe a trace: operations, sizes, arrivals, keys."""
    _show(describe(Trace.read(trace)), as_json)


def _show(figures: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(figures)
        return
    facts = Table("what", "value", box=None, pad_edge=False, show_header=False)
    for name, value in figures.items():
        if name == "ops" or value is None:
            continue
        for part, figure in value.items() if isinstance(value, dict) else [("", value)]:
            facts.add_row(f"{name} {part}", _text(figure))
    sizes = Table("op", "count", "mean B", "min B", "p50 B", "p90 B", "p99 B", "max B", box=None, pad_edge=False)
    for op, figure in figures["ops"].items():
        sizes.add_row(op, *map(_text, (figure["count"], *figure["size_bytes"].values())))
    stdout.print(facts, "", sizes, sep="\n")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str("-" if value is None else value)
