"""Pages of tables: what failures do, when objects are safe, and the columns of published tables."""

from __future__ import annotations

import csv
from itertools import groupby
from pathlib import Path

from docs.generators.markdown import code, table

FAILURES, ACKNOWLEDGED, COLUMNS = "reference/failures.md", "reference/acknowledged.md", "reference/columns.md"


def reference_pages(docs: Path) -> dict[str, str]:
    """Return the pages by path, from CSV files in `docs`."""
    return {
        FAILURES: _failures(docs / "failures.csv"),
        ACKNOWLEDGED: _page(
            docs / "acknowledged.csv",
            "What is safe when a PUT is acknowledged",
            "The places in the sources of the stores are in `models/STORE/durability.py`.",
        ),
        COLUMNS: _page(
            docs / "columns.csv",
            "Columns of published tables",
            "Of tables for `tailcast reference run --table` and `tailcast calibrate --table` "
            "([an example](../assumptions.md#published-tables)).",
        ),
    }


def _failures(path: Path) -> str:
    _, *rows = _read(path)
    parts = [
        "# What failures do\n",
        "Names are those of the command `failures`, and those of the section `faults` of specs. "
        "N is the number of a part, F how many times slower it is.\n",
    ]
    for store, of_store in groupby(rows, key=lambda row: row[0]):
        shown = [[code(failure), code(kind), effect] for _, failure, kind, effect in of_store]
        parts += [f"## {store}\n", table(["failure", "in specs", "effect"], shown)]
    return "\n".join(parts)


def _page(path: Path, title: str, about: str) -> str:
    columns, *rows = _read(path)
    return "\n".join([f"# {title}\n", f"{about}\n", table(columns, rows)])


def _read(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))
