"""What failures do to a store: the result of `sim.experiments.failures.failures`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.basis.uncertainty import Unknown
from sim.experiments.failing import Remedy
from sim.experiments.failure_windows import FailureTimeline
from sim.experiments.probability import MetProbability
from sim.experiments.whatif import OpFigures
from sim.replication.slo import ObjectiveVerdict, Slo
from sim.replication.steadiness import Unsettled
from sim.replication.summaries import Differences, EngineWork, Interval
from sim.verdict.extra_attempts import ExtraAttempts
from sim.verdict.verdict import LoadVerdict


@dataclass(frozen=True)
class HealthyWindow:
    """The figures of each operation in a window of the healthy store."""

    ops: dict[str, OpFigures]


@dataclass(frozen=True)
class FailureWindow:
    """The time before, during or after a failure.

    Attributes:
        start_s, end_s: from the beginning of the run; the requests are those that arrive between them.
        ops: the figures of each operation.
        healthy: the same without the failure.
        difference: with the failure minus without.
        slo, slo_figures: the verdict on each objective, and its figure, by text.
        verdict: on all objectives together.
        met: the probability that the objectives are met; None: values that are not known are not drawn.
    """

    start_s: float
    end_s: float
    ops: dict[str, OpFigures]
    healthy: HealthyWindow
    difference: Differences
    slo: dict[str, ObjectiveVerdict]
    slo_figures: dict[str, Interval]
    verdict: ObjectiveVerdict
    met: MetProbability | None

    @property
    def error_fraction(self) -> float:
        """Failed requests, as a fraction of all."""
        ops = [figures for op, figures in self.ops.items() if "." not in op]  # groups are among all requests
        count = sum(figures.count for figures in ops)
        return sum(figures.errors for figures in ops) / count if count else 0.0

    def has_too_few(self, slo: Slo) -> bool:
        """Whether an objective is on a quantile that too few requests support."""
        figures = self.ops.get(slo.subject or "")
        return figures is not None and slo.figure in figures.few


@dataclass(frozen=True)
class FailureEffect:
    """A failure and its effect.

    Attributes:
        failure: as it was written.
        event: its entry in the section `faults` of the spec.
        replications: number of pairs of runs.
        precise: whether they reached the precision; None: none was required.
        windows: ``before``, ``during`` and ``after``, without those that are empty.
        timeline: figures over time.
        notes: sentences without a full stop.
        errors: fraction of the requests that fail during it.
        remedies: changes with which fewer fail.
    """

    failure: str
    event: Mapping[str, Any]
    replications: int
    precise: bool | None
    windows: dict[str, FailureWindow]
    timeline: FailureTimeline
    notes: list[str]
    errors: float
    remedies: list[Remedy]

    @property
    def during(self) -> FailureWindow:
        """The window of the failure, which is never empty."""
        return self.windows["during"]


@dataclass(frozen=True)
class Failures:
    """The effects of failures, simulated one at a time.

    Attributes:
        spec: name of the spec.
        at_s, until_s, end_s: beginning and end of each failure, and when the last request is issued.
        slos: the objectives.
        seed: of all simulations.
        precision: the required relative precision; None: none.
        confidence: confidence level of the intervals.
        load: the verdict on the load of the healthy store; None: not determined.
        extra: what retries and hedges cost there; None: there are none, or the store is overloaded.
        unsettled: why windows of the healthy store are too short, by window; empty if it is overloaded.
        failures: the effect of each.
        unknowns: the values that are drawn for the probability that the objectives are met.
        engine: the cost of the simulations in pairs.
    """

    spec: str
    at_s: float
    until_s: float
    end_s: float
    slos: list[Slo]
    seed: int
    precision: float | None
    confidence: float
    load: LoadVerdict | None
    extra: ExtraAttempts | None
    unsettled: dict[str, list[Unsettled]]
    failures: list[FailureEffect]
    unknowns: tuple[Unknown, ...]
    engine: EngineWork
