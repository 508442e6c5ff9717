"""The effect of a failure on each operation before, during and after it, compared with a healthy run.

The healthy run has the same fault after its end. So both runs have the same routes and random numbers, and are
identical until the failure begins.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from models.store import Spec, levels, spec_of
from sim.experiments.failing import Remedy, evaluated, refuse_instant_retries, remedies
from sim.experiments.failure_kinds import Event, Failure
from sim.experiments.failure_result import FailureEffect, Failures, FailureWindow, HealthyWindow
from sim.experiments.failure_windows import FailureTimeline, Times, WindowedRun, replications, windowed
from sim.experiments.measures import Measures, difference
from sim.experiments.probability import Draws, MetProbability
from sim.experiments.sweep import Settings
from sim.experiments.whatif import op_figures
from sim.parallel.process_pool import process_map
from sim.replication.objectives import require_requested
from sim.replication.replicate import seed_of
from sim.replication.slo import UTILIZATION, Slo, overall
from sim.replication.steadiness import Unsettled
from sim.replication.summaries import CONFIDENCE, EngineWork, Figure, Replications
from sim.saturation.capacity import capacity_of
from sim.simulate import simulate
from sim.verdict.extra_attempts import ExtraAttempts, extra_attempts
from sim.verdict.offered_load import last_end_s
from sim.verdict.verdict import LoadVerdict, verdict_of
from traces.errors import InputError
from traces.workload.kept_traces import generated

_LATER_S = 1e9  # after the end of any run


@dataclass(frozen=True)
class FailureExperiment:
    """A spec, failures to simulate in it, and objectives.

    Attributes:
        data: the contents of the spec file.
        source: name of the spec in messages.
        failures: simulated one at a time.
        at_s, for_s: beginning and duration, see `Times.of`.
        slos: objectives of operations, evaluated in each window.
        settings: as for `sim.replication.replicate.replicate`; the precision applies to all windows with the failure.
        draws: of the values that are not known, for the probability that the objectives are met in each window; None:
            there are none.
    """

    data: Mapping[str, Any]
    source: str
    failures: Sequence[Failure]
    at_s: float | None = None
    for_s: float | None = None
    slos: Sequence[Slo] = ()
    settings: Settings = field(default_factory=Settings)
    draws: Draws | None = None


_Pair = tuple[WindowedRun, WindowedRun]
"""A run with the failure and one without, with the same seed."""


@dataclass(frozen=True)
class _Wanted:
    figures: dict[str, dict[str, Figure]]


def failures(
    experiment: FailureExperiment, *, workers: int = 1, progress: Callable[[int], None] = lambda done: None
) -> Failures:
    """Simulate each failure.

    Args:
        progress: called with the number of pairs of runs done.

    Raises:
        InputError: a failure or an objective is wrong, or the store cannot have the failure.
    """
    settings = experiment.settings
    spec = spec_of(dict(experiment.data), experiment.source)
    for failure in experiment.failures:
        failure.fault(spec)  # refuses an unknown kind before what depends on the workload
    times = Times.of(spec.workload, experiment.at_s, experiment.for_s)
    _check(experiment, spec, times)
    if experiment.draws is not None:
        experiment.draws.check(experiment.slos)
    events = [failure.event(spec, times.at_s, times.until_s) for failure in experiment.failures]
    variants = [_variants(experiment, *both) for both in zip(experiment.failures, events, strict=True)]
    effects: list[FailureEffect] = []
    healthy: list[WindowedRun] = []
    engines: list[EngineWork] = []
    with process_map(workers) as mapping:
        for failure, event, specs in zip(experiment.failures, events, variants, strict=True):
            pairs: list[_Pair] = []
            for count in _batches(settings):
                seeds = [seed_of(settings.seed, i) for i in range(len(pairs), count)]
                for pair in mapping(_Simulation(specs, times, settings), seeds):
                    pairs.append(pair)
                    engines += [run.engine for run in pair]
                    progress(len(engines) // 2)
                if settings.precision and settings.precision.verdict(_wanted(pairs)).reached:
                    break
            healthy = healthy or [run for _, run in pairs]
            drawn = _drawn(experiment, failure, event, times, mapping)
            notes = _notes(failure, specs[0])
            effects.append(_effect(failure, event, times, pairs, experiment, drawn, notes))
    load = _verdict(healthy, spec, settings.seed)
    return Failures(
        experiment.source,
        times.at_s,
        times.until_s,
        times.end_s,
        list(experiment.slos),
        settings.seed,
        None if settings.precision is None else settings.precision.relative,
        CONFIDENCE,
        load,
        _extra(healthy, spec, load),
        {} if load is not None and load.overloaded else _unsettled(healthy),
        effects,
        () if experiment.draws is None else experiment.draws.unknowns,
        EngineWork.total(settings.engine, engines),
    )


def _verdict(healthy: Sequence[WindowedRun], spec: Spec, seed: int) -> LoadVerdict | None:
    """Return the verdict on the load of the healthy store."""
    known = [run for run in healthy if run.load is not None]
    loads = [run.load for run in known if run.load is not None]
    if not loads:
        return None
    capacity = capacity_of(spec, generated(spec.workload, seed), end_s=last_end_s(loads))
    return verdict_of(loads, [run.stations for run in known], capacity)


def _unsettled(healthy: Sequence[WindowedRun]) -> dict[str, list[Unsettled]]:
    """Return why each window of the healthy store is too short for what is read from it."""
    found = {}
    for name in healthy[0].windows:
        runs = tuple(replace(run.windows[name], load=run.load) for run in healthy)
        found[name] = Replications(runs).unsettled
    return found


def _extra(healthy: Sequence[WindowedRun], spec: Spec, load: LoadVerdict | None) -> ExtraAttempts | None:
    """Return what retries and hedges cost in the healthy store."""
    counts, attempts, total = Counter[str](), 0.0, 0
    for window in (window for run in healthy for window in run.windows.values()):
        of_window = {op: figures["count"] for op, figures in window.summary["ops"].items()}
        count = sum(number for op, number in of_window.items() if "." not in op)  # groups are among all requests
        attempts, total = attempts + (window.attempts * count if count else 0.0), total + count
        counts.update(of_window)
    return extra_attempts(attempts / total - 1 if total else 0.0, counts, spec.client, load)


def _drawn(
    experiment: FailureExperiment,
    failure: Failure,
    event: Event,
    times: Times,
    mapping: Callable[..., Iterable[Any]],
) -> list[WindowedRun]:
    """Return a run with the failure for each draw that is possible."""
    draws, settings = experiment.draws, experiment.settings
    if draws is None:
        return []
    data = failure.added_to(experiment.data, event, experiment.source)
    seeded = [
        (spec, seed_of(settings.seed, k))
        for k, spec in enumerate(draws.specs(data, (), settings.seed))
        if spec is not None
    ]
    return list(mapping(_Draw(times, settings), seeded))


def _check(experiment: FailureExperiment, spec: Spec, times: Times) -> None:
    if not experiment.failures:
        raise InputError("no failure is given; name one, for example drive")
    known: set[tuple[str, str | None, float | None]] = set()
    for failure in experiment.failures:
        if (key := (failure.kind, failure.which, failure.value)) in known:
            raise InputError(f"failure {failure.text}: is given twice")
        known.add(key)
    for slo in experiment.slos:
        if slo.figure == UTILIZATION:
            raise InputError(f"slo {slo.text}: utilisation is known for the whole run only, not for windows of it")
    require_requested(experiment.slos, sorted(spec.workload.subjects))
    for failure in experiment.failures:
        refuse_instant_retries(spec, failure, times.until_s - times.at_s)


def _batches(settings: Settings) -> list[int]:
    """Return the numbers of replications after which the precision is checked."""
    batch = settings.replications
    most = batch if settings.precision is None else max(settings.precision.most, batch)
    return [*range(batch, most, batch), most]


def _variants(experiment: FailureExperiment, failure: Failure, event: Event) -> tuple[Spec, Spec]:
    """Return the spec with the failure, and with the failure after the end of the run."""
    later = event | {name: event[name] + _LATER_S for name in ("at", "back_at", "until") if name in event}
    try:
        failing, healthy = (
            spec_of(failure.added_to(experiment.data, e, experiment.source), experiment.source) for e in (event, later)
        )  # fmt: skip
    except InputError as error:
        raise InputError(f"failure {failure.text}: {error}") from error
    return failing, healthy


def _remedies(failure: Failure, event: Event, during: FailureWindow, experiment: FailureExperiment) -> list[Remedy]:
    """Return what would help if requests fail during the failure."""
    errors = during.error_fraction
    if not errors:
        return []
    data = failure.added_to(experiment.data, event, experiment.source)
    seed = seed_of(experiment.settings.seed, 0)
    return remedies(data, experiment.source, failure, errors, (during.start_s, during.end_s), seed)


def _notes(failure: Failure, failing: Spec) -> list[str]:
    """Return notes on the failure, the last fault of its section."""
    kind = failure.fault(failing)
    note = kind.note(failing, levels(failing)[kind.within].faults[-1])
    return [note] if note else []


@dataclass(frozen=True)
class _Draw:
    """The run of a draw with its seed."""

    times: Times
    settings: Settings

    def __call__(self, drawn: tuple[Spec, int]) -> WindowedRun:
        spec, seed = drawn
        return windowed(simulate(spec, seed=seed, engine=self.settings.engine, end_s=math.inf), seed, self.times)


@dataclass(frozen=True)
class _Simulation:
    """A pair of runs as a function of their seed; a class, so that it can be pickled."""

    specs: tuple[Spec, Spec]
    times: Times
    settings: Settings

    def __call__(self, seed: int) -> _Pair:
        failing, healthy = (
            windowed(simulate(s, seed=seed, engine=self.settings.engine, end_s=math.inf), seed, self.times)
            for s in self.specs
        )
        return failing, healthy


def _wanted(pairs: Sequence[_Pair]) -> _Wanted:
    """Return the figures with the failure, by window and operation, of operations that succeeded."""
    of_windows = {name: replications([failing for failing, _ in pairs], name) for name in pairs[0][0].windows}
    return _Wanted({
        f"{name} {op}": figures
        for name, replications in of_windows.items()
        for op, figures in replications.figures.items()
        if not math.isnan(figures["p99"].value)
    })  # fmt: skip


def _effect(
    failure: Failure,
    event: Event,
    times: Times,
    pairs: Sequence[_Pair],
    experiment: FailureExperiment,
    drawn: Sequence[WindowedRun],
    notes: list[str],
) -> FailureEffect:
    failing, healthy = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    precision = experiment.settings.precision
    windows = {
        name: _window(failing, healthy, name, span_s, experiment, _met(drawn, name, experiment))
        for name, span_s in times.windows.items()
    }
    return FailureEffect(
        failure.text,
        event,
        len(pairs),
        None if precision is None else precision.verdict(_wanted(pairs)).reached,
        windows,
        FailureTimeline.of(failing, healthy, times),
        notes,
        windows["during"].error_fraction,
        _remedies(failure, event, windows["during"], experiment),
    )


def _met(drawn: Sequence[WindowedRun], name: str, experiment: FailureExperiment) -> MetProbability | None:
    """Return the probability that the objectives are met in a window."""
    draws = experiment.draws
    if draws is None:
        return None
    points = [Measures.of(replications([run], name)) for run in drawn]
    impossible = [None] * (draws.count - len(points))
    return draws.probability([*points, *impossible], experiment.slos, experiment.settings.seed, evaluated)


def _window(
    failing: Sequence[WindowedRun],
    healthy: Sequence[WindowedRun],
    name: str,
    span_s: tuple[float, float],
    experiment: FailureExperiment,
    met: MetProbability | None,
) -> FailureWindow:
    with_it, without = (Measures.of(replications(runs, name)) for runs in (failing, healthy))
    results = {slo.text: evaluated(slo, with_it) for slo in experiment.slos}
    return FailureWindow(
        *span_s,
        {op: op_figures(with_it, op) for op in with_it.ops},
        HealthyWindow({op: op_figures(without, op) for op in without.ops}),
        difference(without, with_it),
        {text: result.verdict for text, result in results.items()},
        {text: result.interval for text, result in results.items()},
        overall([result.verdict for result in results.values()]),
        met,
    )
