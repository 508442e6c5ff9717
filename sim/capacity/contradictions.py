"""Where the growth of a plan and the workload of its spec contradict each other, and which of both the plan uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from models.store import Spec, store_of
from sim.capacity.growth import Growth, Scenario
from sim.capacity.health import HealthAssessment
from traces.operations import ops_that

MONTH_S = 30 * 86400.0
"""A month of a plan in s: 30 days."""
_FACTOR = 2.0  # rates of a day vary by as much
_SAME = 0.01


@dataclass(frozen=True)
class Contradiction:
    """A quantity of which growth and spec say different things; the plan uses that of the growth.

    Attributes:
        field: the growth's field.
        of_growth: its likely value.
        other: the spec's field, or ``the workload``.
        of_spec: the spec's value; of `objects.per_month` the objects that the workload creates less those that it
            deletes, in a month of 30 days at the load of month 0.
    """

    field: str
    of_growth: float
    other: str
    of_spec: float

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return vars(self) | {"used": "growth"}


def contradictions(spec: Spec, growth: Growth, expected: Scenario, now: HealthAssessment) -> list[Contradiction]:
    """Return the contradictions between growth and spec.

    Args:
        spec: the present store.
        growth: its growth.
        expected: the likely scenario.
        now: the assessment of month 0.
    """
    return [*_rates(spec, growth, expected, now), *_replaced(spec, growth, expected)]


def _rates(spec: Spec, growth: Growth, expected: Scenario, now: HealthAssessment) -> Iterator[Contradiction]:
    """Compare the growth's objects a month with the workload's; not of a store that does not count objects."""
    of_store = store_of(spec).growth
    if of_store is None:
        return
    created_ops = created_rate_ops(spec)
    if created_ops is not None and growth.rate is not None and expected.load_now and spec.workload.total_rate:
        created_ops *= expected.load_now / spec.workload.total_rate
    if created_ops is None:
        created_ops = now.created_ops
    if created_ops is None:
        return
    of_growth = expected.objects_a_month or 0.0
    of_workload = created_ops * of_store.created_each(spec) * MONTH_S
    low, high = sorted((of_growth, max(of_workload, 0.0)))
    if high > _FACTOR * low:
        yield Contradiction("objects.per_month", of_growth, "the workload", of_workload)


def created_rate_ops(spec: Spec) -> float | None:
    """Return the objects that open loops create less those that they delete, in 1/s; None: there is a closed loop."""
    total_ops = 0.0
    for part in spec.workload.parts.values():
        if part.rate is None:
            return None
        weights = sum(part.mix.values())
        created = sum(part.mix.get(op, 0.0) for op in ops_that("creates"))
        removed = sum(part.mix.get(op, 0.0) for op in ops_that("removes"))
        total_ops += part.rate * (created - removed) / weights
    return total_ops


def _replaced(spec: Spec, growth: Growth, expected: Scenario) -> Iterator[Contradiction]:
    """Compare the growth's values of month 0 with those that the spec gives."""
    of_store = store_of(spec).growth
    if growth.objects is not None and expected.objects_now is not None and of_store is not None:
        yield from _differing("objects.now", expected.objects_now, "stored.objects", of_store.objects(spec))
    if growth.rate is not None and expected.load_now is not None and spec.workload.total_rate is not None:
        yield from _differing("rate.now", expected.load_now, "workload.rate", spec.workload.total_rate)
    if growth.clients is not None and expected.load_now is not None:
        yield from _differing("clients.now", expected.load_now, "workload.clients", spec.workload.clients)


def _differing(field: str, of_growth: float, other: str, of_spec: float) -> Iterator[Contradiction]:
    if of_spec and abs(of_growth - of_spec) > _SAME * of_spec:
        yield Contradiction(field, of_growth, other, of_spec)
