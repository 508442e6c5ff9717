"""Service level objectives: what they say, and whether replications keep them, break them, or leave it open.

An objective is kept where the whole confidence interval of its figure is on the right side of the limit, broken where
the whole interval is on the other; else the replications are too few to tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sim.experiments.measures import Measures
from sim.replication.summaries import CONFIDENCE, Interval
from traces.errors import InputError
from traces.statistics.summary import QUANTILES

Verdict = Literal["pass", "fail", "unsure"]

LATENCIES = ("mean", *QUANTILES, "max")
"""Figures of latency that may have an objective."""
UTILIZATION, THROUGHPUT = "utilization", "throughput"


@dataclass(frozen=True)
class Judgement:
    """A figure beside its objective.

    Attributes:
        value, low, high: the figure and its interval, in the unit of the objective's limit; NaN where it has none.
    """

    verdict: Verdict
    value: float
    low: float
    high: float

    @property
    def interval(self) -> Interval:
        """The figure and its interval."""
        return Interval(self.value, self.low, self.high)


@dataclass(frozen=True)
class Slo:
    """An objective.

    Attributes:
        text: as it was written.
        subject: the operation; of a utilisation the stations' role, or None for all.
        figure: a name of `LATENCIES` (limit in seconds), ``throughput_ops`` (a second), ``throughput_bytes`` (a
            second), ``errors`` (share of the requests) or ``utilization`` (share of the servers).
        limit: what it must be below, of a throughput above.
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

    def verdict(self, low: float, high: float) -> Verdict:
        """What an interval of the figure says; NaN says nothing."""
        if self.above:
            return "pass" if low > self.limit else "fail" if high <= self.limit else "unsure"
        return "pass" if high < self.limit else "fail" if low >= self.limit else "unsure"

    def judge(self, measures: Measures, confidence: float = CONFIDENCE) -> Judgement:
        """Whether replications keep the objective; of an operation that nobody asked for they do not tell.

        Raises:
            InputError: no station with limited servers has the role.
        """
        if self.figure == UTILIZATION:
            found = self._utilization(measures, confidence)
        else:
            assert self.subject is not None
            found = measures.interval(self.subject, self.figure, confidence)
        return Judgement(self.verdict(found.low, found.high), found.value, found.low, found.high)

    def _utilization(self, measures: Measures, confidence: float) -> Interval:
        if self.subject is not None and self.subject not in measures.roles:
            raise InputError(
                f"slo {self.text}: no station is a {self.subject!r}; there are {', '.join(measures.roles)}"
            )
        roles = measures.roles if self.subject is None else [self.subject]
        intervals = [measures.roles[role].interval(confidence) for role in roles]
        return max(intervals, key=lambda interval: interval.value)


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Of several objectives together: one that is broken breaks them all, one that is open leaves them open."""
    return "fail" if "fail" in verdicts else "unsure" if "unsure" in verdicts else "pass"
