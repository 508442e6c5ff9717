"""The answer of `trace import`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cli.made import Made
from cli.pages.page import Page
from cli.present import Answer
from cli.tables.measured.imported import import_lines
from traces.statistics.characteristics import figures
from traces.trace import Trace


def import_answer(found: Mapping[str, Any]) -> Answer:
    """Return what is shown of imported logs; the page and the table are of the trace that was written."""
    path = Path(found["trace"])

    def trace() -> Trace:
        return Trace.read(path)

    return Answer(
        found,
        lambda: import_lines(found),
        Made(),
        lambda: _page(trace(), path),
        table=lambda: trace().table,
    )


def _page(trace: Trace, path: Path) -> Page:
    from cli.pages.trace import trace_page  # loads plotly, which the command does not need

    return trace_page(trace, figures(trace), f"Trace {path.name}")
