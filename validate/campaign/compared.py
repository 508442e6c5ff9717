"""The table of a comparison of stores, its CSV file, and what follows from it: ranking, and what syncs cost."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from traces.run import Run
from traces.statistics.bootstrap import interval, resample
from traces.tables import atomic_file
from validate.campaign.comparison import Entry
from validate.campaign.phases import OpFigures
from validate.campaign.predict import BUSY, rows_of

FIGURES = ("ops", "p50", "tail")
"""Requests per second, and two quantiles of latencies: the tail is p99, or p95 of fewer than 1,000 requests."""

AIMS = {"ops": 0.1, "p50": 0.15, "tail": 0.3}
"""Greatest deviations that predictions should have, by figure."""

DIFFERENT = 1.2
"""Factor between two stores from which they are ranked."""

_CONFIDENCE = 0.9


@dataclass(frozen=True)
class Compared:
    """An operation of a load on a store: measured, with intervals of 90 %, and predicted; NaN is not known.

    Attributes:
        entry, store, promise: of the comparison.
        load, phase, op: what was measured; the phase is ``all`` without a fault.
        requests: number that succeeded.
        errors, predicted_errors: number that failed in the phase, of all operations.
        fitted: whether CPU times follow from this load.
        busy: fraction of the machine's cores that store and clients used.
        others: the same of other processes.
        ops, p50_s, tail_s: measured; with `_low` and `_high` the bounds, with `predicted_` the predictions.
        tail: the quantile.
    """

    entry: str
    store: str
    promise: str
    load: str
    phase: str
    op: str
    requests: int
    errors: int
    predicted_errors: int
    fitted: bool
    busy: float
    others: float
    ops: float
    ops_low: float
    ops_high: float
    predicted_ops: float
    p50_s: float
    p50_s_low: float
    p50_s_high: float
    predicted_p50_s: float
    tail: float
    tail_s: float
    tail_s_low: float
    tail_s_high: float
    predicted_tail_s: float

    @property
    def counts(self) -> bool:
        """Whether it is in the deviations: not fitted, without a fault, and not limited by the machine's cores."""
        return self.phase == "all" and not self.fitted and self.busy < BUSY

    @property
    def cell(self) -> tuple[str, str, str]:
        """What stores are compared in."""
        return self.load, self.phase, self.op

    @property
    def figures(self) -> Mapping[str, tuple[float, float]]:
        """Measured and predicted by `FIGURES`; without those that are not known."""
        pairs = zip(
            FIGURES,
            ((self.ops, self.predicted_ops), (self.p50_s, self.predicted_p50_s), (self.tail_s, self.predicted_tail_s)),
            strict=True,
        )
        return {name: both for name, both in pairs if all(math.isfinite(each) and each > 0 for each in both)}

    @property
    def deviations(self) -> Mapping[str, float]:
        """Deviations of predictions by `FIGURES`; without those that are not known."""
        return {name: theirs / ours - 1 for name, (ours, theirs) in self.figures.items()}

    @property
    def misses(self) -> bool:
        """Whether a figure is further off than `AIMS`, in a row that counts or has a fault."""
        counted = self.counts or self.phase != "all"
        return counted and any(abs(off) > AIMS[name] for name, off in self.deviations.items())


def compared(entry: Entry, name: str, runs: list[Run], values: Mapping[str, float], seeds: int) -> list[Compared]:
    """Return the rows of a load of a store.

    Args:
        runs: of its repetitions; the one with the least load from elsewhere counts.
        values: of the spec, that were fitted.
        seeds: number of simulations.
    """
    run = min(runs, key=lambda one: float(one.info["cpu"]["other_share"]))
    found = []
    for row in rows_of(entry.campaign, entry.cells[name], [run], values, seeds):
        for op, ours in row.measured.ops.items():
            theirs = row.predicted.ops.get(op)
            bounds = _bounds(run, op, ours) if row.phase == "all" else {}
            nan = math.nan
            found.append(Compared(
                entry.name, entry.of, entry.promise, name, row.phase, op, ours.requests,
                row.measured.errors, row.predicted.errors, row.fitted and entry.name == entry.fitted_to,
                row.busy, float(run.info["cpu"]["other_share"]),
                ours.throughput_ops, *bounds.get("ops", (nan, nan)), theirs.throughput_ops if theirs else nan,
                ours.p50_s, *bounds.get("p50", (nan, nan)), theirs.p50_s if theirs else nan,
                ours.tail, ours.tail_s, *bounds.get("tail", (nan, nan)), theirs.tail_s if theirs else nan,
            ))  # fmt: skip
    return found


def _bounds(run: Run, op: str, figures: OpFigures) -> dict[str, tuple[float, float]]:
    """Return intervals of measured figures by a bootstrap of blocks of requests."""
    tail = f"p{round(100 * figures.tail)}"
    found = resample(run, op, ["p50", tail])
    values = {"ops": found.throughput_ops, "p50": found.latency_s["p50"]}
    if math.isfinite(figures.tail_s):
        values["tail"] = found.latency_s[tail]
    bounds = {name: interval(each, _CONFIDENCE) for name, each in values.items()}
    return {name: (low, high) for name, (low, high) in bounds.items()}


@dataclass(frozen=True)
class Ranked:
    """How many pairs of stores are predicted the right way round.

    Attributes:
        pairs: number that differ by more than `DIFFERENT`, measured in the same cell at the same promise.
        right: of these, those whose predictions differ in the same direction.
        wrong: the others, as cell, better and worse entry, and both ratios of the better to the worse one.
    """

    pairs: int
    right: int
    wrong: tuple[tuple[tuple[str, str, str], str, str, float, float], ...]


def ranked(rows: Sequence[Compared], figure: str, with_fitted: bool = False) -> Ranked:
    """Return how many pairs of stores that sync are predicted the right way round.

    Args:
        figure: one of `FIGURES`.
        with_fitted: whether loads that CPU times are fitted to count.
    """
    pairs, wrong = 0, []
    for cell, in_cell in _by_cell(rows, "synced").items():
        known = {
            row.entry: row.figures[figure]
            for row in in_cell
            if figure in row.figures and (with_fitted or not row.fitted)
        }
        for one, other in itertools.combinations(known, 2):
            first, second = (other, one) if _is_better(figure, known[other][0], known[one][0]) else (one, other)
            measured, predicted = (_advantage(figure, known[first][number], known[second][number]) for number in (0, 1))
            if measured <= DIFFERENT:
                continue
            pairs += 1
            if predicted <= 1:
                wrong.append((cell, first, second, measured, predicted))
    return Ranked(pairs, pairs - len(wrong), tuple(wrong))


def _is_better(figure: str, value: float, than: float) -> bool:
    return value > than if figure == "ops" else value < than


def _advantage(figure: str, value: float, of: float) -> float:
    """Return how many times better a value is."""
    return value / of if figure == "ops" else of / value


def _by_cell(rows: Sequence[Compared], promise: str) -> dict[tuple[str, str, str], list[Compared]]:
    found: dict[tuple[str, str, str], list[Compared]] = {}
    for row in rows:
        if row.promise == promise:
            found.setdefault(row.cell, []).append(row)
    return found


@dataclass(frozen=True)
class SyncCost:
    """What a store gains without syncs in a cell, and how it compares with a reference that syncs.

    Each pair is measured and predicted; NaN without the reference.

    Attributes:
        gain: throughput without syncs over that with them.
        same: throughput over the reference's, both with syncs.
        unequal: throughput without syncs over that of the reference with them.
    """

    cell: tuple[str, str, str]
    store: str
    gain: tuple[float, float]
    same: tuple[float, float]
    unequal: tuple[float, float]


def sync_costs(rows: Sequence[Compared], reference: str) -> Iterator[SyncCost]:
    """Yield what syncs cost in each cell that was measured with and without them.

    Args:
        reference: store that others are compared with.
    """
    synced = {(row.cell, row.store): row for row in rows if row.promise == "synced"}
    for row in rows:
        ours, theirs = synced.get((row.cell, row.store)), synced.get((row.cell, reference))
        if row.promise != "unsynced" or ours is None:
            continue
        yield SyncCost(row.cell, row.store, _ratio(row, ours), _ratio(ours, theirs), _ratio(row, theirs))


def _ratio(row: Compared, over: Compared | None) -> tuple[float, float]:
    if over is None:
        return math.nan, math.nan
    return row.ops / over.ops, row.predicted_ops / over.predicted_ops


def write_rows(rows: Sequence[Compared], path: Path) -> None:
    """Write rows as CSV, with four digits; `docs/generators/comparison.py` reads them."""
    with atomic_file(path) as temporary, temporary.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([field.name for field in fields(Compared)])
        table.writerows([_text(getattr(row, field.name)) for field in fields(Compared)] for row in rows)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return str(value)
