"""Results of experiments as tables of numbers, for programs: times in s, sizes in bytes, rates per second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from cli.tables.numbers import Row, interval_columns, latency_columns
from sim.experiments.failure_result import Failures, FailureWindow
from sim.experiments.find.find_best import Best
from sim.experiments.find.find_limit import FoundLimit
from sim.experiments.whatif import OpFigures
from sim.replication.summaries import OpIntervals


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


def _of_ops(ops: Mapping[str, OpIntervals]) -> Iterator[Row]:
    for op, found in ops.items():
        rates = {"throughput_ops": found.throughput_ops, "throughput_bytes": found.throughput_bytes}
        yield {"op": op} | interval_columns(rates | latency_columns(found.latency_s))


def _of_window(window: FailureWindow) -> Iterator[Row]:
    for op, figures in window.ops.items():
        healthy = window.healthy.ops.get(op)
        row = {"op": op} | _figures(figures)
        yield row | ({} if healthy is None else {f"healthy_{name}": v for name, v in _figures(healthy).items()})


def _figures(figures: OpFigures) -> Row:
    row: Row = {"count": figures.count, "errors": figures.errors, "throughput_ops": figures.throughput_ops}
    return row | {f"latency_{name}_s": value for name, value in figures.latency_s.items()}
