"""Independent replications: how sure a simulated figure is, and how sure the difference of two variants is.

Requests of one run meet the same queues, so one run says little of its own error. Replications are whole runs with
random numbers of their own; their figures are independent, and their spread is that error.

A figure's estimate is made from the samples of all replications merged; quantiles are never averaged, since a
replication's own is biased and an average keeps that bias however many there are. Its interval is

    estimate ± (t s / √n + |mean of the replications' own figures - estimate|)

with s their standard deviation and Student's t of n - 1 degrees of freedom. The first term is the classic interval of
independent replications (Law, "Simulation Modeling and Analysis", 5th ed. 2015, section 9.4), set around the merged
estimate as in sectioning (Asmussen and Glynn, "Stochastic Simulation", 2007, section III.5). The second is how biased a
single replication is, more than the bias that merging leaves: none for the mean of equally long replications, small
beside the first for a quantile with many requests beyond it, and large where replications are too short for the
quantile. There, it keeps the interval honest: of p99.9 of M/M/1 at 80 % load, from 20 replications of 4000 requests,
the 95 % interval covers the truth in 91 % of experiments with it, in 43 % without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from traces.errors import InputError
from traces.run import Run
from traces.statistics.summary import QUANTILES, Floats, describe, pooled, summarise
from traces.tables import OPS

RATES = ("throughput_ops", "throughput_bytes")
FIGURES = (*RATES, "mean", *QUANTILES)
"""The figures of an operation that have an interval; least and greatest latency have none."""

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Figure:
    """One figure of several replications.

    Attributes:
        value: the estimate.
        each: the figure of each replication, shape (replications,); NaN where it has none.
    """

    value: float
    each: Floats

    def half_width(self, confidence: float = CONFIDENCE) -> float:
        """Half the width of the confidence interval; infinite where fewer than two replications have the figure."""
        known = self.each[~np.isnan(self.each)]
        n = len(known)
        if n < 2:
            return math.inf
        t = float(scipy.stats.t.ppf((1 + confidence) / 2, n - 1))
        return t * float(known.std(ddof=1)) / math.sqrt(n) + abs(float(known.mean()) - self.value)

    def relative_half_width(self, confidence: float = CONFIDENCE) -> float:
        """`half_width` over the value; infinite where there is no saying."""
        half = self.half_width(confidence)
        if half == 0:
            return 0.0
        return half / abs(self.value) if self.value and math.isfinite(half) else math.inf

    def interval(self, confidence: float = CONFIDENCE) -> dict[str, float]:
        """``{"value", "low", "high"}``."""
        half = self.half_width(confidence)
        return {"value": self.value, "low": self.value - half, "high": self.value + half}

    def __sub__(self, other: Figure) -> Figure:
        """The differences, replication by replication; both have equally many."""
        return Figure(self.value - other.value, self.each - other.each)


@dataclass(frozen=True)
class Replication:
    """What is kept of a run: its figures and its latencies, not its requests.

    Attributes:
        summary: as `summarise` makes it.
        latency_s: of the successful requests, by operation, in order of arrival.
        stations: rows of the Run's stations; none where it has no stations.
        info: the Run's.
        attempts: the mean of its requests; NaN where there are none.
    """

    seed: int
    summary: dict[str, Any]
    latency_s: dict[str, Floats]
    stations: list[dict[str, Any]]
    info: dict[str, Any]
    attempts: float

    @staticmethod
    def of(run: Run, seed: int) -> Replication:
        """What is kept of the Run that `seed` gave."""
        stations = [] if run.stations is None else run.stations.to_pylist()
        attempts = float(run.column("attempts").mean()) if len(run) else math.nan
        return Replication(seed, summarise(run), pooled([run]), stations, run.info, attempts)


@dataclass(frozen=True)
class Replications:
    """Runs of one model that differ in their seeds alone."""

    runs: tuple[Replication, ...]

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed of each replication."""
        return tuple(run.seed for run in self.runs)

    @cached_property
    def figures(self) -> dict[str, dict[str, Figure]]:
        """The figures of each operation that occurs, by the names of `FIGURES`, ``min`` and ``max``."""
        return {op: self._figures_of(op) for op in OPS if any(op in run.summary["ops"] for run in self.runs)}

    def _figures_of(self, op: str) -> dict[str, Figure]:
        summaries = [run.summary["ops"].get(op, _ABSENT) for run in self.runs]
        merged = describe(np.concatenate([run.latency_s[op] for run in self.runs if op in run.latency_s]))
        rates = {name: _mean([s[name] for s in summaries]) for name in RATES}
        own = {name: np.array([s["latency_s"].get(name, math.nan) for s in summaries]) for name in merged}
        # However many replications, the least and the greatest of all time may lie beyond: they have no interval.
        own |= {name: np.full(len(self), math.nan) for name in ("min", "max")}
        return rates | {name: Figure(merged[name], own[name]) for name in merged}

    def summary(self, confidence: float = CONFIDENCE) -> dict[str, Any]:
        """The figures of all replications with their confidence intervals; shaped as `summarise` shapes those of a Run.

        Returns:
            ``{"replications", "confidence", "ops": {"GET": {"count", "errors", "left_out", "throughput_ops",
            "throughput_bytes", "latency_s": {"mean", "min", "p25", …, "max"}}, …}, "duration_s", "stations": [{"name",
            "role", "utilization", "mean_queue"}, …]}``. `count` and `errors` are totals of all replications, and so is
            `left_out`, the requests of the warm-up. Every other figure is ``{"value", "low", "high"}``: latencies are
            those of all samples merged; throughput, duration and stations are means over the replications. Bounds are
            infinite where there are none: with one replication, and of the least and the greatest latency.
        """
        return {
            "replications": len(self),
            "confidence": confidence,
            "ops": {op: self._counts(op) | _intervals(figures, confidence) for op, figures in self.figures.items()},
            "duration_s": _mean([run.summary["duration_s"] for run in self.runs]).interval(confidence),
            "stations": [self._station(row, confidence) for row in self.runs[0].stations],
        }

    def _counts(self, op: str) -> dict[str, int]:
        summaries = [run.summary["ops"][op] for run in self.runs if op in run.summary["ops"]]
        warm_ups = [run.info.get("warm_up", {}).get(op) for run in self.runs]
        return {
            "count": sum(s["count"] for s in summaries),
            "errors": sum(s["errors"] for s in summaries),
            "left_out": sum(w["requests"] for w in warm_ups if w),
        }

    def _station(self, first: dict[str, Any], confidence: float) -> dict[str, Any]:
        rows = [row for run in self.runs for row in run.stations if row["name"] == first["name"]]
        named = {"name": first["name"], "role": first["role"]}
        return named | {f: _mean([r[f] for r in rows]).interval(confidence) for f in ("utilization", "mean_queue")}


_ABSENT: dict[str, Any] = dict.fromkeys(RATES, math.nan) | {"latency_s": {}}


def _mean(each: list[float]) -> Figure:
    known = [value for value in each if not math.isnan(value)]
    return Figure(math.fsum(known) / len(known) if known else math.nan, np.array(each))


def _intervals(figures: dict[str, Figure], confidence: float) -> dict[str, Any]:
    """The figures of an operation with their intervals, in the shape of a summary."""
    known = {name: figure.interval(confidence) for name, figure in figures.items()}
    return {name: known.pop(name) for name in RATES} | {"latency_s": known}


def paired(a: Replications, b: Replications, confidence: float = CONFIDENCE) -> dict[str, Any]:
    """By how much variant `b` is above variant `a`, by common random numbers.

    Replication i of both has one seed, so both had the same requests and the same draws of service times. What luck
    did to both cancels in the difference, whose interval is then much narrower than those of the two say. Where one has
    more replications, they count as far as both go.

    Returns:
        ``{"replications", "confidence", "ops": {"GET": {"throughput_ops", "throughput_bytes", "latency_s": {"mean",
        …}}, …}}``, each figure ``{"value", "low", "high"}`` of b minus a; operations that only one has are absent.

    Raises:
        InputError: the two were made with different seeds.
    """
    count = min(len(a), len(b))
    a, b = Replications(a.runs[:count]), Replications(b.runs[:count])
    if a.seeds != b.seeds:
        raise InputError("the replications of the two variants have different seeds; pairs need one seed for both")
    differences = {
        op: {name: figure - a.figures[op][name] for name, figure in figures.items()}
        for op, figures in b.figures.items()
        if op in a.figures
    }
    ops = {op: _intervals(figures, confidence) for op, figures in differences.items()}
    return {"replications": count, "confidence": confidence, "ops": ops}
