"""The answer of `whatif`."""

from __future__ import annotations

from cli.made import Made
from cli.pages.page import Page
from cli.present import Answer
from cli.tables.experiments.whatif import whatif_shown
from sim.experiments.whatif import WhatIf
from sim.experiments.whatif_table import points_table


def whatif_answer(found: WhatIf, made: Made) -> Answer:
    """Return what is shown of variants."""
    points = points_table(found)
    tables = {"points.parquet": points}
    return Answer(found, lambda: whatif_shown(found), made, lambda: _page(found), tables, lambda: points)


def _page(found: WhatIf) -> Page:
    from cli.pages.whatif import whatif_page  # loads plotly, which the command does not need

    return whatif_page(found)
