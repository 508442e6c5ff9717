"""The answer of `failures`."""

from __future__ import annotations

from cli.made import Made
from cli.pages.page import Page
from cli.present import Answer
from cli.tables.experiments.failures import failures_shown
from cli.tables.experiments.numbers import failures_table
from sim.experiments.failure_result import Failures


def failures_answer(found: Failures, made: Made) -> Answer:
    """Return what is shown of failures."""
    return Answer(
        found,
        lambda: failures_shown(found),
        made,
        lambda: _page(found),
        table=lambda: failures_table(found),
    )


def _page(found: Failures) -> Page:
    from cli.pages.failures import failures_page  # loads plotly, which the command does not need

    return failures_page(found)
