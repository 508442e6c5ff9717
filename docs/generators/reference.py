"""Pages of tables that the pages of several stores refer to: what failures do, and when objects are safe."""

from __future__ import annotations

import csv
from itertools import groupby
from pathlib import Path

from docs.generators.markdown import code, table

FAILURES, ACKNOWLEDGED = "reference/failures.md", "reference/acknowledged.md"


def reference_pages(docs: Path) -> dict[str, str]:
    """Return the pages by path, from CSV files in `docs`."""
    return {FAILURES: _failures(docs / "failures.csv"), ACKNOWLEDGED: _acknowledged(docs / "acknowledged.csv")}


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


def _acknowledged(path: Path) -> str:
    columns, *rows = _read(path)
    return "\n".join([
        "# What is safe when a PUT is acknowledged\n",
        "The places in the sources of the stores are in `models/STORE/durability.py`.\n",
        table(columns, rows),
    ])  # fmt: skip


def _read(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))
