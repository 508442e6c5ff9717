"""Which requests of a Trace name objects that do not exist: look-ups by a layer, which have nothing to read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.trace import Trace

_COLUMN = "absent"


def with_absent(table: pa.Table, absent: NDArray[np.bool_]) -> pa.Table:
    """Return the table of a Trace with a column of which rows name what does not exist, shape (rows,), if any does."""
    table = table.drop_columns([_COLUMN]) if _COLUMN in table.column_names else table
    return table.append_column(_COLUMN, pa.array(absent)) if absent.any() else table


def absent_rows(trace: Trace) -> NDArray[np.bool_]:
    """Return which requests name an object, or list a prefix, that does not exist, shape (requests,)."""
    if _COLUMN not in trace.table.column_names:
        return np.zeros(len(trace), bool)
    return np.asarray(trace.table.column(_COLUMN).to_numpy(zero_copy_only=False), bool)
