"""Results of benchmarks that were imported: a line for each operation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.common import print_json, print_lines
from cli.words import byte_rate, number, seconds, size
from traces.errors import InputError
from traces.results.importing import ResultsImport

_LATENCIES = {"mean": "mean", "p50": "p50", "p99": "p99", "max": "max"}
_WHAT_IT_IS = "a table of figures, not requests: it is no Run, and cannot be simulated or replayed"


def check_options_of_results(files: Mapping[Path, str], given: Sequence[str]) -> None:
    """Refuse options that are for logs.

    Args:
        files: files of results, with their formats.
        given: names of the options.

    Raises:
        InputError: there are any.
    """
    if given:
        path, description = next(iter(files.items()))
        raise InputError(f"{given[0]} is for logs, but {path} is a table of figures ({description}); leave it out")


def print_results(imported: ResultsImport, as_json: bool) -> None:
    """Print the operations of an import, and that it is no Run."""
    rows = imported.table.to_pylist()
    if as_json:
        parsed = [row | {name: json.loads(row[name]) for name in ("settings", "more_figures")} for row in rows]
        print_json({
            "kind": "results",
            "format": imported.formats,
            "results": str(imported.out),
            "rows": parsed,
            "notes": list(imported.notes),
        })  # fmt: skip
        return
    several = len({row["file"] for row in rows}) > 1
    print_lines([_line(row, several) for row in rows])
    print_lines(f"note: {note}" for note in imported.notes)
    print_lines([f"results: {imported.out} ({counted(len(rows), 'row')}), {_WHAT_IT_IS}"])


def counted(number_of: int, noun: str) -> str:
    """Return ``1 row`` or ``1,234 rows``."""
    return f"{number_of:,} {noun}{'' if number_of == 1 else 's'}"


def _line(row: Mapping[str, Any], several: bool) -> str:
    """Return a line such as ``warp get: GET of 4.00 kB, 16 clients: 140 op/s, 560 kB/s, mean 108 ms, …``."""
    where = [row["file"]] if several else []
    names = dict.fromkeys(part for part in (*where, row["tool"], row["name"], row["phase"]) if part)
    what = row["op"] if row["object_size_bytes"] is None else f"{row['op']} of {size(row['object_size_bytes'])}"
    clients = row["clients"]
    who = [] if clients is None else [counted(clients, "client")]
    figures = [] if row["ops_per_s"] is None else [f"{number(row['ops_per_s'])} op/s"]
    figures += [byte_rate(row["bytes_per_s"])] if row["bytes_per_s"] else []
    for name, label in _LATENCIES.items():
        value = row[f"latency_{name}_s"]
        figures += [] if value is None else [f"{label} {seconds(value)}"]
    figures += [counted(row["errors"], "error")] if row["errors"] else []
    return f"{' '.join(names)}: {', '.join([what, *who])}: {', '.join(figures) or 'no figures'}"
