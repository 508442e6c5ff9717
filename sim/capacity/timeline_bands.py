"""Bands of a timeline: its states are simulated again for draws of the values that are not known.

As in a band of a single forecast (`sim.experiments.uncertainty`), each draw has a seed and a model discrepancy of its
own, which are the same at all states, so a band does not jitter from state to state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from models.basis.uncertainty import Uncertain, Unknown
from models.store import Spec
from sim.capacity.timeline import State, StateWindow, Timeline, TimelinePlan, growth_of, states_of
from sim.experiments.discrepancy import Deviation, deviations
from sim.experiments.probability import band_with, check_level, check_possible
from sim.parallel.result_cache import ResultFolder
from sim.replication.replicate import seed_of
from sim.simulate import EngineName
from traces.statistics.summary import QUANTILES

BANDED = ("throughput_ops", "mean", "p50", "p99")
"""Figures of an operation that have a band."""

OpBands = dict[str, dict[str, tuple[float, float]]]
"""The ends of each figure's band, by operation and figure."""


@dataclass(frozen=True)
class TimelineBands:
    """What is not known of a timeline.

    Attributes:
        level: fraction of the draws that a band contains; it always contains the forecast, too.
        draws: number of draws that were simulated; `impossible`: of others, whose values do not fit together.
        states: bands of each state.
        unknowns: what was drawn.
    """

    level: float
    draws: int
    impossible: int
    states: tuple[OpBands, ...]
    unknowns: tuple[Unknown, ...]


def timeline_bands(
    uncertain: Uncertain,
    plan: TimelinePlan,
    found: Timeline,
    level: float,
    draws: int,
    *,
    seed: int = 0,
    engine: EngineName = "compiled",
    workers: int = 1,
    cache: ResultFolder | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> TimelineBands:
    """Simulate all states of a timeline for each draw.

    Args:
        uncertain: the spec of the timeline and its unknown values.
        plan: the states.
        found: the timeline with the values as assumed.
        level: fraction of the draws that a band contains.
        draws: their number.
        seed, engine, workers, cache: as of the timeline.
        progress: called with the number of windows done, of draws times states.

    Raises:
        InputError: level or draws are out of range, too few draws are possible, or a worker was killed.
    """
    check_level(level, draws)
    possible = [(k, spec) for k, spec in enumerate(uncertain.all_drawn(draws, seed)) if spec is not None]
    check_possible(len(possible), draws)
    windows = [window for k, spec in possible for window in _windows(spec, plan, seed_of(seed, k), engine)]
    states = states_of(windows, workers=workers, cache=cache, progress=progress)
    of_draw = [states[i : i + plan.states] for i in range(0, len(states), plan.states)]
    is_closed = uncertain.spec({}).workload.total_rate is None
    every = deviations(draws, seed)
    moved = [every[k] for k, _ in possible]
    bands = tuple(
        _bands(state, [own[i] for own in of_draw], moved, is_closed, level) for i, state in enumerate(found.states)
    )
    return TimelineBands(level, len(possible), draws - len(possible), bands, uncertain.unknowns)


def _windows(spec: Spec, plan: TimelinePlan, seed: int, engine: EngineName) -> list[StateWindow]:
    growth = growth_of(spec)
    return [
        StateWindow(growth.grown(spec, objects), plan.window_s, seed, engine, has_verdict=False)
        for objects in plan.objects
    ]


def _bands(state: State, drawn: Sequence[State], moved: Sequence[Deviation], is_closed: bool, level: float) -> OpBands:
    """Return the bands of a state, around the figures as assumed."""
    return {
        op: {name: _band(state, drawn, moved, op, name, is_closed, level) for name in BANDED} for op in state["ops"]
    }


def _band(
    state: State, drawn: Sequence[State], moved: Sequence[Deviation], op: str, name: str, is_closed: bool, level: float
) -> tuple[float, float]:
    samples = [
        _figure(own, op, name) * _factor(deviation, name, is_closed)
        for own, deviation in zip(drawn, moved, strict=True)
        if op in own["ops"]
    ]
    known = [value for value in samples if math.isfinite(value)]
    forecast = _figure(state, op, name)
    return band_with(known, level, forecast) if known else (math.nan, math.nan)


def _figure(state: State, op: str, name: str) -> float:
    figures = state["ops"][op]
    return float(figures[name] if name == "throughput_ops" else figures["latency_s"][name])


def _factor(deviation: Deviation, name: str, is_closed: bool) -> float:
    if name == "throughput_ops":
        return deviation.rate if is_closed else 1.0
    return deviation.quantile(QUANTILES[name]) if name in QUANTILES else deviation.mean
