"""The least value of a field with which a growing store does not reach a limit of its state within the period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from models.store import Spec, spec_of, store_of
from sim.capacity.growth import Growth, Scenario, with_object_size
from sim.capacity.limits import RANGE, GrowingStore, Limit, effects_that_limit, share_family
from traces.errors import InputError
from traces.spec.spec_file import override

_MOST_DOUBLINGS = 24


def with_values(
    limits: Sequence[Limit],
    data: Mapping[str, Any],
    store: GrowingStore,
    expected: Scenario,
    scenarios: Sequence[Scenario],
) -> list[Limit]:
    """Return limits, those of the state with the least value of a field that avoids them, if there is one.

    Args:
        limits: of the store.
        data: the contents of the spec file.
        store, expected, scenarios: as in `sim.capacity.limits.find_limits`.
    """
    return [replace(limit, values=_values(limit, data, store, expected, scenarios)) for limit in limits]


def _values(
    limit: Limit, data: Mapping[str, Any], store: GrowingStore, expected: Scenario, scenarios: Sequence[Scenario]
) -> Mapping[str, Any]:
    """Return the least value of the field, by its path; empty: the limit or the store has no such field."""
    remedies = store_of(store.spec).remedies
    knob = remedies.knob(store.spec, limit.name) if remedies is not None and limit.kind == "state" else None
    if knob is None:
        return {}
    worst = [expected, _hard(limit, store, scenarios)]

    def avoids(steps: int) -> bool:
        try:
            spec = spec_of(override(data, [f"{knob.path}={knob.text(steps)}"]), "change")
        except InputError:
            return False
        changed = with_object_size(spec, store.health_check.seed)
        return not any(_reached(limit.name, changed, store.growth, scenario) for scenario in worst)

    low, high = knob.now, max(knob.now, 1)
    for _ in range(_MOST_DOUBLINGS):
        low, high = high, 2 * high
        if avoids(high):
            break
    else:
        return {}
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if avoids(middle) else (middle, high)
    return {knob.path: knob.text(high)}


def _hard(limit: Limit, store: GrowingStore, scenarios: Sequence[Scenario]) -> Scenario:
    """Return the scenario that is nearer to the limit at the end than nine of ten."""

    def nearness(scenario: Scenario) -> float:
        own = [e.objects for e in effects_that_limit(store.spec, store.growth, scenario) if e.name == limit.name]
        return scenario.objects(store.spec, store.growth.months) / own[0] if own else 0.0

    return sorted(scenarios, key=nearness)[min(int(RANGE[1] * len(scenarios)), len(scenarios) - 1)]


def _reached(name: str, spec: Spec, growth: Growth, scenario: Scenario) -> bool:
    """Return whether a store reaches a limit of the same family within the period."""
    objects = scenario.objects(spec, growth.months)
    limiting = effects_that_limit(spec, growth, scenario)
    return any(effect.objects <= objects for effect in limiting if share_family(effect.name, name))
