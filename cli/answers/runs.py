"""The answers of `compare` and of `report` about one Run."""

from __future__ import annotations

from collections.abc import Sequence

from cli.made import Made
from cli.pages.page import Page
from cli.present import Answer
from cli.sentences import doubt, verdict
from cli.tables.forecast.runs import summary_grid
from cli.tables.grid import Grid
from cli.tables.measured.comparison import comparison_grid
from cli.tables.measured.numbers import comparison_table
from cli.tables.measured.quality import named_warnings, run_warnings
from cli.versions import runs_notes
from traces.run import Run
from traces.statistics.summary import summarise
from validate.compare.compare import Comparison


def comparison_answer(found: Comparison, runs: Sequence[tuple[str, Run]]) -> Answer:
    """Return what is shown of the comparison of two Runs with their names."""
    names = runs[0][0], runs[1][0]
    warnings = {side: run_warnings(run) for side, (_, run) in zip("ab", runs, strict=True)}
    notes = runs_notes(runs)

    def shown() -> list[str | Grid]:
        grid = comparison_grid(found, names, warnings=named_warnings(runs))
        return [grid, *(f"note: {note}" for note in notes), verdict(found, names), doubt(found)]

    return Answer(
        {**found.to_json(), "warnings": warnings, "notes": notes},
        shown,
        Made(),
        lambda: _page(runs, " compared with ".join(names), found),
        table=lambda: comparison_table(found),
    )


def run_answer(run: Run, name: str) -> Answer:
    """Return what is shown of a Run with this name; its table has a row for each request."""
    return Answer(
        summarise(run),
        lambda: [summary_grid(run)],
        Made(),
        lambda: _page([(name, run)], name),
        table=lambda: run.requests,
    )


def _page(runs: Sequence[tuple[str, Run]], title: str, found: Comparison | None = None) -> Page:
    from cli.pages.report import report_page  # loads plotly, which the command does not need

    return report_page(runs, title, comparison=found)
