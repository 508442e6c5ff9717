"""A capacity plan: when a growing store reaches its limits, and the cheapest change to meet its objectives for longer.

growth = read_growth(Path("growth.yaml"))
found = plan(load_mapping(Path("spec.yaml")), growth, [parse_slo("PUT.p99<100ms")])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from models.shared.prices import PricedPart, cost, priced_parts
from models.store import levels, spec_of
from sim.capacity.avoidance import with_values
from sim.capacity.contradictions import Contradiction, contradictions
from sim.capacity.growth import Growth, Scenario, check_growth, likely, scenarios, with_object_size
from sim.capacity.health import HealthAssessor, HealthCheck
from sim.capacity.limits import RANGE, GrowingStore, Limit, MonthlyHealth, find_limits
from sim.capacity.remedies import SURE, Search, Trial
from sim.parallel.process_pool import process_map
from sim.parallel.result_cache import ResultFolder
from sim.replication.slo import Slo
from traces.errors import InputError

AHEAD = 2
"""Horizon of the search for the limit after the best change, in periods."""


@dataclass(frozen=True)
class PathPoint(MonthlyHealth):
    """The health assessment of a month of the likely path, and the number of objects."""

    objects: float

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"month": self.month, "objects": self.objects, **self.health.to_json()}


@dataclass(frozen=True)
class CapacityPlan:
    """When the store reaches its limits, and the changes that avoid them.

    Attributes:
        limits: in order of time.
        likely: health along the likely path.
        changes: all changes tried; the one that sets nothing is the unchanged store.
        best: the cheapest change that holds; None: none does.
        after: limits with the best change in the likely scenario, in order of time, within twice the period.
        contradictions: between the growth and the spec.
        utilization: at which a station is at its limit.
        cost: of the unchanged store; None without prices.
        prices: of the parts of the unchanged store and of those below it; empty without prices.
        months: the period.
        slos: the objectives.
        scenarios: number of scenarios.
        visits: of all simulations.
    """

    limits: tuple[Limit, ...]
    likely: tuple[PathPoint, ...]
    changes: tuple[Trial, ...]
    best: Trial | None
    after: tuple[Limit, ...]
    contradictions: tuple[Contradiction, ...]
    utilization: float
    cost: float | None
    prices: tuple[PricedPart, ...]
    months: int
    slos: tuple[str, ...]
    scenarios: int
    seed: int
    window_s: float
    replications: int
    visits: int

    @property
    def remaining(self) -> list[Limit]:
        """The limits within the period with the best change, which are warnings only."""
        return [limit for limit in self.after if limit.is_reached(self.months)]

    @property
    def following(self) -> Limit | None:
        """The first limit after the period with the best change; None: none within twice the period."""
        return next((limit for limit in self.after if not limit.is_reached(self.months)), None)

    def to_json(self) -> dict[str, Any]:
        """Return JSON values.

        Returns:
            ``{"contradictions": [{"field", "of_growth", "other", "of_spec", "used"}], "limits": [{"name", "kind",
            "month": {"low", "likely", "high"}, "objects", "fraction", "blocks", "set": {path: value}, "evidence":
            {"text", …}}], "first": the name of the first, "likely": [{"month", "objects", "fill_fraction", "loads",
            "slos", "reason"}], "changes": [{"set": {path: value}, "cost": additional cost, "holds", "fraction",
            "evidence"}], "best": one of these with ``within`` (limits within the period) and ``next`` (the first limit
            after it, or None), or None, "cost", "prices", …}``.
        """
        best = None
        if self.best is not None:
            following = None if self.following is None else self.following.to_json()
            best = self.best.to_json() | {"within": [each.to_json() for each in self.remaining], "next": following}
        return {
            "contradictions": [each.to_json() for each in self.contradictions],
            "limits": [limit.to_json() for limit in self.limits],
            "first": self.limits[0].name if self.limits else None,
            "likely": [moment.to_json() for moment in self.likely],
            "changes": [trial.to_json() for trial in self.changes],
            "best": best,
            "utilization": self.utilization,
            "cost": self.cost,
            "prices": [asdict(part) for part in self.prices],
            "months": self.months,
            "slos": list(self.slos),
            "scenarios": self.scenarios,
            "range": list(RANGE),
            "sure": SURE,
            "seed": self.seed,
            "window_s": self.window_s,
            "replications": self.replications,
            "visits": self.visits,
        }


def plan(
    data: Mapping[str, Any],
    growth: Growth,
    slos: Sequence[Slo],
    *,
    source: str = "spec",
    seed: int = 0,
    window_s: float = 2.0,
    replications: int = 3,
    workers: int = 1,
    cache: ResultFolder | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> CapacityPlan:
    """Find when the store reaches its limits, and the cheapest change that avoids them.

    Args:
        data: the contents of the spec file; changes set further values in it.
        slos: the objectives; without any, only limits of state and stations are found.
        seed: of the scenarios and of all simulations.
        window_s: simulated time of each assessment; the first fifth is excluded as warm-up.
        replications: simulated windows per assessment.
        cache: of earlier assessments.
        progress: called with the number of assessments done.

    Raises:
        InputError: the growth does not fit the store, a value is out of range, or a state cannot be simulated.
    """
    for name, value in (("window", window_s), ("replications", replications), ("workers", workers)):
        if not value > 0:
            raise InputError(f"{name} is {value:g}; it must be above 0")
    spec = with_object_size(spec_of(dict(data), source), seed)
    check_growth(spec, growth)
    store = GrowingStore(spec, growth, tuple(slos), HealthCheck(spec, (), window_s, replications, seed))
    expected, drawn = likely(growth), scenarios(growth, seed)
    with process_map(workers) as mapping:
        assess = HealthAssessor(mapping, progress, cache)
        limits = with_values(find_limits(store, expected, drawn, assess), data, store, expected, drawn)
        path = _path(store, expected, assess)
        search = Search(data, store, expected, drawn, assess)
        best = search.best()
        after = () if best is None else _after(best, expected, assess)
        (now,) = assess([store.at(expected, 0)])
    return CapacityPlan(
        limits=tuple(limit if limit.values or best is None else _solved(limit, best) for limit in limits),
        likely=path,
        changes=tuple(search.trials),
        best=best,
        after=after,
        contradictions=tuple(contradictions(spec, growth, expected, now)),
        utilization=growth.utilization,
        cost=cost(*levels(spec).values()),
        prices=tuple(part for level in levels(spec).values() for part in priced_parts(level)),
        months=growth.months,
        slos=tuple(slo.text for slo in slos),
        scenarios=len(drawn),
        seed=seed,
        window_s=window_s,
        replications=replications,
        visits=sum(assessment.visits for assessment in assess.assessments),
    )


def _path(store: GrowingStore, expected: Scenario, assess: HealthAssessor) -> tuple[PathPoint, ...]:
    """Return all assessments along the likely path, by month."""
    known = {month: assess.known(store.at(expected, month)) for month in range(store.growth.months + 1)}
    return tuple(
        PathPoint(month, health, expected.objects(store.spec, month))
        for month, health in known.items()
        if health is not None
    )


def _solved(limit: Limit, best: Trial) -> Limit:
    """Return a limit with the best change as what avoids it, if that is so by the search for it."""
    return replace(limit, values=best.change.values) if limit.blocks else limit


def _after(best: Trial, expected: Scenario, assess: HealthAssessor) -> tuple[Limit, ...]:
    """Return the limits of the changed store within twice the period, in the likely scenario."""
    store = best.change.store
    months = store.growth.months
    within = [e for e in find_limits(store, expected, [expected], assess) if e.is_reached(months)]
    longer = replace(store, growth=store.growth.model_copy(update={"months": AHEAD * months}))
    later = find_limits(longer, expected, [expected], assess)
    return (*within, *(limit for limit in later if not limit.is_reached(months)))
