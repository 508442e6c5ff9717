"""`tailcast trace cut|scale|sample|merge`: traces made of traces."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from cli.common import print_json, say
from cli.options import JsonOption, SeedOption
from traces.errors import InputError
from traces.trace import Trace
from traces.transform.edit import Align, cut, merge, sample_keys
from traces.transform.scale import How, scale
from traces.units import parse_seconds

TraceArgument = Annotated[Path, typer.Argument(metavar="TRACE", help="A trace: parquet, or CSV.")]
WriteOption = Annotated[Path, typer.Option("--out", "-o", help="Where the trace is written: parquet, or CSV by name.")]


def cut_command(
    trace: TraceArgument,
    out: WriteOption,
    begin: Annotated[str, typer.Option("--from", help="Begin of the window since the trace began, as 10m.")] = "0s",
    end: Annotated[str | None, typer.Option("--to", help="End of the window (default: the trace's end).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Keep the requests of a window of time."""
    whole = Trace.read(trace)
    part = cut(whole, _seconds("--from", begin), math.inf if end is None else _seconds("--to", end))
    _write(part, out, len(whole), as_json)


def scale_command(
    trace: TraceArgument,
    out: WriteOption,
    rate: Annotated[float, typer.Option("--rate", help="Factor of the rate; 2 is twice as many requests a second.")],
    how: Annotated[
        How, typer.Option("--how", help="clone: more requests in the same time; compress: the same in less time.")
    ] = "clone",
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the rate and keep the bursts: the same course of the rate, times a factor."""
    whole = Trace.read(trace)
    _write(scale(whole, rate, how, seed or 0), out, len(whole), as_json)


def sample_command(
    trace: TraceArgument,
    out: WriteOption,
    keys: Annotated[float, typer.Option("--keys", help="Share of the objects, as 0.1.")],
    as_json: JsonOption = False,
) -> None:
    """Keep all requests of a share of the objects, chosen by hash."""
    whole = Trace.read(trace)
    _write(sample_keys(whole, keys), out, len(whole), as_json)


def merge_command(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE…", help="Traces to put together.")],
    out: WriteOption,
    align: Annotated[
        Align, typer.Option("--align", help="start: all begin at once; clock: by the calendar times of their logs.")
    ] = "start",
    as_json: JsonOption = False,
) -> None:
    """Put traces together, in order of time."""
    parts = [Trace.read(path) for path in traces]
    _write(merge(parts, align), out, sum(map(len, parts)), as_json)


def _seconds(option: str, text: str) -> float:
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise InputError(f"{option}: {error}") from error


def _write(trace: Trace, out: Path, before: int, as_json: bool) -> None:
    trace.write(out)
    if as_json:
        print_json({"out": str(out), "requests": len(trace), "requests_before": before})
    else:
        done = f"{len(trace):,} requests of {before:,}"
        if len(trace) > before:
            done = f"{before:,} requests became {len(trace):,};"
        say(f"{done} written to {out}")
