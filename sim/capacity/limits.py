"""When a growing store reaches each of its limits: calculated from its state, or by bisection over health assessments.

A limit is assumed to stay exceeded; if months along the likely path contradict, its evidence says so. Months of limits
that follow from the number of objects are exact; stations and objectives are assessed at whole months, and their month
is the first one in which the limit is exceeded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from models.capabilities import Effect
from models.capabilities import Growth as StoreGrowth
from models.store import Spec, store_of
from sim.capacity.growth import Growth, Scenario, spec_at
from sim.capacity.health import HealthAssessment, HealthAssessor, HealthCheck, state_of, trace_of
from sim.capacity.month_search import MonthSearch
from sim.capacity.timeline import MOST_OBJECTS
from sim.replication.slo import Slo

LimitKind = Literal["state", "station", "slo"]

RANGE = 0.1, 0.9
"""The quantiles over scenarios that a limit's range spans."""
_INTERVALS = 8  # equal intervals of the likely path between months that are always assessed


@dataclass(frozen=True)
class Months:
    """A time in months from now, likely value and range; None: after the period."""

    low: float | None
    likely: float | None
    high: float | None


@dataclass(frozen=True)
class MonthlyHealth:
    """The health assessment of a month."""

    month: int
    health: HealthAssessment

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"month": self.month, **self.health.to_json()}


@dataclass(frozen=True)
class Evidence:
    """The evidence that a limit is reached.

    Attributes:
        text: in words.
        state: figures of the store's state at the limit; None: the limit does not follow from the state.
        months: the month before the limit and that of the limit; none for a limit of the state.
    """

    text: str
    state: Mapping[str, Any] | None = None
    months: tuple[MonthlyHealth, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        if self.state is not None:
            return {"text": self.text, "state": dict(self.state)}
        return {"text": self.text, "months": [month.to_json() for month in self.months]}


@dataclass(frozen=True)
class Limit:
    """A limit that the store reaches.

    Attributes:
        month: when it is reached.
        objects: number of objects at the likely month; None: the store does not count them, or it is not reached.
        fraction: of the scenarios that reach it within the period.
        blocks: whether the store does not do its work beyond it: it is full, overloaded or violates an objective. Other
            limits are warnings of a store that works.
        values: what avoids it until the end of the period, by path: of a limit of the state the least value; empty: not
            known.
    """

    name: str
    kind: LimitKind
    month: Months
    objects: float | None
    fraction: float
    evidence: Evidence
    blocks: bool = True
    values: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        others = {"month": vars(self.month), "evidence": self.evidence.to_json(), "set": dict(self.values)}
        return {name: value for name, value in vars(self).items() if name != "values"} | others

    @property
    def order(self) -> list[float]:
        """The sort key: likely, earliest and latest month."""
        return [_or_inf(month) for month in (self.month.likely, self.month.low, self.month.high)]

    def is_reached(self, months: int) -> bool:
        """Return whether it is reached within these months in the likely scenario."""
        return self.month.likely is not None and self.month.likely <= months


@dataclass(frozen=True)
class GrowingStore:
    """A store, its growth, and the settings of its health assessments.

    Attributes:
        spec: the present store.
        slos: its objectives.
        health_check: window, replications and seed; its spec and objectives are ignored.
    """

    spec: Spec
    growth: Growth
    slos: tuple[Slo, ...]
    health_check: HealthCheck

    def at(self, scenario: Scenario, month: float) -> HealthCheck:
        """Return the health check of one month."""
        spec = spec_at(self.spec, self.growth, scenario, month)
        return replace(self.health_check, spec=spec, slos=self.slos)


@dataclass(frozen=True)
class _Search:
    """The search for the first month in which a limit is exceeded in one scenario."""

    scenario: Scenario
    exceeded: Callable[[HealthAssessment], bool]
    months: MonthSearch


def find_limits(
    store: GrowingStore, expected: Scenario, scenarios: Sequence[Scenario], assess: HealthAssessor
) -> list[Limit]:
    """Return the limits that are reached, in order of time.

    Args:
        expected: the likely scenario.
        scenarios: for the ranges.

    Raises:
        InputError: a state cannot be simulated, or an objective names an operation or role that does not exist.
    """
    limits = [*_state_limits(store, expected, scenarios), *_assessed_limits(store, expected, scenarios, assess)]
    return sorted(limits, key=lambda limit: limit.order)


def _state_limits(store: GrowingStore, expected: Scenario, scenarios: Sequence[Scenario]) -> list[Limit]:
    """Return the limits that follow from the number of objects only."""
    growth = store_of(store.spec).growth
    if growth is None:
        return []
    own = effects_that_limit(store.spec, store.growth, expected)
    each = [
        {effect.name: _month(store, s, effect.objects) for effect in effects_that_limit(store.spec, store.growth, s)}
        for s in scenarios
    ]
    limits = []
    for effect in own:
        months = [of_scenario.get(effect.name, math.inf) for of_scenario in each]
        month = _month(store, expected, effect.objects)
        if _or_inf(_months(store, month, months).low) <= store.growth.months:
            evidence = _evidence(growth, store, expected, effect)
            limit = _limit(store, effect.name, "state", month, months, effect.objects, evidence)
            assert evidence.state is not None
            limits.append(replace(limit, blocks=growth.full(evidence.state["fill_fraction"]) is not None))
    return limits


def effects_that_limit(spec: Spec, growth: Growth, scenario: Scenario) -> list[Effect]:
    """Return the effects that are limits, and the number of objects at which each begins, even if in the past."""
    of_store = store_of(spec).growth
    if of_store is None:
        return []
    now = spec_at(spec, growth, scenario, 0)
    return [effect for effect in of_store.effects(now, trace_of(now), 0, MOST_OBJECTS) if of_store.is_limit(effect)]


def share_family(a: str, b: str) -> bool:
    """Return whether limits are of one family, such as all levels of ``spill``."""
    return a.split()[0] == b.split()[0]


def _month(store: GrowingStore, scenario: Scenario, objects: float) -> float:
    """Return the month in which the store has this number of objects; infinite: after the period."""
    now, a_month = scenario.objects(store.spec, 0), scenario.objects_a_month or 0.0
    month = 0.0 if objects <= now else (objects - now) / a_month if a_month else math.inf
    return month if month <= store.growth.months else math.inf


def _evidence(growth: StoreGrowth[Any], store: GrowingStore, scenario: Scenario, effect: Effect) -> Evidence:
    """Return the state of the store when an effect begins."""
    spec = spec_at(store.spec, store.growth, scenario, 0)
    figures = state_of(growth, growth.holding(spec, float(effect.objects)))
    return Evidence(effect.text, {name: figures[name] for name in growth.evidence})


def _assessed_limits(
    store: GrowingStore, expected: Scenario, scenarios: Sequence[Scenario], assess: HealthAssessor
) -> list[Limit]:
    """Return stations above their limit and violated objectives."""
    end = store.growth.months
    paths = [expected, *scenarios]
    along = sorted({round(end * i / _INTERVALS) for i in range(_INTERVALS + 1)})
    on_path = dict(zip(along, assess([store.at(expected, month) for month in along]), strict=True))
    last = assess.decided([store.at(scenario, end) for scenario in paths])
    tests = _tests(store, [*last, *on_path.values()])
    searches: dict[tuple[str, int], _Search] = {}
    for (name, _), exceeded in tests.items():
        for i, scenario in enumerate(paths):
            known = on_path if i == 0 else {end: last[i]}
            first = next((month for month, health in known.items() if exceeded(health)), None)
            if first is not None:
                low = max((month for month in known if month < first), default=-1)
                near = _near(store, searches.get((name, 0)), scenario) if i else None
                searches[name, i] = _Search(scenario, exceeded, MonthSearch(low, first, near))
    _bisect(store, list(searches.values()), assess)
    limits = []
    for name, kind in tests:
        months = [
            float(searches[name, i].months.high) if (name, i) in searches else math.inf for i in range(len(paths))
        ]
        if _or_inf(_months(store, months[0], months[1:]).low) <= end:
            objects = None if math.isinf(months[0]) else expected.objects(store.spec, months[0]) or None
            evidence = _assessed_evidence(store, expected, months[0], kind, assess)
            text = evidence.text
            if math.isinf(months[0]):
                text += _elsewhere([last[i] for i, month in enumerate(months) if month <= end])
            back = [month for month, health in on_path.items() if month > months[0] and not tests[name, kind](health)]
            if back:
                text += f", but not in month {', '.join(map(str, back))}: check it month by month"
            evidence = replace(evidence, text=text)
            limits.append(_limit(store, name, kind, months[0], months[1:], objects, evidence))
    return limits


def _tests(
    store: GrowingStore, assessments: Sequence[HealthAssessment]
) -> dict[tuple[str, LimitKind], Callable[[HealthAssessment], bool]]:
    """Return tests whether a limit is exceeded, by its name and kind; of stations, those exceeded in an assessment."""
    most = store.growth.utilization
    roles = {role: None for health in assessments for role, load in health.loads.items() if load >= most}
    tests: dict[tuple[str, LimitKind], Callable[[HealthAssessment], bool]] = {}
    for role in roles:
        tests[f"{role} saturated" if most == 1 else f"{role} above {most:.0%}", "station"] = (
            lambda health, role=role: health.loads.get(role, 0.0) >= most  # type: ignore[misc]
        )
    for slo in store.slos:
        tests[slo.text, "slo"] = lambda health, slo=slo: not health.meets(slo)  # type: ignore[misc]
    return tests


def _bisect(store: GrowingStore, searches: Sequence[_Search], assess: HealthAssessor) -> None:
    """Narrow all searches to a month, concurrently so that all processes are busy."""
    while unfinished := [search for search in searches if not search.months.is_done]:
        months = [search.months.following for search in unfinished]
        health_checks = [store.at(search.scenario, month) for search, month in zip(unfinished, months, strict=True)]
        for search, month, health in zip(unfinished, months, assess(health_checks), strict=True):
            search.months.narrow(month, search.exceeded(health))


def _near(store: GrowingStore, expected: _Search | None, scenario: Scenario) -> int | None:
    """Return the month with as many objects as when the likely scenario exceeds the limit; None: it does not."""
    if expected is None:
        return None
    month = (expected.months.low + expected.months.high) / 2
    now, a_month = scenario.objects(store.spec, 0), scenario.objects_a_month
    if a_month:
        month = (expected.scenario.objects(store.spec, month) - now) / a_month
    return round(min(max(month, 0.0), store.growth.months))


def _assessed_evidence(
    store: GrowingStore, expected: Scenario, month: float, kind: LimitKind, assess: HealthAssessor
) -> Evidence:
    """Return the assessments of the month and of the one before it."""
    at = store.growth.months if math.isinf(month) else int(month)
    months = [m for m in (at - 1, at) if m >= 0]
    assessments = assess([store.at(expected, m) for m in months])
    text = "not within the period in the likely scenario" if math.isinf(month) else assessments[-1].reason
    evidence = tuple(MonthlyHealth(m, health) for m, health in zip(months, assessments, strict=True))
    return Evidence(text or f"{'violated' if kind == 'slo' else 'reached'} in month {at}", months=evidence)


def _elsewhere(assessments: Sequence[HealthAssessment]) -> str:
    """Return why a limit is reached in other scenarios, if there is a specific reason."""
    reason = next((health.reason for health in assessments if health.reason is not None), None)
    return "" if reason is None else f"; in others, because {reason} at its end"


def _limit(
    store: GrowingStore, name: str, kind: LimitKind, month: float, months: Sequence[float], objects: float | None,
    evidence: Evidence,
) -> Limit:  # fmt: skip
    fraction = float(np.mean([m <= store.growth.months for m in months]))
    return Limit(name, kind, _months(store, month, months), objects, fraction, evidence)


def _months(store: GrowingStore, likely: float, months: Sequence[float]) -> Months:
    """Return likely month and range; the range includes the likely month."""
    low, high = np.quantile(np.array(months), RANGE, method="inverted_cdf").tolist()
    values = min(low, likely), likely, max(high, likely)
    return Months(*(value if value <= store.growth.months else None for value in values))


def _or_inf(value: float | None) -> float:
    return math.inf if value is None else value
