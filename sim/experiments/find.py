"""Search for the value of one field: the greatest or least that meets all objectives, or the best.

Every value is simulated with the same seeds. So whether it meets the objectives depends on the value only, and a search
finds the same as a grid of the same resolution.

The least of many estimates is too low: the search prefers values whose random numbers were favourable (Smith and
Winkler, "The optimizer's curse", Management Science 52(3), 2006), and one of many values seems better than that of the
spec by chance alone. So what is reported of the best value, and of the spec unchanged, comes from fresh replications
that the search has not used, as when one cleans up after an optimisation by simulation (Boesel, Nelson and Kim, "Using
ranking and selection to 'clean up' after simulation optimization", Operations Research 51(5), 2003). The search has
chosen one value before these are drawn, so one comparison remains, whose level needs no correction for the number of
values tried (Cox, "A note on data-dependent selection of hypotheses", Biometrika 62(2), 1975).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from models.field_paths import resolved
from models.store import Spec
from sim.analysis.capacity import capacity_of
from sim.analysis.verdict import LoadVerdict
from sim.experiments.failing import Remedy, evaluated, refuse_instant_retries, remedies
from sim.experiments.failure_kinds import Event
from sim.experiments.goal import Goal, Target, hedge_delays, limits_of, start_of
from sim.experiments.line_search import Scale, bisect, bracket, least, probes, reversals
from sim.experiments.measures import Measures, difference
from sim.experiments.variants import Simulations, Variants, assignment
from sim.json_form import NOT_IN_JSON
from sim.parallel.result_cache import ResultFolder
from sim.replication.objectives import require_operations
from sim.replication.slo import Slo, SloResult
from sim.replication.summaries import Interval, OpIntervals
from traces.errors import InputError
from traces.random_streams import mixed, stream_id
from traces.workload.generate import generate

_BEST_TOLERANCE = 0.05  # a minimum is flat: smaller differences are due to chance
Outcome = Literal["limit", "every value meets", "no value meets"]
_FRESH = "find/best/fresh"  # name of the random stream of the fresh replications' seed
_SHOWN = ("mean", "p50", "p99", "p99_9")


@dataclass(frozen=True)
class FailureInForce:
    """A failure that lasts during all simulations: as it was written, and its entry in the section `faults`."""

    failure: str
    event: Event

    @staticmethod
    def of(variants: Variants) -> FailureInForce | None:
        """Return the failure of variants, if there is one."""
        failure = variants.failure
        if failure is None:
            return None
        return FailureInForce(failure.text, failure.lasting(replace(variants, failure=None).spec()))


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
    """

    value: float
    meets: bool
    sure: bool
    slo: dict[str, SloResult]
    ops: dict[str, OpIntervals]
    extra_load: float
    load: LoadVerdict | None


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
class Limit:
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
        slos: the objectives.
    """

    find: str
    path: str
    unit: str
    outcome: Outcome
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


@dataclass(frozen=True)
class BestTrial:
    """A simulated value; None: the spec unchanged.

    Attributes:
        target: the latency, in seconds.
        extra_load: attempts beyond the first of each request, as a fraction of the requests.
        allowed: whether the extra load is allowed.
        ops: rates and main latencies.
        load: the verdict on its load; None: not determined.
    """

    value: float | None
    target: Interval
    extra_load: float
    allowed: bool
    ops: dict[str, OpIntervals]
    load: LoadVerdict | None


@dataclass(frozen=True)
class Best:
    """The value with the least latency.

    Attributes:
        find: ``best``.
        path, unit: of the field; numbers are in this unit.
        value: the best.
        set: ``path=value``.
        target: the minimised latency.
        most_extra_load: maximum extra load allowed; None: any.
        best, base: the best value and the unchanged spec, in fresh replications that the search has not used.
        difference: best minus base, in seconds; `improves`: whether its whole interval is below 0.
        seed, replications: of each simulation; `fresh_seed`: that of the fresh replications.
        base_in_search: the unchanged spec, with the seeds of the search.
        trials: the search, in ascending order of values. The least of these estimates is too low.
        failure: in force during all simulations; None: there is none.
    """

    find: str
    path: str
    unit: str
    value: float
    set: str
    target: Target
    most_extra_load: float | None
    best: BestTrial
    base: BestTrial
    difference: Interval
    improves: bool
    seed: int
    replications: int
    fresh_seed: int
    base_in_search: BestTrial
    trials: list[BestTrial]
    failure: FailureInForce | None

    @property
    def in_search(self) -> BestTrial:
        """The best value with the seeds of the search."""
        return next(trial for trial in self.trials if trial.value == self.value)


def find_limit(
    variants: Variants,
    goal: Goal,
    slos: Sequence[Slo],
    *,
    tolerance: float = 0.01,
    cache: ResultFolder | None = None,
    progress: Callable[[int], None] = lambda tried: None,
) -> Limit:
    """Find the greatest (``max``) or the least (``min``) value that meets all objectives.

    A value meets them if its estimates do; whether the intervals leave a doubt is reported separately. A value that the
    spec refuses does not meet them, nor does a rate above what the bottleneck can serve in the long run. Bisection
    requires that they are met on one side only. As a test, a value in the middle of each side is tried as well; if it
    contradicts, ``monotonic`` is false.

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
    _check_failure(variants)
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

        if limits is None:
            inside, outside = bracket(holds, scale, start, upward)
        else:
            near, far = limits if upward else limits[::-1]
            inside, outside = (near, far) if holds(near) else (None, near)
            if inside is not None and holds(far):
                inside, outside = far, None
        outcome: Outcome = "limit"
        if inside is None:
            outcome = "no value meets"
        elif outside is None and not _is_last(variants, path, inside, upward):
            outcome = "every value meets"
        if inside is not None and outside is not None:
            inside, outside = bisect(holds, scale, inside, outside)
            for value in probes(scale, list(trials), inside, outside):
                holds(value)
    sure, turns = _evidence(trials, upward)
    errors, changes = _failing(variants, trials[outside] if inside is None and outside is not None else None)
    return Limit(
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
        list(slos),
    )


def find_best(
    variants: Variants,
    goal: Goal,
    target: Target,
    *,
    most_extra_load: float | None = None,
    tolerance: float = _BEST_TOLERANCE,
    cache: ResultFolder | None = None,
    progress: Callable[[int], None] = lambda tried: None,
) -> Best:
    """Find the value with the least latency that adds no more load than allowed, by a scan and golden-section search.

    The value found and the unchanged spec are simulated again, with seeds that the search has not used.

    Args:
        goal: of kind ``best``; bounds may be absent only for the delay of a hedge, which is then searched between p50
            and p99.9 of the target's operation in the unchanged spec.
        target: the latency to minimise.
        most_extra_load: maximum number of attempts beyond the first of each request, as a fraction of the requests;
            None: any.
        tolerance: relative tolerance of the value, at least 0.001.
        cache: of values that have been simulated before.
        progress: called with the number of values tried.

    Raises:
        InputError: all values add more load than allowed, or goal or target do not fit the spec.
    """
    _check_failure(variants)
    op, name = target.op, target.figure
    path = resolved(variants.spec(), goal.path, counted=True)
    measured: dict[float | None, Measures] = {}
    trials: dict[float | None, BestTrial] = {}
    with variants.simulations(cache) as simulations:

        def cost(value: float | None) -> tuple[float, float]:
            measured[value] = measures = simulations([] if value is None else [assignment(path, value)])
            if op not in measures.ops:
                raise InputError(
                    f"target {target}: the workload has no {op} requests; it has {', '.join(measures.ops)}"
                )
            trials[value] = trial = _best_trial(value, measures, target, most_extra_load)
            progress(len(trials))
            return _excess(trial.extra_load, most_extra_load), trial.target.value

        cost(None)
        low, high = limits_of(variants, path, goal) or hedge_delays(path, measured[None], op)
        if not low:
            raise InputError(f"best {path} in {low:g}..{high:g}: the bounds must be above 0")
        value = least(cost, Scale(isinstance(low, int), tolerance), low, high)
    if not trials[value].allowed:
        raise InputError(
            f"best {path}: every value tried from {low:g} to {high:g} adds more than {most_extra_load:.2%} load; the "
            f"least is {trials[value].extra_load:.2%}, at {value:g}"
        )
    fresh = replace(variants.settings, seed=mixed(variants.settings.seed, stream_id(_FRESH), 0))
    with replace(variants, settings=fresh).simulations(cache) as simulations:
        base_again, best_again = simulations([]), simulations([assignment(path, value)])
    progress(len(trials) + 2)
    gain = difference(base_again, best_again).ops[op].latency_s[name]
    return Best(
        goal.kind,
        path,
        variants.unit(path),
        value,
        assignment(path, value),
        target,
        most_extra_load,
        _best_trial(value, best_again, target, most_extra_load),
        _best_trial(None, base_again, target, most_extra_load),
        gain,
        gain.high < 0,
        variants.settings.seed,
        variants.settings.replications,
        fresh.seed,
        trials[None],
        [trials[v] for v in sorted(v for v in trials if v is not None)],
        FailureInForce.of(variants),
    )


def _best_trial(value: float | None, measures: Measures, target: Target, most_extra_load: float | None) -> BestTrial:
    allowed, latency = not _excess(measures.extra_load, most_extra_load), measures.interval(target.op, target.figure)
    return BestTrial(value, latency, measures.extra_load, allowed, _figures(measures), measures.verdict)


def _excess(extra_load: float, most: float | None) -> float:
    """Return the extra load above the maximum."""
    return 0.0 if most is None else max(0.0, extra_load - most)


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
    try:
        _refuse_saturated(variants.spec([assignment(path, value)]), variants.settings.seed)
        measures = simulations([assignment(path, value)])
    except InputError as error:
        return InfeasibleTrial(value, False, True, str(error))
    require_operations(slos, measures)
    judged = Slo.evaluate if variants.failure is None else evaluated
    results = {slo: judged(slo, measures) for slo in slos}
    meets = all(slo.is_met(measures, result) for slo, result in results.items())
    verdicts = [result.verdict for result in results.values()]
    return LimitTrial(
        value,
        meets,
        all(verdict == "pass" for verdict in verdicts) if meets else "fail" in verdicts,
        {slo.text: result for slo, result in results.items()},
        _figures(measures),
        measures.extra_load,
        measures.verdict,
    )


def _refuse_saturated(spec: Spec, seed: int) -> None:
    """Refuse a rate that the bottleneck cannot serve: a finite run does not show that its queue grows without limit."""
    rate_ops = spec.workload.total_rate
    if rate_ops is None:
        return
    limit = capacity_of(spec, generate(spec.workload, seed))
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
    return capacity_of(spec, generate(spec.workload, variants.settings.seed)).capacity_ops


def _check_failure(variants: Variants) -> None:
    """Refuse a failure that the store cannot have, or in which a closed loop would fail too often."""
    if variants.failure is not None:
        spec = variants.spec()
        refuse_instant_retries(spec, variants.failure, spec.workload.duration)


def _figures(measures: Measures) -> dict[str, OpIntervals]:
    """Return rates and main latencies of each operation."""
    return {
        op: OpIntervals(
            measures.interval(op, "throughput_ops"),
            measures.interval(op, "throughput_bytes"),
            {name: measures.interval(op, name) for name in _SHOWN},
        )
        for op in measures.ops
    }


def _evidence(trials: dict[float, LimitTrial | InfeasibleTrial], upward: bool) -> tuple[SureValues, list[list[float]]]:
    """Return the certain values nearest to the limit, and the reversals."""
    meet = [value for value, trial in trials.items() if trial.meets and trial.sure]
    violate = [value for value, trial in trials.items() if not trial.meets and trial.sure]
    nearest_met, nearest_violated = (max, min) if upward else (min, max)
    turns = reversals({value: trial.meets for value, trial in trials.items()}, upward)
    sure = SureValues(nearest_met(meet, default=None), nearest_violated(violate, default=None))
    return sure, [list(pair) for pair in turns]
