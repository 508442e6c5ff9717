"""Tables of what file operations request of the store and of Redis."""

from __future__ import annotations

from collections.abc import Sequence

from cli.tables.grid import Grid
from cli.tables.measured.anatomy import exact
from cli.words import number
from validate.lab.file_systems.anatomy import FileOperationAnatomy

_COLUMNS = ["operation", "condition", "requests", "at once", "rounds", "sent", "received", "time", "later"]


def file_anatomy_grid(found: Sequence[FileOperationAnatomy]) -> Grid:
    """Requests and rounds of each operation, a row for each."""
    rows = []
    for each in found:
        later = ", ".join(filter(None, [each.later_requests, f"{each.later_rounds} rounds" * bool(each.later_rounds)]))
        rows.append([
            each.operation,
            each.condition,
            each.requests or "0",
            str(each.at_once),
            str(each.rounds) if each.most_rounds == each.rounds else f"{each.rounds} to {each.most_rounds}",
            exact(each.sent_bytes) if each.sent_bytes else "0",
            exact(each.received_bytes) if each.received_bytes else "0",
            f"{number(1000 * each.seconds)} ms",
            later,
        ])  # fmt: skip
    first = found[0]
    options = f", {first.options}" if first.options else ""
    return Grid(f"Requests of {first.file_system} per operation{options}", _COLUMNS, rows, 2)
