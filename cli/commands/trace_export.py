"""`tailcast trace export`: a Run in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import print_json, say
from cli.options import ForceOption, JsonOption
from cli.outputs import check_file_output
from traces.run import Run
from traces.transform.export import export


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a Run.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="File to write, by its ending: .csv.zst (warp), .hgrm (HdrHistogram) or .csv.",
            show_default=False,
        ),
    ],
    op: Annotated[str | None, typer.Option("--op", help="Operation to export (default: all).")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Export a Run in a format of warp, HdrHistogram, or as CSV.

    Example: tailcast trace export measured -o measured.csv
    """
    check_file_output(out, force)
    requests = export(Run.read(run), out, op)
    if as_json:
        print_json({"out": str(out), "requests": requests})
    else:
        say(f"{requests:,} requests written to {out}")
