"""Tables of what is not known: the band of a forecast, and the effect of each range."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from cli.tables.forecast.verdict import verdict_line
from cli.tables.grid import Grid
from cli.words import LABELS, byte_rate, number, percent, seconds, size
from models.basis.uncertainty import Unknown
from sim.experiments.discrepancy import DISCREPANCY, SOURCE
from sim.experiments.uncertainty import MOVED, RangeEffects, UncertaintyBand
from sim.verdict.verdict import LoadVerdict
from traces.statistics.summary import QUANTILES

_FORMATS: Mapping[str, Callable[[float], str]] = {
    "s": seconds,
    "B": size,
    "B/s": byte_rate,
    "1/s": lambda value: f"{number(value)}/s",
}
_Z80 = 1.281552  # normal deviate whose interval has 80 %
_FIGURES = ("throughput_ops", "mean", "p50", "p90", "p99")


def range_text(unknown: Unknown) -> str:
    """Format the range of a value that is not known."""
    if unknown.low is None or unknown.high is None:
        return ", ".join(map(str, unknown.values))
    if unknown.is_factor:
        return f"×{number(unknown.low)} … ×{number(unknown.high)}"
    write = _FORMATS.get(unknown.unit, _plain)
    return f"{write(unknown.low)} … {write(unknown.high)}"


def unknowns_grid(unknowns: tuple[Unknown, ...]) -> Grid:
    """Table with one row per value that is not known, and rows for the deviations of the model."""
    rows = [[unknown.path, range_text(unknown), unknown.source] for unknown in unknowns]
    of_model = {
        "rate of a closed loop": DISCREPANCY.rate,
        "mean": DISCREPANCY.mean,
        **{name: DISCREPANCY.of_quantile(QUANTILES[name]) for name in ("p50", "p90", "p99")},
    }
    rows += [[f"model: {name}", _deviation(deviation), SOURCE] for name, deviation in of_model.items()]
    return Grid("What is not known", ["value", "range", "source"], rows, labels=3)


def _deviation(deviation: float) -> str:
    """Format the factors between which 80 % of draws with a standard deviation of the logarithm lie."""
    largest = math.exp(_Z80 * deviation)
    return f"×{number(1 / largest)} … ×{number(largest)} (80%)"


def band_grid(result: UncertaintyBand) -> Grid:
    """Table with one row per operation and figure."""
    rows = []
    for op, figures in result.ops.items():
        for name in _FIGURES:
            band = figures[name]
            write = number if name == "throughput_ops" else seconds
            rows.append([op, LABELS[name], *map(write, (band.value, band.median, band.low, band.high))])
    values = f"{len(result.unknowns)} values that are not known and " if result.unknowns else ""
    title = f"{result.level:.0%} band over {result.draws} draws of {values}of the model's deviation"
    return Grid(title, ["op", "figure", "as assumed", "median", "low", "high"], rows, labels=2)


def band_notes(result: UncertaintyBand) -> list[str]:
    """Name figures whose bands are extended to the forecast, and say how many draws were not possible."""
    notes = []
    extended = [
        f"{op} {LABELS[name]}"
        for op, figures in result.ops.items()
        for name in _FIGURES
        if figures[name].is_extended and math.isfinite(figures[name].value)
    ]
    if extended:
        notes.append(
            f"The band of {', '.join(extended)} ends at the value as assumed, which the draws do not reach: a slowest "
            "part or a sum of many demands is rarely as fast as with all values as assumed. Rely on median and band."
        )
    if result.impossible:
        notes.append(f"{result.impossible} further draws have values that do not fit together.")
    return notes


def assumed_shown(result: RangeEffects) -> list[str | Grid]:
    """Return what is printed of the effects of ranges."""
    return [*load_line(result.load), *assumed_grids(result), *one_way_lines(result)]


_ONE_WAY = math.log(1.05)
"""Logarithm of the ratio at both ends of a range from which a change in one direction is noted."""


def one_way(unknown: Unknown, ratios: Sequence[float]) -> str:
    """Return in which direction a figure moves at both ends of a range: ``raise``, ``lower``, or nothing."""
    if unknown.values or unknown.value is None or not all(0 < ratio < math.inf for ratio in ratios):
        return ""
    changes = [math.log(ratio) for ratio in ratios]
    return "raise" if min(changes) > _ONE_WAY else "lower" if max(changes) < -_ONE_WAY else ""


def one_way_lines(result: RangeEffects) -> list[str]:
    """State which figures move in one direction at both ends of a range, as chance does rather than the value."""
    found = [
        f"{op} {LABELS[name]} of {effect.unknown.path}"
        for effect in result.effects
        for op in whole_ops(result)
        for name, ratios in effect.ops[op].items()
        if one_way(effect.unknown, ratios)
    ]
    if not found:
        return []
    what = "both ends of a range move it in one direction, which may be chance: simulate more or longer runs"
    return [f"{', '.join(found)}: {what}."]


def assumed_grids(result: RangeEffects) -> list[Grid]:
    """Tables with one row per value that is not known, the strongest first: one for each operation, and the sources."""
    columns = ["value", "range", *(LABELS[name] for name in MOVED)]
    grids = [
        Grid(
            f"{op}: change from the assumed value to the ends of its range",
            columns,
            [
                [e.unknown.path, range_text(e.unknown), *(" … ".join(map(_change, e.ops[op][name])) for name in MOVED)]
                for e in result.effects
            ],
            labels=2,
        )
        for op in whole_ops(result)
    ]
    sources = [[effect.unknown.path, effect.unknown.source] for effect in result.effects]
    return [*grids, Grid("Sources of the ranges", ["value", "source"], sources, labels=2, is_folded=True)]


def whole_ops(result: RangeEffects) -> list[str]:
    """Return the operations, without those of single groups of clients if there are others."""
    ops = list(result.effects[0].ops)
    return [op for op in ops if "." not in op] or ops


def load_line(load: LoadVerdict | None) -> list[str]:
    """State the verdict on the load of the unchanged spec."""
    return [] if load is None else [f"The unchanged spec is {verdict_line(load)}"]


def _change(ratio: float) -> str:
    return percent(math.log(ratio)) if 0 < ratio < math.inf else "–"


def _plain(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else number(value)
