"""Turn results into rows of a reference table, as in ``validate/reference/*.csv``.

There, columns before ``op`` are values of a spec by path, those after ``used_in_fit`` are figures with the units of
`validate.reference.figures`. Settings of a result that have no path (queue depth, part size) are for the spec by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from traces.operations import OPS
from traces.results.registry import FILE

_MS = 1e3
_MIB = 2**20
_PERCENTILES = ("p25", "p50", "p60", "p75", "p80", "p90", "p95", "p99")  # figures have two digits


def reference_rows(table: pa.Table) -> list[dict[str, str]]:
    """Return rows of a reference table: the settings as values of a spec, and the figures that its names have.

    Operations other than GET, PUT, HEAD, DELETE and LIST are left out. Operations of one file and phase ran together:
    they have one mix and one number of operations. The remark has the basis of the latencies.
    """
    rows = [row for row in table.to_pylist() if row["op"] in OPS]
    together: dict[tuple[Any, ...], dict[str, int]] = {}
    for row in rows:
        mix = together.setdefault(_phase(row), {})
        mix[row["op"]] = mix.get(row["op"], 0) + (row["requests"] or 0)
    return [_row(row, together[_phase(row)]) for row in rows]


def _phase(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get(FILE), row["run"], row["phase"]


def _row(row: Mapping[str, Any], mix: Mapping[str, int]) -> dict[str, str]:
    whole = sum(mix.values())
    counts = {op: count for op, count in mix.items() if count} or {row["op"]: 1}
    settings = {
        "workload.clients": row["clients"],
        "workload.object_size": None if row["object_size_bytes"] is None else f"{row['object_size_bytes']}B",
        "workload.mix": "{" + ", ".join(f"{op}: {n if len(counts) > 1 else 1}" for op, n in counts.items()) + "}",
        "workload.operations": whole or None,
    }
    figures = {
        "throughput_ops": row["ops_per_s"],
        "throughput_mib_per_s": None if row["bytes_per_s"] is None else row["bytes_per_s"] / _MIB,
        **{
            f"latency_{name}_ms": None if row[f"latency_{name}_s"] is None else row[f"latency_{name}_s"] * _MS
            for name in ("mean", "min", *_PERCENTILES, "max")
        },
    }
    known = {"table": _table_name(row), "op": row["op"], "remark": row["latency_basis"], "used_in_fit": "no"}
    return {name: _text(value) for name, value in (known | settings | figures).items()}


def _table_name(row: Mapping[str, Any]) -> str:
    parts = dict.fromkeys(str(part) for part in (row.get(FILE), row["name"], row["phase"]) if part)
    return ", ".join(parts) or str(row["tool"])


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
