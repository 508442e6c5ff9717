"""Tables and sentences of a validation, for the terminal and the page."""

from __future__ import annotations

import math
from collections.abc import Callable

from cli.tables.grid import Grid
from cli.words import LABELS, number, percent, seconds
from validate.forecast.prediction import Deviation, Ratio
from validate.forecast.validation import REPEATABILITY_FACTOR, Configuration, Validation

_COLUMNS = ("measure", "predicted", "measured", "ratio (95%)", "repeatability", "verdict")
_FARTHEST = math.log(100)  # greater ratios are shown as this one
_SHORT = {"throughput_ops": "op/s", "w1": "W1/mean", "ks": "KS"}


def validation_shown(result: Validation) -> list[str | Grid]:
    """Return what is printed of a validation: Runs left out, errors, and the verdict."""
    grids = [*left_out_grid(result), *configuration_grids(result), summary_grid(result)]
    return [*grids, verdict(result), worst_cases(result)]


def left_out_grid(result: Validation) -> list[Grid]:
    """Return a table of the Runs that were left out with their quality issues; none if all were usable."""
    used = {name for configuration in result.configurations for name in configuration.runs}
    left_out = [row for row in result.runs if not row.quality.usable and row.run not in used]
    rows = [[row.run, kind, sentence] for row in left_out for kind, sentence in row.quality.issues.items()]
    count = len({row.run for row in left_out})
    title = f"{count} of {len(result.runs)} Runs failed the run-quality check and were left out"
    return [Grid(title, ["Run", "quality issue", "details"], rows, labels=3)] if rows else []


def configuration_grids(result: Validation) -> list[Grid]:
    """Return a table for each configuration, with a row for each figure of each operation."""
    return [Grid(_title(configuration), _COLUMNS, _rows(configuration)) for configuration in result.configurations]


def joint_grid(result: Validation, fitted: bool) -> list[Grid]:
    """Return the configurations that were fitted, or held out, in one table; none if there are none."""
    rows = [
        [configuration.label, *row]
        for configuration in result.configurations
        for row in _rows(configuration)
        if configuration.fitted == fitted
    ]
    return [Grid("", ["configuration", *_COLUMNS], rows, labels=2)] if rows else []


def _rows(configuration: Configuration) -> list[list[str]]:
    return [
        [f"{op} {_SHORT.get(figure, figure)}", *_row(figure, measure)]
        for op, found in configuration.ops.items()
        for figure, measure in found.measures.items()
    ]


def _row(figure: str, measure: Deviation) -> list[str]:
    band, verdict = measure.repeatability, measure.verdict or ""
    noise = f"({_percent(band)})" if band is not None and not measure.repetition_pairs else _percent(band)
    if not isinstance(measure, Ratio):
        between = "".join(f" … {bound * 100:.0f}" for bound in measure.interval or ()).removeprefix(" … ")
        return ["", "", f"{_percent(measure.error)}{f' ({between})' if between else ''}", noise, verdict]
    write = number if figure == "throughput_ops" else seconds
    low, high = (f"{math.expm1(min(bound, _FARTHEST)) * 100:+.0f}" for bound in measure.interval)
    ratio = f"{percent(measure.log_ratio)} ({low} … {high})"
    return [write(measure.predicted), write(measure.measured), ratio, noise, verdict]


def summary_grid(result: Validation) -> Grid:
    """Return median and worst error of each figure over the held-out configurations, and the repeatability."""
    rows = []
    for figure, row in result.summary.items():
        shares = (row.median, row.worst.error if row.worst else None, row.repeatability, row.tolerance)
        rows.append([LABELS[figure], f"{row.count}", *map(_percent, shares), row.verdict or ""])
    columns = ["figure", "held out", "median", "worst", "repeatability", "tolerance", "verdict"]
    title = "Errors of held-out configurations, by operation: greater / lesser - 1, of predicted and measured"
    return Grid(title, columns, rows, warnings=result.warnings)


def worst_cases(result: Validation) -> str:
    """Return a sentence on where the worst error of each figure is."""
    named = [
        f"{LABELS[figure]} {_percent(row.worst.error)} in {row.worst.op} of {row.worst.configuration}"
        for figure, row in result.summary.items()
        if row.worst
    ]
    return f"Worst errors: {'; '.join(named)}." if named else ""


def verdict(result: Validation) -> str:
    """Return the result of a validation as a sentence."""
    configurations = result.configurations
    held_out = sum(not configuration.fitted for configuration in configurations)
    if result.verdict == "nothing held out":
        return "Nothing was held out: the model was fitted to the workloads of all usable Runs."
    missed = _medians(result, lambda verdict: verdict == "beyond")
    others = _medians(result, lambda verdict: verdict != "beyond")
    what = f"median errors over {held_out} held-out configuration{'' if held_out == 1 else 's'}"
    limits = f"tolerance or {REPEATABILITY_FACTOR:g} times the repeatability"
    if not missed:
        return f"Good enough: {what} are {others}, within {limits}."
    rest = f"; {others} are within" if others else ""
    return f"Not good enough: {what} are {missed}, beyond {limits}{rest}."


def _medians(result: Validation, counts: Callable[[str | None], bool]) -> str:
    rows = result.summary.items()
    return ", ".join(f"{_percent(row.median)} ({LABELS[figure]})" for figure, row in rows if counts(row.verdict))


def _title(configuration: Configuration) -> str:
    count = len(configuration.runs)
    return f"{configuration.label} ({_part(configuration)}, {count} Run{'' if count == 1 else 's'})"


def _part(configuration: Configuration) -> str:
    return "fitted" if configuration.fitted else "held out"


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{fraction * 100:.1f}%"
