"""The answer of `simulate`."""

from __future__ import annotations

from cli.made import Made
from cli.pages.page import Page
from cli.present import Answer
from cli.simulations import simulated
from cli.tables.numbers import forecast_table
from sim.forecast import Forecast
from traces.run import Run


def forecast_answer(found: Forecast, made: Made) -> Answer:
    """Return what is shown of a forecast; one of one run has the page of its Run."""
    shown, run = simulated(found), found.run
    page = None if run is None else lambda: _page(run)
    return Answer(shown.result, lambda: shown.shown, made, page, table=lambda: forecast_table(found))


def _page(run: Run) -> Page:
    from cli.pages.report import report_page  # loads plotly, which the command does not need

    return report_page([("forecast", run)], "Forecast")
