"""Changes of a store that may keep its objectives for longer: what there is to try, and the cheapest that does.

Single changes are looked at first, and pairs of those that helped. A change *holds* if the store still keeps all at the
end of the period in the likely scenario; the best is the cheapest that does so in nine scenarios of ten, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from models.capabilities import SpecChange
from models.prices import cost
from models.store import Spec, spec_of, store_of
from sim.capacity.growth import Scenario, spec_at, with_object_size
from sim.capacity.health import Examiner, Finding
from sim.capacity.limits import Course
from sim.replication.slo import Slo
from traces.errors import InputError
from traces.spec_file import override

SURE = 0.9
"""Share of the scenarios in which the best change holds, at least."""
_MOST_PAIRS = 24
_HELP = 0.01  # less than that is chance


@dataclass(frozen=True)
class Change:
    """Values that are changed together.

    Attributes:
        values: by path.
        course: of the changed store.
        extra_cost: what it costs more; None: there are no prices.
    """

    values: Mapping[str, Any]
    course: Course
    extra_cost: float | None

    @property
    def order(self) -> float:
        """What it is ranked by: its cost; without prices all are alike and the order of trying counts."""
        return self.extra_cost or 0.0


@dataclass(frozen=True)
class Trial:
    """A change and what was found of it at the end of the period.

    Attributes:
        finding: in the likely scenario.
        share: of the scenarios in which it holds; None: not looked at, as it does not in the likely one or something
            cheaper does.
    """

    change: Change
    finding: Finding
    holds: bool
    fraction: float | None = None

    def to_json(self) -> dict[str, Any]:
        """As the result has it."""
        return {
            "set": dict(self.change.values),
            "cost": self.change.extra_cost,
            "holds": self.holds,
            "fraction": self.fraction,
            "evidence": self.finding.to_json(),
        }


class Search:
    """The search for the cheapest change that holds.

    Attributes:
        trials: all so far, that without a change first.
    """

    def __init__(
        self, data: Mapping[str, Any], course: Course, expected: Scenario, scenarios: Sequence[Scenario],
        examine: Examiner,
    ):  # fmt: skip
        self._data, self._course, self._examine = data, course, examine
        self._expected, self._scenarios = expected, scenarios
        self.trials: list[Trial] = []

    def best(self) -> Trial | None:
        """The cheapest change that holds in `SURE` of the scenarios; None: nothing that was tried does."""
        as_it_is = self._sure(self._tried([Change({}, self._course, None if self._price is None else 0.0)]))
        if as_it_is:
            return as_it_is
        singles = self._tried(list(self._singles()))
        best = self._sure(singles)
        helped = [trial for trial in singles if not trial.holds and self._helped(trial)]
        pairs = sorted(self._pairs(helped), key=lambda change: change.order)
        if best is not None:
            pairs = [pair for pair in pairs if pair.extra_cost is not None and pair.order < best.change.order]
        return self._sure(self._tried(pairs[:_MOST_PAIRS])) or best

    @property
    def _price(self) -> float | None:
        return cost(self._course.spec)

    def _tried(self, changes: Sequence[Change]) -> list[Trial]:
        """What the changes do at the end of the period in the likely scenario, the cheapest first."""
        end = self._course.growth.months
        findings = self._examine([change.course.at(self._expected, end) for change in changes])
        trials = [Trial(c, f, self._holds(f)) for c, f in zip(changes, findings, strict=True)]
        self.trials += trials
        return sorted(trials, key=lambda trial: trial.change.order)

    def _sure(self, trials: Sequence[Trial]) -> Trial | None:
        """The first that holds in enough scenarios, which is noted of all up to it."""
        end = self._course.growth.months
        for trial in (trial for trial in trials if trial.holds):
            findings = self._examine([trial.change.course.at(scenario, end) for scenario in self._scenarios])
            fraction = sum(map(self._holds, findings)) / len(findings)
            known = replace(trial, fraction=fraction)
            self.trials[self.trials.index(trial)] = known
            if fraction >= SURE:
                return known
        return None

    def _holds(self, finding: Finding) -> bool:
        return finding.reason is None and all(finding.keeps(slo) for slo in self._course.slos)

    def _helped(self, trial: Trial) -> bool:
        """Whether anything that is wrong without a change is better with this one."""
        before, after = self.trials[0].finding, trial.finding
        eased = [role for role, load in before.loads.items() if load >= 1 and after.loads.get(role, 0.0) < load]
        emptier = before.full is not None and (after.fill_fraction or 0.0) < (before.fill_fraction or 0.0)
        broken = [slo for slo in self._course.slos if slo.text in before.slos and not before.keeps(slo)]
        better = [slo for slo in broken if slo.text in after.slos and _is_better(slo, after, before)]
        return bool(eased or emptier or better)

    def _singles(self) -> Iterator[Change]:
        for values in candidates(self._course, self._expected):
            change = self._change(values)
            if change is not None:
                yield change

    def _pairs(self, trials: Sequence[Trial]) -> Iterator[Change]:
        for a, b in itertools.combinations(trials, 2):
            if not a.change.values.keys() & b.change.values.keys():
                change = self._change({**a.change.values, **b.change.values})
                if change is not None:
                    yield change

    def _change(self, values: Mapping[str, Any]) -> Change | None:
        """The change; None: the store does not take it, as too few hosts for a code."""
        try:
            spec = spec_of(override(self._data, [f"{path}={value}" for path, value in values.items()]), "change")
        except InputError:
            return None
        price = cost(spec)
        extra = None if price is None or self._price is None else price - self._price + self._moving_cost(spec)
        sized = with_object_size(spec, self._course.health_check.seed)
        return Change(values, replace(self._course, spec=sized), extra)

    def _moving_cost(self, spec: Spec) -> float:
        """What it costs to get to the changed store from that of now, besides what is added to it."""
        remedies = store_of(spec).remedies
        now = spec_at(self._course.spec, self._course.growth, self._expected, 0)
        return 0.0 if remedies is None else remedies.moving_cost(now, spec)


def _is_better(slo: Slo, after: Finding, before: Finding) -> bool:
    a, b = after.slos[slo.text].value, before.slos[slo.text].value
    return a > b * (1 + _HELP) if slo.above else a < b * (1 - _HELP)


def candidates(course: Course, expected: Scenario) -> Iterator[SpecChange]:
    """Single changes of a store, as values by path; what a store refuses is among them."""
    spec = course.spec
    remedies = store_of(spec).remedies
    if remedies is not None:
        yield from remedies.changes(spec, spec_at(spec, course.growth, expected, course.growth.months))
    if spec.client.hedge.after is None and any(_may_be_hedged(spec, slo) for slo in course.slos):
        yield from ({"client.hedge.after": after} for after in ("p90", "p95"))


def _may_be_hedged(spec: Spec, slo: Slo) -> bool:
    return slo.subject in spec.client.hedge.operations and not slo.above
