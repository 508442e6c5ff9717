"""Markdown of generated pages, and what GitHub's form of it needs for Python-Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_FENCE = re.compile(r"^ *```")
_ITEM = re.compile(r"^ *([-*]|\d+\.) ")
_ROW = re.compile(r"^\|")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; what Markdown would read in its texts is escaped, except in code."""
    lines = [_row(columns), "|" + "---|" * len(columns), *(_row(row) for row in rows)]
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    """Return a text as code; of an empty one, nothing."""
    return f"`{text}`" if text else ""


def with_blank_lines(markdown: str) -> str:
    """Return a page with a blank line before each list and table, as Python-Markdown needs."""
    lines: list[str] = []
    in_code, block = False, ""  # what the lines since the last blank one are: "", "text", "list" or "table"
    for line in markdown.splitlines():
        if _FENCE.match(line):
            in_code = not in_code
        elif not in_code:
            kind = "list" if _ITEM.match(line) else "table" if _ROW.match(line) else "text"
            if not line.strip():
                block = ""
            elif kind != "text" and block == "text":
                lines.append("")
                block = kind
            elif not block or block == "text":
                block = kind
        lines.append(line)
    return "\n".join(lines) + "\n"


def _row(texts: Sequence[str]) -> str:
    return "|" + "|".join(f" {_escaped(text)} " for text in texts) + "|"


def _escaped(text: str) -> str:
    parts = re.split(r"(`[^`]*`)", " ".join(str(text).split()))  # code stays as it is
    for number in range(0, len(parts), 2):
        parts[number] = re.sub(r"[|*_]", r"\\\g<0>", parts[number].replace("<", "&lt;"))
    return "".join(parts)
