"""Changes of a store with which it may serve a higher rate, tried one by one, and the cheapest that does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.basis.described import DescribedSpec
from models.shared.prices import cost
from models.store import Spec, levels, required, spec_of, store_of
from sim.experiments.sweep import Settings
from sim.experiments.variation import Variation
from sim.experiments.whatif import InfeasiblePoint, SimulatedPoint, WhatIf, WhatIfExperiment, whatif
from sim.replication.slo import Slo
from traces.errors import InputError
from traces.spec.spec_file import override

HEDGE = "client.hedge.after"
"""The field with the delay of hedged requests."""


@dataclass(frozen=True)
class Change:
    """A change of one field.

    Attributes:
        path, value: the field and its new value.
        point: its simulation.
        meets: whether it meets all objectives for certain.
        extra_cost: additional cost; None: there are no prices.
    """

    path: str
    value: str
    point: SimulatedPoint | InfeasiblePoint
    meets: bool
    extra_cost: float | None


@dataclass(frozen=True)
class Changes:
    """The changes that the store's model offers, at a rate that it does not take as it is.

    Attributes:
        rate_ops: the rate.
        sets: values of the spec that give this rate.
        tried: of each field, its variants in the order of the store.
        changes: all of them, in this order.
        best: the cheapest that meets the objectives; without prices, the first; None: none does.
    """

    rate_ops: float
    sets: tuple[str, ...]
    tried: list[WhatIf]
    changes: list[Change]
    best: Change | None


def try_changes(
    read: Callable[[Sequence[str]], DescribedSpec],
    sets: Sequence[str],
    rate_ops: float,
    slos: Sequence[Slo],
    settings: Settings,
    *,
    workers: int = 1,
    progress: Callable[[float], None] = lambda done: None,
) -> Changes:
    """Simulate each change of the store's remedies, and hedged requests, at a rate.

    Args:
        read: returns the spec with further values.
        sets: further values of all simulations.
        rate_ops: rate of the workload.
        slos: the objectives.
        settings: of each simulation.
        workers: as for `sweep`.
        progress: called with the fraction that is done.

    Raises:
        InputError: the store's model has no remedies.
    """
    at_rate = (*sets, f"workload.rate={rate_ops:g}")
    described = read(at_rate)
    spec = described.spec
    by_path = _candidates(spec, slos)
    tried: list[WhatIf] = []
    for number, (path, values) in enumerate(by_path.items()):
        experiment = WhatIfExperiment(
            described.whole, described.source, [Variation(path, tuple(values))], slos, settings=settings
        )
        tried.append(whatif(experiment, workers=workers))
        progress((number + 1) / len(by_path))
    changes = [
        Change(path, value, point, _meets(point), _extra_cost(spec, described.whole, path, value))
        for (path, values), found in zip(by_path.items(), tried, strict=True)
        for value, point in zip(values, found.points, strict=True)
    ]
    holding = [change for change in changes if change.meets]
    best = min(holding, key=lambda change: change.extra_cost or 0.0, default=None)
    return Changes(rate_ops, at_rate, tried, changes, best)


def _candidates(spec: Spec, slos: Sequence[Slo]) -> dict[str, list[str]]:
    """Return the values to try by path, in the order of the store's remedies; what the spec refuses fails alone."""
    remedies = required(store_of(spec).remedies, spec, "remedies")
    found: dict[str, list[str]] = {}
    for values in remedies.changes(spec, spec):
        if len(values) == 1:
            ((path, value),) = values.items()
            found.setdefault(path, []).append(_text(value))
    hedged = spec.client.hedge
    if hedged.after is None and any(slo.subject in hedged.operations and not slo.above for slo in slos):
        found[HEDGE] = ["p90", "p95"]
    return found


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _meets(point: SimulatedPoint | InfeasiblePoint) -> bool:
    return isinstance(point, SimulatedPoint) and point.verdict == "pass"


def _extra_cost(spec: Spec, whole: Mapping[str, Any], path: str, value: str) -> float | None:
    try:
        after = spec_of(override(whole, [f"{path}={value}"]), "change")
    except InputError:
        return None
    costs = [cost(*levels(each).values()) for each in (spec, after)]
    if costs[0] is None or costs[1] is None:
        return None
    remedies = store_of(spec).remedies
    return costs[1] - costs[0] + (remedies.moving_cost(spec, after) if remedies else 0.0)
