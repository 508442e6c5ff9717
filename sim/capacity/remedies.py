"""Search for the cheapest change with which a store meets its objectives for longer.

Single changes are tried first, then pairs of those that helped. A change *holds* if the store meets all objectives at
the end of the period in the likely scenario; the best is the cheapest that also holds in nine of ten scenarios, and
reaches no limit before the end that keeps the store from its work.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from models.capabilities import SpecChange
from models.shared.prices import cost
from models.store import Spec, levels, spec_of, store_of
from sim.capacity.growth import Scenario, spec_at, with_object_size
from sim.capacity.health import HealthAssessment, HealthAssessor
from sim.capacity.limits import GrowingStore, find_limits
from sim.replication.slo import Slo
from traces.errors import InputError
from traces.spec.spec_file import override

SURE = 0.9
"""Minimum fraction of the scenarios in which the best change must hold."""
_MOST_PAIRS = 24
_HELP = 0.01  # smaller improvements are due to chance


@dataclass(frozen=True)
class ChangedStore:
    """Values that are changed together.

    Attributes:
        values: by path.
        store: the changed store.
        extra_cost: additional cost; None: there are no prices.
    """

    values: Mapping[str, Any]
    store: GrowingStore
    extra_cost: float | None

    @property
    def order(self) -> float:
        """The sort key, its cost; without prices changes remain in the order in which they are tried."""
        return self.extra_cost or 0.0


@dataclass(frozen=True)
class Trial:
    """A change and its health assessment at the end of the period.

    Attributes:
        finding: in the likely scenario.
        fraction: of the scenarios in which it holds; None: not assessed, because it does not hold in the likely one or
            a cheaper change holds.
    """

    change: ChangedStore
    finding: HealthAssessment
    holds: bool
    fraction: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
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
        trials: all so far, beginning with the unchanged store.
    """

    def __init__(
        self, data: Mapping[str, Any], store: GrowingStore, expected: Scenario, scenarios: Sequence[Scenario],
        assess: HealthAssessor,
    ):  # fmt: skip
        """Prepare the search; `data` are the contents of the spec file, in which changes set values."""
        self._data, self._store, self._assess = data, store, assess
        self._expected, self._scenarios = expected, scenarios
        self.trials: list[Trial] = []

    def best(self) -> Trial | None:
        """Return the cheapest change that holds in at least `SURE` of the scenarios; None: none does."""
        as_it_is = self._sure(self._tried([ChangedStore({}, self._store, None if self._price is None else 0.0)]))
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
        return cost(*levels(self._store.spec).values())

    def _tried(self, changes: Sequence[ChangedStore]) -> list[Trial]:
        """Assess changes at the end of the period in the likely scenario; returns the cheapest first."""
        end = self._store.growth.months
        assessments = self._assess([change.store.at(self._expected, end) for change in changes])
        trials = [Trial(c, health, self._holds(health)) for c, health in zip(changes, assessments, strict=True)]
        self.trials += trials
        return sorted(trials, key=lambda trial: trial.change.order)

    def _sure(self, trials: Sequence[Trial]) -> Trial | None:
        """Return the first trial that holds in enough scenarios; records the fraction of each trial up to it."""
        end = self._store.growth.months
        for trial in (trial for trial in trials if trial.holds):
            assessments = self._assess.decided([trial.change.store.at(scenario, end) for scenario in self._scenarios])
            fraction = sum(map(self._holds, assessments)) / len(assessments)
            works = fraction >= SURE and not self._blocked(trial.change.store)
            known = replace(trial, fraction=fraction, holds=works or fraction < SURE)
            self.trials[self.trials.index(trial)] = known
            if works:
                return known
        return None

    def _blocked(self, store: GrowingStore) -> bool:
        """Whether the store reaches a limit before the end that keeps it from its work, even if not at the end."""
        limits = find_limits(store, self._expected, [self._expected], self._assess)
        return any(limit.blocks and limit.is_reached(store.growth.months) for limit in limits)

    def _holds(self, health: HealthAssessment) -> bool:
        is_busy = any(load >= self._store.growth.utilization for load in health.loads.values())
        return health.reason is None and not is_busy and all(health.meets(slo) for slo in self._store.slos)

    def _helped(self, trial: Trial) -> bool:
        """Whether a problem of the unchanged store is smaller with this change."""
        before, after = self.trials[0].finding, trial.finding
        most = self._store.growth.utilization
        eased = [role for role, load in before.loads.items() if load >= most and after.loads.get(role, 0.0) < load]
        emptier = before.full is not None and (after.fill_fraction or 0.0) < (before.fill_fraction or 0.0)
        violated = [slo for slo in self._store.slos if slo.text in before.slos and not before.meets(slo)]
        better = [slo for slo in violated if slo.text in after.slos and _is_better(slo, after, before)]
        return bool(eased or emptier or better)

    def _singles(self) -> Iterator[ChangedStore]:
        for values in candidates(self._store, self._expected):
            change = self._change(values)
            if change is not None:
                yield change

    def _pairs(self, trials: Sequence[Trial]) -> Iterator[ChangedStore]:
        for a, b in itertools.combinations(trials, 2):
            if not a.change.values.keys() & b.change.values.keys():
                change = self._change({**a.change.values, **b.change.values})
                if change is not None:
                    yield change

    def _change(self, values: Mapping[str, Any]) -> ChangedStore | None:
        """Return the change; None: the spec refuses it, for example if there are too few hosts for an erasure code."""
        try:
            spec = spec_of(override(self._data, [f"{path}={value}" for path, value in values.items()]), "change")
        except InputError:
            return None
        price = cost(*levels(spec).values())
        extra = None if price is None or self._price is None else price - self._price + self._moving_cost(spec)
        sized = with_object_size(spec, self._store.health_check.seed)
        return ChangedStore(values, replace(self._store, spec=sized), extra)

    def _moving_cost(self, spec: Spec) -> float:
        """Return the cost of moving to the changed store, without that of added hardware."""
        remedies = store_of(spec).remedies
        now = spec_at(self._store.spec, self._store.growth, self._expected, 0)
        return 0.0 if remedies is None else remedies.moving_cost(now, spec)


def _is_better(slo: Slo, after: HealthAssessment, before: HealthAssessment) -> bool:
    a, b = after.slos[slo.text].value, before.slos[slo.text].value
    return a > b * (1 + _HELP) if slo.above else a < b * (1 - _HELP)


def candidates(store: GrowingStore, expected: Scenario) -> Iterator[SpecChange]:
    """Yield single changes of a store, as values by path, including some that its spec refuses."""
    spec = store.spec
    remedies = store_of(spec).remedies
    if remedies is not None:
        yield from remedies.changes(spec, spec_at(spec, store.growth, expected, store.growth.months))
    if spec.client.hedge.after is None and any(_may_be_hedged(spec, slo) for slo in store.slos):
        yield from ({"client.hedge.after": after} for after in ("p90", "p95"))


def _may_be_hedged(spec: Spec, slo: Slo) -> bool:
    return slo.subject in spec.client.hedge.operations and not slo.above
