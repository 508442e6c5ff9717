"""What the models lack: how far latencies of real stores are from forecasts, beyond the ranges of values.

A forecast with all its values measured is not exact either. `LEVEL` and `TAIL` are standard deviations of logarithms,
with which bands of 80 % would contain 80 % of the published latencies that were not used in a fit, if the width of a
band were that of independent normal deviations; each case counts equally (`benchmarks/published/discrepancy.py`). The
bands of the scoreboard contain 76 % of its means and 78 % of its p99. Each draw has deviations of its own, and draw k
the same ones in all variants (the model discrepancy of Kennedy and O'Hagan, "Bayesian calibration of computer models",
Journal of the Royal Statistical Society B 63, 2001).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from models.basis.uncertainty import drawn_fractions
from sim.experiments.measures import Measures, OpMeasures
from sim.replication.summaries import RATES
from traces.statistics.summary import QUANTILES, Floats
from traces.workload.workload import Workload

LEVEL = 0.09
"""Of all latencies of a store together, and of the rates of a closed loop, which follow from them."""

TAIL = 0.16
"""Of p99 and higher quantiles, in addition; half of it of p90 and p95."""

SOURCE = "published latencies of real stores next to their forecasts (accuracy)"


@dataclass(frozen=True)
class DiscrepancyScale:
    """Standard deviations of the logarithms of what bands contain beyond the ranges of values: `LEVEL` and `TAIL`."""

    level: float
    tail: float


DISCREPANCY = DiscrepancyScale(LEVEL, TAIL)


@dataclass(frozen=True)
class Deviation:
    """The deviation of one draw, as factors.

    Attributes:
        level: of all latencies.
        tail: of p99 and higher quantiles, in addition.
    """

    level: float = 1.0
    tail: float = 1.0

    def factor(self, quantile: float = 0.0) -> float:
        """Return the factor of a quantile of latencies; 0: of their mean."""
        weight = 1.0 if quantile >= 0.99 else 0.5 if quantile >= 0.9 else 0.0
        return self.level * math.pow(self.tail, weight)

    def applied(self, measures: Measures, is_closed: bool) -> Measures:
        """Return the figures of a draw with its deviation.

        Args:
            measures: the figures.
            is_closed: whether the clients are closed loops, whose rates deviate inversely to their latencies.
        """
        return replace(measures, ops={op: self._of_op(each, is_closed) for op, each in measures.ops.items()})

    def _of_op(self, measures: OpMeasures, is_closed: bool) -> OpMeasures:
        rate = 1 / self.level if is_closed else 1.0
        return replace(
            measures,
            least_s=measures.least_s * self.level,
            greatest_each_s=measures.greatest_each_s * self.factor(1.0),
            values=self._of_figures(measures.values, rate),
            each=self._of_figures(measures.each, rate),
        )

    def _of_figures(self, figures: dict[str, Floats], rate: float) -> dict[str, Floats]:
        """Return `sim.replication.summaries.FIGURES` with the deviation; no quantile is below a lower one."""
        found = {name: values * rate for name, values in figures.items() if name in RATES}
        found["mean"] = figures["mean"] * self.factor()
        below = np.zeros_like(figures["mean"])
        for name, quantile in QUANTILES.items():
            found[name] = below = np.maximum(below, figures[name] * self.factor(quantile))
        return found


def deviations(draws: int, seed: int, model: str = "") -> list[Deviation]:
    """Return the deviation of each draw; together they are a Latin hypercube.

    Args:
        draws: their number.
        seed: of all draws.
        model: name of the model where several are compared, each of which deviates by itself.
    """
    level, tail = (
        np.exp(scale * scipy.special.ndtri(drawn_fractions(f"model discrepancy/{model}/{name}", draws, seed)))
        for name, scale in (("level", LEVEL), ("tail", TAIL))
    )
    return [Deviation(*pair) for pair in zip(level.tolist(), tail.tolist(), strict=True)]


def with_deviations(points: Sequence[object], seed: int, workload: Workload) -> list[Measures]:
    """Return the figures of the draws of a spec with this workload, each with its deviation.

    Args:
        points: of each draw; what is not `Measures` is left out, as its values do not fit together.
        seed: of all draws.
        workload: of the spec.
    """
    is_closed = workload.total_rate is None
    return [
        deviation.applied(point, is_closed)
        for deviation, point in zip(deviations(len(points), seed), points, strict=True)
        if isinstance(point, Measures)
    ]
