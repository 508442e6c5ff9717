"""The answers of `find`."""

from __future__ import annotations

from cli.made import Made
from cli.pages.page import Page
from cli.present import Answer
from cli.tables.experiments.find import best_shown, limit_shown
from cli.tables.experiments.numbers import best_table, limit_table
from sim.experiments.find.find_best import Best
from sim.experiments.find.find_limit import FoundLimit


def limit_answer(found: FoundLimit, spec: str, made: Made) -> Answer:
    """Return what is shown of the limit of a spec of this name."""
    return Answer(
        found,
        lambda: limit_shown(found),
        made,
        lambda: _limit_page(found, spec),
        table=lambda: limit_table(found),
    )


def best_answer(found: Best, spec: str, made: Made) -> Answer:
    """Return what is shown of the best value of a spec of this name."""
    return Answer(
        found,
        lambda: best_shown(found),
        made,
        lambda: _best_page(found, spec),
        table=lambda: best_table(found),
    )


def _limit_page(found: FoundLimit, spec: str) -> Page:
    from cli.pages.find import limit_page  # loads plotly, which the command does not need

    return limit_page(found, spec)


def _best_page(found: Best, spec: str) -> Page:
    from cli.pages.find import best_page

    return best_page(found, spec)
