"""Comparisons and calibrations as tables of numbers, for programs: times in s, sizes in bytes, rates per second."""

from __future__ import annotations

import pyarrow as pa

from validate.calibration.profile import Profile
from validate.compare.compare import Comparison


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
