"""The page of the comparison of stores, from the table that `benchmarks/box/stores.py` wrote."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from cli.tables.measured.stores import accesses_grid, stores_shown
from docs.generators.markdown import table
from traces.errors import InputError
from traces.spec.suggestions import no_such_file
from validate.campaign.accesses import read_accesses
from validate.campaign.compared import Compared
from validate.campaign.comparison import Comparison

PAGE = "comparison.md"

_OPENING = """# Stores compared in the box

Real stores on the same drives and links, with the same loads, at the same promise: what is acknowledged survives the
loss of power of all hosts. Four hosts with one drive each (versitygw: one host), on which each access takes 16 ms, also
each sync; links of 200 Mbit/s. [The lab](lab.md) says what a box is.

Next to each measurement is the prediction of the store's model. CPU times are those at which two loads of one client
without syncs (of MinIO: with them) have the measured figures (*fitted*), and so is MinIO's fraction of refused locks;
nothing else is fitted. A row whose store and clients used more than
half of the two cores (*CPU*) says little, as hosts have cores of their own in the models: it is not among the
deviations. *Others* is what other work took of the cores; the stores had real-time priority.

A load is of 60 objects and lasts 8 s, so 64 clients often read the same object at the same time, and of 1 MiB they
issue only two or three requests each: those rows show how a store begins rather than how it goes on.

```sh
python benchmarks/box/stores.py --out runs --sample   # a third of the loads, some 15 minutes on two cores
python benchmarks/box/stores.py --out runs            # all, with a killed host and a slow drive
python benchmarks/box/accesses.py --out runs          # accesses of each operation
```

Runs that are there are kept, so a comparison that was interrupted continues. On a machine with other work, measure with
`chrt -r 1` before the command and `--measure-only`, and predict afterwards.
"""


def comparison_page(rows: Path, accesses: Path, comparison: Comparison) -> str:
    """Return the page of the rows in a CSV file.

    Args:
        accesses: CSV file of the accesses of operations.
        comparison: the file that they were measured by, with what keeps the promise of each store.
    """
    entries = [[entry.name, entry.about] for entry in comparison.entries.values()]
    parts = [_OPENING, "## What keeps the promise\n", table(("store", "by"), entries)]
    found = stores_shown(read_rows(rows), "minio", comparison.causes)
    for grid in (*found[:-1], accesses_grid(read_accesses(accesses)), found[-1]):
        parts += [f"## {grid.title}\n", table(grid.columns, grid.rows)]
    return "\n".join(parts)


def read_rows(path: Path) -> list[Compared]:
    """Read rows that `validate.campaign.compared.write_rows` wrote.

    Raises:
        InputError: there is no such file, or a line is wrong.
    """
    if not path.is_file():
        raise InputError(no_such_file(path))
    with path.open(newline="") as file:
        return [_row(cells, f"{path}: line {number}") for number, cells in enumerate(csv.DictReader(file), start=2)]


_READ: Mapping[str, Callable[[str], Any]] = {
    "int": int, "float": lambda text: float(text) if text else math.nan, "bool": lambda text: text == "yes", "str": str
}  # fmt: skip


def _row(cells: Mapping[str, str], where: str) -> Compared:
    try:
        return Compared(**{field.name: _READ[str(field.type)](cells[field.name]) for field in fields(Compared)})
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{where}: {error} is missing or wrong") from error
