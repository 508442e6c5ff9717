"""Sensitivity of a latency to numbers in a spec: screening by elementary effects.

Morris, "Factorial sampling plans for preliminary computational experiments", Technometrics 33(2), 1991; Campolongo,
Cariboni, Saltelli, "An effective screening design for sensitivity analysis of large models", Environmental Modelling &
Software 22(10), 2007. SALib, the optional extra ``sensitivity``, draws the trajectories.

Effects are computed from the logarithms of numbers and latency, so an effect is an *elasticity*: the percentage by
which the latency grows when the number grows by one percent. All points have the same seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from models.spec.field_paths import resolved
from sim.experiments.find.goal import OpLatency
from sim.experiments.measures import Measures
from sim.experiments.sweep import Point, PointTask, sweep
from sim.experiments.variants import Variants, assignment
from sim.parallel.result_cache import ResultFolder
from sim.replication.summaries import CONFIDENCE, Figure, Interval, SignedFigure
from sim.verdict.verdict import LoadVerdict
from traces.errors import InputError
from traces.random_streams import mixed, stream_id
from traces.statistics.summary import Floats
from traces.without_pandas import do_with_pandas

LEVELS = 4
"""Number of values of each number, by equal ratios from one end of its range to the other; as in Morris's paper."""

_DIGITS = 5


@dataclass(frozen=True)
class NumberRange:
    """The range of a number.

    Attributes:
        path: of a field, abbreviated or in full.
        low, high: as in a spec, with units.
    """

    path: str
    low: str
    high: str


@dataclass(frozen=True)
class Effect:
    """The effect of a number on the latency.

    Attributes:
        path, unit, low, high: of the number and its range.
        elasticity: mean of the elementary effects (Morris's mu), with the t interval of the trajectories.
        strength: mean of their absolute values (mu*), in which effects of both signs do not cancel.
        spread: standard deviation of the effects (sigma): large if the effect varies over the range or with the others.
        factor: factor by which the latency grows over the range, if the strength is constant.
    """

    path: str
    unit: str
    low: float
    high: float
    elasticity: Interval
    strength: Interval
    spread: float
    factor: float


@dataclass(frozen=True)
class Screening:
    """The result of a sensitivity analysis.

    Attributes:
        target: the latency.
        trajectories: number of walks through the ranges.
        simulated: number of distinct points.
        seed, replications: of each point.
        confidence: of the intervals.
        load: the verdict on the load of the unchanged spec; None: it is infeasible.
        parameters: the strongest first.
    """

    target: OpLatency
    trajectories: int
    simulated: int
    seed: int
    replications: int
    confidence: float
    load: LoadVerdict | None
    parameters: list[Effect]


@dataclass(frozen=True)
class _Axis:
    path: str
    unit: str
    low: float
    high: float

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int)

    def value(self, log: float) -> float:
        return round(math.exp(log)) if self.whole else float(f"{math.exp(log):.{_DIGITS}g}")


def sensitivity(
    variants: Variants,
    ranges: Sequence[NumberRange],
    target: OpLatency,
    *,
    trajectories: int = 10,
    confidence: float = CONFIDENCE,
    cache: ResultFolder | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Screening:
    """Estimate how strongly each number affects a latency over the given ranges.

    Args:
        ranges: at least two, of numbers above 0.
        target: the latency.
        trajectories: number of walks through the ranges, at least 2; each has one point more than there are numbers.
            Points that several walks share are simulated once.
        cache: of points that have been simulated before.
        progress: called with the number of points done, of ``trajectories * (len(ranges) + 1)``.

    Raises:
        InputError: SALib is not installed, a range does not fit the spec, a value is refused, no request succeeded, or
            no number affects the latency.
    """
    if len(ranges) < 2 or trajectories < 2:
        raise InputError(
            f"sensitivity needs at least 2 ranges and 2 trajectories; there are {len(ranges)} and {trajectories}"
        )
    axes = [_axis(variants, each) for each in ranges]
    if len({axis.path for axis in axes}) < len(axes):
        raise InputError(f"the ranges are of {', '.join(axis.path for axis in axes)}; give one range per field")
    drawn = _trajectories(axes, trajectories, variants.settings.seed)
    points = [tuple(axis.value(x) for axis, x in zip(axes, row, strict=True)) for row in drawn.tolist()]
    logs = np.log(np.array(points, np.float64))
    variables = [[assignment(axis.path, x) for axis, x in zip(axes, point, strict=True)] for point in points]
    jobs = [PointTask(variants.spec(each), variants.settings) for each in variables]
    results = sweep(jobs, workers=variants.workers, cache=cache, progress=progress)
    (base,) = sweep([PointTask(variants.spec(), variants.settings)], workers=variants.workers, cache=cache)
    log_latency = _log_latencies(variables, results, target)
    if np.ptp(log_latency) == 0:
        raise InputError(f"target {target}: none of {', '.join(axis.path for axis in axes)} affects it")
    effects = _elementary_effects(logs, log_latency, trajectories)
    rows = [_row(axis, own, confidence) for axis, own in zip(axes, effects.T, strict=True)]
    return Screening(
        target,
        trajectories,
        len(set(points)),
        variants.settings.seed,
        variants.settings.replications,
        confidence,
        base.verdict if isinstance(base, Measures) else None,
        sorted(rows, key=lambda row: -row.strength.value),
    )


def _elementary_effects(logs: Floats, log_latency: Floats, trajectories: int) -> Floats:
    """Return the elasticity at each step of each walk, shape (trajectories, numbers): a step changes one number only.

    Computed from the actual steps instead of those drawn, because whole numbers are rounded.
    """
    steps = np.diff(logs.reshape(trajectories, -1, logs.shape[1]), axis=1)
    rises = np.diff(log_latency.reshape(trajectories, -1), axis=1)
    walk, step, number = np.nonzero(steps)
    effects = np.empty((trajectories, logs.shape[1]))
    effects[walk, number] = rises[walk, step] / steps[walk, step, number]
    return effects


def _row(axis: _Axis, effects: Floats, confidence: float) -> Effect:
    elasticity = SignedFigure(float(effects.mean()), effects).interval(confidence)
    strength = Figure(float(np.abs(effects).mean()), np.abs(effects)).interval(confidence)
    return Effect(
        axis.path,
        axis.unit,
        axis.low,
        axis.high,
        elasticity,
        strength,
        float(effects.std(ddof=1)),
        (axis.high / axis.low) ** strength.value,
    )


def _trajectories(axes: Sequence[_Axis], count: int, seed: int) -> Floats:
    """Return the logarithms of the numbers at each point of each walk, shape (count * (numbers + 1), numbers)."""
    do_with_pandas()  # which SALib imports
    try:
        from SALib.sample import morris
    except ImportError as error:
        raise InputError("a sensitivity analysis needs SALib; pip install 'tailcast[sensitivity]'") from error
    problem = {
        "num_vars": len(axes),
        "names": [axis.path for axis in axes],
        "bounds": [[math.log(axis.low), math.log(axis.high)] for axis in axes],
    }
    drawn: Floats = morris.sample(
        problem, count, num_levels=LEVELS, seed=mixed(seed, stream_id("sensitivity"), 0) % 2**32
    )
    return drawn


def _axis(variants: Variants, requested: NumberRange) -> _Axis:
    path = resolved(variants.spec(), requested.path, counted=True)
    low, high = (variants.number(path, text) for text in (requested.low, requested.high))
    if low is None or high is None or not 0 < low < high:
        raise InputError(f"{requested.path}={requested.low}..{requested.high}: give two ascending numbers above 0")
    axis = _Axis(path, variants.unit(path), low, high)
    grid = np.linspace(math.log(low), math.log(high), LEVELS)
    if len({axis.value(x) for x in grid.tolist()}) < LEVELS:
        raise InputError(
            f"{requested.path}={requested.low}..{requested.high}: the range has fewer than {LEVELS} values; widen it"
        )
    return axis


def _log_latencies(points: Sequence[Sequence[str]], results: Sequence[Point], target: OpLatency) -> Floats:
    """Return the logarithm of the latency at each point."""
    logs = []
    for assignments, result in zip(points, results, strict=True):
        if isinstance(result, InputError):
            raise InputError(f"at {', '.join(assignments)}: {result}")
        latency_s = result.interval(target.op, target.figure).value
        if not 0 < latency_s < math.inf:
            raise InputError(f"target {target}: has no value at {', '.join(assignments)}")
        logs.append(math.log(latency_s))
    return np.array(logs)
