"""A plan: when a store that grows reaches its limits, and the cheapest change that keeps its objectives for longer.

growth = read_growth(Path("growth.yaml"))
found = plan(load_mapping(Path("spec.yaml")), growth, [parse_slo("PUT.p99<100ms")])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from models.prices import cost
from models.store import spec_of
from sim.capacity.growth import Growth, Scenario, check_growth, likely, scenarios, with_object_size
from sim.capacity.health import Examiner, HealthCheck
from sim.capacity.limits import RANGE, Course, Limit, Look, find_limits
from sim.capacity.remedies import SURE, Search, Trial
from sim.parallel.process_pool import process_map
from sim.parallel.result_cache import ResultFolder
from sim.replication.slo import Slo
from traces.errors import InputError

AHEAD = 2
"""What binds next is looked for until so many times the period."""


@dataclass(frozen=True)
class Moment(Look):
    """What was found in a month of the likely path, and how many objects there are."""

    objects: float

    def to_json(self) -> dict[str, Any]:
        """As the result has it."""
        return {"month": self.month, "objects": self.objects, **self.finding.to_json()}


@dataclass(frozen=True)
class CapacityPlan:
    """When the store reaches its limits, and what to do about it.

    Attributes:
        limits: the first first.
        likely: what was found along the likely path.
        changes: all that were tried; the one that sets nothing is the store as it is.
        best: the cheapest that holds; None: nothing that was tried does.
        following: what binds next with the best; None: nothing within twice the period.
        cost: of the store as it is; None without prices.
        months: the period.
        slos: the objectives.
        scenarios: how many.
        visits: of all simulations.
    """

    limits: tuple[Limit, ...]
    likely: tuple[Moment, ...]
    changes: tuple[Trial, ...]
    best: Trial | None
    following: Limit | None
    cost: float | None
    months: int
    slos: tuple[str, ...]
    scenarios: int
    seed: int
    window_s: float
    replications: int
    visits: int

    def to_json(self) -> dict[str, Any]:
        """What the command prints.

        Returns:
            ``{"limits": [{"name", "kind", "month": {"low", "likely", "high"}, "objects", "share", "evidence": {"text",
            …}}], "first": the name of the first, "likely": [{"month", "objects", "fill_share", "loads", "slos",
            "reason"}], "changes": [{"set": {path: value}, "cost": what it adds, "holds", "share", "evidence"}], "best":
            one of these with ``next`` (a limit), or None, "cost", …}``.
        """
        following = None if self.following is None else self.following.to_json()
        return {
            "limits": [limit.to_json() for limit in self.limits],
            "first": self.limits[0].name if self.limits else None,
            "likely": [moment.to_json() for moment in self.likely],
            "changes": [trial.to_json() for trial in self.changes],
            "best": None if self.best is None else self.best.to_json() | {"next": following},
            "cost": self.cost,
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
    """When the store reaches its limits, and what to do about it.

    Args:
        data: the spec as its file has it; changes are further values in it.
        slos: none: limits of state and stations alone.
        seed: of the scenarios and of all simulations.
        window_s: simulated time at each moment that is looked at; the first fifth is left out as its warm-up.
        replications: windows at each.
        cache: of moments that are looked at already.
        progress: told how many moments have been looked at.

    Raises:
        InputError: the growth does not fit the store, a value is out of range, or a state cannot be simulated.
    """
    for name, value in (("window", window_s), ("replications", replications), ("workers", workers)):
        if not value > 0:
            raise InputError(f"{name} is {value:g}; it must be above 0")
    spec = with_object_size(spec_of(dict(data), source), seed)
    check_growth(spec, growth)
    course = Course(spec, growth, tuple(slos), HealthCheck(spec, (), window_s, replications, seed))
    expected, drawn = likely(growth), scenarios(growth, seed)
    with process_map(workers) as mapping:
        examine = Examiner(mapping, progress, cache)
        limits = find_limits(course, expected, drawn, examine)
        path = _path(course, expected, examine)
        search = Search(data, course, expected, drawn, examine)
        best = search.best()
        following = None if best is None else _next(best, expected, examine)
    return CapacityPlan(
        limits=tuple(limits),
        likely=path,
        changes=tuple(search.trials),
        best=best,
        following=following,
        cost=cost(spec),
        months=growth.months,
        slos=tuple(slo.text for slo in slos),
        scenarios=len(drawn),
        seed=seed,
        window_s=window_s,
        replications=replications,
        visits=sum(finding.visits for finding in examine.findings),
    )


def _path(course: Course, expected: Scenario, examine: Examiner) -> tuple[Moment, ...]:
    """All that was found along the likely path, by month."""
    found = {month: examine.known(course.at(expected, month)) for month in range(course.growth.months + 1)}
    return tuple(
        Moment(month, finding, expected.objects(course.spec, month))
        for month, finding in found.items()
        if finding is not None
    )


def _next(best: Trial, expected: Scenario, examine: Examiner) -> Limit | None:
    """The first limit that the changed store reaches after the period, in the likely scenario."""
    course = best.change.course
    longer = course.growth.model_copy(update={"months": AHEAD * course.growth.months})
    limits = find_limits(replace(course, growth=longer), expected, [expected], examine)
    months = course.growth.months
    return next((limit for limit in limits if limit.month.likely is None or limit.month.likely > months), None)
