"""The forms of tables on stdout: with a frame on a terminal, plain in a pipe, or CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from cli.tables.cells import Figure
from cli.tables.grid import Grid, narrowed

TableFormat = Literal["table", "plain", "csv"]

WITH_TABLES = frozenset({
    *("bounds", "calibrate", "check", "choose", "compare", "demo", "explain", "failures", "find", "import-metrics"),
    *("plan", "presets", "probe", "replay", "sensitivity", "show", "simulate", "timeline", "validate", "whatif"),
    *("lab anatomy", "lab campaign", "lab file-anatomy", "reference list", "reference run", "trace fit", "trace info"),
})  # fmt: skip
"""Commands that print tables, which have the option `--table-format`."""

_GAP = "  "
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")

_chosen: TableFormat | None = None


def choose(form: TableFormat | None) -> None:
    """Set the form of all tables of a command; None: by what stdout is."""
    global _chosen
    _chosen = form


def form_on(is_terminal: bool) -> TableFormat:
    """Return the form of tables on stdout."""
    return _chosen or ("table" if is_terminal else "plain")


def plain_text(grid: Grid) -> str:
    """Return a table without a frame: a line for the headings and one for each row, in aligned columns."""
    grid = narrowed(grid)
    rows = [[" ".join(cell.split()) for cell in row] for row in (grid.columns, *grid.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        _GAP.join(
            cell.ljust(width) if i < grid.labels else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([*([grid.title] if grid.title else []), *lines])


def csv_text(grid: Grid) -> str:
    """Return a table as CSV with its headings, numbers as they were before rounding, and an empty line at the end.

    A column whose numbers have one unit has it in its heading; other numbers are followed by theirs.
    """
    text = io.StringIO()
    if grid.title:
        text.write(f"# {grid.title}\n")
    writer = csv.writer(text, lineterminator="\n")
    units = [_unit(column) for column in zip(*grid.rows, strict=True)] if grid.rows else [""] * len(grid.columns)
    writer.writerow([f"{name} ({unit})" if unit else name for name, unit in zip(grid.columns, units, strict=True)])
    writer.writerows([_cell(cell, unit) for cell, unit in zip(row, units, strict=True)] for row in grid.rows)
    text.write("\n")
    return text.getvalue()


def _unit(column: Sequence[str]) -> str:
    """Return the unit of all numbers of a column; empty: they have none, or several."""
    units = {cell.unit for cell in column if isinstance(cell, Figure)}
    return units.pop() if len(units) == 1 else ""


def _cell(cell: str, unit: str) -> str:
    if isinstance(cell, Figure):
        number = repr(cell.value if isinstance(cell.value, int) else float(cell.value))  # NumPy's have their type in it
        return number if cell.unit == unit else f"{number} {cell.unit}"
    return cell.replace(",", "") if _GROUPED.fullmatch(cell) else cell


def add_option(command: Any, name: str) -> None:
    """Add the option `--table-format` to a command with tables, and to the subcommands of a group."""
    for inner, subcommand in getattr(command, "commands", {}).items():
        add_option(subcommand, f"{name} {inner}")
    if name in WITH_TABLES:
        command.params.append(_option())


def _option() -> Any:
    """Return the option, which does not become an argument of the command's function."""
    maker = typer.Typer(add_completion=False)

    @maker.command()
    def _(
        table_format: Annotated[
            TableFormat | None,
            typer.Option(
                "--table-format",
                callback=choose,
                expose_value=False,
                help="Form of tables; with csv, sentences go to stderr (default: table on a terminal, or else plain).",
            ),
        ] = None,
    ) -> None: ...

    return next(option for option in typer.main.get_command(maker).params if option.name == "table_format")
