"""Tables of text, and their form on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.table import Table
from rich.text import Text

VERDICT_STYLES = {
    **dict.fromkeys(("pass", "met", "agree", "agrees", "healthy", "suffices", "best"), "green"),
    **dict.fromkeys(("unsure", "uncertain", "risk", "near saturation", "saturated"), "yellow"),
    **dict.fromkeys(("fail", "missed", "differs", "differ", "overloaded", "degraded", "failing"), "red"),
}
"""Colours of verdicts on a terminal."""

_WIDEST = 8  # greatest number of columns on a terminal of 80 characters


@dataclass(frozen=True)
class Grid:
    """A table of text: the first `labels` columns are names, the others numbers; the title may be empty.

    Attributes:
        warnings: sentences below the table on what makes its figures doubtful.
        layout: when printed. ``narrow``: a table too wide for 80 characters has its columns as rows; ``rows``: never.
        is_folded: whether a page shows its title only until it is opened.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    labels: int = 1
    warnings: Sequence[str] = ()
    layout: Literal["narrow", "rows"] = "narrow"
    is_folded: bool = False


def narrowed(grid: Grid) -> Grid:
    """Return a table too wide for 80 characters with its columns as rows."""
    if grid.layout != "narrow" or len(grid.columns) <= _WIDEST:
        return grid
    columns, *rows = zip(grid.columns, *grid.rows, strict=True)
    return Grid(grid.title, columns, rows, warnings=grid.warnings)


def rich_table(grid: Grid) -> Table:
    """Return the table without its title."""
    grid = narrowed(grid)
    # Text, not str: rich takes brackets in a str for markup.
    table = Table()
    for i, column in enumerate(grid.columns):
        table.add_column(Text(column), justify="left" if i < grid.labels else "right", overflow="fold")
    for row in grid.rows:
        table.add_row(*(Text(cell, style=VERDICT_STYLES.get(cell, "")) for cell in row))
    return table
