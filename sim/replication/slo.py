"""Service level objectives, and whether replications meet them.

An objective is met if the whole confidence interval of its figure is on the right side of the limit, and violated if
the whole interval is on the wrong side; otherwise the result is uncertain, and more replications are needed. It is also
uncertain if fewer than ten requests lie beyond the quantile. An overloaded store violates every objective on a latency,
because latency grows as long as the overload lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sim.experiments.measures import Measures
from sim.replication.summaries import CONFIDENCE, Interval
from traces.errors import InputError
from traces.statistics.summary import QUANTILES, requests_for

ObjectiveVerdict = Literal["pass", "fail", "unsure"]

LATENCIES = ("mean", *QUANTILES, "max")
"""Latency figures that may have an objective."""
UTILIZATION, THROUGHPUT = "utilization", "throughput"


@dataclass(frozen=True)
class SloResult:
    """The evaluation of an objective.

    Attributes:
        value, low, high: the figure and its interval, in the unit of the objective's limit; NaN if there is none.
        requests_needed: number of successful requests that the quantile needs; None: there are enough.
    """

    verdict: ObjectiveVerdict
    value: float
    low: float
    high: float
    requests_needed: int | None = None

    @property
    def interval(self) -> Interval:
        """The figure and its interval."""
        return Interval(self.value, self.low, self.high)


@dataclass(frozen=True)
class Slo:
    """An objective.

    Attributes:
        text: the objective as written.
        subject: the operation, or one of a group of clients such as ``backup.PUT``; for a utilisation, the role of the
            stations, or None for all.
        figure: a name of `LATENCIES` (limit in seconds), ``throughput_ops`` (1/s), ``throughput_bytes`` (bytes/s),
            ``errors`` (fraction of the requests) or ``utilization`` (fraction of the servers).
        limit: upper limit of the figure; for a throughput, lower limit.
    """

    text: str
    subject: str | None
    figure: str
    limit: float

    def to_json(self) -> str:
        """Its text."""
        return self.text

    @property
    def above(self) -> bool:
        """Whether the figure must be above the limit."""
        return self.figure.startswith(THROUGHPUT)

    def verdict(self, low: float, high: float) -> ObjectiveVerdict:
        """Compare an interval of the figure with the limit; NaN is uncertain."""
        if self.above:
            return "pass" if low > self.limit else "fail" if high <= self.limit else "unsure"
        return "pass" if high < self.limit else "fail" if low >= self.limit else "unsure"

    def evaluate(self, measures: Measures, confidence: float = CONFIDENCE) -> SloResult:
        """Evaluate the objective for replications; uncertain if no request has the operation, or too few have it.

        Raises:
            InputError: no station with a limited number of servers has the role.
        """
        if self.figure == UTILIZATION:
            found = self._utilization(measures, confidence)
        else:
            assert self.subject is not None
            found = measures.interval(self.subject, self.figure, confidence)
        needed = self._requests_needed(measures)
        if measures.overloaded and self.figure in LATENCIES:
            verdict: ObjectiveVerdict = "fail"
        else:
            verdict = "unsure" if needed else self.verdict(found.low, found.high)
        return SloResult(verdict, found.value, found.low, found.high, needed)

    def is_met(self, measures: Measures, result: SloResult) -> bool:
        """Whether the estimate meets the objective, however uncertain it is."""
        overloaded = measures.overloaded and self.figure in LATENCIES
        return not overloaded and self.verdict(result.value, result.value) == "pass"

    def _requests_needed(self, measures: Measures) -> int | None:
        """Return the number of successful requests that its quantile needs, unless there are enough of them.

        Where every request failed, no number of them would help.
        """
        figures = measures.ops.get(self.subject or "")
        if figures is None or self.figure not in QUANTILES or figures.errors == figures.count:
            return None
        needed = requests_for(self.figure)
        return needed if figures.count - figures.errors < needed else None

    def _utilization(self, measures: Measures, confidence: float) -> Interval:
        if self.subject is not None and self.subject not in measures.roles:
            raise InputError(
                f"slo {self.text}: no station has the role {self.subject!r}; allowed are {', '.join(measures.roles)}"
            )
        roles = measures.roles if self.subject is None else [self.subject]
        intervals = [measures.roles[role].interval(confidence) for role in roles]
        return max(intervals, key=lambda interval: interval.value)


def overall(verdicts: Sequence[ObjectiveVerdict]) -> ObjectiveVerdict:
    """Combine the verdicts on several objectives: the worst counts."""
    return "fail" if "fail" in verdicts else "unsure" if "unsure" in verdicts else "pass"
