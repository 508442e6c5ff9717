"""`tailcast trace`: generate, import, describe, fit and transform traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.commands import trace_convert, trace_edit, trace_export, trace_fit, trace_import
from cli.common import print_json, print_shown, say
from cli.options import ForceOption, JsonOption, OutOption, PageOption, SeedOption, SetOption
from cli.outputs import check_file_output, check_page_output
from cli.pages.page import write_page
from cli.tables.grid import Grid
from traces.run import read_trace_or_run
from traces.statistics.characteristics import figures as characteristic_figures
from traces.statistics.describe import describe
from traces.workload.generate import generate
from traces.workload.workload import load_workload

app = typer.Typer(help="Generate, import, describe, fit and transform traces of requests.")
app.command("import")(trace_import.command)
app.command("fit")(trace_fit.command)
app.command("convert")(trace_convert.command)
app.command("cut")(trace_edit.cut_command)
app.command("scale")(trace_edit.scale_command)
app.command("sample")(trace_edit.sample_command)
app.command("merge")(trace_edit.merge_command)
app.command("export")(trace_export.command)


@app.command("generate")
def generate_command(
    workload: Annotated[
        Path,
        typer.Argument(
            metavar="WORKLOAD.yaml",
            help="YAML file: a workload, or a spec with a section workload.",
            show_default=False,
        ),
    ],
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Generate the trace of a workload.

    --out writes it as parquet, or as CSV if the name ends in .csv.

    Example: tailcast trace generate examples/workload.yaml -o trace.parquet
    """
    check_file_output(out, force)
    trace = generate(load_workload(workload, assignments or ()), seed or 0)
    if out is not None:
        trace.write(out)
    else:
        say("The trace is not written; add --out to keep it.")
    _show({"seed": seed or 0, "out": None if out is None else str(out), **describe(trace)}, as_json)


@app.command()
def info(
    trace: trace_fit.TraceOrRun,
    report: PageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe sizes, bursts, popularity, reuse and workers.

    Example: tailcast trace info trace.parquet --report trace.html
    """
    check_page_output(report)
    requested, run = read_trace_or_run(trace)
    figures = characteristic_figures(requested, run)
    if report is not None:
        from cli.pages.trace import trace_page  # loads plotly, which the command does not need

        write_page(trace_page(requested, figures, f"Trace {trace.name}"), report)
        say(f"Page written to {report}")
    _show(figures, as_json)


def _show(figures: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(figures)
        return
    print_shown(_grids(figures))


def _grids(figures: Mapping[str, Any]) -> Iterator[Grid]:
    """Yield the tables of the characteristics of a trace."""
    shown = (
        (n, v) for n, v in figures.items() if n not in ("ops", "dispersion", "bursts", "lru_hits") and v is not None
    )
    yield Grid("", ["what", "value"], [row for name, value in shown for row in _facts(name, value)], labels=2)
    columns = ["op", "count", "mean B", "min B", "p50 B", "p90 B", "p99 B", "max B"]
    ops = figures["ops"].items()
    yield Grid("", columns, [[op, *map(_text, (each["count"], *each["size_bytes"].values()))] for op, each in ops])
    if figures.get("lru_hits"):
        names = ("of_objects", "of_bytes", "bytes_of_bytes")
        rows = [
            [f"{100 * row['fraction']:.3g} % of the footprint", *(f"{row[name]:.4f}" for name in names)]
            for row in figures["lru_hits"]
        ]
        yield Grid("", ["LRU cache", "hits, of the objects", "of the bytes", "by bytes"], rows)
    for name, digits, shown_as in (
        ("bursts", 4, {"disjoint windows s": "window_s", "peak to mean": "peak_to_mean", "index of dispersion": "idc"}),
        ("dispersion", 3, {"window s": "window_s", "arrivals": "mean", "index of dispersion": "idc"}),
    ):
        if figures.get(name):
            fields = shown_as.values()
            rows = [[f"{row[field]:.{digits}g}" for field in fields] for row in figures[name]]
            yield Grid("", list(shown_as), rows, labels=0)


def _facts(name: str, value: Any) -> Iterator[list[str]]:
    if isinstance(value, dict):
        for part, figure in value.items():
            yield from _facts(f"{name} {part}", figure)
    else:
        yield [name, _text(value)]


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str("-" if value is None else value)
