"""`tailcast report`: a page about one Run, or a comparison of two."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.compare import ToleranceOption
from cli.common import print_json, progress
from cli.figures.figure_files import PageFiles
from cli.made import Made
from cli.options import FiguresOption, FormatOption, JsonOption, SeedOption, SloOption
from cli.pages.report import report_page
from cli.parse.slo import parse_slos
from cli.tables.measured.quality import run_warnings
from cli.versions import runs_notes
from traces.errors import InputError
from traces.run import Run
from traces.run_folders import run_names
from traces.statistics.summary import summarise
from validate.compare.compare import compare


def command(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN [REFERENCE]", help="Folders of one or two Runs.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path("report.html"),
    title: Annotated[
        str | None, typer.Option("--title", help="Title of the page (default: the names of the Runs).")
    ] = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    tolerance: ToleranceOption = 0.15,
    slos: SloOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write an HTML page about one Run, or a comparison of two; it works offline.

    Example: tailcast report forecast measured -o report.html
    """
    if len(runs) > 2:
        raise InputError(f"report takes one or two Runs, not {len(runs)}")
    objectives = parse_slos(slos)
    pages = PageFiles(out, figures_to, figure_format)
    named = list(zip(run_names(runs), [Run.read(folder) for folder in runs], strict=True))
    comparison = None
    if len(named) == 2:
        with progress("comparing", total=1) as advance:
            comparison = compare(named[0][1], named[1][1], tolerance=tolerance, seed=seed or 0, progress=advance)
    heading = title or " compared with ".join(name for name, _ in named)
    files = pages.write(lambda: report_page(named, heading, comparison=comparison, slos=objectives))
    if as_json:
        shown = None if comparison is None else comparison.to_json()
        warnings = {name: run_warnings(run) for name, run in named}
        result = {
            "report": str(out),
            "runs": {name: summarise(run) for name, run in named},
            "warnings": warnings,
            "comparison": shown,
            "notes": runs_notes(named),
        }
        print_json(result | ({"figures": [str(file) for file in files]} if files else {}), Made())
