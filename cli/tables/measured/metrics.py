"""Lines and table of a store's metrics next to a forecast."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from cli.parse.instant import instant_text
from cli.tables.grid import Grid
from cli.words import number, percent, seconds, size
from validate.metrics.measured import Measured
from validate.metrics.utilisation import Compared

_TOLERANCE, _POINTS = 1.25, 0.05
_UNITS = {"1/s": "op/s", "cores": "cores"}


def metrics_shown(whole: Measured, result: Sequence[Compared], notes: Sequence[str]) -> Iterator[str | Grid]:
    """Yield what metrics say, and the table of each figure next to its forecast."""
    yield agreement_line(result)
    yield requests_line(whole)
    yield compared_grid(result)
    if whole.inner:
        yield inner_grid(whole)
    yield from (f"note: {note}" for note in notes)


def agreement_line(result: Sequence[Compared]) -> str:
    """Return how many figures the forecast meets within 25 %, and the one that it misses most.

    Utilisations that differ by less than 5 points agree, however small they are.
    """
    known = [each for each in result if each.measured and each.forecast is not None]
    if not known:
        return "No figure is both measured and forecast."
    missed = sorted((each for each in known if _distance(each) > math.log(_TOLERANCE)), key=_distance)
    if not missed:
        return f"The forecast agrees with all {len(known)} measured figures within 25%."
    worst = missed[-1]
    figures = f"{_text(worst.measured, worst.unit)} measured, {_text(worst.forecast, worst.unit)} forecast"
    return (
        f"The forecast differs from {len(missed)} of {len(known)} measured figures by more than 25%, "
        f"most from {worst.what} {worst.measure}: {figures}."
    )


def requests_line(whole: Measured) -> str:
    """Return the requests of the window in a sentence."""
    parts = ", ".join(
        f"{op} {number(each.rate_ops)}/s" + ("" if not each.bytes_each else f" of {size(each.bytes_each)}")
        for op, each in whole.ops.items()
    )
    hosts = f"; {len(whole.hosts)} hosts" if len(whole.hosts) != 1 else "; 1 host"
    return f"{instant_text(whole.start_s)} to {instant_text(whole.end_s)}: {parts}{hosts} with node_exporter."


def inner_grid(whole: Measured) -> Grid:
    """Return the table of operations inside of the store."""
    rows = [
        [
            each.name,
            number(each.rate_ops),
            number(each.rate_ops / whole.total_ops),
            number(None) if each.bytes_each is None else size(each.bytes_each),
            seconds(each.latency_s),
        ]
        for each in whole.inner
    ]
    return Grid("Inside of the store", ["operation", "1/s", "per request", "mean size", "mean time"], rows)


def compared_grid(result: Sequence[Compared]) -> Grid:
    """Return the table of figures, measured and forecast."""
    rows = [
        [each.what, each.measure, _text(each.measured, each.unit), _text(each.forecast, each.unit), _ratio(each)]
        for each in result
    ]
    return Grid("", ["of", "measure", "measured", "forecast", "difference"], rows, labels=2)


def _text(value: float | None, unit: str) -> str:
    if value is None or not math.isfinite(value):
        return number(None)
    if unit == "%":
        return f"{value:.1%}"
    return seconds(value) if unit == "s" else f"{number(value)} {_UNITS[unit]}"


def _ratio(each: Compared) -> str:
    if not each.measured or each.forecast is None:
        return ""
    return percent(math.log(each.forecast / each.measured)) if each.forecast else "-100%"


def _distance(each: Compared) -> float:
    """Return how far the forecast is from the measured figure, as the logarithm of their ratio."""
    measured, forecast = each.measured or 0.0, each.forecast or 0.0
    if each.unit == "%" and abs(forecast - measured) < _POINTS:
        return 0.0
    return abs(math.log(forecast / measured)) if forecast and measured else math.inf
