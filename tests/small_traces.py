"""Traces made by hand, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from traces.trace import TRACE_SCHEMA, Pacing, Trace, with_optional


def trace_of(op: Sequence[str], key: Sequence[str], pacing: Pacing = Pacing(), **columns: Any) -> Trace:  # noqa: B008
    """A trace of 4096-byte objects in bucket ``b``; a column can be given as one value, or one for each row."""
    given: dict[str, Any] = {"arrival_s": 0.0, "think_s": 0.0, "phase": 0, "bucket": "b", "size_bytes": 4096} | columns
    table = {"op": list(op), "key": list(key)} | given
    arrays, schema = [], with_optional(TRACE_SCHEMA, columns)
    for field in schema:
        values = table.get(field.name)
        arrays.append(pa.nulls(len(op), field.type) if values is None else _filled(values, len(op)).cast(field.type))
    return Trace.of(pa.Table.from_arrays(arrays, schema=schema), pacing)


def _filled(values: Any, rows: int) -> pa.Array:
    """The values of a column; None in a list is null."""
    return pa.array(values if isinstance(values, list) else np.broadcast_to(np.asarray(values), rows).tolist())


def reads(rows: int, rate: float, **columns: Any) -> Trace:
    """An open loop of GETs at a constant rate (1/s), each of a key of its own: ``k0``, ``k1``, ..."""
    arrival_s = np.arange(rows) / rate
    return trace_of(["GET"] * rows, [f"k{i}" for i in range(rows)], arrival_s=arrival_s, **columns)
