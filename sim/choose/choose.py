"""The table and the ranking of stores on given hardware, at the same promise, with the same requests.

The table has the figures of each store with its values as assumed. For the best of them, values that are not known are
drawn from their ranges: where two stores have the same unknown, such as a drive's times, draw k has the same value in
both, so that their difference is more certain than their figures. The model of each store deviates by itself. One value
at a time at both ends of its range then shows which measurement would decide between the first two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.basis.uncertainty import Unknown
from models.durability.promise import Promise
from models.site.replacements import replacement
from sim.analysis.main_assumptions import main_unknowns
from sim.capacity.growth import likely
from sim.choose.candidates import Candidate, Excluded, Wanted, candidate_of, stores_to_compare
from sim.choose.figures import PRECISION, Figures, deviating, faults_of_failures, figures_of, most_ops
from sim.choose.hardware import HardwareFile
from sim.experiments.discrepancy import deviations
from sim.experiments.probability import band_with, score_interval
from sim.experiments.sweep import first_trace
from sim.parallel.worker_map import WorkerMap
from sim.replication.replicate import seed_of
from sim.replication.slo import UTILIZATION, Slo
from sim.saturation.capacity import capacity_of
from traces.errors import InputError

BEST = 3
"""Number of stores whose unknown values are drawn."""
LEVEL = 0.8
"""Fraction of the draws that a band contains."""
NO_CHANGE = (1 + PRECISION) ** 2 - 1
"""Fraction by which the ratio of two rates may change without a cause, as each is within `PRECISION`: 13 %."""
_UNKNOWNS = 5  # of each of the first two stores, moved one at a time
_MOST_NUMBERS = 8  # of hosts that are tried

Progress = Callable[[str], AbstractContextManager[Callable[[float], None]]]


@dataclass(frozen=True)
class Row:
    """A store in the table.

    Attributes:
        candidate: its settings.
        figures: with values as assumed.
        hosts_later: hosts needed at the end of the growth, for space and for the rate; None: no number is enough.
        cost: of these hosts; None: there are no prices.
    """

    candidate: Candidate
    figures: Figures
    hosts_later: int | None
    cost: float | None


@dataclass(frozen=True)
class Band:
    """A band that contains `LEVEL` of the draws."""

    low: float
    high: float


@dataclass(frozen=True)
class Drawn:
    """The figures of a store over draws of its unknown values.

    Attributes:
        store: its name.
        most_ops: greatest rate of each draw, NaN where its values do not fit together; shape (draws,).
        bands: of the greatest rate (``most_ops``), and of figures such as ``GET.p99`` and ``drive.GET.p99``, in s.
        first: fraction of the draws in which it is the best of those that were drawn.
    """

    store: str
    most_ops: tuple[float, ...]
    bands: Mapping[str, Band]
    first: float


@dataclass(frozen=True)
class Decisive:
    """The value whose measurement would say most on which of two stores is better.

    Attributes:
        unknown: the value and its range.
        stores: those that depend on it.
        low, high: greatest rate of the first store over that of the second, with the value at the ends of its range.
        measured_by: what would give the value.
    """

    unknown: Unknown
    stores: tuple[str, ...]
    low: float
    high: float
    measured_by: str

    @property
    def change(self) -> float:
        """Fraction by which the ratio changes over the range."""
        return max(self.low, self.high) / min(self.low, self.high) - 1

    @property
    def decides(self) -> bool:
        """Whether the other store is better at one end."""
        return (self.low - 1) * (self.high - 1) < 0


@dataclass(frozen=True)
class Ranking:
    """The best stores, by the greatest rate at the objectives.

    Attributes:
        drawn: of each, the best first.
        draws: number of draws.
        first: probability that the first one is the best of all that were drawn, and its 95 % interval.
        decisive: the measurement that would decide between the first two; None: there are not two, or no value alone
            changes the ratio of their rates by more than `NO_CHANGE`.
    """

    drawn: tuple[Drawn, ...]
    draws: int
    first: tuple[float, float, float] | None
    decisive: Decisive | None


@dataclass(frozen=True)
class Choice:
    """The answer.

    Attributes:
        rows: stores that keep the promise, the one with the greatest rate first.
        excluded: the others, with reasons.
        ranking: of the best; None: it was not wanted, or nothing is unknown.
        promise: that all keep.
        months: after which growth ends; None: it was not given.
        seed: of all simulations.
    """

    rows: tuple[Row, ...]
    excluded: tuple[Excluded, ...]
    ranking: Ranking | None
    promise: Promise
    months: int | None
    seed: int


def choose(
    wanted: Wanted,
    slos: Sequence[Slo],
    *,
    excluded: Sequence[str] = (),
    draws: int = 12,
    seed: int = 0,
    workers: int = 1,
    progress: Progress,
    shown: Callable[[Choice], None] = lambda choice: None,
) -> Choice:
    """Return the table and the ranking.

    Args:
        wanted: hardware, promise and workload.
        slos: the objectives.
        excluded: stores that are left out.
        draws: number of draws of unknown values; 0: there is no ranking beyond the table.
        seed: of all simulations.
        workers: as for `WorkerMap`.
        progress: called with what is done, for a function of the number of stores or draws done.
        shown: called with the table before the ranking is made.

    Raises:
        InputError: no store can be chosen from, a pin is not possible, or an objective does not fit the workload.
    """
    _refuse(slos, wanted.file)
    stores = stores_to_compare(excluded)
    found = [candidate_of(name, wanted) for name in stores]
    candidates = [each for each in found if isinstance(each, Candidate)]
    with WorkerMap(workers) as mapping:
        with progress("table") as update:
            rows: list[Row | Excluded] = []
            for row in mapping(_Assess(wanted, tuple(slos), seed), candidates):
                rows.append(row)
                update(len(rows) / len(candidates))
        # By the greatest rate; the workload's decides between those that serve none.
        ranked = sorted((row for row in rows if isinstance(row, Row)), key=lambda row: -row.figures.most_ops)
        out = tuple(each for each in (*found, *rows) if isinstance(each, Excluded))
        months = None if wanted.file.growth is None else wanted.file.growth.months
        table = Choice(tuple(ranked), out, None, wanted.promise, months, seed)
        best = _different([row for row in ranked if row.figures.most_ops > 0])[:BEST]
        if not draws or not best:
            return table
        shown(table)
        ranking = _ranked(best, slos, draws, seed, mapping, progress)
    return Choice(table.rows, table.excluded, ranking, table.promise, months, seed)


def _different(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without those that have all the figures of an earlier one, as of a fork with the same model."""
    found: dict[tuple[float, float | None, str], Row] = {}
    for row in rows:
        figures = row.figures
        found.setdefault((figures.most_ops, figures.saturation_ops, repr(figures.healthy)), row)
    return list(found.values())


def _refuse(slos: Sequence[Slo], file: HardwareFile) -> None:
    ops = file.workload.ops
    for slo in slos:
        if slo.figure != UTILIZATION and slo.subject not in ops:
            raise InputError(f"objectives: {slo.text}: the workload has no {slo.subject}; it has {', '.join(ops)}")


@dataclass(frozen=True)
class _Assess:
    """The row of a candidate; a class, so that it can be pickled."""

    wanted: Wanted
    slos: tuple[Slo, ...]
    seed: int

    def __call__(self, candidate: Candidate) -> Row | Excluded:
        spec = candidate.described.spec
        try:
            figures = figures_of(spec, faults_of_failures(candidate.described), self.slos, self.seed)
            hosts = _hosts_later(candidate, figures, self.wanted, self.seed)
        except InputError as error:
            return Excluded(candidate.store, error.messages[0])
        return Row(candidate, figures, hosts, None if hosts is None else self.wanted.file.cost(hosts))


def _hosts_later(candidate: Candidate, figures: Figures, wanted: Wanted, seed: int) -> int | None:
    """Return the least number of hosts, at least those of the file, for the objects and the rate at the end of growth.

    At each number of hosts a store serves the same fraction of the rate at which it saturates. Numbers that its
    settings do not allow are passed over.
    """
    file = wanted.file
    rate_ops, objects = file.workload.rate or 0.0, file.stored.objects
    if file.growth is not None:
        end = likely(file.growth)
        rate_ops = (end.load_now or rate_ops) * (1 + (end.load_growth or 0.0)) ** file.growth.months
        objects = (end.objects_now or objects) + (end.objects_a_month or 0.0) * file.growth.months
    held = objects * file.object_bytes
    if not figures.most_ops or figures.saturation_ops is None:
        return None
    fraction, hosts = figures.most_ops / figures.saturation_ops, file.hosts.count
    usable, most = candidate.usable_bytes, figures.saturation_ops
    for _ in range(_MOST_NUMBERS):
        if usable >= held and fraction * most >= rate_ops:
            return hosts
        per_host = min(usable / held, fraction * most / rate_ops) if usable and most else 1.0
        # As if it grew in proportion, which is at most one step too far for what grows no slower.
        hosts = max(hosts + 1, math.floor(hosts / per_host)) if per_host < 1 else hosts + 1
        usable, most = _with_hosts(candidate.store, wanted, hosts, seed)
    return None


def _with_hosts(store: str, wanted: Wanted, hosts: int, seed: int) -> tuple[float, float]:
    """Return the usable bytes of a store on a number of hosts, and the rate in 1/s at which it saturates; or 0."""
    found = candidate_of(store, wanted, hosts)
    if isinstance(found, Excluded):
        return 0.0, 0.0
    spec = found.described.spec
    return found.usable_bytes, capacity_of(spec, first_trace(spec, seed)).mean_ops or math.inf


@dataclass(frozen=True)
class _Draw:
    """The figures of one draw of a candidate; None: its values do not fit together."""

    slos: tuple[Slo, ...]
    draws: int
    seed: int

    def __call__(self, drawn: tuple[Candidate, Mapping[str, Any], int]) -> Figures | None:
        candidate, faults, draw = drawn
        try:
            spec = candidate.described.uncertain.drawn(draw, self.draws, self.seed)
            found = figures_of(spec, faults, self.slos, seed_of(self.seed, draw), quick=True)
        except InputError:
            return None
        return deviating(found, deviations(self.draws, self.seed, candidate.store)[draw])


@dataclass(frozen=True)
class _Moved:
    """The greatest rate of a candidate with one value at one place of its range; NaN: it is not possible."""

    slos: tuple[Slo, ...]
    seed: int

    def __call__(self, moved: tuple[Candidate, str, Any]) -> float:
        candidate, path, value = moved
        try:
            spec = candidate.described.uncertain.spec({path: value})
            return most_ops(spec, self.slos, self.seed, capacity_of(spec, first_trace(spec, self.seed)))
        except InputError:
            return math.nan


def _ranked(
    best: Sequence[Row], slos: Sequence[Slo], draws: int, seed: int, mapping: WorkerMap, progress: Progress
) -> Ranking:
    tasks = [
        (row.candidate, faults_of_failures(row.candidate.described), draw) for draw in range(draws) for row in best
    ]
    found: list[Figures | None] = []
    with progress("bands") as update:
        for each in mapping(_Draw(tuple(slos), draws, seed), tasks):
            found.append(each)
            update(len(found) / len(tasks))
    of_store = [found[k :: len(best)] for k in range(len(best))]
    rates = np.array([[math.nan if each is None else each.most_ops for each in mine] for mine in of_store])
    possible = ~np.isnan(rates).any(axis=0)
    wins = np.argmax(rates[:, possible], axis=0) if possible.any() else np.array([], int)
    fractions = [float((wins == k).mean()) if len(wins) else math.nan for k in range(len(best))]
    drawn = tuple(
        Drawn(row.candidate.store, tuple(own.tolist()), _bands(mine, row.figures), fraction)
        for row, own, mine, fraction in zip(best, rates, of_store, fractions, strict=True)
    )
    first = (fractions[0], *score_interval(fractions[0], len(wins))) if len(wins) else None
    decisive = _decisive(best[0], best[1], slos, seed, mapping, progress) if len(best) > 1 else None
    return Ranking(drawn, draws, first, decisive)


def figures_by_name(figures: Figures) -> dict[str, float]:
    """Return the figures that have bands, by name; those of failures begin with its name."""
    found = {"most_ops": figures.most_ops}
    for before, situation in (("", figures.healthy), *((f"{kind}.", each) for kind, each in figures.failing.items())):
        for op, each in situation.ops.items():
            found |= {f"{before}{op}.p50": each.p50_s, f"{before}{op}.p99": each.p99_s}
    return found


def _bands(draws: Sequence[Figures | None], assumed: Figures) -> dict[str, Band]:
    """Return the band of each figure, which contains the assumed one, too."""
    each = [figures_by_name(one) for one in draws if one is not None]
    found = {}
    for name, value in figures_by_name(assumed).items():
        known = [of_draw[name] for of_draw in each if math.isfinite(of_draw.get(name, math.nan))]
        if known:
            found[name] = Band(*band_with(known, LEVEL, value))
    return found


def _decisive(
    first: Row, second: Row, slos: Sequence[Slo], seed: int, mapping: WorkerMap, progress: Progress
) -> Decisive | None:
    """Return the unknown value with the greatest effect on the ratio of two stores, one moved at a time.

    None: none has an effect beyond `NO_CHANGE`.
    """
    rows = (first, second)
    mine = [{each.path: each for each in row.candidate.described.uncertain.unknowns} for row in rows]
    main = {each.path: each for row in rows for each in main_unknowns(row.candidate.described.uncertain, _UNKNOWNS)}
    tasks: list[tuple[Candidate, str, Any]] = []
    places: list[tuple[str, int, int]] = []
    for path in main:
        for k, row in enumerate(rows):
            if path in mine[k]:
                unknown = mine[k][path]
                for end, value in enumerate(_ends(unknown)):
                    tasks.append((row.candidate, path, value))
                    places.append((path, end, k))
    moved: dict[tuple[str, int, int], float] = {}
    with progress("decisive measurement") as update:
        for place, rate in zip(places, mapping(_Moved(tuple(slos), seed), tasks), strict=True):
            moved[place] = rate
            update(len(moved) / len(tasks))
    found: list[Decisive] = []
    for path, unknown in main.items():
        ratios = []
        for end in (0, 1):
            rates = [moved.get((path, end, k), row.figures.most_ops) for k, row in enumerate(rows)]
            ratios.append(rates[0] / rates[1] if rates[1] else math.nan)
        stores = tuple(row.candidate.store for k, row in enumerate(rows) if path in mine[k])
        if all(0 < ratio < math.inf for ratio in ratios):
            found.append(Decisive(unknown, stores, ratios[0], ratios[1], replacement(path)))
    most = max(found, key=lambda each: each.change, default=None)
    return None if most is None or most.change <= NO_CHANGE else most


def _ends(unknown: Unknown) -> tuple[Any, Any]:
    if unknown.low is None or unknown.high is None:
        return unknown.values[0], unknown.values[-1]
    return unknown.low, unknown.high
