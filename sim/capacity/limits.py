"""When a store that grows reaches each of its limits: by arithmetic of its state, and by bisection over checkups.

A limit once reached is taken to stay so; where months along the likely path say otherwise, its evidence does. Months
of what follows from the number of objects are exact; stations and objectives are looked at by whole months, and the
month is the first in which the limit is beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from models.capabilities import Effect
from models.capabilities import Growth as StoreGrowth
from models.store import Spec, store_of
from sim.capacity.growth import Growth, Scenario, spec_at
from sim.capacity.health import Examiner, Finding, HealthCheck, state_of, trace_of
from sim.capacity.timeline import MOST_OBJECTS
from sim.replication.slo import Slo

Kind = Literal["state", "station", "slo"]

RANGE = 0.1, 0.9
"""The quantiles over scenarios between which a limit's range goes."""
_LOOKS = 8  # months along the likely path that are looked at anyway, evenly


@dataclass(frozen=True)
class Months:
    """When something is, counted in months from now: likely, and a range; None: after the period."""

    low: float | None
    likely: float | None
    high: float | None


@dataclass(frozen=True)
class Look:
    """What was found in a month of the likely path."""

    month: int
    finding: Finding

    def to_json(self) -> dict[str, Any]:
        """As the result has it."""
        return {"month": self.month, **self.finding.to_json()}


@dataclass(frozen=True)
class Evidence:
    """What shows that a limit is reached.

    Attributes:
        text: in words.
        state: figures of the store's state there; None: the limit does not follow from the state.
        looks: the month before and that of the limit; none of a limit of the state.
    """

    text: str
    state: Mapping[str, Any] | None = None
    looks: tuple[Look, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As the result has it."""
        if self.state is not None:
            return {"text": self.text, "state": dict(self.state)}
        return {"text": self.text, "looks": [look.to_json() for look in self.looks]}


@dataclass(frozen=True)
class Limit:
    """A limit that the store reaches.

    Attributes:
        month: when.
        objects: how many there are at the likely month; None: the store does not count them, or it is not reached.
        share: of the scenarios that reach it within the period.
    """

    name: str
    kind: Kind
    month: Months
    objects: float | None
    fraction: float
    evidence: Evidence

    def to_json(self) -> dict[str, Any]:
        """As the result has it."""
        return {**vars(self), "month": vars(self.month), "evidence": self.evidence.to_json()}


@dataclass(frozen=True)
class Course:
    """A store, how it grows, and how it is looked at.

    Attributes:
        spec: as it is now.
        slos: what it must keep.
        checkup: how long, how often and with which seed; its spec and objectives do not count.
    """

    spec: Spec
    growth: Growth
    slos: tuple[Slo, ...]
    health_check: HealthCheck

    def at(self, scenario: Scenario, month: float) -> HealthCheck:
        """The checkup of one month."""
        spec = spec_at(self.spec, self.growth, scenario, month)
        return replace(self.health_check, spec=spec, slos=self.slos)


@dataclass
class _Search:
    """The month in which a limit is first beyond, in one scenario: after `low`, at `high` at the latest."""

    scenario: Scenario
    beyond: Callable[[Finding], bool]
    low: int
    high: int


def find_limits(course: Course, expected: Scenario, scenarios: Sequence[Scenario], examine: Examiner) -> list[Limit]:
    """The limits that are reached, the first first.

    Args:
        expected: the likely scenario.
        scenarios: for the ranges.

    Raises:
        InputError: a state cannot be simulated, or an objective is about what is not there.
    """
    limits = [*_state_limits(course, expected, scenarios), *_found_limits(course, expected, scenarios, examine)]

    def order(limit: Limit) -> list[float]:
        return [_or_inf(month) for month in (limit.month.likely, limit.month.low, limit.month.high)]

    return sorted(limits, key=order)


def _state_limits(course: Course, expected: Scenario, scenarios: Sequence[Scenario]) -> list[Limit]:
    """Those that follow from the number of objects alone."""
    growth = store_of(course.spec).growth
    if growth is None:
        return []
    own = _effects(growth, course, expected)
    each = [{e.name: _month(course, s, e.objects) for e in _effects(growth, course, s)} for s in scenarios]
    limits = []
    for effect in own:
        months = [of_scenario.get(effect.name, math.inf) for of_scenario in each]
        month = _month(course, expected, effect.objects)
        if _or_inf(_months(course, month, months).low) <= course.growth.months:
            evidence = _evidence(growth, course, expected, effect)
            limits.append(_limit(course, effect.name, "state", month, months, effect.objects, evidence))
    return limits


def _effects(growth: StoreGrowth[Any], course: Course, scenario: Scenario) -> list[Effect]:
    """What begins at how many objects, from none on, be it in the past."""
    spec = spec_at(course.spec, course.growth, scenario, 0)
    begun = growth.effects(spec, trace_of(spec), 0, MOST_OBJECTS)
    return [effect for effect in begun if growth.is_limit(effect)]


def _month(course: Course, scenario: Scenario, objects: float) -> float:
    """When the store holds so many; infinite: after the period."""
    now, a_month = scenario.objects(course.spec, 0), scenario.objects_a_month or 0.0
    month = 0.0 if objects <= now else (objects - now) / a_month if a_month else math.inf
    return month if month <= course.growth.months else math.inf


def _evidence(growth: StoreGrowth[Any], course: Course, scenario: Scenario, effect: Effect) -> Evidence:
    """What the store is like when an effect begins."""
    spec = spec_at(course.spec, course.growth, scenario, 0)
    figures = state_of(growth, growth.holding(spec, float(effect.objects)))
    return Evidence(effect.text, {name: figures[name] for name in growth.evidence})


def _found_limits(course: Course, expected: Scenario, scenarios: Sequence[Scenario], examine: Examiner) -> list[Limit]:
    """Stations beyond their limit and objectives that are broken."""
    end = course.growth.months
    paths = [expected, *scenarios]
    last = examine([course.at(scenario, end) for scenario in paths])
    marks = sorted({round(end * i / _LOOKS) for i in range(_LOOKS + 1)})
    looks = dict(zip(marks, examine([course.at(expected, month) for month in marks]), strict=True))
    tests = _tests(course, [*last, *looks.values()])
    searches: dict[tuple[str, int], _Search] = {}
    for (name, _), beyond in tests.items():
        for i, scenario in enumerate(paths):
            known = looks if i == 0 else {end: last[i]}
            first = next((month for month, finding in known.items() if beyond(finding)), None)
            if first is not None:
                low = max((month for month in known if month < first), default=-1)
                searches[name, i] = _Search(scenario, beyond, low, first)
    _bisect(course, list(searches.values()), examine)
    limits = []
    for name, kind in tests:
        months = [float(searches[name, i].high) if (name, i) in searches else math.inf for i in range(len(paths))]
        if _or_inf(_months(course, months[0], months[1:]).low) <= end:
            objects = None if math.isinf(months[0]) else expected.objects(course.spec, months[0]) or None
            evidence = _found_evidence(course, expected, months[0], kind, examine)
            text = evidence.text
            if math.isinf(months[0]):
                text += _elsewhere([last[i] for i, month in enumerate(months) if month <= end])
            back = [month for month, finding in looks.items() if month > months[0] and not tests[name, kind](finding)]
            if back:
                text += f", but not in month {', '.join(map(str, back))}: look at it month by month"
            evidence = replace(evidence, text=text)
            limits.append(_limit(course, name, kind, months[0], months[1:], objects, evidence))
    return limits


def _tests(course: Course, last: Sequence[Finding]) -> dict[tuple[str, Kind], Callable[[Finding], bool]]:
    """Whether a finding is beyond a limit, by the limit's name and kind; of stations, those that are beyond at last."""
    most = course.growth.utilization
    roles = {role: None for finding in last for role, load in finding.loads.items() if load >= most}
    tests: dict[tuple[str, Kind], Callable[[Finding], bool]] = {}
    for role in roles:
        tests[f"{role} saturated" if most == 1 else f"{role} above {most:.0%}", "station"] = (
            lambda finding, role=role: finding.loads.get(role, 0.0) >= most  # type: ignore[misc]
        )
    for slo in course.slos:
        tests[slo.text, "slo"] = lambda finding, slo=slo: not finding.keeps(slo)  # type: ignore[misc]
    return tests


def _bisect(course: Course, searches: Sequence[_Search], examine: Examiner) -> None:
    """Narrow all searches to a month, side by side so that processes have enough to do."""
    while open_ones := [search for search in searches if search.high - search.low > 1]:
        middles = [(search.low + search.high) // 2 for search in open_ones]
        checkups = [course.at(search.scenario, month) for search, month in zip(open_ones, middles, strict=True)]
        for search, month, finding in zip(open_ones, middles, examine(checkups), strict=True):
            search.low, search.high = (search.low, month) if search.beyond(finding) else (month, search.high)


def _found_evidence(course: Course, expected: Scenario, month: float, kind: Kind, examine: Examiner) -> Evidence:
    """What was found in the month, and in the one before it."""
    at = course.growth.months if math.isinf(month) else int(month)
    months = [m for m in (at - 1, at) if m >= 0]
    findings = examine([course.at(expected, m) for m in months])
    text = "in the likely scenario not within the period" if math.isinf(month) else findings[-1].reason
    looks = tuple(Look(m, finding) for m, finding in zip(months, findings, strict=True))
    return Evidence(text or f"{'broken' if kind == 'slo' else 'reached'} in month {at}", looks=looks)


def _elsewhere(findings: Sequence[Finding]) -> str:
    """Why it is reached in other scenarios, if for a reason of its own."""
    reason = next((finding.reason for finding in findings if finding.reason is not None), None)
    return "" if reason is None else f"; in others, as {reason} at its end"


def _limit(
    course: Course, name: str, kind: Kind, month: float, months: Sequence[float], objects: float | None,
    evidence: Evidence,
) -> Limit:  # fmt: skip
    fraction = float(np.mean([m <= course.growth.months for m in months]))
    return Limit(name, kind, _months(course, month, months), objects, fraction, evidence)


def _months(course: Course, likely: float, months: Sequence[float]) -> Months:
    """Likely month and range; the range has the likely month in it."""
    low, high = np.quantile(np.array(months), RANGE, method="inverted_cdf").tolist()
    values = min(low, likely), likely, max(high, likely)
    return Months(*(value if value <= course.growth.months else None for value in values))


def _or_inf(value: float | None) -> float:
    return math.inf if value is None else value
