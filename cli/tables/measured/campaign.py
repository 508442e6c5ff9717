"""The table of a campaign: measured | predicted by load, phase and operation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from cli.tables.grid import Grid
from validate.campaign.predict import Row, summary_of

_FIGURES = {"throughput": "op/s", "p50": "p50", "tail": "p99 or p95", "w1": "Wasserstein distance / mean"}


def campaign_lines(values: Mapping[str, float], rows: Sequence[Row]) -> list[str | Grid]:
    """Return what was fitted, the table of all rows, and that of their deviations if a row counts."""
    fitted = [f"fitted: {path} = {value:.4g}" for path, value in values.items()]
    return [*fitted, campaign_grid(rows), *([summary_grid(rows)] if summary_of(rows) else [])]


def campaign_grid(rows: Sequence[Row]) -> Grid:
    """Return measured | predicted by operation; loads that are fitted, or need half of the CPU, are marked."""
    columns = ("load", "phase", "operation", "requests", "CPU", "op/s", "p50 ms", "tail ms", "errors", "stall s",
               "deviation", "repeated")  # fmt: skip
    cells = [_cells(row, op) for row in rows for op in row.measured.ops]
    return Grid("Measured | predicted", columns, cells, 3, layout="rows")


def summary_grid(rows: Sequence[Row]) -> Grid:
    """Return medians and greatest deviations of the rows that are not marked and have no fault."""
    found = summary_of(rows)
    return Grid(
        "Deviations of predictions, without marked loads and faults",
        ("figure", "rows", "median", "greatest", "median of repetitions"),
        [
            (_FIGURES[name], str(round(each["rows"])), _percent(each["median"]), _percent(each["greatest"]),
             _percent(each["repeatability"]))
            for name, each in found.items()
        ],
    )  # fmt: skip


def _cells(row: Row, op: str) -> Sequence[str]:
    ours, theirs = row.measured.ops[op], row.predicted.ops.get(op)
    mark = " (fitted)" if row.fitted else "" if row.counts or row.phase != "all" else " *"
    first = [row.load + mark, row.phase, op, str(ours.requests), f"{row.busy:.0%}"]
    if theirs is None:
        return [*first, f"{ours.throughput_ops:.3g} | -", f"{1e3 * ours.p50_s:.3g} | -", "-", "-", "-", "-", "-"]
    tail = "-" if math.isnan(ours.tail_s) else (
        f"p{100 * ours.tail:.0f}: {1e3 * ours.tail_s:.3g} | {1e3 * theirs.tail_s:.3g}"
    )  # fmt: skip
    return [
        *first,
        f"{ours.throughput_ops:.3g} | {theirs.throughput_ops:.3g}",
        f"{1e3 * ours.p50_s:.3g} | {1e3 * theirs.p50_s:.3g}",
        tail,
        f"{row.measured.errors} | {row.predicted.errors}",
        f"{row.measured.stall_s:.2g} | {row.predicted.stall_s:.2g}",
        _all(row.deviation.get(op, {})),
        _all(row.repeatability.get(op, {})),
    ]


def _all(found: Mapping[str, float]) -> str:
    return " / ".join(_percent(abs(found[name])) if name in found else "-" for name in _FIGURES) if found else "-"


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.0%}" if value >= 0.1 else f"{value:.1%}"
