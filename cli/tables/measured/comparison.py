"""Table of a comparison of two Runs."""

from __future__ import annotations

from collections.abc import Sequence

from cli.tables.grid import Grid
from cli.tables.operations import ordered
from cli.words import LABELS, fraction, number, percent, percent_between, seconds
from traces.statistics.summary import LEAST_BEYOND
from validate.compare.compare import DECISIVE, Comparison, OpComparison


def comparison_grid(
    comparison: Comparison, names: tuple[str, str], title: str = "", warnings: Sequence[str] = ()
) -> Grid:
    """Table of a comparison, one row per measure of each operation; `names` are those of A and B."""
    counts = {op: max(result.counts) for op, result in comparison.ops.items()}
    rows = [row for op in ordered(counts) for row in _op_rows(op, comparison.ops[op])]
    columns = [
        "op",
        "measure",
        names[0],
        names[1],
        "ratio",
        f"{comparison.confidence * 100:g}% interval",
        "verdict",
    ]
    return Grid(title, columns, rows, labels=2, warnings=warnings)


def _op_rows(op: str, result: OpComparison) -> list[list[str]]:
    def verdict(name: str) -> str:
        if name in result.differs_in:
            return "differs"
        return "unsure" if name in result.unsure_of else "within" if name in DECISIVE else ""

    rows = [
        [op, "requests", *(f"{count:,}" for count in result.counts), "", "", verdict("count")],
        [op, "errors", *map(fraction, result.errors, result.counts), "", "", ""],
    ]
    if result.distances is None:
        return rows
    done = [count - failed for count, failed in zip(result.counts, result.errors, strict=True)]
    is_few = min(done) < LEAST_BEYOND  # resamples of so few requests hardly vary, so their interval says nothing
    for name, measure in result.measures.items():
        write = (lambda value: f"{number(value)} op/s") if name == "throughput_ops" else seconds
        rows.append([
            op, LABELS[name], write(measure.a), write(measure.b),
            f"{percent(measure.log_ratio)}{' (few)' if is_few else ''}",
            number(None) if is_few else percent_between(measure.interval), verdict(name),
        ])  # fmt: skip
    low, high = result.distances.w1_interval
    w1 = [f"{result.distances.w1 * 100:.1f}%", f"{low * 100:.1f} … {high * 100:.1f}%"]
    return [
        *rows,
        [op, "W1 / mean", "", "", *w1, verdict("w1")],
        [op, "KS", "", "", f"{result.distances.ks * 100:.1f}%", "", ""],
    ]
