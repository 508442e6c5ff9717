"""What the models lack: how far figures of real stores are from forecasts, beyond the ranges of values.

A forecast with all its values measured is not exact either. `DISCREPANCY` has a standard deviation of the logarithm for
each kind of figure, with which bands of 80 % contain 80 % of the published figures of the kind that were not used in a
fit (`benchmarks/published/discrepancy.py`). Rates are predicted better than means, and those better than quantiles.

Each draw has two deviations: one by which all figures deviate together, rates inversely to latencies, and one by which
quantiles deviate in addition, each as far as its own standard deviation says. Draw k has the same ones in all variants
(the model discrepancy of Kennedy and O'Hagan, "Bayesian calibration of computer models", Journal of the Royal
Statistical Society B 63, 2001).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from models.basis.uncertainty import drawn_fractions
from sim.experiments.measures import Measures, OpMeasures
from sim.replication.summaries import RATES
from traces.statistics.summary import QUANTILES, Floats
from traces.workload.workload import Workload

SOURCE = "published figures of real stores next to their forecasts (accuracy)"


@dataclass(frozen=True)
class DiscrepancyScale:
    """Standard deviations of the logarithms of what bands contain beyond the ranges of values.

    Attributes:
        rate: of the rates of closed loops.
        duration: of the time in which closed loops issue all their requests.
        mean: of mean latencies.
        quantiles: of the quantiles of latencies, by these from 0 to 1; those between them are interpolated.
    """

    rate: float
    duration: float
    mean: float
    quantiles: Mapping[float, float]

    def of_quantile(self, quantile: float) -> float:
        """Return the standard deviation of a quantile."""
        return float(np.interp(quantile, list(self.quantiles), list(self.quantiles.values())))


DISCREPANCY = DiscrepancyScale(
    rate=0.02,
    duration=0.135,
    mean=0.085,
    quantiles={0.0: 0.25, 0.25: 0.085, 0.5: 0.205, 0.75: 0.38, 0.9: 0.4, 0.99: 0.13, 1.0: 0.195},
)
"""Of rates no deviation is needed, as bands of values alone contain 82 %; a store whose values are known has a band."""


@dataclass(frozen=True)
class Deviation:
    """The deviation of one draw, in standard deviations.

    Attributes:
        level: of all figures together.
        shape: of quantiles, in addition.
    """

    level: float = 0.0
    shape: float = 0.0

    @property
    def rate(self) -> float:
        """The factor of the rates of closed loops, which are high where latencies are low."""
        return math.exp(-DISCREPANCY.rate * self.level)

    @property
    def duration(self) -> float:
        """The factor of the time in which closed loops issue all their requests."""
        return math.exp(DISCREPANCY.duration * self.level)

    @property
    def mean(self) -> float:
        """The factor of mean latencies."""
        return math.exp(DISCREPANCY.mean * self.level)

    def quantile(self, quantile: float) -> float:
        """Return the factor of a quantile of latencies; 0: of the least, 1: of the greatest."""
        more = math.sqrt(max(DISCREPANCY.of_quantile(quantile) ** 2 - DISCREPANCY.mean**2, 0.0))
        return self.mean * math.exp(more * self.shape)

    def applied(self, measures: Measures, is_closed: bool) -> Measures:
        """Return the figures of a draw with its deviation.

        Args:
            measures: the figures.
            is_closed: whether the clients are closed loops, whose rates deviate, too.
        """
        return replace(measures, ops={op: self._of_op(each, is_closed) for op, each in measures.ops.items()})

    def _of_op(self, measures: OpMeasures, is_closed: bool) -> OpMeasures:
        rate = self.rate if is_closed else 1.0
        return replace(
            measures,
            least_s=measures.least_s * self.quantile(0.0),
            greatest_each_s=measures.greatest_each_s * self.quantile(1.0),
            values=self._of_figures(measures.values, rate),
            each=self._of_figures(measures.each, rate),
        )

    def _of_figures(self, figures: dict[str, Floats], rate: float) -> dict[str, Floats]:
        """Return `sim.replication.summaries.FIGURES` with the deviation; no quantile is below a lower one."""
        found = {name: values * rate for name, values in figures.items() if name in RATES}
        found["mean"] = figures["mean"] * self.mean
        below = np.zeros_like(figures["mean"])
        for name, quantile in QUANTILES.items():
            found[name] = below = np.maximum(below, figures[name] * self.quantile(quantile))
        return found


def deviations(draws: int, seed: int, model: str = "") -> list[Deviation]:
    """Return the deviation of each draw; together they are a Latin hypercube.

    Args:
        draws: their number.
        seed: of all draws.
        model: name of the model where several are compared, each of which deviates by itself.
    """
    level, shape = (
        scipy.special.ndtri(drawn_fractions(f"model discrepancy/{model}/{name}", draws, seed))
        for name in ("level", "tail")
    )
    return [Deviation(*pair) for pair in zip(level.tolist(), shape.tolist(), strict=True)]


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
