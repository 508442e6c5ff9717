"""Measures in figures: tail and throughput of each operation, and everything with an objective."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cli.tables.experiments.whatif import ops_of
from cli.words import LABELS
from sim.experiments.whatif import SimulatedPoint, WhatIf
from sim.replication.slo import LATENCIES, UTILIZATION, Slo
from sim.replication.summaries import NO_INTERVAL, Interval

_UNITS = {"throughput_ops": ("op/s", 1.0), "throughput_bytes": ("MB/s", 1e-6), "errors": ("%", 100.0)}
_FRACTION, _LATENCY = ("%", 100.0), ("ms", 1e3)
_TAIL = "p99"


class Estimate(NamedTuple):
    """A value with its interval, whose bounds are NaN if it has none."""

    value: float
    low: float
    high: float


NOTHING = Estimate(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Measure:
    """A measure that is shown for every point.

    Attributes:
        subject: an operation, or a station role; None is all roles.
        figure: as in `sim.replication.slo.Slo`.
        slo: its objective, if any.
    """

    subject: str | None
    figure: str
    slo: Slo | None = None

    @property
    def name(self) -> str:
        """``GET p99`` or ``drive utilisation``."""
        figure = {UTILIZATION: "utilisation", "throughput_bytes": "payload"}.get(self.figure)
        return " ".join(filter(None, [self.subject, figure or LABELS.get(self.figure, self.figure)]))

    @property
    def unit(self) -> str:
        """``ms``, ``op/s``, ``MB/s`` or ``%``."""
        return self._unit[0]

    @property
    def label(self) -> str:
        """Name and unit."""
        return f"{self.name} ({self.unit})"

    @property
    def is_latency(self) -> bool:
        """Whether ratios matter more than differences."""
        return self.figure in LATENCIES

    @property
    def limit(self) -> float | None:
        """Limit of its objective, in its unit."""
        return None if self.slo is None else self.slo.limit * self._unit[1]

    @property
    def _unit(self) -> tuple[str, float]:
        return _LATENCY if self.is_latency else _UNITS.get(self.figure, _FRACTION)

    def of(self, point: SimulatedPoint) -> Estimate:
        """Return the estimate at a point, in its unit."""
        return self.scaled(self._interval(point))

    def is_few(self, point: SimulatedPoint) -> bool:
        """Whether too few requests support it at a point."""
        figures = point.ops.get(self.subject or "")
        return figures is not None and self.figure in figures.few

    def difference(self, point: SimulatedPoint) -> Estimate:
        """Return its difference from the base, in its unit."""
        figures = point.difference.ops.get(self.subject or "")
        if figures is None:
            return NOTHING
        rates = {"throughput_ops": figures.throughput_ops, "throughput_bytes": figures.throughput_bytes}
        return self.scaled((figures.latency_s | rates).get(self.figure, NO_INTERVAL))

    def _interval(self, point: SimulatedPoint) -> Interval:
        if self.slo is not None:
            return point.slo_figures[self.slo.text]
        figures = point.ops.get(self.subject or "")
        if figures is None:
            return NO_INTERVAL
        if self.is_latency:
            return Interval(figures.latency_s[self.figure], *figures.interval.latency_s[self.figure])
        return Interval(figures.throughput_ops, *figures.interval.throughput_ops)

    def scaled(self, found: Interval) -> Estimate:
        """Convert an interval to its unit."""
        scale = self._unit[1]
        return Estimate(found.value * scale, found.low * scale, found.high * scale)


def measures_of(result: WhatIf) -> list[Measure]:
    """Return objectives first, then the tail and the throughput of operations without an objective."""
    with_objective = [Measure(slo.subject, slo.figure, slo) for slo in result.slos]
    ops = ops_of(result)
    tails = [Measure(op, _TAIL) for op in ops if not any(m.subject == op and m.is_latency for m in with_objective)]
    rates = [
        Measure(op, "throughput_ops")
        for op in ops
        if not any(m.subject == op and m.figure.startswith("throughput") for m in with_objective)
    ]
    return [*with_objective, *tails, *rates]


def are_numbers(values: Sequence[Any]) -> bool:
    """Whether all varied values are numbers."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def ordered(values: Sequence[Any]) -> list[Any]:
    """Sort varied values if they are numbers; otherwise keep their order."""
    return sorted(values) if are_numbers(values) else list(values)
