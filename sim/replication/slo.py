"""Service level objectives: what they say, and whether replications keep them, break them, or leave it open.

Written ``GET.p99<50ms``, ``PUT.throughput>500/s`` (or ``>2GB/s``), ``GET.errors<0.1%``, ``drive.utilization<80%`` (of
that role's busiest station) and ``utilization<80%`` (of the busiest of all).

An objective is kept where the whole confidence interval of its figure is on the right side of the limit, broken where
the whole interval is on the other; else the replications are too few to tell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sim.experiments.measures import ERRORS, Measures
from sim.replication.summaries import CONFIDENCE
from traces.errors import InputError
from traces.statistics.summary import QUANTILES
from traces.tables import OPS
from traces.units import parse_bandwidth, parse_rate, parse_seconds

Verdict = Literal["pass", "fail", "unsure"]

LATENCIES = ("mean", *QUANTILES, "max")
"""Figures of latency that may have an objective."""
UTILIZATION, THROUGHPUT = "utilization", "throughput"

_FORM = re.compile(r"\s*(?:([^.<>=]+)\.)?([^<>=]+?)\s*([<>])=?\s*([^<>=]+?)\s*")
_EXAMPLES = "write it like 'GET.p99<50ms', 'PUT.throughput>500/s', 'GET.errors<0.1%' or 'drive.utilization<80%'"


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
        return Judgement(self.verdict(found["low"], found["high"]), **found)

    def _utilization(self, measures: Measures, confidence: float) -> dict[str, float]:
        if self.subject is not None and self.subject not in measures.roles:
            raise InputError(
                f"--slo {self.text}: no station is a {self.subject!r}; there are {_listed(measures.roles)}"
            )
        roles = measures.roles if self.subject is None else [self.subject]
        intervals = [measures.roles[role].interval(confidence) for role in roles]
        return max(intervals, key=lambda interval: interval["value"])


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Of several objectives together: one that is broken breaks them all, one that is open leaves them open."""
    return "fail" if "fail" in verdicts else "unsure" if "unsure" in verdicts else "pass"


def parse_slo(text: str) -> Slo:
    """The objective that a text says; ``<=`` and ``>=`` say the same as ``<`` and ``>``.

    Raises:
        InputError: it says none; what is wrong and what is allowed are named.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise InputError(f"--slo {text}: is no objective; {_EXAMPLES}")
    subject, name, sign, limit = match.groups()
    figure = name.replace(".", "_")
    if figure not in (*LATENCIES, THROUGHPUT, ERRORS, UTILIZATION):
        names = (*(name.replace("_", ".") for name in LATENCIES), THROUGHPUT, ERRORS, UTILIZATION)
        raise InputError(f"--slo {text}: {name!r} is no figure; allowed are {_listed(names)}")
    if (sign == ">") != (figure == THROUGHPUT):
        raise InputError(f"--slo {text}: {name} takes {'>' if figure == THROUGHPUT else '<'}, not {sign}")
    if figure == UTILIZATION:
        return Slo(text, subject, figure, _limit(text, limit, _share))
    if subject not in OPS:
        said = "names no operation" if subject is None else f"{subject!r} is no operation"
        raise InputError(f"--slo {text}: {said}; allowed are {_listed(OPS)}, as in GET.{name}")
    if figure == THROUGHPUT:
        return _throughput(text, subject, limit)
    return Slo(text, subject, figure, _limit(text, limit, _share if figure == ERRORS else parse_seconds))


def _throughput(text: str, op: str, limit: str) -> Slo:
    try:
        return Slo(text, op, "throughput_ops", parse_rate(limit))
    except ValueError:
        return Slo(text, op, "throughput_bytes", _limit(text, limit, _bandwidth))


def _bandwidth(value: str) -> float:
    try:
        return parse_bandwidth(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is no throughput; write it like 500/s or 2GB/s") from error


def _share(value: str) -> float:
    """0.8 of ``80%``, and of ``0.8``."""
    try:
        share = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError as error:
        raise ValueError(f"{value!r} is no share; write it like 80% or 0.8") from error
    if not 0 <= share <= 1:
        raise ValueError(f"{value!r} is no share; 0% to 100% is allowed, and without % 0 to 1")
    return share


def _limit(text: str, value: str, parse: Callable[[str], float]) -> float:
    try:
        limit = parse(value)
    except ValueError as error:
        raise InputError(f"--slo {text}: {error}") from error
    if not math.isfinite(limit):
        raise InputError(f"--slo {text}: {value!r} is not finite")
    return limit


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
