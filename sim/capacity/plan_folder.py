"""A plan on disk: its result, and the moments that are looked at already, so that one that was interrupted goes on.

``plan.json`` is what the command prints, ``changes.parquet`` a row for each change that was tried, and ``moments/`` has
a file for each moment of a store's growth that was looked at.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from sim.capacity.plan import CapacityPlan
from sim.capacity.remedies import Trial
from sim.parallel.result_cache import ResultFolder


class PlanFolder:
    """A folder for a plan; made where it is not there yet.

    Raises:
        InputError: there is something else of that name, or it cannot be written to.
    """

    def __init__(self, path: Path):
        self._folder = ResultFolder(path, "plan", "moments")
        self.find, self.keep = self._folder.find, self._folder.keep

    def write(self, found: CapacityPlan, text: str) -> None:
        """Write a plan as parquet, and as the JSON `text`."""
        self._folder.write("changes.parquet", table(found), "plan.json", text)


def table(found: CapacityPlan) -> pa.Table:
    """A row for each change: what it sets (as JSON), its cost, and each objective's figure at the end of the period."""
    return pa.Table.from_pylist([_row(found, trial) for trial in found.changes])


def _row(found: CapacityPlan, trial: Trial) -> dict[str, Any]:
    end = trial.finding
    row: dict[str, Any] = {"set": json.dumps(dict(trial.change.values)), "cost": trial.change.extra_cost}
    row |= {"holds": trial.holds, "fraction": trial.fraction, "fill_fraction": end.fill_fraction, "reason": end.reason}
    return row | {text: end.slos[text].value if text in end.slos else None for text in found.slos}
