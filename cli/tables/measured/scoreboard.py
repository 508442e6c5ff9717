"""Tables and sentences of a scoreboard, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cli.tables.grid import Grid
from cli.words import number
from validate.scoreboard.changes import Changes, PredictionChange
from validate.scoreboard.lines import Line
from validate.scoreboard.summary import (
    AIM,
    BASELINES,
    SEEN,
    BaselineComparison,
    BoardSummary,
    Errors,
    kind_of,
    summary_of,
)

BASELINE_NAMES = {
    "bounds": "operational bounds",
    "mva": "exact MVA of the mean demands",
    "line": "straight line through two measured points",
}


_BASELINE_COLUMNS = {"bounds": "bounds", "mva": "MVA", "line": "line"}


def board_shown(lines: Sequence[Line], changes: Changes | None, before: str) -> list[str | Grid]:
    """Return what is printed of a scoreboard, and of its changes since the one in the file `before`."""
    summary = summary_of(lines)
    grids = [cases_grid(lines), errors_grid(summary), *bands_grid(summary), baselines_grid(summary)]
    changed = [] if changes is None else changes_lines(changes, before)
    return [*(replace(grid, layout="rows") for grid in grids), found_sentence(lines), *sentences(summary), *changed]


def errors_grid(summary: BoardSummary) -> Grid:
    """Return a table of errors by kind of figure and by what the model knew."""
    rows = []
    for kind in summary.kinds:
        for seen in SEEN:
            errors = kind.errors[seen]
            if errors is not None:
                rows.append([kind.kind, seen, *_errors(errors)])
    columns = ["figure", "seen", "rows", f"≤ {AIM:.0%}", "median", "p90", "worst"]
    return Grid("Errors: greater / lesser - 1 of predicted and measured", columns, rows, labels=2)


def bands_grid(summary: BoardSummary) -> list[Grid]:
    """Return a table of how often bands contain the measured figures of rows not fitted; none without bands."""
    rows = [
        [kind.kind, f"{kind.covered} of {kind.banded}", f"{kind.covered / kind.banded:.0%}"]
        for kind in summary.kinds
        if kind.banded
    ]
    return [Grid("Bands that contain the measured figure (not fitted)", ["figure", "inside", ""], rows)] if rows else []


def baselines_grid(summary: BoardSummary) -> Grid:
    """Return a table of simpler forecasts next to the simulator, on the same figures that were not fitted."""
    rows = [
        [kind.kind, _BASELINE_COLUMNS[name], *_compared(kind.baselines[name])]
        for name in BASELINES
        for kind in summary.kinds
        if name in kind.baselines
    ]
    columns = ["figure", "forecast", "rows", "median", "simulator", "p90", "simulator"]
    title = "Errors of simpler forecasts, and of the simulator for the same figures (not fitted)"
    return Grid(title, columns, rows, labels=2)


def cases_grid(lines: Sequence[Line]) -> Grid:
    """Return a table with a row for each case: figures not fitted, within the aim, median and worst error."""
    rows = []
    for case in dict.fromkeys(line.case for line in lines):
        mine = [line for line in lines if line.case == case]
        figures = [line for line in mine if not line.is_statement]
        held_out = Errors.of([line.error for line in figures if line.seen != "fitted"])
        fitted = Errors.of([line.error for line in figures if line.seen == "fitted"])
        statements = [line for line in mine if line.is_statement]
        holding = sum(line.predicted == 1 for line in statements)
        rows.append(
            [
                case,
                *(["0", "", "", ""] if held_out is None else _few(held_out)),
                "" if fitted is None else f"{fitted.median:.1%}",
                f"{holding} of {len(statements)}" if statements else "",
            ]
        )
    columns = ["case", "rows", f"≤ {AIM:.0%}", "median", "worst", "fitted", "statements"]
    title = "By case: figures that were not fitted, median of those that were, and statements that hold"
    return Grid(title, columns, rows)


def lines_grid(lines: Sequence[Line]) -> Grid:
    """Return a table of all figures of a case."""
    rows = []
    for line in lines:
        if not line.is_statement:
            band = "" if line.low is None or line.high is None else f"{number(line.low)} … {number(line.high)}"
            rows.append(
                [
                    line.row, line.op, line.figure.replace("_", " "), line.seen, number(line.measured),
                    number(line.predicted), f"{line.error:.1%}",
                    band + (" (outside)" if line.covered is False else ""),
                    *("" if value is None else number(value) for value in (line.bounds, line.mva, line.line)),
                    line.cut,
                ]
            )  # fmt: skip
    columns = ["row", "op", "figure", "seen", "measured", "predicted", "error", "band", "bounds", "MVA", "line", "cut"]
    used = [i for i, _ in enumerate(columns) if any(row[i] for row in rows)]
    return Grid("", [columns[i] for i in used], [[row[i] for i in used] for row in rows], labels=3)


def sentences(summary: BoardSummary) -> list[str]:
    """Say how many statements hold, and which lengths differ or are not known."""
    found = []
    if summary.statements:
        found.append(f"{summary.holding} of {summary.statements} published statements hold in the model.")
    if summary.cut:
        found.append(
            f"{summary.cut} figures are of simulations that were shorter than the measurement; their rows say so."
        )
    if summary.unknown_length:
        found.append(
            f"Of {summary.unknown_length} published figures it is not known how long they were measured; they are of "
            "simulations of the length in the spec."
        )
    return found


def found_sentence(lines: Sequence[Line]) -> str:
    """Return the answer of a board in a sentence: how many figures that were not fitted are within the aim."""
    parts = []
    for kind in summary_of(lines).kinds:
        errors = Errors.of([line.error for line in _held_out(lines, kind.kind)])
        if errors is not None and kind.kind in ("throughput", "mean", "p99", "cores", "duration"):
            parts.append(f"{kind.kind} {errors.within} of {errors.count} (median error {errors.median:.0%})")
    return f"Figures that nothing was fitted to, within {AIM:.0%}: {', '.join(parts)}."


def changes_lines(changes: Changes, before: str) -> list[str]:
    """Say what became worse and better than on an earlier board, beyond noise."""
    worse, better = changes.worse, [change for change in changes.changed if not change.is_worse]
    opening = (
        f"Compared with {before}: {changes.compared} figures, {len(worse)} worse and {len(better)} better beyond noise"
    )
    found = [f"{opening}, {changes.noisy} changed within noise."]
    found += [f"  worse: {_change(change)}" for change in worse]
    found += [f"  better: {_change(change)}" for change in better]
    if changes.missing:
        found.append(f"  {len(changes.missing)} figures are no longer predicted, such as {_name(changes.missing[0])}")
    if changes.new:
        found.append(f"  {len(changes.new)} figures are new, such as {_name(changes.new[0])}")
    return found


def _change(change: PredictionChange) -> str:
    now, before = change.now, change.before
    return (
        f"{_name(now)}: {number(before.predicted)} -> {number(now.predicted)}, measured {number(now.measured)} "
        f"(error {before.error:.1%} -> {now.error:.1%}; noise {change.noise:.1%})"
    )


def _name(line: Line) -> str:
    return ", ".join(filter(None, (f"{line.case}: {line.row}", line.op, line.figure)))


def _held_out(lines: Sequence[Line], kind: str) -> list[Line]:
    return [line for line in lines if line.seen != "fitted" and not line.is_statement and kind_of(line.figure) == kind]


def _errors(errors: Errors) -> list[str]:
    return [
        f"{errors.count}", f"{errors.within}", f"{errors.median:.1%}", f"{errors.p90:.1%}", f"{errors.worst:.1%}",
    ]  # fmt: skip


def _few(errors: Errors) -> list[str]:
    return [f"{errors.count}", f"{errors.within}", f"{errors.median:.1%}", f"{errors.worst:.1%}"]


def _compared(found: BaselineComparison) -> list[str]:
    simple, model = found.baseline, found.model
    return [
        f"{simple.count}", f"{simple.median:.1%}", f"{model.median:.1%}", f"{simple.p90:.1%}", f"{model.p90:.1%}",
    ]  # fmt: skip
