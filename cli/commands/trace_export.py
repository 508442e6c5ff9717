"""`tailcast trace export`: a Run in formats that other tools read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import print_json, say
from cli.options import JsonOption
from traces.run import Run
from traces.transform.export import export


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a Run.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="By its ending: .csv.zst as of warp, .hgrm of HdrHistogram, .csv.")
    ],
    op: Annotated[str | None, typer.Option(help="Only this operation; else all, merged.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a Run for other tools: warp's benchmark data, an HdrHistogram percentile table, or CSV."""
    requests = export(Run.read(run), out, op)
    if as_json:
        print_json({"out": str(out), "requests": requests})
    else:
        say(f"{requests:,} requests written to {out}")
