"""The tables of a comparison of stores: measured | predicted by load, ranking, and what syncs cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from cli.tables.grid import Grid
from validate.campaign.accesses import OperationAccesses
from validate.campaign.compared import AIMS, FIGURES, Compared, Ranked, ranked, sync_costs
from validate.campaign.comparison import Cause

_TITLES = {"ops": "op/s", "p50": "p50", "tail": "p99 or p95"}
_SYNCS = {"synced": "yes", "unsynced": "no"}


def stores_shown(rows: Sequence[Compared], reference: str, causes: Sequence[Cause] = ()) -> list[Grid]:
    """Return all tables of a comparison.

    Args:
        reference: store that the factors of others are of.
        causes: why predictions are off.
    """
    return [
        ranking_grid(rows), *wrong_grid(rows), deviation_grid(rows), *misses_grid(rows, causes),
        syncs_grid(rows, reference), rows_grid(rows),
    ]  # fmt: skip


def ranking_grid(rows: Sequence[Compared]) -> Grid:
    """Return how many pairs of stores in a cell are predicted the right way round."""
    found = {
        _TITLES[figure]: (ranked(rows, figure), ranked(rows, figure, with_fitted=True)) for figure in FIGURES
    }  # fmt: skip
    cells = [[title, *map(_right, counts)] for title, counts in found.items() if counts[1].pairs]
    if len(cells) > 1:
        together = ([counts[number] for counts in found.values()] for number in (0, 1))
        cells.append(["all", *(_fraction(sum(c.right for c in each), sum(c.pairs for c in each)) for each in together)])
    return Grid(
        "Pairs of stores at the same promise that differ by more than 20 %: predicted the right way round",
        ("figure", "without the loads that are fitted", "all loads"), cells,
    )  # fmt: skip


def wrong_grid(rows: Sequence[Compared]) -> list[Grid]:
    """Return the pairs that are predicted the wrong way round, if there are any."""
    cells = [
        [" ".join(cell), _TITLES[figure], better, worse, f"{measured:.2f}", f"{predicted:.2f}"]
        for figure in FIGURES
        for cell, better, worse, measured, predicted in ranked(rows, figure, with_fitted=True).wrong
    ]
    columns = ("cell", "figure", "better", "worse", "times better, measured", "predicted")
    return [Grid("Pairs that are predicted the wrong way round", columns, cells, 4)] if cells else []


def deviation_grid(rows: Sequence[Compared]) -> Grid:
    """Return how far predictions of rows that count are off, by store."""
    cells = []
    for entry in dict.fromkeys(row.entry for row in rows):
        counted = [row for row in rows if row.entry == entry and row.counts]
        if counted:
            cells.append([entry, str(len(counted)), *(_deviations(counted, figure) for figure in FIGURES)])
    title = "Deviations of predictions, without fitted loads, faults, and loads that use half of the cores"
    return Grid(f"{title}: median, greatest", ("store", "rows", *_TITLES.values()), cells)


def _deviations(rows: Sequence[Compared], figure: str) -> str:
    found = [(row.deviations[figure], row) for row in rows if figure in row.deviations]
    if not found:
        return "-"
    off = sorted(((off, f"{row.load} {row.op}") for off, row in found), key=_size)
    value, where = off[-1]
    return f"{median(abs(each) for each, _ in off):.0%}, {value:+.0%} ({where})"


def misses_grid(rows: Sequence[Compared], causes: Sequence[Cause]) -> list[Grid]:
    """Return the rows that miss an aim, with the causes that are known or suspected, if there are any."""
    cells = [
        [
            row.entry, f"{row.load} {row.op}" + f" {row.phase}" * (row.phase != "all"),
            *(f"{row.deviations[name]:+.0%}" if name in row.deviations else "-" for name in FIGURES),
            "; ".join(_cause(cause) for cause in causes if cause.is_of(row.entry, row.load)) or "not known",
        ]
        for row in rows
        if row.misses
    ]  # fmt: skip
    aims = ", ".join(f"{_TITLES[name]} {aim:.0%}" for name, aim in AIMS.items())
    columns = ("store", "load", *_TITLES.values(), "cause")
    return [Grid(f"Predictions that are further off than {aims}", columns, cells, 2)] if cells else []


def _cause(cause: Cause) -> str:
    return ("suspected: " if cause.suspected else "") + cause.text


def syncs_grid(rows: Sequence[Compared], reference: str) -> Grid:
    """Return what stores gain without syncs, and what of it is left at the same promise."""
    cells = [
        [f"{cost.cell[0]} {cost.cell[2]}", cost.store, _both(cost.gain), _both(cost.unequal), _both(cost.same)]
        for cost in sorted(sync_costs(rows, reference), key=lambda cost: (cost.cell, cost.store))
    ]
    columns = (
        "load", "store", "without syncs, times faster", f"without syncs, times {reference} with syncs",
        f"with syncs, times {reference} with syncs",
    )  # fmt: skip
    return Grid("What syncs cost: factors of op/s, measured | predicted", columns, cells, 2)


def accesses_grid(rows: Sequence[OperationAccesses]) -> Grid:
    """Return the accesses of each operation, measured, and the time of drives, measured and predicted."""
    cells = [
        [
            row.entry, row.op, f"{row.size_bytes / 1024:,.0f}",
            *(f"{count:.3g}" for count in (row.reads, row.writes, row.fsyncs)),
            f"{1e3 * row.drive_s:,.0f}", f"{1e3 * row.predicted_drive_s:,.0f}",
        ]
        for row in rows
    ]  # fmt: skip
    columns = ("store", "operation", "KiB", "reads", "writes", "syncs", "time of drives in ms", "predicted")
    return Grid("Accesses of each operation, on all drives together", columns, cells, 2)


def rows_grid(rows: Sequence[Compared]) -> Grid:
    """Return measured, with intervals of 90 %, and predicted of each operation."""
    columns = ("load", "phase", "op", "store", "syncs", "CPU", "others", "op/s", "predicted", "p50 ms", "predicted",
               "tail", "ms", "predicted", "errors | predicted")  # fmt: skip
    order = {load: number for number, load in enumerate(dict.fromkeys(row.load for row in rows))}
    phases = ("all", "before", "during", "after")
    in_order = sorted(rows, key=lambda row: (order[row.load], row.promise, phases.index(row.phase), row.op))
    cells = [_cells(row) for row in in_order]
    return Grid("Measured, with intervals of 90 %, and predicted", columns, cells, 5, layout="rows")


def _cells(row: Compared) -> list[str]:
    p50 = (1e3 * row.p50_s, 1e3 * row.p50_s_low, 1e3 * row.p50_s_high, 1e3 * row.predicted_p50_s)
    tail = (1e3 * row.tail_s, 1e3 * row.tail_s_low, 1e3 * row.tail_s_high, 1e3 * row.predicted_tail_s)
    return [
        row.load + " (fitted)" * row.fitted, row.phase, row.op, row.store, _SYNCS[row.promise],
        f"{row.busy:.0%}", f"{row.others:.0%}",
        *_next_to(row.ops, row.ops_low, row.ops_high, row.predicted_ops), *_next_to(*p50),
        *((f"p{100 * row.tail:.0f}", *_next_to(*tail)) if math.isfinite(row.tail_s) else ("-", "-", "-")),
        f"{row.errors} | {row.predicted_errors}",
    ]  # fmt: skip


def _next_to(value: float, low: float, high: float, predicted: float) -> tuple[str, str]:
    """Return a measured figure with its interval, and its prediction."""
    return _with_bounds(value, low, high), _number(predicted)


def _size(deviation: tuple[float, str]) -> float:
    return abs(deviation[0])


def _right(counts: Ranked) -> str:
    return _fraction(counts.right, counts.pairs)


def _fraction(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "-"


def _both(values: tuple[float, float]) -> str:
    return " | ".join(_number(value) for value in values)


def _number(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "-"


def _with_bounds(value: float, low: float, high: float) -> str:
    return f"{value:.3g} ({low:.3g} to {high:.3g})" if math.isfinite(low) else _number(value)
