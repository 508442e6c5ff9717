"""The answer of `plan`."""

from __future__ import annotations

from cli.made import Made
from cli.pages.page import Page
from cli.present import Answer
from cli.tables.experiments.plan import plan_shown
from sim.capacity.plan import CapacityPlan
from sim.capacity.tables import changes_table


def plan_answer(found: CapacityPlan, spec: str, made: Made) -> Answer:
    """Return what is shown of the plan of a spec of this name."""
    changes = changes_table(found)
    return Answer(
        found.to_json(),
        lambda: plan_shown(found),
        made,
        lambda: _page(found, spec),
        {"changes.parquet": changes},
        lambda: changes,
    )


def _page(found: CapacityPlan, spec: str) -> Page:
    from cli.pages.plan import plan_page  # loads plotly, which the command does not need

    return plan_page(found, f"Plan of {spec}")
