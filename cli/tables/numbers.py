"""Forecasts as tables of numbers, and columns of others, for programs: times in s, sizes in bytes, rates per second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from sim.forecast import Forecast
from sim.replication.summaries import Interval

Row = dict[str, Any]


def forecast_table(found: Forecast) -> pa.Table:
    """Return a row for each operation: its figures, with intervals if there are several replications."""
    rows = []
    for op, of_op in found.summary.ops.items():
        row: Row = {"op": op, "count": of_op.count, "errors": of_op.errors}
        rates = {"throughput_ops": of_op.throughput_ops, "throughput_bytes": of_op.throughput_bytes}
        rows.append(row | interval_columns(rates | latency_columns(of_op.latency_s), bool(found.run is None)))
    return pa.Table.from_pylist(rows)


def latency_columns(latency_s: Mapping[str, Interval]) -> dict[str, Interval]:
    """Return figures of latencies by the name of their column."""
    return {f"latency_{name}_s": figure for name, figure in latency_s.items()}


def interval_columns(figures: Mapping[str, Interval], bounded: bool = True) -> Row:
    """Return the columns of figures, and of the ends of their intervals if there are any."""
    values: Row = {name: figure.value for name, figure in figures.items()}
    if bounded:
        values |= {f"{name}_low": figure.low for name, figure in figures.items()}
        values |= {f"{name}_high": figure.high for name, figure in figures.items()}
    return values
