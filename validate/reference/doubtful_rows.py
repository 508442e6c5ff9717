"""Rows of a table whose figures contradict each other or the settings of the row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from models.store import Spec, spec_of
from traces.results.contradictions import contradictions
from traces.spec.spec_file import override
from traces.workload.sizes import FixedSize
from validate.reference.rows import Row

_LATENCY = re.compile(r"latency_(?:p(?P<percent>\d\d(?:_\d+)?)|(?P<name>min|max|mean))_(?P<unit>s|ms|us)")
_UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_THROUGHPUT = re.compile(r"throughput_(bytes|mb|mib|gb|gib)_per_s")
_BYTES = {"bytes": 1.0, "mb": 1e6, "mib": 2.0**20, "gb": 1e9, "gib": 2.0**30}


def doubtful_rows(rows: Sequence[Row], data: Mapping[str, Any], source: str, table: Path) -> list[str]:
    """Return what contradicts each other in rows that `validate.reference.rows.rows_of` has checked, a line each.

    Args:
        rows: the rows.
        data: mapping of the spec.
        source: name of the spec.
        table: the file, for messages.
    """
    return [
        f"{table}: line {row.line}: {why}"
        for row in rows
        for why in contradictions_of(row, spec_of(override(data, row.assignments), source))
    ]


def contradictions_of(row: Row, spec: Spec) -> list[str]:
    """Return what contradicts each other in a row, given the spec with its settings."""
    workload = spec.workload
    quantiles, named = dict[float, float | None](), dict[str, float]()
    bytes_per_s = None
    for figure, value in row.measured.items():
        if latency := _LATENCY.fullmatch(figure):
            time_s = value * _UNITS_S[latency["unit"]]
            if latency["percent"]:
                quantiles[float(latency["percent"].replace("_", "."))] = time_s
            else:
                named[latency["name"]] = time_s
        elif throughput := _THROUGHPUT.fullmatch(figure):
            bytes_per_s = value * _BYTES[throughput[1]]
    grouped = bool(workload.groups)
    sizes = workload.object_size
    fixed = not grouped and isinstance(sizes, FixedSize) and workload.ranges is None and row.op in ("GET", "PUT")
    return contradictions(
        ops_per_s=row.measured.get("throughput_ops"),
        clients=None if grouped or workload.rate is not None else workload.clients,
        mean_s=named.get("mean"),
        min_s=named.get("min"),
        quantiles_s=quantiles,
        max_s=named.get("max"),
        bytes_per_s=bytes_per_s if fixed else None,
        size_bytes=sizes.size if fixed and isinstance(sizes, FixedSize) else None,
        alone=not grouped and len(workload.mix) == 1 and not workload.think_time.mean,
    )
