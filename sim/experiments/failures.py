"""What a failure does to each operation: before it, during it, and after it is over, beside a run without it.

The run without it has the same event after its end. So both have the same routes, random numbers and pairs, and are one
until the failure begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from models.store import Spec, spec_of
from sim.experiments.failure_kinds import Failure
from sim.experiments.failure_windows import Seen, Times, replications, seen, timeline
from sim.experiments.measures import ERRORS, Measures, difference
from sim.experiments.sweep import Settings
from sim.experiments.whatif import op_figures, requested_ops
from sim.json_form import to_json
from sim.parallel.process_pool import process_map
from sim.replication.replicate import seed_of
from sim.replication.slo import UTILIZATION, Judgement, Slo, overall
from sim.replication.summaries import CONFIDENCE, Figure
from sim.simulate import simulate
from traces.errors import InputError
from traces.statistics.summary import QUANTILES

_LATER_S = 1e9  # a run's end is before that
_MOST_REFUSED = 3_000_000  # requests that may fail in a run


@dataclass(frozen=True)
class Question:
    """What is asked: a spec, what fails in it and when, and what must hold.

    Attributes:
        data: the spec as its file has it.
        source: what to call it in a message.
        failures: each happens alone.
        at_s, for_s: as `Times.of` takes them.
        slos: objectives of operations, judged in each window.
        settings: as for `sim.replication.replicate.replicate`; the precision is that of all windows with the failure.
    """

    data: Mapping[str, Any]
    source: str
    failures: Sequence[Failure]
    at_s: float | None = None
    for_s: float | None = None
    slos: Sequence[Slo] = ()
    settings: Settings = field(default_factory=Settings)


_Pair = tuple[Seen, Seen]
"""A run with the failure, and one without; of one seed."""


@dataclass(frozen=True)
class _Wanted:
    figures: dict[str, dict[str, Figure]]


def failures(
    question: Question, *, workers: int = 1, progress: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """What each failure does.

    Args:
        progress: told how many pairs of runs are done.

    Returns:
        ``{"spec", "at_s", "until_s", "end_s", "slos", "seed", "precision", "confidence", "failures": […], "engine":
        {"name", "wall_s", "visits"}}``. A failure is ``{"failure", "event", "replications", "precise", "notes",
        "windows": {"before": …, "during": …, "after": …}, "timeline"}``; `notes` are sentences without a full stop, and
        windows of no length are absent. A window is
        ``{"start_s", "end_s", "ops", "healthy": {"ops"}, "difference", "slo", "slo_figures", "verdict"}``, where `ops`
        has the figures of each operation as `whatif.whatif` has those of a point, `healthy` those without the
        failure, and `difference` what `measures.difference` says of both. `timeline` is ``{"start_s", "end_s",
        "failing": {op: {"throughput_ops", "errors_ops", "p50", "p99"}}, "healthy": …}``, a value for each bin.

    Raises:
        InputError: a failure or an objective is wrong, or the store cannot have the failure.
    """
    settings = question.settings
    spec = spec_of(dict(question.data), question.source)
    times = Times.of(spec.workload, question.at_s, question.for_s)
    _check(question, spec, times)
    events = [failure.event(spec, times.at_s, times.until_s) for failure in question.failures]
    variants = [_variants(question, *both) for both in zip(question.failures, events, strict=True)]
    rows: list[dict[str, Any]] = []
    engines: list[dict[str, Any]] = []
    with process_map(workers) as mapping:
        for failure, event, specs in zip(question.failures, events, variants, strict=True):
            pairs: list[_Pair] = []
            for count in _batches(settings):
                seeds = [seed_of(settings.seed, i) for i in range(len(pairs), count)]
                for pair in mapping(_Simulation(specs, times, settings), seeds):
                    pairs.append(pair)
                    engines += [run.engine for run in pair]
                    progress(len(engines) // 2)
                if settings.precision and settings.precision.verdict(_wanted(pairs)).reached:
                    break
            rows.append(_row(failure, event, times, pairs, question) | {"notes": _notes(failure, specs[0])})
    return {
        "spec": question.source,
        **vars(times),
        "slos": [slo.text for slo in question.slos],
        "seed": settings.seed,
        "precision": None if settings.precision is None else settings.precision.relative,
        "confidence": CONFIDENCE,
        "failures": rows,
        "engine": {"name": settings.engine, **{k: sum(e[k] for e in engines) for k in ("wall_s", "visits")}},
    }


def _check(question: Question, spec: Spec, times: Times) -> None:
    if not question.failures:
        raise InputError("nothing fails; name a failure, such as drive")
    requested = requested_ops(spec)
    for slo in question.slos:
        if slo.figure == UTILIZATION:
            raise InputError(f"slo {slo.text}: a utilisation is that of a whole run, and has no windows")
        if slo.subject not in requested:
            raise InputError(
                f"slo {slo.text}: the workload has no {slo.subject}; it has {', '.join(sorted(requested))}"
            )
    refused = [failure.text for failure in question.failures if failure.fault(spec).refuses]
    again_s = 2 * spec.network.latency + spec.workload.think_time.mean
    if refused and spec.workload.rate is None and not spec.client.retry.retries:
        most = spec.workload.clients * (times.until_s - times.at_s) / (again_s or 1.0)
        if most > _MOST_REFUSED:
            raise InputError(
                f"failure {refused[0]}: clients of a closed loop who are refused ask again at once, up to "
                f"{most:,.0f} times; give client.retry.retries (with pauses), workload.think_time or workload.rate"
            )


def _batches(settings: Settings) -> list[int]:
    """After how many replications to look whether they are enough."""
    batch = settings.replications
    most = batch if settings.precision is None else max(settings.precision.most, batch)
    return [*range(batch, most, batch), most]


def _variants(question: Question, failure: Failure, event: dict[str, Any]) -> tuple[Spec, Spec]:
    """The spec with the failure, and with the failure after its end."""
    later = event | {name: event[name] + _LATER_S for name in ("at", "back_at", "until") if name in event}
    before = list(question.data.get("faults") or ())
    try:
        failing, healthy = (
            spec_of({**question.data, "faults": [*before, e]}, question.source) for e in (event, later)
        )  # fmt: skip
    except InputError as error:
        raise InputError(f"failure {failure.text}: {error}") from error
    return failing, healthy


def _notes(failure: Failure, failing: Spec) -> list[str]:
    """What is to be known of the failure, the spec's last event."""
    note = failure.fault(failing).note(failing, failing.faults[-1])
    return [note] if note else []


@dataclass(frozen=True)
class _Simulation:
    """A pair of runs as a function of their seed; a class, so that other processes can have it."""

    specs: tuple[Spec, Spec]
    times: Times
    settings: Settings

    def __call__(self, seed: int) -> _Pair:
        failing, healthy = (
            seen(simulate(s, seed=seed, engine=self.settings.engine), seed, self.times) for s in self.specs
        )
        return failing, healthy


def _wanted(pairs: Sequence[_Pair]) -> _Wanted:
    """The figures with the failure, by window and operation; where nothing succeeds there are none."""
    of_windows = {name: replications([failing for failing, _ in pairs], name) for name in pairs[0][0].windows}
    return _Wanted({
        f"{name} {op}": figures
        for name, replications in of_windows.items()
        for op, figures in replications.figures.items()
        if not math.isnan(figures["p99"].value)
    })  # fmt: skip


def _row(
    failure: Failure, event: dict[str, Any], times: Times, pairs: Sequence[_Pair], question: Question
) -> dict[str, Any]:
    failing, healthy = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    precision = question.settings.precision
    return {
        "failure": failure.text,
        "event": event,
        "replications": len(pairs),
        "precise": None if precision is None else precision.verdict(_wanted(pairs)).reached,
        "windows": {
            name: {"start_s": start, "end_s": end} | _window(failing, healthy, name, question.slos)
            for name, (start, end) in times.windows.items()
        },
        "timeline": {
            "start_s": times.edges_s[:-1].tolist(),
            "end_s": times.edges_s[1:].tolist(),
            "failing": timeline(failing, times),
            "healthy": timeline(healthy, times),
        },
    }


def _judged(slo: Slo, measures: Measures) -> Judgement:
    """What an objective is in a window: of its quantiles, a request that fails takes for ever."""
    judgement = slo.judge(measures)
    allowed = 0.0 if slo.figure == "max" else 1 - QUANTILES.get(slo.figure, 0.0)
    if measures.interval(str(slo.subject), ERRORS).value > allowed:
        return Judgement("fail", math.inf, math.inf, math.inf)
    return judgement


def _window(failing: Sequence[Seen], healthy: Sequence[Seen], name: str, slos: Sequence[Slo]) -> dict[str, Any]:
    with_it, without = (Measures.of(replications(runs, name)) for runs in (failing, healthy))
    judgements = {slo.text: _judged(slo, with_it) for slo in slos}
    return {
        "ops": to_json({op: op_figures(with_it, op) for op in with_it.ops}),
        "healthy": {"ops": to_json({op: op_figures(without, op) for op in without.ops})},
        "difference": to_json(difference(without, with_it)),
        "slo": {text: judgement.verdict for text, judgement in judgements.items()},
        "slo_figures": {text: {k: vars(j)[k] for k in ("value", "low", "high")} for text, j in judgements.items()},
        "verdict": overall([judgement.verdict for judgement in judgements.values()]),
    }
