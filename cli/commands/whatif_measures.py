"""What a what-if's figures show: of each operation its tail and throughput, and whatever has an objective."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cli.parse.slo import parse_slo
from cli.words import LABELS
from sim.replication.slo import LATENCIES, UTILIZATION, Slo

Point = dict[str, Any]
"""A point of a what-if, see `sim.experiments.whatif.whatif`."""

_UNITS = {"throughput_ops": ("op/s", 1.0), "throughput_bytes": ("MB/s", 1e-6), "errors": ("%", 100.0)}
_SHARE, _LATENCY = ("%", 100.0), ("ms", 1e3)
_TAIL = "p99"


class Estimate(NamedTuple):
    """A value with its interval; NaN where it has none."""

    value: float
    low: float
    high: float


NOTHING = Estimate(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Measure:
    """A figure that is shown of every point.

    Attributes:
        subject: an operation, or a role of stations; None: all roles.
        figure: as in `sim.replication.slo.Slo`.
        slo: its objective, if it has one.
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
        """What its objective allows, in its unit."""
        return None if self.slo is None else self.slo.limit * self._unit[1]

    @property
    def _unit(self) -> tuple[str, float]:
        return _LATENCY if self.is_latency else _UNITS.get(self.figure, _SHARE)

    def of(self, point: Point) -> Estimate:
        """The measure of a point, in its unit."""
        return self._scaled(self._found(point))

    def difference(self, point: Point) -> Estimate:
        """By how much it is above that of the base, in its unit."""
        figures = point.get("difference", {}).get("ops", {}).get(self.subject, {})
        found = figures.get("latency_s", {}).get(self.figure) or figures.get(self.figure)
        return self._scaled(found or {})

    def _found(self, point: Point) -> dict[str, Any]:
        if self.slo is not None:
            found: dict[str, Any] = point.get("slo_figures", {}).get(self.slo.text, {})
            return found
        figures = point["ops"].get(self.subject)
        if figures is None:
            return {}
        inside = figures["latency_s"] if self.is_latency else figures
        ends = figures["interval"]["latency_s"] if self.is_latency else figures["interval"]
        return {"value": inside[self.figure], **dict(zip(("low", "high"), ends[self.figure], strict=True))}

    def _scaled(self, found: dict[str, Any]) -> Estimate:
        return Estimate(*(_number(found.get(name)) * self._unit[1] for name in Estimate._fields))


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def measures_of(result: dict[str, Any]) -> list[Measure]:
    """The measures of a what-if: objectives first, then the tail and the throughput of operations that have none."""
    slos = [parse_slo(text) for text in result["slos"]]
    with_objective = [Measure(slo.subject, slo.figure, slo) for slo in slos]
    ops = dict.fromkeys(op for point in result["points"] for op in point["ops"])
    tails = [Measure(op, _TAIL) for op in ops if not any(m.subject == op and m.is_latency for m in with_objective)]
    rates = [
        Measure(op, "throughput_ops")
        for op in ops
        if not any(m.subject == op and m.figure.startswith("throughput") for m in with_objective)
    ]
    return [*with_objective, *tails, *rates]


def simulated(result: dict[str, Any]) -> list[Point]:
    """The points that can be."""
    return [point for point in result["points"] if "error" not in point]


def are_numbers(values: Sequence[Any]) -> bool:
    """Whether varied values lie on a scale."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def ordered(values: Sequence[Any]) -> list[Any]:
    """Varied values in ascending order if they are numbers, else as they were asked for."""
    return sorted(values) if are_numbers(values) else list(values)
