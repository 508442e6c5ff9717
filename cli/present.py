"""The end of a command: its answer on a page, in files, and on stdout, as JSON or as lines and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from cli.common import json_text, print_json, print_shown, say
from cli.figures.figure_files import PageFiles
from cli.made import Made
from cli.options import FigureFormat
from cli.outputs import check_file_output, check_kept_output
from cli.pages.page import Page
from cli.tables.grid import Grid
from sim.parallel.result_cache import ResultFolder
from traces.tables import atomic_file


@dataclass(frozen=True)
class Answer:
    """What a command found.

    Attributes:
        result: for JSON; a mapping or a dataclass.
        shown: returns the lines and tables that are printed without --json, in their order.
        made: what the result was made with; None: its JSON does not say so.
        page: returns its page; None: it has none.
        tables: parquet files of a folder of results, by name.
        table: returns its table of numbers, for programs; None: it has none.
    """

    result: Any
    shown: Callable[[], Iterable[str | Grid]]
    made: Made | None = None
    page: Callable[[], Page] | None = None
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    table: Callable[[], pa.Table] | None = None


@dataclass(frozen=True)
class Outputs:
    """Where an answer goes.

    Attributes:
        as_json: whether stdout gets JSON.
        file: of the JSON, too; None: it is not written.
        folder: of finished work, in which the JSON and the tables are written; None: they are not written.
        name: of the JSON in the folder, without its ending.
        pages: of the page and its figures.
    """

    as_json: bool
    file: Path | None = None
    folder: ResultFolder | None = None
    name: str = "result"
    pages: PageFiles | None = None


def outputs_to_folder(
    name: str, out: Path | None, report: Path | None, figures: Path | None, figure_format: FigureFormat, as_json: bool
) -> Outputs:
    """Check before the work, and return, the outputs of a command that keeps its work in a folder.

    Raises:
        InputError: another command uses the folder, it holds something else, or a page cannot be written.
    """
    check_kept_output(out)
    folder = None if out is None else ResultFolder(out)
    return Outputs(as_json, folder=folder, name=name, pages=PageFiles(report, figures, figure_format))


def outputs_to_file(
    out: Path | None,
    force: bool,
    as_json: bool,
    report: Path | None = None,
    figures: Path | None = None,
    figure_format: FigureFormat = "png",
) -> Outputs:
    """Check before the work, and return, the outputs of a command that writes its result to a file.

    Raises:
        InputError: the file exists, without `force`, or it or a page cannot be written.
    """
    check_file_output(out, force)
    return Outputs(as_json, file=out, pages=PageFiles(report, figures, figure_format))


def present(answer: Answer, outputs: Outputs) -> None:
    """Write an answer to its outputs, and print it.

    Raises:
        InputError: a file cannot be written, or a browser is missing.
    """
    if outputs.file is not None:
        with atomic_file(outputs.file) as temporary:
            temporary.write_text(json_text(answer.result, answer.made))
        say(f"Result written to {outputs.file}")
    if outputs.folder is not None:
        for name, table in answer.tables.items():
            outputs.folder.write_table(name, table)
        outputs.folder.write_text(f"{outputs.name}.json", json_text(answer.result, answer.made))
        say(f"Result written to {outputs.folder.path}")
    if outputs.pages is not None and answer.page is not None:
        outputs.pages.write(answer.page, answer.made)
    if outputs.as_json:
        print_json(answer.result, answer.made)
    else:
        print_shown(answer.shown())
