"""Health assessment of a store at a point of its growth: calculated load and fill, and objectives in simulated windows.

Load and fill are calculated first. In an open loop, the queue of a station with a load above 1 grows without limit, and
a full store accepts no writes: such a store meets no objective, and is not simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from models.capabilities import Growth, StateFigures
from models.store import Spec, store_of
from sim.analysis.bounds import saturation_of
from sim.capacity.timeline import WARM_UP, phases
from sim.experiments.measures import Measures
from sim.json_form import to_json
from sim.parallel.result_cache import ResultFolder, content_key
from sim.replication.replicate import replicate
from sim.replication.slo import UTILIZATION, Slo, SloResult
from sim.replication.steadiness import Unsettled
from sim.replication.warm_up import settled
from sim.simulate import simulate
from traces.errors import InputError
from traces.operations import ops_that
from traces.run import Run
from traces.statistics.summary import ops_of
from traces.trace import Trace
from traces.workload.kept_traces import generated

_ROWS = 20_000  # requests over which demands are averaged: enough for each OSD to have some of them


@dataclass(frozen=True)
class HealthCheck:
    """The inputs of a health assessment: everything that its result depends on.

    Attributes:
        spec: with an explicit size of stored objects (`sim.capacity.growth.with_object_size`).
        window_s, replications, seed: of the simulations; all assessments use the same seeds.
    """

    spec: Spec
    slos: tuple[Slo, ...] = ()
    window_s: float = 2.0
    replications: int = 3
    seed: int = 0

    @cached_property
    def key(self) -> str:
        """A hash of the inputs, without prices, and of the source code."""
        others = self.slos, self.window_s, self.replications, self.seed
        return content_key((self.spec.model_dump_json(exclude={"prices"}), *others))


@dataclass(frozen=True)
class HealthAssessment:
    """The health of a store.

    Attributes:
        loads: offered load of the busiest station of each role, as a fraction of its capacity; above 1 it falls behind.
            For open loops only: clients of a closed loop that wait for responses cannot overload a store.
        fill_fraction: used fraction of the store's space; None: it is not known.
        full: why it accepts no more writes; None: it does, as far as the model knows.
        slos: result for each objective by its text; empty if the store was not simulated.
        created_ops: objects that the simulated requests create less those that they delete, in 1/s; None: the store was
            not simulated, or not each phase of its workload.
        visits: of the simulations.
        unsettled: why the simulated windows are too short; empty if they are not.
    """

    loads: dict[str, float]
    fill_fraction: float | None
    full: str | None = None
    slos: dict[str, SloResult] = field(default_factory=dict)
    created_ops: float | None = None
    visits: int = 0
    unsettled: list[Unsettled] = field(default_factory=list)

    @property
    def reason(self) -> str | None:
        """Why the store meets no objective at all; None: it may meet them."""
        role = max(self.loads, key=self.loads.__getitem__, default=None)
        if self.full is not None:
            return self.full
        if role is not None and self.loads[role] >= 1:
            return f"{role} has a load of {self.loads[role]:.0%}"
        return None

    def meets(self, slo: Slo) -> bool:
        """Whether the estimate meets the objective, however uncertain it is."""
        return slo.text in self.slos and slo.verdict(*[self.slos[slo.text].value] * 2) == "pass"

    def is_far(self, slo: Slo, fraction: float) -> bool:
        """Whether the figure of an objective is further from its limit than a fraction of the greater of both."""
        result = self.slos[slo.text]
        distance, greater = abs(result.value - slo.limit), max(abs(result.value), abs(slo.limit))
        return result.requests_needed is None and distance > fraction * greater

    def to_json(self) -> dict[str, Any]:
        """Return JSON values for results."""
        slos = {text: vars(result) for text, result in self.slos.items()}
        health = {"fill_fraction": self.fill_fraction, "loads": self.loads, "slos": slos, "reason": self.reason}
        return health | {"unsettled": to_json(self.unsettled)}

    def to_cache(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return asdict(self)

    @staticmethod
    def from_cache(data: dict[str, Any]) -> HealthAssessment:
        """Create the assessment from the result of `to_cache`."""
        slos = {text: SloResult(**result) for text, result in data["slos"].items()}
        short = [Unsettled(**each) for each in data["unsettled"]]
        return HealthAssessment(**data | {"slos": slos, "unsettled": short})


class HealthAssessor:
    """Assesses health in processes, each point once; results in a cache are taken from there.

    Where only it counts whether objectives are met (`decided`), one window is simulated first. It decides if each
    figure is further from its limit than half of the widest interval that a figure of the same objective has had,
    relative to it. Otherwise all windows are simulated.
    """

    def __init__(
        self,
        mapping: Callable[..., Iterator[Any]],
        progress: Callable[[int], None] = lambda done: None,
        cache: ResultFolder | None = None,
    ):
        self._map, self._progress, self._cache = mapping, progress, cache
        self._known: dict[str, HealthAssessment] = {}
        self._widest: dict[str, float] = {}

    @property
    def assessments(self) -> Sequence[HealthAssessment]:
        """All assessments so far."""
        return list(self._known.values())

    def known(self, health_check: HealthCheck) -> HealthAssessment | None:
        """Return the assessment if it has been made."""
        return self._known.get(health_check.key)

    def __call__(self, health_checks: Sequence[HealthCheck]) -> list[HealthAssessment]:
        """Return the assessments, in order.

        Raises:
            InputError: a spec cannot be simulated, or an objective names an operation or role that does not exist.
        """
        new = {c.key: c for c in health_checks if c.key not in self._known}
        for key in list(new):
            if self._cache and (cached := self._cache.find(key)) is not None:
                self._note(key, HealthAssessment.from_cache(cached))
                del new[key]
        for key, assessment in zip(new, self._map(assess, new.values()), strict=True):
            self._note(key, assessment)
            if self._cache:
                self._cache.keep(key, assessment.to_cache())
        return [self._known[c.key] for c in health_checks]

    def decided(self, health_checks: Sequence[HealthCheck]) -> list[HealthAssessment]:
        """Return assessments that tell which objectives are met, in order, from as few windows as tell it.

        Raises:
            InputError: as of `__call__`.
        """
        if not self._widest:
            return self(health_checks)
        new = [check for check in health_checks if check.key not in self._known]
        try:
            first = self([replace(check, replications=1) for check in new])
        except InputError:  # such as no request of a rare operation in one window
            return self(health_checks)
        found = {check.key: health for check, health in zip(new, first, strict=True) if self._tells(check, health)}
        rest = [check for check in health_checks if check.key not in found]
        found |= {check.key: health for check, health in zip(rest, self(rest), strict=True)}
        return [found[check.key] for check in health_checks]

    def _tells(self, check: HealthCheck, one_window: HealthAssessment) -> bool:
        """Whether one window tells which objectives are met."""
        far = {slo: self._widest.get(slo.text, math.inf) for slo in check.slos}
        return one_window.reason is not None or all(one_window.is_far(slo, far[slo]) for slo in check.slos)

    def _note(self, key: str, assessment: HealthAssessment) -> None:
        self._known[key] = assessment
        for text, result in assessment.slos.items():
            width = (result.high - result.low) / 2 / abs(result.value) if result.value else math.nan
            if math.isfinite(width):
                self._widest[text] = max(width, self._widest.get(text, 0.0))
        self._progress(len(self._known))


def assess(health_check: HealthCheck) -> HealthAssessment:
    """Assess the health of a store.

    Raises:
        InputError: the spec cannot be simulated, or an objective names an operation or role that does not exist.
    """
    spec = health_check.spec
    growth = store_of(spec).growth
    if growth is None:
        assessment = HealthAssessment(_loads(spec, health_check.seed), None)
    else:
        fill_fraction = state_of(growth, spec)["fill_fraction"]
        loads = _loads(_with_room(growth, spec, fill_fraction), health_check.seed)
        assessment = HealthAssessment(loads, fill_fraction, growth.full(fill_fraction))
    if assessment.reason:
        return assessment
    relevant_phases = [
        phase
        for phase in phases(spec, health_check.window_s)
        if any(_concerns(slo, phase) for slo in health_check.slos)
    ]
    measures = [_measures(phase, health_check) for phase in relevant_phases]
    slos = {slo.text: _worst(slo, measures) for slo in health_check.slos}
    all_phases = phases(spec, health_check.window_s)
    created_ops = (
        sum(map(_created_ops, measures)) / len(all_phases) if _creates_in(relevant_phases, all_phases) else None
    )
    return replace(
        assessment,
        slos=slos,
        created_ops=created_ops,
        visits=sum(m.engine.visits for m in measures),
        unsettled=[each for m in measures if not m.overloaded for each in m.unsettled],
    )


def _creates_in(simulated: Sequence[Spec], all_phases: Sequence[Spec]) -> bool:
    """Whether all phases that create or delete objects were simulated."""
    changing = {*ops_that("creates"), *ops_that("removes")}
    return all(phase in simulated or not changing & set(phase.workload.ops) for phase in all_phases)


def _created_ops(measures: Measures) -> float:
    """Return the objects that requests create less those that they delete, in 1/s."""
    rates_ops = {op: float(of_op.values["throughput_ops"][-1]) for op, of_op in measures.ops.items()}
    created, removed = (sum(rates_ops.get(op, 0.0) for op in ops_that(has)) for has in ("creates", "removes"))
    return created - removed


def state_of(growth: Growth[Any], spec: Spec) -> StateFigures:
    """Return the state of a store whose spec has an explicit object size."""
    return growth.state(spec, trace_of(spec))


def trace_of(spec: Spec) -> Trace:
    """Return a trace of one request, for calculations that depend on the size of stored objects only."""
    return generated(spec.workload.limited(1), 0)


def _with_room(growth: Growth[Any], spec: Spec, fill_fraction: float | None) -> Spec:
    """Return the spec; for a full store, with as many objects as fit, because demands are undefined beyond."""
    if fill_fraction is None or fill_fraction <= growth.full_fraction:
        return spec
    full: Spec = growth.holding(spec, growth.objects(spec) * growth.full_fraction / fill_fraction)
    return full


def _loads(spec: Spec, seed: int) -> dict[str, float]:
    """Return the load of the busiest station of each role in an open loop, without infinite servers."""
    rate_ops = spec.workload.total_rate
    if rate_ops is None:
        return {}
    short = _short(spec)
    loads: dict[str, float] = {}
    for resource, most_ops in saturation_of(short, generated(short.workload, seed)):
        loads[resource.role] = max(loads.get(resource.role, 0.0), rate_ops / most_ops)
    return loads


def _short(spec: Spec) -> Spec:
    """Return the spec with a workload of `_ROWS` requests."""
    return spec.model_copy(update={"workload": spec.workload.limited(_ROWS)})


def _concerns(slo: Slo, phase: Spec) -> bool:
    """Whether an objective applies to the workload."""
    return slo.figure == UTILIZATION or slo.subject in phase.workload.subjects


def _measures(spec: Spec, health_check: HealthCheck) -> Measures:
    simulation = partial(_window, spec, health_check.window_s)
    return Measures.of(replicate(simulation, seed=health_check.seed, replications=health_check.replications))


def _window(spec: Spec, window_s: float, *, seed: int) -> Run:
    """Simulate a window without its warm-up."""
    run = simulate(spec, seed=seed)
    return settled(run, dict.fromkeys(ops_of(run), WARM_UP * window_s))


def _worst(slo: Slo, measures: Sequence[Measures]) -> SloResult:
    """Return the worst result of an objective over the phases to which it applies."""
    results = [slo.evaluate(m) for m in measures if slo.figure == UTILIZATION or slo.subject in m.ops]
    if not results or math.isnan(results[0].value):
        raise InputError(f"slo {slo.text}: the workload has no {slo.subject} requests within a window")
    return min(results, key=lambda r: r.value) if slo.above else max(results, key=lambda r: r.value)
