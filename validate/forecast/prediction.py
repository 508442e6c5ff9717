"""One cell: what a model says of it beside what was measured, and its repetitions beside each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from models.store import Spec
from sim.replication.replicate import seed_of
from sim.replication.summaries import CONFIDENCE, Figure, Replication, Replications
from sim.simulate import simulate
from traces.run import Run
from traces.statistics.bootstrap import interval, resample
from traces.statistics.summary import Floats, latencies, ops_of, quantiles, summarise
from traces.tables import OPS
from validate.compare.compare import distances, told_quantiles
from validate.forecast.configurations import asked_trace
from validate.replay.recorded_policies import as_recorded, recorded_policies

QUANTILES = ("p50", "p90", "p99")
"""The quantiles that are predicted."""

_LEAST = 1e-12  # anything less counts as this, so that every logarithm is finite


def predict(spec: Spec, folders: Sequence[Path], seeds: int, seed: int) -> dict[str, Any]:
    """Predict a cell, and hold its Runs against the prediction and against each other.

    Each simulation takes the trace of one of the Runs in turn and a seed of its own, and its clients do what those of
    the Runs did about late and failed answers, where the Runs say so. Both sides' samples are merged; no quantile is
    averaged.

    Args:
        spec: the store; its workload does not count, nor do its clients' policies where the Runs have their own.
        folders: usable Runs of one cell.
        seeds: how many simulations, at least 2.
        seed: from which those of the simulations are made.

    Returns:
        ``{"ops": {OP: …}, "repetitions": […]}``. Of an operation ``{"count": {"predicted", "measured"}, "errors":
        {…}, "throughput_ops": M, "latency_s": {"p50": M, "p90": M, "p99": M}, "w1": {"error", "interval"}, "ks":
        {"error"}}``; counts are totals of all Runs and of all simulations. M is ``{"predicted", "measured",
        "log_ratio", "interval", "error"}``: the logarithm of predicted / measured with its interval, and by what
        share the greater is above the lesser. Its interval is of what chance leaves open on both sides: between
        simulations, and within the Runs (a block bootstrap); how far one Run is from the next is not in it. A quantile
        is there where 10 measured requests lie beyond it; with no successful request on one side there is neither
        quantile nor distance. `repetitions` has for each pair of Runs each operation's `pair_errors`.

    Raises:
        InputError: a Run cannot be read or has policies that no client has, or the spec cannot serve it.
    """
    runs = [Run.read(folder) for folder in folders]
    traces = [asked_trace(run) for run in runs]
    spec = as_recorded(spec, recorded_policies(runs[0], str(folders[0])))
    forecast = Replications(tuple(
        Replication.of(simulate(spec, traces[i % len(traces)], seed=seed_of(seed, i)), seed_of(seed, i))
        for i in range(seeds)
    ))  # fmt: skip
    measured = end_to_end(runs)
    return {
        "ops": {op: _predicted(op, forecast, measured, seed) for op in ops_of(measured)},
        "repetitions": [pair_errors(a, b) for a, b in combinations(runs, 2)],
    }


def end_to_end(runs: Sequence[Run]) -> Run:
    """Several Runs as if they were one: the times in which each was asked an operation follow one another.

    It is for statistics by operation: times of different operations no longer belong together.
    """
    end_s = np.zeros(len(OPS))
    tables = []
    for run in runs:
        shift_s = np.zeros(len(OPS))
        for op in np.unique(run.op):
            mine = run.op == op
            begin_s = run.column("arrival_s")[mine].min()
            shift_s[op] = end_s[op] - begin_s
            end_s[op] += run.column("end_s")[mine].max() - begin_s
        table, shift = run.requests, pa.array(shift_s[run.op])
        for name in ("arrival_s", "start_s", "first_byte_s", "end_s"):
            at = table.schema.get_field_index(name)
            table = table.set_column(at, table.schema.field(at), pc.add(table.column(name), shift))
        tables.append(table)
    merged = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    return replace(runs[0], requests=merged, stations=None, critical_path=None, trace=None)


def pair_errors(a: Run, b: Run) -> dict[str, dict[str, float]]:
    """How far two Runs are apart, by operation that succeeded in both.

    Returns:
        ``{OP: {"throughput_ops", "p50", "p90", "p99", "w1", "ks"}}`` as errors; a quantile is there where both tell it.
    """
    ops_a, ops_b = summarise(a)["ops"], summarise(b)["ops"]
    errors = {}
    for op in (op for op in ops_a if op in ops_b):
        samples = latencies(a, op), latencies(b, op)
        if not all(map(len, samples)):
            continue
        told = _told(min(map(len, samples)))
        latency = {name: _log_ratio(ops_a[op]["latency_s"][name], ops_b[op]["latency_s"][name]) for name in told}
        ratios = {"throughput_ops": _log_ratio(ops_a[op]["throughput_ops"], ops_b[op]["throughput_ops"])} | latency
        ks, w1 = distances(*samples)
        errors[op] = {name: _error(log_ratio) for name, log_ratio in ratios.items()} | {"w1": w1, "ks": ks}
    return errors


def _predicted(op: str, forecast: Replications, measured: Run, seed: int) -> dict[str, Any]:
    figures, samples = forecast.figures.get(op), latencies(measured, op)
    summary = summarise(measured)["ops"][op]
    counts = [run.summary["ops"].get(op, {"count": 0, "errors": 0}) for run in forecast.runs]
    result: dict[str, Any] = {
        name: {"predicted": sum(c[name] for c in counts), "measured": summary[name]} for name in ("count", "errors")
    }
    if not len(samples):
        return result
    noise = resample(measured, op, told := _told(len(samples)), seed, f"validate.{op}")
    throughput = figures["throughput_ops"] if figures else Figure(0.0, np.zeros(len(forecast)))
    result["throughput_ops"] = _ratio(throughput, summary["throughput_ops"], noise.throughput_ops)
    parts = [run.latency_s[op] for run in forecast.runs if len(run.latency_s.get(op, ()))]
    if figures is None or not parts:
        return result
    result["latency_s"] = {
        name: _ratio(figures[name], summary["latency_s"][name], noise.latency_s[name]) for name in told
    }
    return result | _distances(parts, samples, noise.distance_s)


def _told(count: int) -> list[str]:
    return [name for name in told_quantiles(count) if name in QUANTILES]


def _ratio(figure: Figure, measured: float, resampled: Floats) -> dict[str, Any]:
    log_ratio, half = _log_ratio(figure.value, measured), figure.relative_half_width()
    low, high = (_log_ratio(bound, measured) for bound in interval(resampled, CONFIDENCE))
    return {
        "predicted": figure.value,
        "measured": measured,
        "log_ratio": log_ratio,
        "interval": [log_ratio - math.hypot(half, max(high, 0.0)), log_ratio + math.hypot(half, max(-low, 0.0))],
        "error": _error(log_ratio),
    }


def _distances(parts: Sequence[Floats], measured: Floats, resampled_s: Floats) -> dict[str, Any]:
    """The distances of all simulations merged to the measured samples; the interval by the triangle inequality."""
    predicted = np.concatenate(parts)
    ks, w1 = distances(predicted, measured)
    # Of n simulations, one is sqrt(n - 1) times as far from all as all are from the truth.
    own = float(np.mean([distances(part, predicted)[1] for part in parts])) / math.sqrt(max(len(parts) - 1, 1))
    mean_s = max(float(measured.mean()), _LEAST)
    wide = own * float(predicted.mean()) / mean_s + float(quantiles(resampled_s, CONFIDENCE)) / mean_s
    return {"w1": {"error": w1, "interval": [max(0.0, w1 - wide), w1 + wide]}, "ks": {"error": ks}}


def _log_ratio(a: float, b: float) -> float:
    return math.log(max(a, _LEAST)) - math.log(max(b, _LEAST))


def _error(log_ratio: float) -> float:
    """By what share the greater is above the lesser."""
    return math.expm1(min(abs(log_ratio), 700.0))
