"""`tailcast trace import`: logs of stores and benchmarks as a trace and a Run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import print_json, print_lines, progress
from cli.options import JsonOption, SeedOption
from cli.outputs import check_file_output, check_run_output
from traces.errors import InputError
from traces.logs.columns import Columns

_SHORTEST_SALT = 16  # characters


def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Logs (plain, gz, zst, xz, bz2), folders or tar archives of them, or - for the standard input.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Trace file to write: parquet, or CSV by its ending.", show_default=False),
    ],
    format_: Annotated[
        str | None, typer.Option("--format", help="Format of all files (default: detected for each file).")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="FIELD=COLUMN,...",
            help="Columns of any other table, such as time=ts,op=verb,key=path,latency=dur:ms; op==PUT is a constant. "
            "For HTTP: request=line,status=code,received=rx,sent=tx.",
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option("--delimiter", help="Character between columns; a blank stands for any (default: detected)."),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="REGEX",
            help="Regular expression of a line; its groups are the columns (default: none).",
        ),
    ] = None,
    below: Annotated[
        str | None,
        typer.Option(
            "--below",
            metavar="FOLDER",
            help="Of strace: folder whose files are read; keys are relative to it (default: all but system folders).",
        ),
    ] = None,
    zone: Annotated[
        str, typer.Option("--time-zone", help="Time zone of times without one, such as Europe/Berlin or +02:00.")
    ] = "UTC",
    run: Annotated[
        Path | None, typer.Option("--run", help="Folder of the Run (default: name of --out, ending in .run).")
    ] = None,
    no_run: Annotated[bool, typer.Option("--no-run", help="Do not write a Run.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail at the first line that cannot be read.")] = False,
    anonymise: Annotated[
        bool, typer.Option("--anonymise", help="Replace names of buckets and keys by hashes.")
    ] = False,
    salt: Annotated[
        str | None,
        typer.Option("--salt", help="Key of the hashes, of at least 16 characters (default: random, not kept)."),
    ] = None,
    spread: Annotated[bool, typer.Option("--spread", help="Spread arrivals over the tick of a coarse clock.")] = False,
    seed: SeedOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the trace and the Run, if they exist (default: refuse).")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Import logs as a trace and, if they have latencies, as a Run; or results of benchmarks as a table of figures.

    Requests of several logs are merged by time. The results that a benchmark reports at its end have no requests: their
    figures are written to --out, one row per operation.

    Example: tailcast trace import access.log.gz -o site.parquet
    """
    from cli.tables.measured.imported import import_lines
    from cli.tables.measured.results import check_options_of_results, print_results
    from traces.results.importing import import_results, result_files

    if results := result_files(files):
        given = {
            "--format": format_, "--columns": columns, "--run": run, "--no-run": no_run, "--strict": strict,
            "--anonymise": anonymise, "--salt": salt, "--spread": spread, "--seed": seed is not None,
            "--time-zone": zone != "UTC", "--delimiter": delimiter, "--pattern": pattern,
            "--below": below,
        }  # fmt: skip
        check_options_of_results(results, [name for name, value in given.items() if value])
        check_file_output(out, force)
        print_results(import_results(results, out), as_json)
        return
    from traces.logs.importing import import_logs
    from traces.readers.formats import UnknownFormatError

    if salt is not None and not anonymise:
        raise InputError("--salt is the key for --anonymise; give both")
    if salt is not None and len(salt) < _SHORTEST_SALT:
        raise InputError(
            f"--salt has {len(salt)} characters; at least {_SHORTEST_SALT} are needed, so that no one can try them all"
        )
    run_out = None if no_run else run or out.with_suffix(".run")
    check_file_output(out, force)
    check_run_output(run_out, force)
    try:
        with progress("reading", total=1) as reading, progress("writing", total=1) as writing:
            bars = {"read": reading, "write": writing}
            figures = import_logs(
                files,
                out,
                format=format_,
                columns=_columns(columns, delimiter, pattern),
                below=below,
                zone=zone,
                strict=strict,
                anonymise=anonymise,
                salt=salt,
                spread=spread,
                seed=seed or 0,
                run_out=run_out,
                progress=lambda stage, done, total: bars[stage](done / total if total else 1),
            )
    except UnknownFormatError as error:
        raise InputError(f"{error}; any other table is read with --columns time=...,key=...") from error
    if as_json:
        print_json(figures)
    else:
        print_lines(import_lines(figures))


def _columns(text: str | None, delimiter: str | None, pattern: str | None) -> Columns | None:
    """Parse the value of ``--columns``."""
    if text is None:
        if delimiter is not None or pattern is not None:
            raise InputError(f"--{'pattern' if delimiter is None else 'delimiter'} needs --columns time=...,key=...")
        return None
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(field and sign and column for field, sign, column in pairs):
        raise InputError(f"--columns is {text!r}; write it like time=ts,op=verb,key=path,latency=dur:ms")
    return Columns({field.strip(): column.strip() for field, _, column in pairs}, delimiter, pattern)
