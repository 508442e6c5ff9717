"""A plan: when a store that grows reaches its limits, and the cheapest change that keeps its objectives for longer.

growth = read_growth(Path("growth.yaml"))
result = plan(load_mapping(Path("spec.yaml")), growth, [parse_slo("PUT.p99<100ms")])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from models.prices import cost
from models.store import spec_of
from sim.capacity.growth import Growth, Scenario, check_growth, likely, scenarios, with_object_size
from sim.capacity.health import Checkup, Examiner, Finding
from sim.capacity.limits import RANGE, Course, find_limits
from sim.capacity.remedies import SURE, Search, Trial
from sim.experiments.sweep import Cache
from sim.parallel.process_pool import process_map
from sim.replication.slo import Slo
from traces.errors import InputError

AHEAD = 2
"""What binds next is looked for until so many times the period."""


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
    cache: Cache | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, Any]:
    """When the store reaches its limits, and what to do about it.

    Args:
        data: the spec as its file has it; changes are further values in it.
        slos: none: limits of state and stations alone.
        seed: of the scenarios and of all simulations.
        window_s: simulated time at each moment that is looked at; the first fifth is left out as its warm-up.
        replications: windows at each.
        cache: of moments that are looked at already.
        progress: told how many moments have been looked at.

    Returns:
        ``{"limits": […], "first", "likely": […], "changes": […], "best", "cost", …}``. Limits are those of
        `limits.find_limits`, `first` is the name of the first. `likely` has what was found along the likely path:
        ``{"month", "objects", "fill_share", "loads", "slos", "reason"}``. A change is ``{"set": {path: value}, "cost":
        what it adds, "holds", "share", "evidence"}``; the one with an empty set is the store as it is. `best` is the
        best of them, and what binds ``next`` (a limit; None: nothing within twice the period), or None. `cost` is that
        of the store as it is; None without prices.

    Raises:
        InputError: the growth does not fit the store, a value is out of range, or a state cannot be simulated.
    """
    for name, value in (("window", window_s), ("replications", replications), ("workers", workers)):
        if not value > 0:
            raise InputError(f"{name} is {value:g}; it must be above 0")
    spec = with_object_size(spec_of(dict(data), source), seed)
    check_growth(spec, growth)
    course = Course(spec, growth, tuple(slos), Checkup(spec, (), window_s, replications, seed))
    expected, drawn = likely(growth), scenarios(growth, seed)
    with process_map(workers) as mapping:
        examine = Examiner(mapping, progress, cache)
        limits = find_limits(course, expected, drawn, examine)
        path = _path(course, expected, examine)
        search = Search(data, course, expected, drawn, examine)
        best = search.best()
        told = None if best is None else best.to_json() | {"next": _next(best, expected, examine)}
    return {
        "limits": limits,
        "first": limits[0]["name"] if limits else None,
        "likely": path,
        "changes": [trial.to_json() for trial in search.trials],
        "best": told,
        "cost": cost(spec),
        "months": growth.months,
        "slos": [slo.text for slo in slos],
        "scenarios": len(drawn),
        "range": list(RANGE),
        "sure": SURE,
        "seed": seed,
        "window_s": window_s,
        "replications": replications,
        "visits": sum(finding.visits for finding in examine.findings),
    }


def _path(course: Course, expected: Scenario, examine: Examiner) -> list[dict[str, Any]]:
    """All that was found along the likely path, by month."""
    found = {month: examine.known(course.at(expected, month)) for month in range(course.growth.months + 1)}
    return [_moment(course, expected, month, finding) for month, finding in found.items() if finding is not None]


def _moment(course: Course, expected: Scenario, month: int, finding: Finding) -> dict[str, Any]:
    return {"month": month, "objects": expected.objects(course.spec, month), **finding.to_json()}


def _next(best: Trial, expected: Scenario, examine: Examiner) -> dict[str, Any] | None:
    """The first limit that the changed store reaches after the period, in the likely scenario."""
    course = best.change.course
    longer = course.growth.model_copy(update={"months": AHEAD * course.growth.months})
    limits = find_limits(replace(course, growth=longer), expected, [expected], examine)
    return next((limit for limit in limits if limit["month"]["likely"] > course.growth.months), None)
