"""A what-if as a table, for programs that read parquet."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import pyarrow as pa

from sim.experiments.whatif import SimulatedPoint, WhatIf


def points_table(result: WhatIf) -> pa.Table:
    """A row for each point and operation: what was set, the figures, their intervals, the verdicts.

    Values of a path that are of several types are JSON. Points that cannot be have no operation, and so no row.
    """
    mixed = {path for path in result.vary if len(_types(result, path)) > 1}
    rows = [_row(result, point, op, mixed) for point in result.simulated for op in point.ops]
    return pa.Table.from_pylist(rows)


def _types(result: WhatIf, path: str) -> set[type]:
    return {type(value) for value in (point.set[path] for point in result.points) if value is not None}


def _row(result: WhatIf, point: SimulatedPoint, op: str, mixed: Collection[str]) -> dict[str, Any]:
    row = {path: json.dumps(value) if path in mixed else value for path, value in point.set.items()}
    figures, ends = point.ops[op], point.ops[op].interval
    row |= {"op": op, "replications": point.replications, "cost": point.cost}
    row |= {"count": figures.count, "errors": figures.errors}
    row |= {"throughput_ops": figures.throughput_ops, "throughput_bytes": figures.throughput_bytes}
    row |= {f"latency_{name}_s": value for name, value in figures.latency_s.items()}
    intervals = {"throughput_ops": ends.throughput_ops, "throughput_bytes": ends.throughput_bytes}
    intervals |= {f"latency_{name}_s": value for name, value in ends.latency_s.items()}
    for name, (low, high) in intervals.items():
        row |= {f"{name}_low": low, f"{name}_high": high}
    return row | {slo.text: point.slo[slo.text] for slo in result.slos}
