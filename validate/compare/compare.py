"""Comparison of two Runs by quantile, with confidence intervals and a verdict for a tolerance.

Side B is the reference (the measurement, if A is a forecast). Ratios are A / B, so a positive log-ratio means that A is
greater; the Wasserstein distance is in units of B's mean.

Intervals come from a block bootstrap in time order (`statistics.bootstrap`); the two sides are resampled independently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from traces.errors import InputError
from traces.run import Run
from traces.statistics.bootstrap import Resamples, interval, resample
from traces.statistics.summary import (
    NO_REQUESTS,
    QUANTILES,
    Floats,
    in_order,
    latencies,
    ops_of,
    quantiles,
    subjects_of,
    summarise,
)

COMPARED = ("p50", "p90", "p95", "p99", "p99_9")
"""The quantiles to compare, if both sides have enough samples."""

DECISIVE = ("throughput_ops", "p50", "p99", "w1")
"""The measures that decide the verdict."""

_BEYOND = 10  # minimum number of samples beyond a compared quantile
_LEAST = 1e-12  # lower bound of values, so that every logarithm is finite


@dataclass(frozen=True)
class Measure:
    """A figure of both Runs, the logarithm of A / B, and its confidence interval."""

    a: float
    b: float
    log_ratio: float
    interval: tuple[float, float]

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return {"a": self.a, "b": self.b, "log_ratio": self.log_ratio, "interval": list(self.interval)}


@dataclass(frozen=True)
class Distances:
    """Distances between the latency distributions.

    Attributes:
        ks: the Kolmogorov-Smirnov distance.
        w1: the Wasserstein-1 distance over the mean of B.
        w1_interval: interval of `w1`, by the triangle inequality from the distances of resamples to their sample.
    """

    ks: float
    w1: float
    w1_interval: tuple[float, float]

    def to_json(self) -> dict[str, object]:
        """Return the distances by name."""
        return {"ks": self.ks, "w1": {"value": self.w1, "interval": list(self.w1_interval)}}


@dataclass(frozen=True)
class OpComparison:
    """The comparison of one operation.

    Attributes:
        counts, errors: number of requests and of failed requests of A and B.
        measures: by name: ``throughput_ops``, then ``mean`` and quantiles of the latency. A quantile is included when
            at least 10 successful requests of each side lie beyond it; empty if a side has no successful request.
        distances: None if a side has no successful request.
        differs_in, unsure_of: the measures that differ and those that are unsure (`DECISIVE`, or ``count``).
    """

    counts: tuple[int, int]
    errors: tuple[int, int]
    measures: Mapping[str, Measure]
    distances: Distances | None
    differs_in: tuple[str, ...]
    unsure_of: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """``agree`` or ``differ``."""
        return "differ" if self.differs_in else "agree"

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values; no measures or distances if a side has no successful request."""
        result: dict[str, object] = {
            "count": dict(zip("ab", self.counts, strict=True)),
            "errors": dict(zip("ab", self.errors, strict=True)),
        }
        if self.distances is not None:
            measures = {name: measure.to_json() for name, measure in self.measures.items()}
            result["throughput_ops"] = measures.pop("throughput_ops")
            result |= {"latency_s": measures, **self.distances.to_json()}
        named = {"differs_in": list(self.differs_in), "unsure_of": list(self.unsure_of)}
        return result | {"verdict": self.verdict, **named}


@dataclass(frozen=True)
class Comparison:
    """The comparison of two Runs, with B as the reference; `ops` is in the order of `OPS`."""

    tolerance: float
    confidence: float
    ops: Mapping[str, OpComparison]

    @property
    def verdict(self) -> str:
        """``differ`` if an operation differs, else ``agree``."""
        return "differ" if any(result.differs_in for result in self.ops.values()) else "agree"

    def to_json(self) -> dict[str, object]:
        """Return the fields, those of each operation, and the verdict as JSON values."""
        return {
            "reference": "b",
            "tolerance": self.tolerance,
            "confidence": self.confidence,
            "ops": {op: result.to_json() for op, result in self.ops.items()},
            "verdict": self.verdict,
        }


def compare(
    a: Run,
    b: Run,
    *,
    tolerance: float = 0.15,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Callable[[float], None] = lambda done: None,
) -> Comparison:
    """Compare two Runs by operation; B is the reference.

    A measure of `DECISIVE` is within tolerance if |ln(A / B)| <= ln(1 + tolerance), and `w1` if it is at most the
    tolerance. It *differs* if its value and its whole confidence interval are beyond the tolerance, so noise alone
    never makes a difference. It is *unsure* if its interval contains the limit, because requests are too few or too
    irregular. An operation differs if a measure differs, or
    if only one side has (successful) requests of it; the Runs differ if an operation differs. Groups of clients are
    compared if both Runs have them. `progress` is called with the fraction done.

    Raises:
        InputError: neither Run has a request, or tolerance or confidence is out of range.
    """
    if not tolerance > 0:
        raise InputError(f"tolerance is {tolerance}; it must be above 0")
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; it must be between 0 and 1")
    found = subjects_of if a.groups and b.groups else ops_of
    present = in_order([*found(a), *found(b)])
    if not present:
        raise InputError("neither Run has a request: there is nothing to compare")
    ops: dict[str, OpComparison] = {}
    for op in present:

        def advance(done: float, before: int = len(ops)) -> None:
            progress((before + done) / len(present))

        ops[op] = _compare_op(op, a, b, tolerance, confidence, seed, advance)
    return Comparison(tolerance, confidence, ops)


def _compare_op(
    op: str, a: Run, b: Run, tolerance: float, confidence: float, seed: int, progress: Callable[[float], None]
) -> OpComparison:
    figures = [summarise(run)["ops"].get(op, NO_REQUESTS) for run in (a, b)]
    counts, errors = (figures[0]["count"], figures[1]["count"]), (figures[0]["errors"], figures[1]["errors"])
    done = [count - failed for count, failed in zip(counts, errors, strict=True)]
    if not all(done):
        return OpComparison(counts, errors, {}, None, ("count",) if any(done) or not all(counts) else (), ())
    names = comparable_quantiles(min(done))
    noise = [
        resample(a, op, names, seed, f"compare.{op}.a", lambda done: progress(done / 2)),
        resample(b, op, names, seed, f"compare.{op}.b", lambda done: progress((1 + done) / 2)),
    ]
    measures = {
        "throughput_ops": _measure(
            [figure["throughput_ops"] for figure in figures], [side.throughput_ops for side in noise], confidence
        )
    }
    for name in ("mean", *names):
        values, resampled = [f["latency_s"][name] for f in figures], [side.latency_s[name] for side in noise]
        measures[name] = _measure(values, resampled, confidence)
    apart = _distances(latencies(a, op), latencies(b, op), noise, confidence)
    limit = math.log1p(tolerance)
    verdicts = {name: _verdict(measure.log_ratio, measure.interval, limit) for name, measure in measures.items()}
    verdicts["w1"] = _verdict(apart.w1, apart.w1_interval, tolerance)
    differs, unsure = (tuple(n for n in DECISIVE if verdicts.get(n) == word) for word in ("differs", "unsure"))
    return OpComparison(counts, errors, measures, apart, differs, unsure)


def comparable_quantiles(count: int) -> list[str]:
    """Return the quantiles of `COMPARED` beyond which at least 10 of `count` samples lie."""
    return [name for name in COMPARED if count * (1 - QUANTILES[name]) >= _BEYOND - 1e-9]


def distances(a: Floats, b: Floats) -> tuple[float, float]:
    """Return the distances between the distributions of two samples.

    Returns:
        The Kolmogorov-Smirnov distance (the greatest gap between the two CDFs), and the Wasserstein-1 distance (the
        area between them) over the mean of `b`.
    """
    values = np.sort(np.concatenate([a, b]))
    below_a, below_b = (np.searchsorted(np.sort(side), values, side="right") / len(side) for side in (a, b))
    gap = np.abs(below_a - below_b)
    return float(gap.max()), float((gap[:-1] * np.diff(values)).sum()) / max(float(b.mean()), _LEAST)


def _verdict(value: float, between: tuple[float, float], limit: float) -> str:
    low, high = between
    if abs(value) > limit and (low > limit or high < -limit):
        return "differs"
    return "within" if -limit <= low and high <= limit else "unsure"


def _measure(values: list[float], resampled: list[Floats], confidence: float) -> Measure:
    low, high = interval(_log(resampled[0]) - _log(resampled[1]), confidence)
    return Measure(values[0], values[1], float(_log(values[0]) - _log(values[1])), (low, high))


def _distances(a: Floats, b: Floats, noise: list[Resamples], confidence: float) -> Distances:
    ks, w1 = distances(a, b)
    error = float(quantiles(noise[0].distance_s + noise[1].distance_s, confidence)) / max(float(b.mean()), _LEAST)
    return Distances(ks, w1, (max(0.0, w1 - error), w1 + error))


def _log(values: Any) -> Any:
    return np.log(np.fmax(values, _LEAST))
