"""The effect of values that are not known: a band over draws from all ranges, and each range by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from models.basis.uncertainty import Uncertain, Unknown
from models.store import Spec
from sim.experiments.discrepancy import DISCREPANCY, DiscrepancyScale, with_deviations
from sim.experiments.measures import Measures
from sim.experiments.probability import band_of, check_level, check_possible
from sim.experiments.sweep import Point, PointTask, Settings, sweep
from sim.parallel.result_cache import ResultFolder
from sim.replication.replicate import seed_of
from sim.replication.steadiness import Unsettled
from sim.replication.summaries import FIGURES
from sim.verdict.verdict import LoadVerdict
from traces.errors import InputError

MOVED = ("throughput_ops", "p99")
"""Figures whose changes `assumed_effects` returns."""


@dataclass(frozen=True)
class FigureBand:
    """A figure with the assumed values, its median over the draws, and its band.

    The band contains the given fraction of the draws, and the forecast with the assumed values. A slowest part, or a
    sum of many demands, is rarely as fast as with all values as assumed: its draws by themselves may all lie on one
    side of the forecast.

    Attributes:
        is_extended: whether the draws by themselves do not reach the forecast.
    """

    value: float
    median: float
    low: float
    high: float
    is_extended: bool = False


@dataclass(frozen=True)
class UncertaintyBand:
    """A forecast with what is not known.

    Attributes:
        level: fraction of the draws that a band contains.
        draws: number of draws that were simulated.
        impossible: number of draws whose values do not fit together.
        load: the verdict on the load with the assumed values.
        ops: the figures of each operation, as in `sim.replication.summaries.FIGURES`.
        unknowns: what was drawn.
        unsettled: why the run with the assumed values is too short; empty if it is not. The others are as long.
        discrepancy: of the model, which the bands contain as well.
    """

    level: float
    draws: int
    impossible: int
    load: LoadVerdict | None
    ops: dict[str, dict[str, FigureBand]]
    unknowns: tuple[Unknown, ...]
    unsettled: list[Unsettled] = field(default_factory=list)
    discrepancy: DiscrepancyScale = DISCREPANCY


@dataclass(frozen=True)
class RangeEffect:
    """The effect of the range of a value that is not known, while all others have their assumed values.

    Attributes:
        unknown: the value and its range.
        ops: by operation and figure (`MOVED`), the figure over that with the assumed value, at the low and at the high
            end of the range; of a list of values the least and the greatest; NaN if an end is not possible.
    """

    unknown: Unknown
    ops: dict[str, dict[str, tuple[float, float]]]

    @property
    def strength(self) -> float:
        """The largest change of any figure, as a logarithm."""
        ratios = [ratio for figures in self.ops.values() for ends in figures.values() for ratio in ends]
        return max((abs(math.log(ratio)) for ratio in ratios if 0 < ratio < math.inf), default=0.0)


@dataclass(frozen=True)
class RangeEffects:
    """The effects of all ranges, the strongest first, and the verdict on the load with the assumed values."""

    seed: int
    replications: int
    load: LoadVerdict | None
    effects: list[RangeEffect]


def uncertainty_band(
    uncertain: Uncertain,
    settings: Settings,
    level: float,
    *,
    workers: int = 1,
    progress: Callable[[int], None] = lambda done: None,
) -> UncertaintyBand:
    """Simulate a spec with values drawn from their ranges, each draw with a seed and a model discrepancy of its own.

    Args:
        uncertain: the spec and its unknown values.
        settings: with the number of draws as replications.
        level: fraction of the draws that a band contains.
        workers: as for `sweep`.
        progress: called with the number of simulations done, of one more than draws.

    Raises:
        InputError: level or draws are out of range, or the spec or too many draws are not possible.
    """
    draws = settings.replications
    check_level(level, draws)
    specs = uncertain.all_drawn(draws, settings.seed)
    once = replace(settings, replications=1)
    jobs = [PointTask(uncertain.spec({}), once)]
    jobs += [
        PointTask(spec, replace(once, seed=seed_of(settings.seed, k)))
        for k, spec in enumerate(specs)
        if spec is not None
    ]
    base, *points = sweep(jobs, workers=workers, progress=progress)
    if isinstance(base, InputError):
        raise base
    possible = with_deviations(points, settings.seed, uncertain.spec({}).workload)
    check_possible(len(possible), draws)
    ops = {op: {name: _figure_band(base, possible, op, name, level) for name in FIGURES} for op in base.ops}
    unsettled = [] if base.overloaded else base.unsettled
    return UncertaintyBand(
        level, len(possible), draws - len(possible), base.verdict, ops, uncertain.unknowns, unsettled
    )


def assumed_effects(
    uncertain: Uncertain,
    settings: Settings,
    *,
    workers: int = 1,
    cache: ResultFolder | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> RangeEffects:
    """Simulate both ends of each range, or each value of a list, with the same seeds as the unchanged spec.

    Raises:
        InputError: nothing is unknown, or the unchanged spec is not possible.
    """
    if not uncertain.unknowns:
        raise InputError(f"{uncertain.source}: no value is assumed; ranges of given ones belong in its section assumed")
    ends = [unknown.values or (unknown.low, unknown.high) for unknown in uncertain.unknowns]
    specs = [
        _possible(uncertain, {unknown.path: value})
        for unknown, values in zip(uncertain.unknowns, ends, strict=True)
        for value in values
    ]
    jobs = [PointTask(spec, settings) for spec in [uncertain.spec({}), *specs] if spec is not None]
    base, *points = sweep(jobs, workers=workers, cache=cache, progress=progress)
    if isinstance(base, InputError):
        raise base
    found = iter(points)
    at_ends = iter([None if spec is None else next(found) for spec in specs])
    effects = [
        _effect(unknown, base, [next(at_ends) for _ in values])
        for unknown, values in zip(uncertain.unknowns, ends, strict=True)
    ]
    return RangeEffects(
        settings.seed, settings.replications, base.verdict, sorted(effects, key=lambda effect: -effect.strength)
    )


def _possible(uncertain: Uncertain, values: dict[str, Any]) -> Spec | None:
    try:
        return uncertain.spec(values)
    except InputError:
        return None


def _figure_band(base: Measures, points: Sequence[Measures], op: str, name: str, level: float) -> FigureBand:
    samples = [point.interval(op, name).value for point in points]
    known = [value for value in samples if math.isfinite(value)] or [math.nan]
    (low, high), value = band_of(known, level), base.interval(op, name).value
    return FigureBand(value, float(np.median(known)), min(low, value), max(high, value), not low <= value <= high)


def _effect(unknown: Unknown, base: Measures, points: Sequence[Point | None]) -> RangeEffect:
    ops: dict[str, dict[str, tuple[float, float]]] = {}
    for op in base.ops:
        for name in MOVED:
            assumed = base.interval(op, name).value
            ratios = [p.interval(op, name).value / assumed if isinstance(p, Measures) else math.nan for p in points]
            if unknown.values:
                known = [ratio for ratio in ratios if math.isfinite(ratio)] or [math.nan]
                ratios = [min(known), max(known)]
            ops.setdefault(op, {})[name] = (ratios[0], ratios[-1])
    return RangeEffect(unknown, ops)
