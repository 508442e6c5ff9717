"""`tailcast trace cut|scale|sample|merge`: transformations of traces."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from cli.common import print_json, say
from cli.options import ForceOption, JsonOption, SeedOption, fraction
from cli.outputs import check_file_output
from cli.parse.option import seconds_of
from traces.run import read_recorded_trace
from traces.trace import Trace
from traces.transform.edit import Align, cut, merge, sample_keys
from traces.transform.scale import How, scale

TraceArgument = Annotated[Path, typer.Argument(metavar="TRACE", help="Trace file: parquet or CSV.", show_default=False)]
WriteOption = Annotated[
    Path, typer.Option("--out", "-o", help="Trace file to write: parquet, or CSV by its ending.", show_default=False)
]


def cut_command(
    trace: Annotated[
        Path,
        typer.Argument(metavar="TRACE", help="Trace file, or a Run that has a trace.", show_default=False),
    ],
    out: WriteOption,
    begin: Annotated[
        str, typer.Option("--from", help="Start of the window, such as 10m after the start of the trace.")
    ] = "0s",
    end: Annotated[str | None, typer.Option("--to", help="End of the window (default: the end of the trace).")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Keep the requests in a time window of a trace, or of a Run's trace.

    Example: tailcast trace cut trace.parquet --from 10m --to 20m -o middle.parquet
    """
    check_file_output(out, force)
    whole = read_recorded_trace(trace)
    part = cut(whole, seconds_of("--from", begin), math.inf if end is None else seconds_of("--to", end))
    _write(part, out, len(whole), as_json)


def scale_command(
    trace: TraceArgument,
    out: WriteOption,
    rate: Annotated[
        float, typer.Option("--rate", help="Factor of the rate; 2 doubles the requests per second.", show_default=False)
    ],
    how: Annotated[
        How,
        typer.Option(
            "--how", help="Method: clone (more requests in the same time) or compress (the same in less time)."
        ),
    ] = "clone",
    seed: SeedOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Multiply the arrival rate, and preserve its variation.

    Example: tailcast trace scale trace.parquet --rate 2 -o busier.parquet
    """
    check_file_output(out, force)
    whole = Trace.read(trace)
    scaled = scale(whole, rate, how, seed or 0)
    if set(whole.table.column_names) - set(scaled.table.column_names):
        say("note: the scaled trace has no column handle, as not all operations on an open file are in it")
    _write(scaled, out, len(whole), as_json)


def sample_command(
    trace: TraceArgument,
    out: WriteOption,
    keys: Annotated[
        float,
        typer.Option(
            "--keys",
            metavar="FRACTION",
            parser=fraction,
            help="Fraction of the objects, such as 10%.",
            show_default=False,
        ),
    ],
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Keep all requests for a fraction of the objects, chosen by hash.

    Example: tailcast trace sample trace.parquet --keys 10% -o tenth.parquet
    """
    check_file_output(out, force)
    whole = Trace.read(trace)
    _write(sample_keys(whole, keys), out, len(whole), as_json)


def merge_command(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE…", help="Traces to merge.", show_default=False)],
    out: WriteOption,
    align: Annotated[
        Align,
        typer.Option(
            "--align", help="Alignment: start (all start together) or clock (by the calendar times of their logs)."
        ),
    ] = "start",
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Merge traces by time.

    Example: tailcast trace merge one.parquet two.parquet -o both.parquet
    """
    check_file_output(out, force)
    parts = [Trace.read(path) for path in traces]
    _write(merge(parts, align), out, sum(map(len, parts)), as_json)


def _write(trace: Trace, out: Path, before: int, as_json: bool) -> None:
    trace.write(out)
    if as_json:
        print_json({"out": str(out), "requests": len(trace), "requests_before": before})
    else:
        done = f"{len(trace):,} requests of {before:,}"
        if len(trace) > before:
            done = f"{before:,} requests became {len(trace):,};"
        say(f"{done} written to {out}")
