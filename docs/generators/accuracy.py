"""Pages of the accuracy: the scoreboard as tables, and one page for each case."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cli.tables.grid import Grid
from cli.tables.measured.scoreboard import board_shown
from cli.words import number
from docs.generators.markdown import code, table
from validate.scoreboard.lines import Line, read_board

FOLDER = "accuracy"


def accuracy_pages(board: Path, remarks: Path) -> dict[str, str]:
    """Return the pages by path: a summary of the scoreboard in a file, and one page for each of its cases.

    Args:
        board: the file of the scoreboard.
        remarks: a table of what the predictions of a case get wrong, and what was tried.
    """
    lines = read_board(board)
    of_case: dict[str, list[str]] = defaultdict(list)
    with remarks.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            of_case[row["case"]].append(row["remark"])
    cases = list(dict.fromkeys(line.case for line in lines))
    pages = {f"{FOLDER}/index.md": _summary(lines, cases)}
    for case in cases:
        pages[f"{FOLDER}/{case}.md"] = _case(case, [line for line in lines if line.case == case], of_case[case])
    return pages


def _summary(lines: Sequence[Line], cases: Sequence[str]) -> str:
    parts = [
        "# How accurate it is\n",
        "Every known figure of a real store next to its prediction. The rows are in `docs/scoreboard.csv`; "
        "`tailcast reference run --all` predicts them again. "
        "An error is the greater figure over the lesser one, less 1. "
        "*Fitted* rows gave values to the model, *known* ones were seen while it was built, *unseen* ones were not.\n",
    ]
    for shown in board_shown(lines, None, ""):
        if isinstance(shown, Grid):
            rows = [[str(text) for text in row] for row in shown.rows]
            linked = [[f"[{row[0]}]({row[0]}.md)" if row[0] in cases else row[0], *row[1:]] for row in rows]
            parts += [f"## {shown.title}\n", table(shown.columns, linked)]
        else:
            parts.append(f"{shown}\n")
    return "\n".join(parts)


def _case(case: str, lines: Sequence[Line], remarks: Sequence[str]) -> str:
    figures = [replace(line) for line in lines if not line.is_statement]
    statements = [line for line in lines if line.is_statement]
    parts = [f"# {case}\n", f"`tailcast reference run {case}` predicts a published case again.\n"]
    if remarks:
        parts += ["## What is still wrong\n", "\n".join(f"- {each}" for each in remarks) + "\n", "## All figures\n"]
    if figures:
        rows = [
            [
                each.row,
                each.op,
                code(each.figure),
                each.seen,
                number(each.measured),
                number(each.predicted),
                f"{each.error:.1%}",
                _band(each),
            ]
            for each in figures
        ]
        columns = ["row", "op", "figure", "seen", "measured", "predicted", "error", "80 % band"]
        parts.append(table(columns, rows))
    if statements:
        rows = [[each.row, "yes" if each.predicted == each.measured else "no"] for each in statements]
        parts += ["## Statements\n", table(["published", "holds in the model"], rows)]
    return "\n".join(parts)


def _band(line: Line) -> str:
    return "" if line.low is None or line.high is None else f"{number(line.low)} to {number(line.high)}"
