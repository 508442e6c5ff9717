"""Two Runs held against each other: quantile by quantile, with intervals, and a verdict against a tolerance.

Side B is the reference (the measurement, where the other is a forecast): ratios are A / B, so a positive log-ratio
says that A is greater, and the Wasserstein distance is in units of B's mean.

Intervals come from a block bootstrap over time order (`statistics.bootstrap`), the two sides resampled independently.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from traces.errors import InputError
from traces.run import Run
from traces.statistics.bootstrap import Resamples, interval, resample
from traces.statistics.summary import QUANTILES, Floats, latencies, ops_of, quantiles, summarise
from traces.tables import OPS

COMPARED = ("p50", "p90", "p95", "p99", "p99_9")
"""The quantiles that are compared, where both sides have enough samples for them."""

JUDGED = ("throughput_ops", "p50", "p99", "w1")
"""The measures that the verdict is made of."""

_BEYOND = 10  # samples that must lie beyond a quantile before it is compared
_LEAST = 1e-12  # anything less counts as this, so that every logarithm is finite


def compare(
    a: Run,
    b: Run,
    *,
    tolerance: float = 0.15,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Callable[[float], None] = lambda done: None,
) -> dict[str, Any]:
    """Compare two Runs, operation by operation; B is the reference.

    A judged measure (`JUDGED`) is within tolerance when |ln(A / B)| <= ln(1 + tolerance), or for `w1` when it is at
    most the tolerance. It *differs* when its value and its whole confidence interval are beyond tolerance: noise
    alone never makes a difference. It is *unsure* when its interval reaches both sides of the limit: too few
    requests, or too irregular ones, to tell. An operation differs when a measure does, or when only one side has
    (successful) requests of it; the Runs differ when an operation does. `progress` is told the share done.

    Returns:
        ``{"reference": "b", "tolerance", "confidence", "ops": {OP: …}, "verdict": "agree" | "differ"}``, and for each
        operation ``{"count": {"a", "b"}, "errors": {"a", "b"}, "throughput_ops": M, "latency_s": {"mean": M, "p50": M,
        …}, "ks", "w1": {"value", "interval"}, "verdict", "differs_in": […], "unsure_of": […]}`` where M is ``{"a",
        "b", "log_ratio", "interval": [low, high]}``, the interval that of the log-ratio. A quantile is there when at
        least 10 successful requests of either side lie beyond it; the distances and M are absent where a side has none.
        `ks` is the Kolmogorov-Smirnov distance; `w1` the Wasserstein-1 distance over the mean of B, with an interval
        by the triangle inequality from the distances of resamples to their sample.

    Raises:
        InputError: neither Run has a request, or tolerance or confidence is out of range.
    """
    if not tolerance > 0:
        raise InputError(f"tolerance is {tolerance}; it must be above 0")
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; it must be between 0 and 1")
    present = set(ops_of(a)) | set(ops_of(b))
    if not present:
        raise InputError("neither Run has a request: there is nothing to compare")
    ops: dict[str, dict[str, Any]] = {}
    for op in (op for op in OPS if op in present):

        def advance(done: float, before: int = len(ops)) -> None:
            progress((before + done) / len(present))

        ops[op] = _compare_op(op, a, b, tolerance, confidence, seed, advance)
    differ = any(result["verdict"] == "differ" for result in ops.values())
    return {
        "reference": "b",
        "tolerance": tolerance,
        "confidence": confidence,
        "ops": ops,
        "verdict": "differ" if differ else "agree",
    }


def _compare_op(
    op: str, a: Run, b: Run, tolerance: float, confidence: float, seed: int, progress: Callable[[float], None]
) -> dict[str, Any]:
    figures = [summarise(run)["ops"].get(op, {"count": 0, "errors": 0}) for run in (a, b)]
    result: dict[str, Any] = {key: {"a": figures[0][key], "b": figures[1][key]} for key in ("count", "errors")}
    done = [figure["count"] - figure["errors"] for figure in figures]
    if not all(done):
        differs = ["count"] if any(done) or not all(figure["count"] for figure in figures) else []
        return result | {"verdict": "differ" if differs else "agree", "differs_in": differs, "unsure_of": []}
    names = told_quantiles(min(done))
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
    distance = _distance(latencies(a, op), latencies(b, op), noise, confidence)
    limit = math.log1p(tolerance)
    judged = {name: _judge(measures[name]["log_ratio"], measures[name]["interval"], limit) for name in measures}
    judged["w1"] = _judge(distance["w1"]["value"], distance["w1"]["interval"], tolerance)
    differs = [name for name in JUDGED if judged.get(name) == "differs"]
    return {
        **result,
        "throughput_ops": measures.pop("throughput_ops"),
        "latency_s": measures,
        **distance,
        "verdict": "differ" if differs else "agree",
        "differs_in": differs,
        "unsure_of": [name for name in JUDGED if judged.get(name) == "unsure"],
    }


def told_quantiles(count: int) -> list[str]:
    """Those of `COMPARED` that so many samples tell: at least 10 of them lie beyond."""
    return [name for name in COMPARED if count * (1 - QUANTILES[name]) >= _BEYOND - 1e-9]


def distances(a: Floats, b: Floats) -> tuple[float, float]:
    """How far two samples' distributions are apart.

    Returns:
        the Kolmogorov-Smirnov distance, which is the greatest gap between the two CDFs, and the Wasserstein-1
        distance, which is the area between them, over the mean of `b`.
    """
    values = np.sort(np.concatenate([a, b]))
    below_a, below_b = (np.searchsorted(np.sort(side), values, side="right") / len(side) for side in (a, b))
    gap = np.abs(below_a - below_b)
    return float(gap.max()), float((gap[:-1] * np.diff(values)).sum()) / max(float(b.mean()), _LEAST)


def _judge(value: float, between: list[float], limit: float) -> str:
    low, high = between
    if abs(value) > limit and (low > limit or high < -limit):
        return "differs"
    return "within" if -limit <= low and high <= limit else "unsure"


def _measure(values: list[float], resampled: list[Floats], confidence: float) -> dict[str, Any]:
    between = interval(_log(resampled[0]) - _log(resampled[1]), confidence)
    log_ratio = float(_log(values[0]) - _log(values[1]))
    return {"a": values[0], "b": values[1], "log_ratio": log_ratio, "interval": between}


def _distance(a: Floats, b: Floats, noise: list[Resamples], confidence: float) -> dict[str, Any]:
    """The distances with the interval of Wasserstein-1."""
    ks, w1 = distances(a, b)
    error = float(quantiles(noise[0].distance_s + noise[1].distance_s, confidence)) / max(float(b.mean()), _LEAST)
    return {"ks": ks, "w1": {"value": w1, "interval": [max(0.0, w1 - error), w1 + error]}}


def _log(values: Any) -> Any:
    return np.log(np.fmax(values, _LEAST))
