"""The probability that objectives are met, over draws of the values of a spec that are not known.

Each draw is simulated once, with a seed and a model discrepancy of its own; of the variants of a spec, draw k has the
same seed and discrepancy and, where the same values are unknown, the same values. So differences between variants are
precise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.basis.described import DescribedSpec
from models.basis.uncertainty import Unknown
from models.store import Spec
from sim.experiments.discrepancy import with_deviations
from sim.experiments.measures import Measures
from sim.experiments.sweep import Point, Settings
from sim.replication.replicate import seed_of
from sim.replication.slo import ObjectiveVerdict, Slo, SloResult
from traces.errors import InputError

_Z = 1.959964  # of an interval at 95 %
LEAST_DRAWS = 2
"""Least number of draws: one has no spread."""

Judge = Callable[[Slo, Measures], SloResult]


@dataclass(frozen=True)
class FigureRange:
    """The figure of an objective over the draws: the band that contains a fraction `level` of them, and its median.

    Attributes:
        met: fraction of the draws that meet the objective.
        requests_needed: number of successful requests that its quantile needs in each draw; None: there are enough.
    """

    met: float
    low: float
    median: float
    high: float
    requests_needed: int | None = None


@dataclass(frozen=True)
class MetProbability:
    """The probability that all objectives are met.

    Attributes:
        level: the required probability; bands contain this fraction of the draws, too.
        draws: number of draws that were simulated; `impossible`: of others, whose values do not fit together.
        value: fraction of the draws that meet all objectives.
        low, high: its 95 % interval, by the number of draws.
        objectives: each objective, by its text.
    """

    level: float
    draws: int
    impossible: int
    value: float
    low: float
    high: float
    objectives: dict[str, FigureRange]

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> MetProbability:
        """Create the probability from its JSON values."""
        return MetProbability(
            **{**data, "objectives": {text: FigureRange(**each) for text, each in data["objectives"].items()}}
        )

    @property
    def few(self) -> list[str]:
        """The objectives on quantiles that too few requests of a draw support."""
        return [text for text, each in self.objectives.items() if each.requests_needed is not None]

    @property
    def verdict(self) -> ObjectiveVerdict:
        """Whether the objectives are met with the required probability; too few requests support no verdict."""
        if self.few:
            return "unsure"
        return "pass" if self.low >= self.level else "fail" if self.high < self.level else "unsure"


@dataclass(frozen=True)
class Draws:
    """Draws of the values of a spec, and of its variants, that are not known.

    Attributes:
        described: the spec.
        level: required probability, and fraction of the draws that a band contains.
        count: number of draws.
    """

    described: DescribedSpec
    level: float
    count: int

    def check(self, slos: Sequence[Slo]) -> None:
        """Refuse a level, a number of draws or objectives for which there is no probability.

        Raises:
            InputError: one of them is not possible.
        """
        check_level(self.level, self.count)
        if not slos:
            raise InputError("a probability is that of objectives; add one, for example GET.p99<50ms")

    @property
    def unknowns(self) -> tuple[Unknown, ...]:
        """The values of the spec that are not known."""
        return self.described.uncertain.unknowns

    def specs(self, whole: Mapping[str, Any], assignments: Sequence[str], seed: int) -> list[Spec | None]:
        """Return the draws of a variant; None: the values do not fit together.

        Args:
            whole: the mapping of the variant.
            assignments: ``path=value`` of its values that are known, as they are varied.
            seed: of all draws.

        Raises:
            InputError: the variant itself is not possible.
        """
        return self.described.variant(whole, assignments).uncertain.all_drawn(self.count, seed)

    def settings(self, draw: int, settings: Settings) -> Settings:
        """Return the settings of the simulation of a draw."""
        return Settings(seed_of(settings.seed, draw), 1, None, settings.steady, settings.engine)

    def probability(
        self, points: Sequence[Point | None], slos: Sequence[Slo], seed: int, judged: Judge = Slo.evaluate
    ) -> MetProbability:
        """Return the probability that all objectives are met.

        Args:
            points: result of each draw; None or an error: its values do not fit together.
            slos: at least one.
            seed: of all draws, for their deviations (`sim.experiments.discrepancy`).
            judged: evaluates an objective.

        Raises:
            InputError: no draw is possible.
        """
        possible = with_deviations(points, seed, self.described.spec.workload)
        if not possible:
            raise InputError("no draw of the values that are not known is possible; narrow the ranges of assumed")
        results = {slo: [judged(slo, point) for point in possible] for slo in slos}
        met = {
            slo: np.array([slo.is_met(*each) for each in zip(possible, of_slo, strict=True)])
            for slo, of_slo in results.items()
        }
        value = float(np.all(list(met.values()), axis=0).mean())
        ranges = {
            slo.text: FigureRange(
                float(met[slo].mean()),
                *_band([result.value for result in of_slo], self.level),
                max((result.requests_needed for result in of_slo if result.requests_needed), default=None),
            )
            for slo, of_slo in results.items()
        }
        low, high = score_interval(value, len(possible))
        return MetProbability(self.level, len(possible), len(points) - len(possible), value, low, high, ranges)


def check_level(level: float, draws: int) -> None:
    """Refuse a fraction that no band has, and a single draw, whose band would have no width.

    Raises:
        InputError: one of them is out of range.
    """
    if not 0 < level < 1:
        raise InputError(f"uncertainty is {level:g}; it must be between 0 and 1, for example 80%")
    if draws < LEAST_DRAWS:
        raise InputError(f"uncertainty needs at least {LEAST_DRAWS} draws, not {draws}; one has no spread")


def check_possible(possible: int, draws: int) -> None:
    """Refuse a band of too few draws.

    Raises:
        InputError: the values of almost all draws do not fit together.
    """
    if possible < LEAST_DRAWS:
        raise InputError(
            f"{possible} of {draws} draws of the values that are not known are possible, and a band needs "
            f"{LEAST_DRAWS}; narrow the ranges of assumed"
        )


def score_interval(fraction: float, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a probability that was observed as a fraction of independent draws.

    Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the American Statistical
    Association 22, 1927.
    """
    weight = _Z**2 / count
    middle = (fraction + weight / 2) / (1 + weight)
    half = math.sqrt(weight * fraction * (1 - fraction) + weight**2 / 4) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def band_of(samples: Sequence[float], level: float) -> tuple[float, float]:
    """Return the ends between which this fraction of draws lies.

    Draws of a Latin hypercube are one of each of n equal parts of the probability, so draw k in their order is the
    quantile (k - 1/2) / n. A band with the sample's least and greatest values as its quantiles 0 and 1 would be too
    narrow: of 10 draws, 72 % of the probability would be in one of 80 %.
    """
    ends = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(samples, ends, method="hazen").tolist()
    return low, high


def band_with(samples: Sequence[float], level: float, forecast: float) -> tuple[float, float]:
    """Return the ends between which this fraction of samples lies, extended to the forecast."""
    low, high = band_of(samples, level)
    return min(low, forecast), max(high, forecast)


def _band(values: Sequence[float], level: float) -> tuple[float, float, float]:
    """Return band and median of the values that are known; a failed or late request may make them infinite."""
    known = sorted(value for value in values if not math.isnan(value))
    if not known:
        return math.nan, math.nan, math.nan
    if math.isfinite(known[-1]):
        low, high = band_of(known, level)
        return low, float(np.median(known)), high
    ends, last = ((1 - level) / 2, 0.5, (1 + level) / 2), len(known) - 1
    low, median, high = (known[min(max(round(at * len(known) - 0.5), 0), last)] for at in ends)
    return low, median, high  # values themselves, as infinite ones cannot be interpolated
