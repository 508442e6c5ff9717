"""Prints the list of mistakes as Markdown, with what tailcast prints now: ``python -m tests.cli.mistakes_table``."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tests.cli.mistakes import MISTAKES, Answer, Mistake, prepared

_LONGEST = 300


def _printed(mistake: Mistake, answer: Answer) -> str:
    """Return the lines on stderr; without any, the first lines of the result that have words."""
    results = [" ".join(re.sub("[\u2500-\u257f]", " ", line).split()) for line in answer.out.splitlines()]
    lines = [line for line in answer.err.splitlines() if line.strip()] or [line for line in results if line][:3]
    text = "<br>".join(line.replace("|", "\\|") for line in lines)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"exit {answer.code}: {text}"


def _table() -> str:
    rows = ["| mistake | should give | now |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = prepared(Path(temporary))
        rows += [f"| {m.what} | {m.should} | {_printed(m, m.answer(folder))} |" for m in MISTAKES]
    return "\n".join(rows)


if __name__ == "__main__":
    print(_table())
