"""Results as tables of numbers, for programs: times in s, sizes in bytes, rates per second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from sim.experiments.failure_result import Failures, FailureWindow
from sim.experiments.find.find_best import Best
from sim.experiments.find.find_limit import FoundLimit
from sim.experiments.whatif import OpFigures
from sim.forecast import Forecast
from sim.replication.summaries import Interval, OpIntervals
from validate.calibration.profile import Profile
from validate.compare.compare import Comparison

Row = dict[str, Any]


def forecast_table(found: Forecast) -> pa.Table:
    """Return a row for each operation: its figures, with intervals if there are several replications."""
    rows = []
    for op, of_op in found.summary.ops.items():
        row: Row = {"op": op, "count": of_op.count, "errors": of_op.errors}
        rates = {"throughput_ops": of_op.throughput_ops, "throughput_bytes": of_op.throughput_bytes}
        rows.append(row | _intervals(rates | _latencies(of_op.latency_s), bool(found.run is None)))
    return pa.Table.from_pylist(rows)


def limit_table(found: FoundLimit) -> pa.Table:
    """Return a row for each value tried and operation; a value that cannot be simulated has one row without it."""
    simulated = {trial.value: trial for trial in found.simulated}
    rows: list[Row] = []
    for trial in found.trials:
        row: Row = {"value": trial.value, "meets": trial.meets, "sure": trial.sure}
        of_ops = simulated[trial.value].ops if trial.value in simulated else {}
        rows += [row | each for each in _of_ops(of_ops)] or [row]
    return pa.Table.from_pylist(rows)


def best_table(found: Best) -> pa.Table:
    """Return a row for each value tried and operation."""
    rows = [
        {"value": trial.value, "extra_load": trial.extra_load, "allowed": trial.allowed} | each
        for trial in found.trials
        for each in _of_ops(trial.ops)
    ]
    return pa.Table.from_pylist(rows)


def failures_table(found: Failures) -> pa.Table:
    """Return a row for each failure, window and operation, with the same figures of the healthy store."""
    rows = [
        {"failure": effect.failure, "window": name, "start_s": window.start_s, "end_s": window.end_s} | row
        for effect in found.failures
        for name, window in effect.windows.items()
        for row in _of_window(window)
    ]
    return pa.Table.from_pylist(rows)


def comparison_table(found: Comparison) -> pa.Table:
    """Return a row for each operation and measure: A, B, the logarithm of A / B and its interval."""
    rows = [
        {"op": op, "measure": name, "a": measure.a, "b": measure.b, "log_ratio": measure.log_ratio}
        | {"log_ratio_low": measure.interval[0], "log_ratio_high": measure.interval[1]}
        | {"differs": name in of_op.differs_in}
        for op, of_op in found.ops.items()
        for name, measure in of_op.measures.items()
    ]
    return pa.Table.from_pylist(rows)


def profile_table(profile: Profile) -> pa.Table:
    """Return a row for each fitted parameter, in the unit of its field."""
    fields = ("value", "low", "high", "identified", "guess")
    rows = [
        {"parameter": path} | {name: getattr(estimate, name) for name in fields}
        for path, estimate in profile.parameters.items()
    ]
    return pa.Table.from_pylist(rows)


def _of_ops(ops: Mapping[str, OpIntervals]) -> Iterator[Row]:
    for op, found in ops.items():
        rates = {"throughput_ops": found.throughput_ops, "throughput_bytes": found.throughput_bytes}
        yield {"op": op} | _intervals(rates | _latencies(found.latency_s))


def _latencies(latency_s: Mapping[str, Interval]) -> dict[str, Interval]:
    return {f"latency_{name}_s": figure for name, figure in latency_s.items()}


def _intervals(figures: Mapping[str, Interval], bounded: bool = True) -> Row:
    values: Row = {name: figure.value for name, figure in figures.items()}
    if bounded:
        values |= {f"{name}_low": figure.low for name, figure in figures.items()}
        values |= {f"{name}_high": figure.high for name, figure in figures.items()}
    return values


def _of_window(window: FailureWindow) -> Iterator[Row]:
    for op, figures in window.ops.items():
        healthy = window.healthy.ops.get(op)
        row = {"op": op} | _figures(figures)
        yield row | ({} if healthy is None else {f"healthy_{name}": v for name, v in _figures(healthy).items()})


def _figures(figures: OpFigures) -> Row:
    row: Row = {"count": figures.count, "errors": figures.errors, "throughput_ops": figures.throughput_ops}
    return row | {f"latency_{name}_s": value for name, value in figures.latency_s.items()}
