"""Numbers as text, for terminals and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cli.tables.cells import Figure
from traces.statistics.summary import QUANTILES

LABELS = {
    "throughput_ops": "throughput",
    "mean": "mean",
    "min": "min",
    **{name: name.replace("_", ".") for name in QUANTILES},
    "max": "max",
    "w1": "Wasserstein",
    "count": "request count",
}
"""Labels of measures."""

_NONE = "–"


def seconds(value: float | None) -> str:
    """Format as ``1.23 ms``: three digits in a suitable unit; less than 1 ns is a rounding error and 0."""
    if value is None or not math.isfinite(value):
        return _NONE
    if abs(value) < 1e-9:
        return Figure("0 s", 0.0, "s")
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if abs(value) * scale >= 0.9995:
            return Figure(f"{_digits(value * scale)} {unit}", value, "s")
    return Figure(f"{_digits(value * 1e6)} µs", value, "s")


def number(value: float | None) -> str:
    """Format as ``12,345`` or ``1.23``: at least three digits."""
    return _NONE if value is None or not math.isfinite(value) else Figure(_digits(value), value)


def byte_rate(value: float | None) -> str:
    """Format as ``1.23 MB/s``, in powers of 1000."""
    return _NONE if value is None or not math.isfinite(value) else Figure(f"{size(value)}/s", value, "B/s")


def size(value: float) -> str:
    """Format as ``1.23 MB``, in powers of 1000."""
    if not value:
        return Figure("0 B", value, "B")
    scaled = value
    for unit in ("B", "kB", "MB", "GB"):
        if abs(scaled) < 999.5:
            return Figure(f"{_digits(scaled)} {unit}", value, "B")
        scaled /= 1000
    return Figure(f"{_digits(scaled)} TB", value, "B")


def percent(log_ratio: float) -> str:
    """Format the logarithm of a ratio as ``+12.3%``, or as ``×4.56`` if the ratio exceeds 2."""
    if log_ratio > math.log(2):
        return f"×{_digits(math.exp(min(log_ratio, 700.0)))}"
    return f"{(round(math.expm1(log_ratio) * 100, 1) or 0.0):+.1f}%"  # never -0.0%


def percent_between(between: Sequence[float]) -> str:
    """Format an interval of log-ratios as percentages."""
    low, high = map(percent, between)
    return f"{low.removesuffix('%')} … {high}" if high.endswith("%") else f"{low} … {high}"


def _digits(value: float) -> str:
    if 0 < abs(value) < 0.995:
        return f"{value:.2g}"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"


def fraction(part: int, whole: int) -> str:
    """Format a count with its percentage."""
    return Figure(f"{part:,} ({_digits(part / whole * 100)}%)" if part and whole else f"{part:,}", part)
