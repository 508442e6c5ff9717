"""Search for the limit of one field: the greatest or least value that meets all objectives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from models.basis.uncertainty import Unknown
from models.spec.field_paths import resolved
from models.store import Spec
from sim.experiments.failing import Remedy, evaluated, remedies
from sim.experiments.find.goal import Goal, limits_of, start_of
from sim.experiments.find.line_search import Holds, Scale, bisect, bracket, probes, reversals
from sim.experiments.find.search import FailureInForce, check_failure, main_figures
from sim.experiments.measures import extra_attempts_of
from sim.experiments.probability import MetProbability
from sim.experiments.sweep import first_trace
from sim.experiments.variants import Simulations, Variants, assignment
from sim.json_form import NOT_IN_JSON
from sim.parallel.result_cache import ResultFolder
from sim.replication.objectives import require_operations, require_requested
from sim.replication.slo import Slo, SloResult
from sim.replication.steadiness import Unsettled
from sim.replication.summaries import OpIntervals
from sim.saturation.capacity import capacity_of
from sim.verdict.extra_attempts import ExtraAttempts
from sim.verdict.verdict import LoadVerdict
from traces.errors import InputError
from traces.workload.kept_traces import generated

_MUCH_LESS = 8  # ratio of values, at both of which an objective is violated if it is at any
_NEARER = 0.9  # ratio of latencies from which a smaller value does not help

LimitOutcome = Literal["limit", "every value meets", "no value meets"]


@dataclass(frozen=True)
class LimitTrial:
    """A simulated value.

    Attributes:
        value: in the spec's unit.
        meets: whether the estimates meet all objectives.
        sure: whether the confidence intervals leave no doubt of that.
        slo: by text.
        ops: rates and main latencies.
        extra_load: attempts beyond the first of each request, as a fraction of the requests.
        load: the verdict on its load; None: not determined.
        extra: what retries and hedges cost; None: there are none, or the store is overloaded.
        met: the probability that the objectives are met, which then decides `meets` and `sure`; the other figures are
            those of the assumed values. None: values that are not known are not drawn.
        unsettled: why its runs are too short; empty if they are not, or if the store is overloaded.
    """

    value: float
    meets: bool
    sure: bool
    slo: dict[str, SloResult]
    ops: dict[str, OpIntervals]
    extra_load: float
    load: LoadVerdict | None
    extra: ExtraAttempts | None
    met: MetProbability | None
    unsettled: list[Unsettled] = field(default_factory=list)


@dataclass(frozen=True)
class InfeasibleTrial:
    """A value that the spec refuses, or whose load the bottleneck cannot serve."""

    value: float
    meets: bool
    sure: bool
    infeasible: str


@dataclass(frozen=True)
class SureValues:
    """The values nearest to the limit that certainly meet or violate the objectives; None: there is none."""

    meets: float | None
    violates: float | None


@dataclass(frozen=True)
class FoundLimit:
    """The greatest or least value that meets all objectives.

    Attributes:
        find: ``max`` or ``min``.
        path, unit: of the field; numbers are in this unit.
        outcome: ``limit``; ``every value meets`` or ``no value meets``: all values tried do, or none does.
        value: meets the objectives; where every value does, the last one; None: no value does.
        beyond: the next value tried, which does not; None: the spec allows none, or every value meets the objectives.
        set: ``path=value``; None: no value meets the objectives.
        sure: the nearest certain values.
        monotonic: whether the objectives are met on one side only.
        reversals: pairs of neighbours; the first violates the objectives, the second meets them again.
        seed, replications: of each simulation.
        trials: in ascending order of values.
        failure: in force during all simulations; None: there is none.
        errors: fraction of the requests that fail with it where no value meets the objectives; otherwise 0.
        remedies: the changes with which fewer fail then.
        healthy_ops: requests per second at which the store without the failure saturates, by expected demands; None:
            there is no failure, or no limit is known.
        level: the probability with which the objectives must be met; None: the assumed values must meet them.
        unknowns: the values that are drawn for it.
        slos: the objectives.
    """

    find: str
    path: str
    unit: str
    outcome: LimitOutcome
    value: float | None
    beyond: float | None
    set: str | None
    sure: SureValues
    monotonic: bool
    reversals: list[list[float]]
    seed: int
    replications: int
    trials: list[LimitTrial | InfeasibleTrial]
    failure: FailureInForce | None
    errors: float
    remedies: list[Remedy]
    healthy_ops: float | None
    level: float | None
    unknowns: tuple[Unknown, ...]
    slos: list[Slo] = field(metadata=NOT_IN_JSON)

    @property
    def simulated(self) -> list[LimitTrial]:
        """The trials that could be simulated."""
        return [trial for trial in self.trials if isinstance(trial, LimitTrial)]

    @property
    def decisive(self) -> LimitTrial | InfeasibleTrial:
        """The trial of the limit; where no value meets the objectives, of the nearest to doing so."""
        at = self.beyond if self.value is None else self.value
        return next(trial for trial in self.trials if trial.value == at)


def find_limit(
    variants: Variants,
    goal: Goal,
    slos: Sequence[Slo],
    *,
    tolerance: float = 0.01,
    cache: ResultFolder | None = None,
    progress: Callable[[int], None] = lambda tried: None,
) -> FoundLimit:
    """Find the greatest (``max``) or the least (``min``) value that meets all objectives.

    A value meets them if its estimates do; whether the intervals leave a doubt is reported separately. If values that
    are not known are drawn (`Variants.draws`), a value meets them if enough draws do. A value that the spec refuses
    does not meet them, nor does a rate above what the bottleneck can serve in the long run. Bisection requires that
    they are met on one side only. As a test, a value in the middle of each side is tried as well; if it contradicts,
    ``monotonic`` is false.

    Args:
        goal: of kind ``max`` or ``min``.
        slos: at least one.
        tolerance: relative tolerance of the limit, for numbers that are not whole: at least 0.001.
        cache: of values that have been simulated before.
        progress: called with the number of values tried.

    Raises:
        InputError: the goal does not fit the spec.
    """
    if not slos:
        raise InputError(f"{goal.kind} {goal.path}: needs an objective, for example GET.p99<50ms")
    check_failure(variants)
    require_requested(slos, variants.spec().workload.subjects)
    if variants.draws is not None:
        variants.draws.check(slos)
    path, upward = resolved(variants.spec(), goal.path, counted=True), goal.kind == "max"
    limits = limits_of(variants, path, goal)
    start = start_of(variants, path) if limits is None else limits[0]
    scale = Scale(isinstance(start, int), tolerance)
    trials: dict[float, LimitTrial | InfeasibleTrial] = {}
    with variants.simulations(cache) as simulations:

        def holds(value: float) -> bool:
            if value not in trials:
                trials[value] = _trial(variants, simulations, path, value, slos)
                progress(len(trials))
            return trials[value].meets

        inside: float | None
        outside: float | None
        if limits is None and upward and not holds(start) and _is_in_vain(trials, holds, scale, start, slos):
            inside, outside = None, start
        elif limits is None:
            inside, outside = bracket(holds, scale, start, upward)
        else:
            near, far = limits if upward else limits[::-1]
            inside, outside = (near, far) if holds(near) else (None, near)
            if inside is not None and holds(far):
                inside, outside = far, None
        outcome: LimitOutcome = "limit"
        if inside is None:
            outcome, outside = "no value meets", _simulated(trials, outside)
        elif outside is None and not _is_last(variants, path, inside, upward):
            outcome = "every value meets"
        if inside is not None and outside is not None:
            inside, outside = bisect(holds, scale, inside, outside)
            for value in probes(scale, list(trials), inside, outside):
                holds(value)
    sure, turns = _evidence(trials, upward)
    errors, changes = _failing(variants, trials[outside] if inside is None and outside is not None else None)
    return FoundLimit(
        goal.kind,
        path,
        variants.unit(path),
        outcome,
        inside,
        outside,
        None if inside is None else assignment(path, inside),
        sure,
        not turns,
        turns,
        variants.settings.seed,
        variants.settings.replications,
        [trials[value] for value in sorted(trials)],
        FailureInForce.of(variants),
        errors,
        changes,
        _healthy_ops(variants),
        None if variants.draws is None else variants.draws.level,
        () if variants.draws is None else variants.draws.unknowns,
        list(slos),
    )


def _is_in_vain(
    trials: Mapping[float, LimitTrial | InfeasibleTrial],
    holds: Holds,
    scale: Scale,
    start: float,
    slos: Sequence[Slo],
) -> bool:
    """Whether a much smaller value is no nearer to an objective, as where a dead host refuses requests at any rate."""
    first, less = trials[start], scale.value(start / _MUCH_LESS)
    if not isinstance(first, LimitTrial) or (first.load is not None and first.load.overloaded):
        return False
    if not less or holds(less):
        return False
    other = trials[less]
    return isinstance(other, LimitTrial) and any(
        _is_no_nearer(slo, first.slo[slo.text].value, other.slo[slo.text].value) for slo in slos
    )


def _is_no_nearer(slo: Slo, value: float, other: float) -> bool:
    """Whether another value of an objective's figure violates it, and as much as the first."""
    if slo.verdict(other, other) != "fail":
        return False
    return other <= value / _NEARER if slo.above else other >= value * _NEARER


def _simulated(trials: Mapping[float, LimitTrial | InfeasibleTrial], value: float | None) -> float | None:
    """Return a value, or the last one before it that was simulated, if there is one."""
    if value is None or isinstance(trials[value], LimitTrial):
        return value
    return next((each for each in reversed([*trials]) if isinstance(trials[each], LimitTrial)), value)


def _is_last(variants: Variants, path: str, value: float, upward: bool) -> bool:
    """Whether the spec refuses the next whole number."""
    if not isinstance(value, int):
        return False
    try:
        variants.spec([assignment(path, value + (1 if upward else -1))])
    except InputError:
        return True
    return False


def _trial(
    variants: Variants, simulations: Simulations, path: str, value: float, slos: Sequence[Slo]
) -> LimitTrial | InfeasibleTrial:
    judged = Slo.evaluate if variants.failure is None else evaluated
    chosen = [assignment(path, value)]
    try:
        spec = variants.spec(chosen)
        if variants.draws is None:  # of the draws, each is compared with the capacity that it has
            _refuse_saturated(spec, variants.settings.seed)
        measures = simulations(chosen)
        drawn = None if variants.draws is None else simulations.drawn(chosen)
    except InputError as error:
        return InfeasibleTrial(value, False, True, str(error))
    try:
        require_operations(slos, measures)
    except InputError as error:  # such a low rate that none arrives
        return InfeasibleTrial(value, False, False, str(error))
    met = (
        None
        if variants.draws is None or drawn is None
        else variants.draws.probability(drawn, slos, variants.settings.seed, judged)
    )
    results = {slo: judged(slo, measures) for slo in slos}
    if met is None:
        verdicts = [result.verdict for result in results.values()]
        meets = all(slo.is_met(measures, result) for slo, result in results.items())
        sure = all(verdict == "pass" for verdict in verdicts) if meets else "fail" in verdicts
    else:
        meets, sure = met.value >= met.level, met.verdict != "unsure"
    return LimitTrial(
        value,
        meets,
        sure,
        {slo.text: result for slo, result in results.items()},
        main_figures(measures),
        measures.extra_load,
        measures.verdict,
        extra_attempts_of(measures, spec.client),
        met,
        [] if measures.overloaded else measures.unsettled,
    )


def _refuse_saturated(spec: Spec, seed: int) -> None:
    """Refuse a rate that the bottleneck cannot serve: a finite run does not show that its queue grows without limit."""
    rate_ops = spec.workload.total_rate
    if rate_ops is None:
        return
    limit = capacity_of(spec, first_trace(spec, seed))
    most_ops = limit.mean_ops
    if most_ops is not None and rate_ops >= most_ops:
        raise InputError(
            f"{rate_ops:.6g}/s is more than the {limit.station} can serve in the long run, which is {most_ops:.6g}/s"
        )


def _failing(variants: Variants, trial: LimitTrial | InfeasibleTrial | None) -> tuple[float, list[Remedy]]:
    """Return the fraction of failed requests of a trial that a failure is in force in, and what would help."""
    failure = variants.failure
    if failure is None or not isinstance(trial, LimitTrial) or trial.load is None or not trial.load.errors:
        return 0.0, []
    errors = trial.load.errors
    return errors, remedies(
        variants.mapping(), variants.source, failure, errors, (0.0, math.inf), variants.settings.seed
    )


def _healthy_ops(variants: Variants) -> float | None:
    """Return at which rate an open loop saturates the store without the failure of the variants."""
    if variants.failure is None:
        return None
    spec = replace(variants, failure=None).spec()
    if spec.workload.total_rate is None:
        return None
    return capacity_of(spec, generated(spec.workload, variants.settings.seed)).capacity_ops


def _evidence(trials: dict[float, LimitTrial | InfeasibleTrial], upward: bool) -> tuple[SureValues, list[list[float]]]:
    """Return the certain values nearest to the limit, and the reversals."""
    meet = [value for value, trial in trials.items() if trial.meets and trial.sure]
    violate = [value for value, trial in trials.items() if not trial.meets and trial.sure]
    nearest_met, nearest_violated = (max, min) if upward else (min, max)
    turns = reversals({value: trial.meets for value, trial in trials.items()}, upward)
    sure = SureValues(nearest_met(meet, default=None), nearest_violated(violate, default=None))
    return sure, [list(pair) for pair in turns]
