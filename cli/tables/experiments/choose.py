"""Tables of the stores that were compared on given hardware, and sentences on their ranking."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from cli.quantities import quantity
from cli.tables.grid import Grid
from cli.tables.spec.prices import price_lines
from cli.words import number, seconds
from models.capabilities import Evidence
from models.durability.kept import named
from sim.choose.choose import LEVEL, NO_CHANGE, Band, Choice, Decisive, Ranking, Row
from sim.choose.figures import Situation
from sim.choose.hardware import HardwareFile
from traces.spec.units import duration_text

_GRADES = {
    "box": "measured in the box",
    "fork": "of its origin only",
    "rows": "published rows",
    "mechanism": "mechanism alone",
}
_LONG = 40  # characters of a reason, which then is not in a cell
_SITUATIONS = {"host": "a host down", "drive": "a drive down", "slow-drive": "one drive 10 times slower"}


def table_shown(result: Choice, file: HardwareFile) -> Iterator[str | Grid]:
    """Yield the table: stores that keep the promise, their latencies, and the others with reasons."""
    yield promised(result)
    if result.rows:
        yield from (store_grid(result, file), latency_grid(result, file), cost_grid(result, file))
        yield from price_lines(file.priced_parts)
    yield from excluded_lines(result)
    yield from caveats(result)


def ranking_shown(result: Choice, file: HardwareFile) -> Iterator[str | Grid]:
    """Yield the ranking, with bands."""
    if result.ranking is not None:
        yield bands_grid(result, result.ranking, file)
        yield from ranking_lines(result.ranking)


def promised(result: Choice) -> str:
    """Say what all stores keep."""
    promise = result.promise
    parts = [f"objects survive {named(promise.survives)}"] if promise.survives else []
    if promise.rebuild is not None:
        parts.append(f"a failed drive is rebuilt within {duration_text(promise.rebuild)}")
    if promise.annual_loss is not None:
        parts.append(f"data are lost with probability {promise.annual_loss:.0e} a year at most")
    of_newest = "also those acknowledged just before" if promise.acknowledged == "synced" else "but for the newest ones"
    return f"Promise: {', '.join(parts) or 'none'} ({of_newest})"


def evidence_text(evidence: Evidence | None) -> str:
    """Return the grade of evidence."""
    return "none" if evidence is None else _GRADES[evidence.grade]


def store_grid(result: Choice, file: HardwareFile) -> Grid:
    """Table of stores with their settings, the best first."""
    rate_ops = file.workload.rate or 0.0
    rows = [
        [
            row.candidate.store,
            row.candidate.option.text,
            f"{number(row.figures.most_ops)}/s" if row.figures.most_ops else "none",
            row.figures.limit or "not known",
            "yes" if row.figures.healthy.meets else "no",
            evidence_text(row.candidate.evidence),
        ]
        for row in result.rows
    ]
    columns = ["store", "settings", "greatest rate", "saturates first", f"serves {number(rate_ops)}/s", "evidence"]
    return Grid("Greatest rate at the objectives", columns, rows, labels=2, layout="rows")


def latency_grid(result: Choice, file: HardwareFile) -> Grid:
    """Table of latencies at the workload's rate, healthy and with failures."""
    ops = file.workload.ops
    rows = [
        [row.candidate.store, what, *_latencies(situation, ops), _met(situation)]
        for row in result.rows
        for what, situation in _situations(row)
    ]
    columns = ["store", "state", *(f"{op} p50 / p99" for op in ops), "objectives"]
    return Grid(f"Latency at {number(file.workload.rate)}/s", columns, rows, labels=2, layout="rows")


def _situations(row: Row) -> Iterator[tuple[str, Situation]]:
    yield "healthy", row.figures.healthy
    for kind, situation in row.figures.failing.items():
        yield _SITUATIONS[kind], situation


def _latencies(situation: Situation, ops: list[str]) -> list[str]:
    found = []
    for op in ops:
        each = situation.ops.get(op)
        if each is None:
            found.append("none (see below)" if len(situation.reason) > _LONG else situation.reason or "none")
        else:
            failed = f", {each.errors:.1%} fail" if each.errors else ""
            found.append(f"{seconds(each.p50_s)} / {seconds(each.p99_s)}{failed}")
    return found


def _met(situation: Situation) -> str:
    return "met" if situation.meets else "missed"


def cost_grid(result: Choice, file: HardwareFile) -> Grid:
    """Table of space, cores, durability, hosts after the growth, and their cost."""
    later = f"hosts in {result.months} months" if result.months else "hosts"
    has_prices = file.prices is not None
    rows = [
        [
            row.candidate.store,
            f"{row.candidate.usable_bytes / 1e12:,.1f} TB",
            number(row.figures.healthy.cores),
            "not known" if row.candidate.kept.rebuild_s is None else duration_text(row.candidate.kept.rebuild_s),
            _probability(row.candidate.kept.annual_loss),
            "too many" if row.hosts_later is None else f"{row.hosts_later}",
            *([] if not has_prices else ["none" if row.cost is None else f"{row.cost:,.0f}"]),
        ]
        for row in result.rows
    ]
    currency = next((part.currency for part in file.priced_parts if part.currency), "")
    cost = [f"cost of them{f' ({currency})' if currency else ''}"] if has_prices else []
    columns = ["store", "usable", "cores busy", "drive rebuilt in", "loss a year", later, *cost]
    return Grid("Space, cores, durability and growth", columns, rows, layout="rows")


def _probability(value: float | None) -> str:
    return "not known" if value is None else f"{value:.1e}" if value < 0.001 else f"{value:.1%}"


def excluded_lines(result: Choice) -> list[str]:
    """Say why figures, and stores, are not in the tables."""
    missing = [
        f"{row.candidate.store}, {what}: {situation.reason}"
        for row in result.rows
        for what, situation in _situations(row)
        if len(situation.reason) > _LONG
    ]
    return missing + [f"not in the table: {each.store}: {each.reason}" for each in result.excluded]


def caveats(result: Choice) -> list[str]:
    """Say what may be lost although the promise is kept, and what the grade of evidence rests on."""
    said = [f"{row.candidate.store}: {row.candidate.kept.caveat}" for row in result.rows if row.candidate.kept.caveat]
    pages = [
        f"{row.candidate.store} {row.candidate.evidence.page}"
        for row in result.rows
        if row.candidate.evidence is not None
    ]
    return [*said, *([f"evidence: {', '.join(pages)}"] if pages else [])]


def bands_grid(result: Choice, ranking: Ranking, file: HardwareFile) -> Grid:
    """Table of the best stores with bands, and how often each is the best."""
    ops = file.workload.ops
    rows_of = {row.candidate.store: row for row in result.rows}
    names = ["most_ops", *(f"{op}.{q}" for op in ops for q in ("p50", "p99"))]
    failing = dict.fromkeys(kind for row in result.rows for kind in row.figures.failing)
    names += [f"{kind}.{op}.p99" for kind in failing for op in ops]
    rows = [["best in", *(f"{each.first:.0%} of draws" for each in ranking.drawn)]]
    for name in names:
        cells = [_with_band(name, _value(rows_of[each.store], name), each.bands) for each in ranking.drawn]
        if any(cell != "none" for cell in cells):
            rows.append([_label(name), *cells])
    title = f"The best, with bands that contain {LEVEL:.0%} of {ranking.draws} draws of what is not known"
    return Grid(title, ["", *(each.store for each in ranking.drawn)], rows, layout="rows")


def _value(row: Row, name: str) -> float | None:
    from sim.choose.choose import figures_by_name

    return figures_by_name(row.figures).get(name)


def _with_band(name: str, value: float | None, bands: Mapping[str, Band]) -> str:
    if value is None or not math.isfinite(value):
        return "none"
    shown = (lambda x: f"{number(x)}/s") if name == "most_ops" else seconds
    band = bands.get(name)
    return shown(value) if band is None else f"{shown(value)} ({shown(band.low)} … {shown(band.high)})"


def _label(name: str) -> str:
    if name == "most_ops":
        return "greatest rate"
    kind, _, figure = name.partition(".") if name.count(".") == 2 else ("", "", name)
    text = figure.replace(".", " ")
    return f"{text}, {_SITUATIONS[kind]}" if kind else text


def ranking_lines(ranking: Ranking) -> list[str]:
    """Say how probable it is that the first is the best, and which measurement would decide."""
    lines = []
    if ranking.first is not None and len(ranking.drawn) > 1:
        value, low, high = ranking.first
        lines.append(
            f"{ranking.drawn[0].store} is the best of {', '.join(each.store for each in ranking.drawn)} with "
            f"probability {value:.0%} ({low:.0%} … {high:.0%} by the number of draws), by the greatest rate at the "
            f"objectives"
        )
    if ranking.decisive is not None:
        lines.append(decisive_text(ranking.decisive, ranking))
    elif len(ranking.drawn) > 1:
        first, second = (each.store for each in ranking.drawn[:2])
        lines.append(
            f"No measurement of one value would decide between {first} and {second}: over its range, none changes the "
            f"ratio of their rates by more than {NO_CHANGE:.0%}, within which the rates are not known"
        )
    return lines


def decisive_text(found: Decisive, ranking: Ranking) -> str:
    """Say which measurement would decide between the first two."""
    first, second = (each.store for each in ranking.drawn[:2])
    unknown = found.unknown
    ends = (
        f"{quantity(unknown.low, unknown.unit)} to {quantity(unknown.high, unknown.unit)}"
        if unknown.low is not None
        else ", ".join(map(str, unknown.values))
    )
    if unknown.is_factor:
        ends = f"{unknown.low:.3g} to {unknown.high:.3g} times that of the model"
    what = "would decide" if found.decides else "says most"
    other = "" if found.decides else f", and {first if found.low > 1 else second} is better throughout"
    return (
        f"The measurement that {what} between {first} and {second}: {unknown.path} of {' and '.join(found.stores)} "
        f"({ends}), by {found.measured_by}; over this range {first} takes {found.low:.2g} to {found.high:.2g} times "
        f"the rate of {second}{other}"
    )
