"""Search for the value of one field with the least latency.

The least of many estimates is too low: the search prefers values whose random numbers were favourable (Smith and
Winkler, "The optimizer's curse", Management Science 52(3), 2006), and one of many values seems better than that of the
spec by chance alone. So what is reported of the best value, and of the spec unchanged, comes from fresh replications
that the search has not used, as when one cleans up after an optimisation by simulation (Boesel, Nelson and Kim, "Using
ranking and selection to 'clean up' after simulation optimization", Operations Research 51(5), 2003). The search has
chosen one value before these are drawn, so one comparison remains, whose level needs no correction for the number of
values tried (Cox, "A note on data-dependent selection of hypotheses", Biometrika 62(2), 1975).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from models.shared.client_policy import ClientPolicies
from models.spec.field_paths import resolved
from sim.experiments.find.goal import Goal, OpLatency, hedge_delays, limits_of
from sim.experiments.find.line_search import Scale, least
from sim.experiments.find.search import FailureInForce, check_failure, main_figures
from sim.experiments.measures import Measures, difference, extra_attempts_of
from sim.experiments.variants import Variants, assignment
from sim.parallel.result_cache import ResultFolder
from sim.replication.steadiness import Unsettled
from sim.replication.summaries import Interval, OpIntervals
from sim.verdict.extra_attempts import ExtraAttempts
from sim.verdict.verdict import LoadVerdict
from traces.errors import InputError
from traces.random_streams import mixed, stream_id

_BEST_TOLERANCE = 0.05  # a minimum is flat: smaller differences are due to chance
_FRESH = "find/best/fresh"  # name of the random stream of the fresh replications' seed


@dataclass(frozen=True)
class BestTrial:
    """A simulated value; None: the spec unchanged.

    Attributes:
        target: the latency, in seconds.
        extra_load: attempts beyond the first of each request, as a fraction of the requests.
        allowed: whether the extra load is allowed.
        ops: rates and main latencies.
        load: the verdict on its load; None: not determined.
        extra: what retries and hedges cost; None: there are none, or the store is overloaded.
        unsettled: as of a `LimitTrial`.
    """

    value: float | None
    target: Interval
    extra_load: float
    allowed: bool
    ops: dict[str, OpIntervals]
    load: LoadVerdict | None
    extra: ExtraAttempts | None
    unsettled: list[Unsettled] = field(default_factory=list)


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
    target: OpLatency
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


def find_best(
    variants: Variants,
    goal: Goal,
    target: OpLatency,
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
    check_failure(variants)
    op, name = target.op, target.figure
    path = resolved(variants.spec(), goal.path, counted=True)
    measured: dict[float | None, Measures] = {}
    trials: dict[float | None, BestTrial] = {}
    with variants.simulations(cache) as simulations:

        def cost(value: float | None) -> tuple[float, float]:
            measured[value] = measures = simulations(_chosen(path, value))
            if op not in measures.ops:
                raise InputError(
                    f"target {target}: the workload has no {op} requests; it has {', '.join(measures.ops)}"
                )
            client = variants.spec(_chosen(path, value)).client
            trials[value] = trial = _best_trial(value, measures, client, target, most_extra_load)
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
        base_again, best_again = simulations([]), simulations(_chosen(path, value))
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
        _best_trial(value, best_again, variants.spec(_chosen(path, value)).client, target, most_extra_load),
        _best_trial(None, base_again, variants.spec().client, target, most_extra_load),
        gain,
        gain.high < 0,
        variants.settings.seed,
        variants.settings.replications,
        fresh.seed,
        trials[None],
        [trials[v] for v in sorted(v for v in trials if v is not None)],
        FailureInForce.of(variants),
    )


def _chosen(path: str, value: float | None) -> list[str]:
    return [] if value is None else [assignment(path, value)]


def _best_trial(
    value: float | None, measures: Measures, client: ClientPolicies, target: OpLatency, most_extra_load: float | None
) -> BestTrial:
    allowed, latency = not _excess(measures.extra_load, most_extra_load), measures.interval(target.op, target.figure)
    return BestTrial(
        value,
        latency,
        measures.extra_load,
        allowed,
        main_figures(measures),
        measures.verdict,
        extra_attempts_of(measures, client),
        [] if measures.overloaded else measures.unsettled,
    )


def _excess(extra_load: float, most: float | None) -> float:
    """Return the extra load above the maximum."""
    return 0.0 if most is None else max(0.0, extra_load - most)
