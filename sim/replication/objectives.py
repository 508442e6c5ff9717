"""Whether the Runs of one spec meet its objectives: the estimates of a single Run, the intervals of replications."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sim.experiments.measures import Measures
from sim.json_form import NOT_IN_JSON
from sim.replication.slo import UTILIZATION, Slo
from traces.errors import InputError

ObjectiveStatus = Literal["met", "missed", "uncertain", "not enough requests"]


@dataclass(frozen=True)
class ObjectiveOutcome:
    """The outcome of an objective.

    Attributes:
        status: a single Run has no intervals, so its estimate decides.
        value, low, high: the figure and its interval.
        requests_needed: number of successful requests that the quantile needs; None: there are enough.
    """

    slo: Slo = field(metadata=NOT_IN_JSON)
    status: ObjectiveStatus
    value: float
    low: float
    high: float
    requests_needed: int | None


def outcomes(slos: Sequence[Slo], measures: Measures) -> list[ObjectiveOutcome]:
    """Return the outcome of each objective.

    Raises:
        InputError: an objective names an operation or a role that does not exist.
    """
    require_operations(slos, measures)
    return [_outcome(slo, measures) for slo in slos]


def require_operations(slos: Sequence[Slo], measures: Measures) -> None:
    """Check that every operation with an objective occurs.

    Raises:
        InputError: one does not.
    """
    require_requested(slos, measures.ops)


def require_requested(slos: Sequence[Slo], ops: Collection[str]) -> None:
    """Check that every operation with an objective is among those that are requested.

    Raises:
        InputError: one is not.
    """
    for slo in slos:
        if slo.figure != UTILIZATION and slo.subject not in ops:
            raise InputError(f"slo {slo.text}: the workload has no {slo.subject} requests; it has {', '.join(ops)}")


def _outcome(slo: Slo, measures: Measures) -> ObjectiveOutcome:
    result = slo.evaluate(measures)
    status: ObjectiveStatus
    if result.verdict == "fail":
        status = "missed"
    elif result.requests_needed is not None:
        status = "not enough requests"
    elif len(measures) == 1:
        status = "met" if slo.is_met(measures, result) else "missed"
    else:
        status = "met" if result.verdict == "pass" else "uncertain"
    return ObjectiveOutcome(slo, status, result.value, result.low, result.high, result.requests_needed)
