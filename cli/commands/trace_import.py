"""`tailcast trace import`: logs of stores and benchmarks made into a trace and a Run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.common import print_json, progress, stdout
from cli.options import JsonOption, SeedOption
from cli.words import seconds
from traces.errors import InputError


def command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Logs, plain, gz or zst; or folders of them.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The trace: parquet, or CSV where the name ends in .csv.")],
    format_: Annotated[str | None, typer.Option("--format", help="Of all files; else each one's is detected.")] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="FIELD=COLUMN,...", help="Of any CSV: time=ts,op=verb,key=path,latency=dur:ms."),
    ] = None,
    zone: Annotated[str, typer.Option("--time-zone", help="Of times that name none: Europe/Berlin, +02:00.")] = "UTC",
    run: Annotated[Path | None, typer.Option("--run", help="Folder of the Run; else OUT's name with .run.")] = None,
    no_run: Annotated[bool, typer.Option("--no-run", help="Write no Run.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="A line that cannot be read is an error.")] = False,
    anonymise: Annotated[bool, typer.Option("--anonymise", help="Hash names of buckets and keys.")] = False,
    salt: Annotated[str | None, typer.Option(help="The key of these hashes; else a random one, not kept.")] = None,
    spread: Annotated[bool, typer.Option("--spread", help="Spread arrivals over the tick of a coarse clock.")] = False,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a trace of logs, merged by time; and a Run, where they have latencies."""
    from traces.logs.importing import import_logs  # its kernels take a second to load

    if salt is not None and not anonymise:
        raise InputError("--salt is the key of --anonymise, which is not given")
    with progress("reading", total=1) as reading, progress("writing", total=1) as writing:
        bars = {"read": reading, "write": writing}
        figures = import_logs(
            files,
            out,
            format=format_,
            columns=None if columns is None else _columns(columns),
            zone=zone,
            strict=strict,
            anonymise=anonymise,
            salt=salt,
            spread=spread,
            seed=seed or 0,
            run_out=None if no_run else run or out.with_suffix(".run"),
            progress=lambda stage, done, total: bars[stage](done / total if total else 1),
        )
    if as_json:
        print_json(figures)
    else:
        _tell_import(figures)


def _columns(text: str) -> dict[str, str]:
    """The mapping of ``--columns``."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(field and sign and column for field, sign, column in pairs):
        raise InputError(f"--columns is {text!r}; write it like time=ts,op=verb,key=path,latency=dur:ms")
    return {field.strip(): column.strip() for field, _, column in pairs}


def _tell_import(figures: dict[str, Any]) -> None:
    origin, rows = figures["origin"], figures["rows"]
    ops = ", ".join(f"{op} {count:,}" for op, count in figures["ops"].items())
    lines = [f"{figures['requests']:,} requests ({ops}) of {rows:,} rows in {', '.join(origin['formats'])}"]
    lines += [f"left out: {count:,} rows: {why}" for why, count in figures["left_out"].items()]
    if figures["joined"]:
        lines.append(f"joined: {figures['joined']:,} rows that are the second part of a request")
    if figures["unreadable"]:
        lines.append(f"not readable: {figures['unreadable']:,} rows; the first:")
        lines += [f"  {where}" for where in figures["first_unreadable"]]
    lines += [f"{path} ends before it should: {why}" for path, why in figures["truncated"].items()]
    if filled := figures["sizes_filled"]:
        lines.append(f"sizes not in the log, taken from other requests of the same object: {filled:,}")
    if unknown := figures["sizes_unknown"]:
        lines.append(f"sizes not known, taken for 0: {unknown:,}")
    clock = f"clock of {seconds(origin['clock_s'])}{', spread' if origin['spread'] else ''}"
    lines.append(f"from {origin['started_at'] or 'an unknown time'} over {figures['span_s']:,.6g} s; {clock}")
    lines.append(f"trace: {figures['trace']}")
    if figures["run"]:
        without = f", without {n:,} requests that have no latency" if (n := figures["without_latency"]) else ""
        lines.append(f"run: {figures['run']}{without}")
    stdout.print("\n".join(lines), markup=False, soft_wrap=True)
