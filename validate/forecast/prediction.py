"""Predictions for one configuration, compared with its measured Runs, and those Runs with each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations

import numpy as np
import pyarrow as pa

from models.store import Spec
from sim.replication.replicate import seed_of
from sim.replication.summaries import CONFIDENCE, Figure, Replication, Replications
from sim.simulate import simulate
from traces.operations import OPS
from traces.run import Run, shifted
from traces.statistics.bootstrap import interval, resample
from traces.statistics.spans import span_s
from traces.statistics.summary import Floats, latencies, ops_of, quantiles, summarise
from validate.compare.compare import comparable_quantiles, distances
from validate.compare.measured import Measured
from validate.replay.recorded_faults import with_faults
from validate.replay.recorded_policies import as_recorded

QUANTILES = ("p50", "p90", "p99")
"""The predicted quantiles."""

_LEAST = 1e-12  # anything less counts as this, so that every logarithm is finite


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """The deviation of a prediction from the measurement in one figure: here a distance of the whole distribution.

    Attributes:
        error: the distance; in a `Ratio`, greater / lesser - 1.
        interval: confidence interval from the noise of both sides; None if unknown.
        repetition_pairs: number of pairs of Runs that give the repeatability; 0: it is that of all configurations.
        repeatability: the error of one measurement with respect to its repetition; None if nothing was repeated.
        verdict: the verdict, if the figure has one.
    """

    error: float
    interval: tuple[float, float] | None = None
    repetition_pairs: int = 0
    repeatability: float | None = None
    verdict: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values; without those that are None, except for the repeatability."""
        verdict = {} if self.verdict is None else {"verdict": self.verdict}
        return {
            **self._own(),
            "repetition_pairs": self.repetition_pairs,
            "repeatability": self.repeatability,
            **verdict,
        }

    def _own(self) -> dict[str, object]:
        return {"error": self.error} | ({} if self.interval is None else {"interval": list(self.interval)})


@dataclass(frozen=True, kw_only=True)
class Ratio(Deviation):
    """A figure that is predicted and measured.

    Attributes:
        log_ratio: logarithm of predicted / measured.
        interval: interval of `log_ratio`, from the variation between simulations and within the Runs (block bootstrap),
            without the variation from one Run to the next.
    """

    predicted: float
    measured: float
    log_ratio: float
    interval: tuple[float, float]

    def _own(self) -> dict[str, object]:
        ratio = {"predicted": self.predicted, "measured": self.measured, "log_ratio": self.log_ratio}
        return {**ratio, "interval": list(self.interval), "error": self.error}


@dataclass(frozen=True)
class Total:
    """A count over all simulations, and over all Runs."""

    predicted: int
    measured: int


@dataclass(frozen=True)
class OpPrediction:
    """The prediction for an operation of a configuration.

    Attributes:
        count, errors: number of requests, and of failed requests.
        ratios: ``throughput_ops``, and the `QUANTILES` beyond which 10 measured requests lie. Empty if no measured
            request succeeded; throughput only if no simulated one did.
        distances: ``w1``, the Wasserstein-1 distance over the measured mean, and ``ks``, the Kolmogorov-Smirnov
            distance; empty if a side has no successful request.
    """

    count: Total
    errors: Total
    ratios: Mapping[str, Ratio]
    distances: Mapping[str, Deviation]

    @property
    def measures(self) -> dict[str, Deviation]:
        """Ratios and distances, by figure."""
        return {**self.ratios, **self.distances}

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values, with the latencies in an object of their own."""
        result: dict[str, object] = {"count": asdict(self.count), "errors": asdict(self.errors)}
        ratios = {figure: ratio.to_json() for figure, ratio in self.ratios.items()}
        if ratios:
            result["throughput_ops"] = ratios.pop("throughput_ops")
        if self.distances:
            result["latency_s"] = ratios
        return result | {figure: distance.to_json() for figure, distance in self.distances.items()}


@dataclass(frozen=True)
class Prediction:
    """The prediction for a configuration, by operation, and the `pair_errors` of each pair of its Runs."""

    ops: Mapping[str, OpPrediction]
    repetitions: Sequence[Mapping[str, Mapping[str, float]]]


def predict(spec: Spec, measured: Sequence[Measured], seeds: int, seed: int) -> Prediction:
    """Predict a configuration, and compare its Runs with the prediction and with each other.

    Each simulation has its own seed and takes the trace of one of the Runs, in turn. Its clients have the recorded
    timeouts, retries and hedging of the Runs, if any, and the store the faults that were staged. The samples of each
    side are merged; quantiles are not averaged.

    Args:
        spec: the store; its workload is ignored, and so are its client policies if the Runs have recorded ones.
        measured: usable Runs of one configuration.
        seeds: number of simulations, at least 2.
        seed: the seed from which those of the simulations are derived.

    Raises:
        InputError: the recorded policies or faults of a Run are invalid, or the spec cannot serve it.
    """
    spec = with_faults(as_recorded(spec, measured[0].policies), measured[0].faults, measured[0].name)
    forecast = Replications(tuple(
        Replication.of(simulate(spec, measured[i % len(measured)].trace, seed=seed_of(seed, i)), seed_of(seed, i))
        for i in range(seeds)
    ))  # fmt: skip
    merged = end_to_end([m.run for m in measured])
    return Prediction(
        {op: _predicted(op, forecast, merged, seed) for op in ops_of(merged)},
        [pair_errors(a.run, b.run) for a, b in combinations(measured, 2)],
    )


def end_to_end(runs: Sequence[Run]) -> Run:
    """Concatenate several Runs into one, in time, separately for each phase.

    The result is for statistics by operation: the times of operations in different phases no longer match.
    """
    spans = [{op: span_s(run, op) for op in ops_of(run)} for run in runs]
    begins_s = {op: own[op][0] for own in reversed(spans) for op in own}
    lasts_s = {op: sum(own[op][1] - own[op][0] for own in spans if op in own) for op in begins_s}
    at_s: dict[str, float] = {}
    phase_s, begin_s, end_s = -math.inf, 0.0, 0.0
    for op in sorted(begins_s, key=lambda op: begins_s[op]):  # the phases follow each other as in the first Run
        if begins_s[op] > phase_s:
            phase_s, begin_s = begins_s[op], end_s
        at_s[op], end_s = begin_s, max(end_s, begin_s + lasts_s[op])
    tables = []
    for run, own in zip(runs, spans, strict=True):
        shift_s = np.zeros(len(OPS))
        for op, (from_s, until_s) in own.items():
            shift_s[OPS.index(op)] = at_s[op] - from_s
            at_s[op] += until_s - from_s
        tables.append(shifted(run.requests, shift_s[run.op]))
    merged = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    return replace(runs[0], requests=merged, stations=None, critical_path=None, trace=None)


def pair_errors(a: Run, b: Run) -> dict[str, dict[str, float]]:
    """Return the errors between two Runs for each operation with successful requests in both.

    Returns:
        ``{OP: {"throughput_ops", "p50", "p90", "p99", "w1", "ks"}}``; quantiles only if both have enough samples.
    """
    ops_a, ops_b = summarise(a)["ops"], summarise(b)["ops"]
    errors = {}
    for op in (op for op in ops_a if op in ops_b):
        samples = latencies(a, op), latencies(b, op)
        if not all(map(len, samples)):
            continue
        names = _predictable(min(map(len, samples)))
        latency = {name: _log_ratio(ops_a[op]["latency_s"][name], ops_b[op]["latency_s"][name]) for name in names}
        ratios = {"throughput_ops": _log_ratio(ops_a[op]["throughput_ops"], ops_b[op]["throughput_ops"])} | latency
        ks, w1 = distances(*samples)
        errors[op] = {name: _error(log_ratio) for name, log_ratio in ratios.items()} | {"w1": w1, "ks": ks}
    return errors


def _predicted(op: str, forecast: Replications, measured: Run, seed: int) -> OpPrediction:
    figures, samples = forecast.figures.get(op), latencies(measured, op)
    summary = summarise(measured)["ops"][op]
    counts = [run.summary["ops"].get(op, {"count": 0, "errors": 0}) for run in forecast.runs]
    count, errors = (Total(sum(c[name] for c in counts), summary[name]) for name in ("count", "errors"))
    if not len(samples):
        return OpPrediction(count, errors, {}, {})
    noise = resample(measured, op, names := _predictable(len(samples)), seed, f"validate.{op}")
    throughput = figures["throughput_ops"] if figures else Figure(0.0, np.zeros(len(forecast)))
    ratios = {"throughput_ops": _ratio(throughput, summary["throughput_ops"], noise.throughput_ops)}
    parts = [run.latency_s[op] for run in forecast.runs if len(run.latency_s.get(op, ()))]
    if figures is None or not parts:
        return OpPrediction(count, errors, ratios, {})
    ratios |= {name: _ratio(figures[name], summary["latency_s"][name], noise.latency_s[name]) for name in names}
    return OpPrediction(count, errors, ratios, _distances(parts, samples, noise.distance_s))


def _predictable(count: int) -> list[str]:
    return [name for name in comparable_quantiles(count) if name in QUANTILES]


def _ratio(figure: Figure, measured: float, resampled: Floats) -> Ratio:
    log_ratio, half = _log_ratio(figure.value, measured), figure.relative_half_width()
    low, high = (_log_ratio(bound, measured) for bound in interval(resampled, CONFIDENCE))
    return Ratio(
        predicted=figure.value,
        measured=measured,
        log_ratio=log_ratio,
        interval=(log_ratio - math.hypot(half, max(high, 0.0)), log_ratio + math.hypot(half, max(-low, 0.0))),
        error=_error(log_ratio),
    )


def _distances(parts: Sequence[Floats], measured: Floats, resampled_s: Floats) -> dict[str, Deviation]:
    """Return the distances of all simulations, merged, to the measured samples; interval by the triangle inequality."""
    predicted = np.concatenate(parts)
    ks, w1 = distances(predicted, measured)
    # The distance of one of n simulations from all is sqrt(n - 1) times that of all from the truth.
    own = float(np.mean([distances(part, predicted)[1] for part in parts])) / math.sqrt(max(len(parts) - 1, 1))
    mean_s = max(float(measured.mean()), _LEAST)
    wide = own * float(predicted.mean()) / mean_s + float(quantiles(resampled_s, CONFIDENCE)) / mean_s
    return {"w1": Deviation(error=w1, interval=(max(0.0, w1 - wide), w1 + wide)), "ks": Deviation(error=ks)}


def _log_ratio(a: float, b: float) -> float:
    return math.log(max(a, _LEAST)) - math.log(max(b, _LEAST))


def _error(log_ratio: float) -> float:
    """Return greater / lesser - 1."""
    return math.expm1(min(abs(log_ratio), 700.0))
