"""`tailcast trace`: generate, import, describe, fit and transform traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.commands import trace_convert, trace_edit, trace_export, trace_fit, trace_import
from cli.common import print_json, say, stdout
from cli.options import ForceOption, JsonOption, OutOption, PageOption, SeedOption, SetOption
from cli.outputs import check_file_output, check_page_output
from cli.pages.page import write_page
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
    facts = Table("what", "value", box=None, pad_edge=False, show_header=False)
    for name, value in figures.items():
        if name not in ("ops", "dispersion", "bursts", "lru_hits") and value is not None:
            _add_facts(facts, name, value)
    sizes = Table("op", "count", "mean B", "min B", "p50 B", "p90 B", "p99 B", "max B", box=None, pad_edge=False)
    for op, figure in figures["ops"].items():
        sizes.add_row(op, *map(_text, (figure["count"], *figure["size_bytes"].values())))
    stdout.print(facts, "", sizes, sep="\n")
    if figures.get("lru_hits"):
        hits = Table("LRU cache", "hits, of the objects", "of the bytes", "by bytes", box=None, pad_edge=False)
        for row in figures["lru_hits"]:
            ratios = (f"{row[name]:.4f}" for name in ("of_objects", "of_bytes", "bytes_of_bytes"))
            hits.add_row(f"{100 * row['fraction']:.3g} % of the footprint", *ratios)
        stdout.print("", hits, sep="\n")
    if figures.get("bursts"):
        peaks = Table("disjoint windows s", "peak to mean", "index of dispersion", box=None, pad_edge=False)
        for row in figures["bursts"]:
            peaks.add_row(*(f"{row[name]:.4g}" for name in ("window_s", "peak_to_mean", "idc")))
        stdout.print("", peaks, sep="\n")
    if figures.get("dispersion"):
        bursts = Table("window s", "arrivals", "index of dispersion", box=None, pad_edge=False)
        for row in figures["dispersion"]:
            bursts.add_row(*(f"{row[name]:.3g}" for name in ("window_s", "mean", "idc")))
        stdout.print("", bursts, sep="\n")


def _add_facts(facts: Table, name: str, value: Any) -> None:
    if isinstance(value, dict):
        for part, figure in value.items():
            _add_facts(facts, f"{name} {part}", figure)
    else:
        facts.add_row(name, _text(value))


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str("-" if value is None else value)
