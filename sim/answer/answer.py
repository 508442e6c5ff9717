"""The usual questions about a store, by the functions that the commands for each of them call.

What is the greatest rate that meets the objectives, healthy and with a failure? What saturates first, when are the
drives full, do hedged requests help, what is the cheapest change for more, which assumed values matter, and how far may
a forecast be off?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from models.basis.described import DescribedSpec
from models.shared.prices import PricedPart, priced_parts
from models.store import Spec, levels
from sim.answer.changes import HEDGE, Changes, try_changes
from sim.capacity.growth import Growth
from sim.capacity.plan import CapacityPlan, plan
from sim.experiments.failure_kinds import Failure
from sim.experiments.find.find_best import Best, find_best
from sim.experiments.find.find_limit import FoundLimit, find_limit
from sim.experiments.find.goal import Goal, OpLatency
from sim.experiments.sweep import Settings
from sim.experiments.uncertainty import RangeEffects, UncertaintyBand, assumed_effects, uncertainty_band
from sim.experiments.variants import Variants
from sim.json_form import NOT_IN_JSON
from sim.replication.slo import LATENCIES, Slo
from traces.errors import InputError
from traces.spec.spec_file import override

RATE = "workload.rate"
LOAD = 0.8  # of the greatest rate: the load at which hedging and assumed values are examined
MORE = 1.5  # over the greatest rate: what a change should make possible
EXTRA_LOAD = 0.05
DRAWS, LEVEL = 20, 0.8

Progress = Callable[[str], AbstractContextManager[Callable[[float], None]]]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Refused:
    """A question that has no result, and why."""

    reason: str


@dataclass(frozen=True)
class Question:
    """What is to be found out.

    Attributes:
        described: the spec.
        source: name of the spec.
        slos: the objectives.
        failures: each in force by itself.
        growth: of the store; None: it does not grow.
        rate_ops: rate that a change should make possible; None: `MORE` of the greatest rate.
        sets: further values of all simulations, such as the number of requests.
        settings: of each simulation.
    """

    described: DescribedSpec
    source: str
    slos: list[Slo]
    failures: list[Failure]
    growth: Growth | None
    rate_ops: float | None
    sets: tuple[str, ...]
    settings: Settings

    def read(self, sets: Sequence[str]) -> DescribedSpec:
        """Return the spec with further values."""
        return self.described.variant(override(self.described.whole, sets), sets)


@dataclass(frozen=True)
class Answer:
    """The results, each that of a command.

    Attributes:
        sets: values of the spec in all simulations.
        load_sets: values of the spec at the load at which hedging and assumed values are examined; empty: no rate
            meets the objectives.
        healthy: the greatest rate of the healthy store.
        failing: the same with each failure, by its text.
        plan: when the store is full, and the cheapest change meanwhile; None: it does not grow.
        hedge: the best delay of hedged requests.
        changes: those that make a higher rate possible.
        effects: of the ranges of assumed values.
        prices: of the parts of the store and of those below it; empty without prices.
        band: of the figures with assumed values drawn from their ranges.
    """

    sets: tuple[str, ...]
    load_sets: tuple[str, ...]
    healthy: FoundLimit
    failing: dict[str, FoundLimit | Refused]
    plan: CapacityPlan | Refused | None
    hedge: Best | Refused
    changes: Changes | Refused
    effects: RangeEffects | Refused
    band: UncertaintyBand | Refused
    prices: tuple[PricedPart, ...]
    slos: list[Slo] = field(metadata=NOT_IN_JSON)


def sized(spec: Spec, requests: int) -> tuple[str, ...]:
    """Return the values of a spec with which its runs have a number of requests, at any rate.

    A spec whose faults or arrivals change over time keeps its own length.

    Raises:
        InputError: its workload has groups, so that there is no one rate to be found.
    """
    if spec.workload.groups:
        raise InputError("workload.groups: have rates of their own; a workload without groups is needed")
    if spec.faults or getattr(spec.workload.arrivals, "kind", "poisson") != "poisson":
        return ()
    return f"workload.operations={requests}", "workload.duration=null"


def answer(question: Question, *, workers: int = 1, progress: Progress) -> Answer:
    """Return the results of all questions; a question that the store's model cannot decide has a reason instead.

    Raises:
        InputError: the objectives do not fit the spec, or it cannot be simulated.
    """
    described = question.read(question.sets)
    variants = Variants(described.whole, question.source, question.settings, workers)
    goal = Goal("max", RATE)

    def limit(failure: Failure | None) -> FoundLimit:
        what = "greatest rate" if failure is None else f"greatest rate with failure {failure.text}"
        with progress(what) as update:
            return find_limit(replace(variants, failure=failure), goal, question.slos, progress=update)

    healthy = limit(None)
    failing = {failure.text: _or_refused(lambda f=failure: limit(f)) for failure in question.failures}  # type: ignore[misc]
    most, sets = healthy.value, question.sets
    load_sets = () if most is None else (*sets, f"{RATE}={_rounded(LOAD * most):g}")
    none_meets = Refused("no rate meets the objectives")
    return Answer(
        sets,
        load_sets,
        healthy,
        failing,
        None if question.growth is None else _or_refused(lambda: _plan(question, workers, progress)),
        none_meets if most is None else _or_refused(lambda: _hedge(question, load_sets, workers, progress)),
        none_meets if most is None else _or_refused(lambda: _changes(question, most, workers, progress)),
        none_meets if most is None else _or_refused(lambda: _effects(question, load_sets, workers, progress)),
        none_meets if most is None else _or_refused(lambda: _band(question, load_sets, workers, progress)),
        tuple(part for level in levels(question.described.spec).values() for part in priced_parts(level)),
        question.slos,
    )


def _or_refused(find: Callable[[], Result]) -> Result | Refused:
    try:
        return find()
    except InputError as error:
        return Refused("; ".join(error.messages))


def _rounded(rate_ops: float) -> float:
    return float(f"{rate_ops:.2g}")


def _plan(question: Question, workers: int, progress: Progress) -> CapacityPlan:
    assert question.growth is not None
    with progress("growth") as update:
        return plan(
            question.read(()).whole, question.growth, question.slos, source=question.source,
            seed=question.settings.seed, workers=workers, progress=update,
        )  # fmt: skip


def hedged(spec: Spec, slos: Sequence[Slo]) -> OpLatency:
    """Return the latency that hedged requests may shorten: that of the first objective on one.

    Raises:
        InputError: there is none, or it is of an operation that is not hedged.
    """
    operations = spec.client.hedge.operations
    for slo in slos:
        if slo.figure in LATENCIES and slo.figure != "max" and slo.subject in operations:
            return OpLatency(str(slo.subject), slo.figure)
    raise InputError(f"no objective is on a latency of {', '.join(operations)}, which are hedged")


def _hedge(question: Question, sets: Sequence[str], workers: int, progress: Progress) -> Best:
    described = question.read(sets)
    target = hedged(described.spec, question.slos)
    variants = Variants(described.whole, question.source, question.settings, workers)
    with progress("hedged requests") as update:
        return find_best(variants, Goal("best", HEDGE), target, most_extra_load=EXTRA_LOAD, progress=update)


def _changes(question: Question, most: float, workers: int, progress: Progress) -> Changes:
    rate_ops = _rounded(MORE * most) if question.rate_ops is None else question.rate_ops
    with progress("changes") as update:
        return try_changes(
            question.read, question.sets, rate_ops, question.slos, question.settings, workers=workers, progress=update
        )


def _effects(question: Question, sets: Sequence[str], workers: int, progress: Progress) -> RangeEffects:
    once = replace(question.settings, replications=1)
    with progress("assumed values") as update:
        return assumed_effects(question.read(sets).uncertain, once, workers=workers, progress=update)


def _band(question: Question, sets: Sequence[str], workers: int, progress: Progress) -> UncertaintyBand:
    drawn = replace(question.settings, replications=DRAWS)
    with progress("draws of assumed values") as update:
        return uncertainty_band(question.read(sets).uncertain, drawn, LEVEL, workers=workers, progress=update)
