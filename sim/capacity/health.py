"""A store at one moment of its growth: what arithmetic says of it, and what simulated windows say of its objectives.

Arithmetic comes first. A station of an open loop that is asked for more than all of its time falls behind for ever,
and a full store takes no writes: such a store keeps no objective, and no window of it is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from models.capabilities import Growth
from models.store import Spec, compile_spec, store_of
from sim.analysis.bounds import bounds
from sim.capacity.timeline import WARM_UP, phases
from sim.experiments.measures import Measures
from sim.experiments.sweep import Cache
from sim.parallel.result_cache import content_key
from sim.replication.replicate import replicate
from sim.replication.slo import UTILIZATION, SloResult, Slo
from sim.replication.warm_up import settled
from sim.simulate import simulate
from traces.errors import InputError
from traces.run import Run
from traces.statistics.summary import ops_of
from traces.trace import Trace
from traces.workload.generate import generate

_ROWS = 20_000  # requests that demands are averaged over, so that each OSD has its share of them


@dataclass(frozen=True)
class HealthCheck:
    """What is to be looked at: everything that the finding depends on.

    Attributes:
        spec: with the size of the objects stored written down (`sim.capacity.growth.with_object_size`).
        window_s, replications, seed: how often and for how long each is simulated; all have the same seeds.
    """

    spec: Spec
    slos: tuple[Slo, ...] = ()
    window_s: float = 2.0
    replications: int = 3
    seed: int = 0

    @cached_property
    def key(self) -> str:
        """A hash of the checkup, and of the code that does it; prices change nothing."""
        others = self.slos, self.window_s, self.replications, self.seed
        return content_key((self.spec.model_dump_json(exclude={"prices"}), *others))


@dataclass(frozen=True)
class Finding:
    """What was found.

    Attributes:
        loads: by role, the share of its time for which the busiest station is asked in the long run; above 1 it falls
            behind. Of open loops only: clients that wait for answers ask for no more than they get.
        fill_share: the fraction of the store's space that is taken; None: its model has no growth.
        full: why it takes no more writes; None: it does, as far as the model says.
        slos: each objective by its text; empty where it was not simulated.
        visits: of the simulations.
    """

    loads: dict[str, float]
    fill_fraction: float | None
    full: str | None = None
    slos: dict[str, SloResult] = field(default_factory=dict)
    visits: int = 0

    @property
    def reason(self) -> str | None:
        """Why the store keeps nothing, whatever the objective; None: it is able to."""
        role = max(self.loads, key=self.loads.__getitem__, default=None)
        if self.full is not None:
            return self.full
        if role is not None and self.loads[role] >= 1:
            return f"{role} is asked for {self.loads[role]:.0%} of its time"
        return None

    def keeps(self, slo: Slo) -> bool:
        """Whether the estimate keeps the objective, however sure that is."""
        return slo.text in self.slos and slo.verdict(*[self.slos[slo.text].value] * 2) == "pass"

    def to_json(self) -> dict[str, Any]:
        """As the result has it."""
        slos = {text: vars(judgement) for text, judgement in self.slos.items()}
        return {"fill_fraction": self.fill_fraction, "loads": self.loads, "slos": slos, "reason": self.reason}

    def to_cache(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return asdict(self)

    @staticmethod
    def from_cache(data: dict[str, Any]) -> Finding:
        """What `to_cache` wrote."""
        return Finding(**data | {"slos": {text: SloResult(**judged) for text, judged in data["slos"].items()}})


class Examiner:
    """Does checkups in processes, each once; what a cache has of them is taken from there."""

    def __init__(
        self,
        mapping: Callable[..., Iterator[Any]],
        progress: Callable[[int], None] = lambda done: None,
        cache: Cache | None = None,
    ):
        self._map, self._progress, self._cache = mapping, progress, cache
        self._known: dict[str, Finding] = {}

    @property
    def findings(self) -> Sequence[Finding]:
        """All so far."""
        return list(self._known.values())

    def known(self, health_check: HealthCheck) -> Finding | None:
        """What was found, if it was looked at."""
        return self._known.get(health_check.key)

    def __call__(self, checkups: Sequence[HealthCheck]) -> list[Finding]:
        """What is found at each, in order.

        Raises:
            InputError: a spec cannot be simulated, or an objective is about what is not there.
        """
        new = {c.key: c for c in checkups if c.key not in self._known}
        for key in list(new):
            if self._cache and (kept := self._cache.find(key)) is not None:
                self._note(key, Finding.from_cache(kept))
                del new[key]
        for key, finding in zip(new, self._map(examine, new.values()), strict=True):
            self._note(key, finding)
            if self._cache:
                self._cache.keep(key, finding.to_cache())
        return [self._known[c.key] for c in checkups]

    def _note(self, key: str, finding: Finding) -> None:
        self._known[key] = finding
        self._progress(len(self._known))


def examine(health_check: HealthCheck) -> Finding:
    """What is found at one moment.

    Raises:
        InputError: the spec cannot be simulated, or an objective is about what is not there.
    """
    spec = health_check.spec
    growth = store_of(spec).growth
    if growth is None:
        finding = Finding(_loads(spec, health_check.seed), None)
    else:
        fill_fraction = state_of(growth, spec)["fill_fraction"]
        loads = _loads(_with_room(growth, spec, fill_fraction), health_check.seed)
        finding = Finding(loads, fill_fraction, growth.full(fill_fraction))
    if finding.reason:
        return finding
    requested_of = [
        phase
        for phase in phases(spec, health_check.window_s)
        if any(_concerns(slo, phase) for slo in health_check.slos)
    ]
    measures = [_measures(phase, health_check) for phase in requested_of]
    slos = {slo.text: _worst(slo, measures) for slo in health_check.slos}
    return replace(finding, slos=slos, visits=sum(m.engine.visits for m in measures))


def state_of(growth: Growth[Any], spec: Spec) -> dict[str, Any]:
    """The state of a spec whose objects have a size written down."""
    return growth.state(spec, trace_of(spec))


def trace_of(spec: Spec) -> Trace:
    """A trace that stands for the workload where only the size of what is stored counts."""
    return generate(spec.workload.model_copy(update={"operations": 1, "duration": None}), 0)


def _with_room(growth: Growth[Any], spec: Spec, fill_fraction: float) -> Spec:
    """The spec; of a store that is full, with as many objects as it takes: more have no demands."""
    if fill_fraction <= growth.full_fraction:
        return spec
    held: Spec = growth.holding(spec, growth.objects(spec) * growth.full_fraction / fill_fraction)
    return held


def _loads(spec: Spec, seed: int) -> dict[str, float]:
    """By role, the busiest station's work for a second of an open loop's requests; pools and infinite servers aside."""
    if spec.workload.rate is None:
        return {}
    short = _short(spec)
    found = bounds(*compile_spec(short, generate(short.workload, seed)))
    loads: dict[str, float] = {}
    for row in found.stations:
        if row.max_throughput_ops and row.servers is not None:
            load = spec.workload.rate / row.max_throughput_ops
            loads[row.role] = max(loads.get(row.role, 0.0), load)
    return loads


def _short(spec: Spec) -> Spec:
    """The spec with a workload of `_ROWS` requests."""
    workload = spec.workload.model_copy(update={"operations": _ROWS, "duration": None})
    return spec.model_copy(update={"workload": workload})


def _concerns(slo: Slo, phase: Spec) -> bool:
    """Whether the workload has what the objective is about."""
    return slo.figure == UTILIZATION or phase.workload.mix.get(slo.subject, 0.0) > 0  # type: ignore[call-overload]


def _measures(spec: Spec, health_check: HealthCheck) -> Measures:
    simulation = partial(_window, spec, health_check.window_s)
    return Measures.of(replicate(simulation, seed=health_check.seed, replications=health_check.replications))


def _window(spec: Spec, window_s: float, *, seed: int) -> Run:
    """A run without the requests of its first `WARM_UP`."""
    run = simulate(spec, seed=seed)
    return settled(run, dict.fromkeys(ops_of(run), WARM_UP * window_s))


def _worst(slo: Slo, measures: Sequence[Measures]) -> SloResult:
    """The objective where it is hardest to keep, of the phases that it is about."""
    judged = [slo.evaluate(m) for m in measures if slo.figure == UTILIZATION or slo.subject in m.ops]
    if not judged or math.isnan(judged[0].value):
        raise InputError(f"slo {slo.text}: the workload asks for no {slo.subject} within a window")
    return min(judged, key=lambda j: j.value) if slo.above else max(judged, key=lambda j: j.value)
