"""The failures of `tailcast whatif`: options, work, and what is printed."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.common import json_text, print_grid, print_json, progress, say, stdout
from cli.figures.figure_files import PageFiles
from cli.pages.failures import write_failures_page
from cli.tables.failures import failure_grids, findings
from sim.experiments.failures import Question, failures
from sim.experiments.sweep_folder import SweepFolder
from traces.errors import InputError
from traces.units import parse_seconds

FailureOption = Annotated[
    list[str] | None,
    typer.Option(
        "--failure",
        metavar="KIND[:WHICH][=VALUE]",
        help="Before, during and after: drive, host, gateway (as gateway:3), slow-drive=10 (times slower), "
        "noisy-neighbour:cpu=0.5 (share it takes; or drives, network). Repeatable; each happens alone.",
    ),
]
FailureAtOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="When it begins; unless told a third through the workload.")
]
FailureForOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="How long it takes; unless told half of the time left.")
]


def time_of(option: str, text: str | None) -> float | None:
    """The seconds that an option says.

    Raises:
        InputError: it says none.
    """
    try:
        return None if text is None else parse_seconds(text)
    except ValueError as error:
        raise InputError(f"{option} {text}: {error}") from error


def failures_command(
    question: Question, workers: int, *, folder: SweepFolder | None, pages: PageFiles, as_json: bool
) -> None:
    """Simulate the failures, and print what they do; a folder keeps it as ``failures.json``.

    Raises:
        InputError: the store cannot have a failure, or the workload leaves no time for it.
    """
    settings = question.settings
    known = None if settings.precision else len(question.failures) * settings.replications
    with progress("simulating failures", known) as update:
        result = failures(question, workers=workers, progress=update)
    if folder is not None:
        folder.write_text("failures.json", json_text(result))
        say(f"written to {folder.path / 'failures.json'}")
    pages.write(lambda path: write_failures_page(result, path))
    if as_json:
        print_json(result)
        return
    for row in result["failures"]:
        for grid in failure_grids(result, row):
            print_grid(grid, turn=False)
    for sentence in findings(result):
        stdout.print(sentence, markup=False, soft_wrap=True)
