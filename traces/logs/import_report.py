"""The import report: every row of a log is accounted for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from traces.errors import InputError

_NAMED = 5
_MOST_REASONS = 30


@dataclass
class ImportReport:
    """Counts of the rows of a log; ``rows == kept + joined + left out + unreadable`` after reading.

    Attributes:
        strict: whether a row that cannot be read is an error.
        rows: number of rows in the files: lines that are not blank, or records.
        kept: rows that became a request.
        joined: rows that are the second part of a request, such as its end.
        left_out: rows for operations that a Trace cannot represent, by reason.
        unreadable: rows that could not be read, by file and reason.
        where: file, line and reason of the first unreadable rows.
        truncated: files that end prematurely, with the reason.
        alone: rows by file whose other part is missing; it may be in another file.
        notes: what is probably not meant, and what was assumed, a line each.
        escaped: rows with bytes that are not UTF-8.
        doubts: requests that may be something else, by what is to be said of them.
    """

    strict: bool = False
    rows: int = 0
    kept: int = 0
    joined: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    unreadable: Counter[tuple[str, str]] = field(default_factory=Counter)
    where: list[str] = field(default_factory=list)
    truncated: dict[str, str] = field(default_factory=dict)
    alone: dict[Path, list[pa.Table]] = field(default_factory=dict, repr=False, compare=False)
    notes: list[str] = field(default_factory=list)
    escaped: int = 0
    doubts: Counter[str] = field(default_factory=Counter)

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def leave_out(self, rows: Counter[str]) -> None:
        """Count rows that are left out; the rarest of very many reasons are counted together."""
        for why, count in rows.items():
            known = why in self.left_out or len(self.left_out) < _MOST_REASONS or ": " not in why
            self.left_out[why if known else f"{why.partition(': ')[0]}: others"] += count

    def refuse(self, path: Path, line: int, why: str) -> None:
        """Count a row that cannot be read.

        Raises:
            InputError: the report is strict.
        """
        named = f"{path}: line {line}: {why}"
        if self.strict:
            raise InputError(named)
        if len(self.where) < _NAMED:
            self.where.append(named)
        self.unreadable[str(path), why] += 1

    def end(self, path: Path, truncated: str | None) -> None:
        """Note how a file ended.

        Raises:
            InputError: the file is truncated and the report is strict.
        """
        if truncated is None:
            return
        if self.strict:
            raise InputError(f"{path}: is truncated: {truncated}")
        self.truncated[str(path)] = truncated

    @property
    def balanced(self) -> bool:
        """Whether every row is accounted for."""
        return self.rows == self.kept + self.joined + self.left_out.total() + self.unreadable.total()

    def figures(self) -> dict[str, Any]:
        """The counts, ready for JSON."""
        return {
            "rows": self.rows,
            "kept": self.kept,
            "joined": self.joined,
            "left_out": dict(self.left_out),
            "unreadable": self.unreadable.total(),
            "unreadable_by_reason": [
                {"file": path, "why": why, "count": count} for (path, why), count in self.unreadable.items()
            ],
            "first_unreadable": list(self.where),
            "truncated": dict(self.truncated),
            "notes": list(self.notes),
        }
