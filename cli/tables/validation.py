"""Tables and sentences of a validation, for the terminal and the page."""

from __future__ import annotations

import math

from cli.tables.grid import Grid
from cli.words import LABELS, number, percent, seconds
from validate.forecast.prediction import Deviation, Ratio
from validate.forecast.validation import REPEATABILITY_FACTOR, Cell, Validation

_COLUMNS = ("", "predicted", "measured", "ratio (95%)", "noise", "verdict")
_FARTHEST = math.log(100)  # greater ratios are shown as this
_SHORT = {"throughput_ops": "op/s", "w1": "W1/mean", "ks": "KS"}


def left_out_grid(result: Validation) -> list[Grid]:
    """The Runs that were left out and why; no table where all were usable."""
    rows = [
        [row.run, kind, sentence]
        for row in result.runs
        if not row.judgement.usable
        for kind, sentence in row.judgement.faults.items()
    ]
    count = sum(not row.judgement.usable for row in result.runs)
    title = f"{count} of {len(result.runs)} Runs cannot be judged by"
    return [Grid(title, ["Run", "why", "what was seen"], rows, labels=3)] if rows else []


def cell_grids(result: Validation) -> list[Grid]:
    """A table for each cell, with a row for each figure of each operation."""
    return [Grid(_title(cell), _COLUMNS, _rows(cell)) for cell in result.cells]


def all_cells_grid(result: Validation) -> Grid:
    """All cells in one table."""
    rows = [[cell.cell, _part(cell), *row] for cell in result.cells for row in _rows(cell)]
    return Grid("", ["cell", "", *_COLUMNS], rows, labels=3)


def _rows(cell: Cell) -> list[list[str]]:
    return [
        [f"{op} {_SHORT.get(figure, figure)}", *_row(figure, measure)]
        for op, found in cell.ops.items()
        for figure, measure in found.measures.items()
    ]


def _row(figure: str, measure: Deviation) -> list[str]:
    band, verdict = measure.repeatability, measure.verdict or ""
    noise = f"({_percent(band)})" if band is not None and not measure.noise_pairs else _percent(band)
    if not isinstance(measure, Ratio):
        between = "".join(f" … {bound * 100:.0f}" for bound in measure.interval or ()).removeprefix(" … ")
        return ["", "", f"{_percent(measure.error)}{f' ({between})' if between else ''}", noise, verdict]
    write = number if figure == "throughput_ops" else seconds
    low, high = (f"{math.expm1(min(bound, _FARTHEST)) * 100:+.0f}" for bound in measure.interval)
    ratio = f"{percent(measure.log_ratio)} ({low} … {high})"
    return [write(measure.predicted), write(measure.measured), ratio, noise, verdict]


def summary_grid(result: Validation) -> Grid:
    """Median and worst error of each judged figure over the held-out cells, beside the noise band."""
    rows = []
    for figure, row in result.summary.items():
        shares = (row.median, row.worst.error if row.worst else None, row.repeatability, row.tolerance)
        rows.append([LABELS[figure], f"{row.count}", *map(_percent, shares), row.verdict or ""])
    columns = ["error of", "held out", "median", "worst", "noise", "tolerance", "verdict"]
    return Grid("Errors of held-out cells: greater / lesser - 1, of predicted and measured", columns, rows)


def worst_cases(result: Validation) -> str:
    """Where the worst error of each judged figure is, in a sentence."""
    named = [
        f"{LABELS[figure]} in {row.worst.op} of {row.worst.cell}" for figure, row in result.summary.items() if row.worst
    ]
    return f"Worst: {'; '.join(named)}." if named else ""


def verdict(result: Validation) -> str:
    """What a validation found, in a sentence."""
    cells = result.cells
    held_out = sum(not cell.fitted for cell in cells)
    if result.verdict == "nothing held out":
        return "Nothing was held out: no usable Run has a workload that the model was not fitted on."
    missed = [LABELS[figure] for figure, row in result.summary.items() if row.verdict == "beyond"]
    what = f"over {held_out} held-out cell{'' if held_out == 1 else 's'}"
    if not missed:
        return f"The median errors {what} are within tolerance or {REPEATABILITY_FACTOR:g} times the noise band."
    return (
        f"The median error of {', '.join(missed)} {what} is beyond both tolerance and {REPEATABILITY_FACTOR:g} times "
        "the noise band."
    )


def _title(cell: Cell) -> str:
    count = len(cell.runs)
    return f"{cell.cell} ({_part(cell)}, {count} Run{'' if count == 1 else 's'})"


def _part(cell: Cell) -> str:
    return "fitted" if cell.fitted else "held out"


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{fraction * 100:.1f}%"
