"""What a mix of requests demands of each station, and how long a request takes when nobody is in its way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.demand import ServiceDemand
from models.network import Discipline, Member, Network, Route, Stage, Station, Visit
from models.sheet import Requests, Sheet, draw_sheet
from sim.outcome import CHUNK, Floats, Program
from traces.distributions import Deterministic
from traces.errors import InputError

_Sheets = Callable[[], Iterator[tuple[Sheet, Sheet]]]
"""Sheets in pairs: one with each visit's demand, one with what that demand is at least."""

_COUNTED: dict[type[Any], set[str]] = {
    Network: {"stations", "routes", "placements", "pacing"},
    Station: {
        "name",
        "role",
        "discipline",
        "servers",
        "batch_limit",
        "batch_item_s",
        "weights",
        "poll_s",
        "poll_limit",
    },
    Route: {"name", "stages", "priority"},
    Stage: {"branches", "need", "delivers"},
    Visit: {"station", "demand", "releases"},
}
"""The fields of a Network that demands account for; any other has to keep its default."""

PASSED = (Discipline.POOL, Discipline.GATE)
"""Disciplines of stations that do no work."""


@dataclass(frozen=True)
class Demands:
    """Service demands per request.

    A GROUP_COMMIT station's own time for a request depends on how its batches fall, so it is known between `low_s` and
    `high_s` only; at other stations both are the mean demand.

    Attributes:
        share: of each route among the requests, shape (routes,).
        visits: visits per request of a route, shape (routes, stations).
        mean_s: service per request of a route, each visit as if served by itself, shape (routes, stations).
        low_s, high_s: the station's working time per request of the mix, at least and at most, shape (stations,).
        alone_s: lower bound of a route's mean response time, shape (routes,): the critical path of its forks, with no
            waiting anywhere.
    """

    share: Floats
    visits: Floats
    mean_s: Floats
    low_s: Floats
    high_s: Floats
    alone_s: Floats


def mean_demands(network: Network, requests: Requests) -> Demands:
    """Expected demands of all rows of `requests`, each taken once, from the means of the service-demand laws.

    The first of n branches is done no earlier than the least value of its law allows, so where a stage needs only
    some of its branches, laws other than deterministic ones count as 0 in `alone_s`. Where it needs all of them, the
    expectation of the last is at least the largest of the branches' expectations.

    Raises:
        InputError: there are no requests, or the network has a feature that demands do not account for.
    """
    mean = _with_laws(network, lambda law: law.model_copy(update={"distribution": Deterministic()}))
    least = _with_laws(network, lambda law: law if isinstance(law.distribution, Deterministic) else law.scaled(0.0))

    def sheets() -> Iterator[tuple[Sheet, Sheet]]:
        for first in range(0, len(requests), CHUNK):
            count = min(CHUNK, len(requests) - first)
            yield draw_sheet(mean, requests, 0, first, count), draw_sheet(least, requests, 0, first, count)

    return _demands(network, sheets, len(requests))


def drawn_demands(program: Program, count: int) -> Demands:
    """The demands that the first `count` requests of a program have drawn: operational laws hold for them exactly.

    Raises:
        InputError: as for `mean_demands`.
    """

    def sheets() -> Iterator[tuple[Sheet, Sheet]]:
        for first in range(0, count, CHUNK):
            sheet = program.draw(first, min(CHUNK, count - first))
            yield sheet, sheet

    return _demands(program.network, sheets, count)


def uncounted_feature(network: Network) -> str | None:
    """The first feature of the network that demands do not account for, in words; None where there is none."""
    stages = [stage for route in network.routes for stage in route.stages]
    visits = [visit for route in network.routes for visit in route.visits]
    parts: list[Any] = [network, *network.stations, *network.routes, *stages, *visits]
    for part in parts:
        counted = next((names for kind, names in _COUNTED.items() if isinstance(part, kind)), None)
        if counted is None:
            return f"{type(part).__name__} in a route"
        for field in fields(part):
            if field.name not in counted and bool(getattr(part, field.name) != _default(field)):
                return f"{field.name} of {getattr(part, 'name', type(part).__name__)}"
    bound_later = [v.station for v in visits if not isinstance(v.station, int | np.integer | Member)]
    return f"the choice of a station by {type(bound_later[0]).__name__}" if bound_later else None


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _with_laws(network: Network, law: Callable[[ServiceDemand], ServiceDemand]) -> Network:
    def stage_of(stage: Stage) -> Stage:
        return replace(
            stage, branches=tuple(tuple(replace(v, demand=law(v.demand)) for v in b) for b in stage.branches)
        )

    routes = (replace(route, stages=tuple(map(stage_of, route.stages))) for route in network.routes)
    return replace(network, routes=tuple(routes))


def _blocks(network: Network, sheet: Sheet) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Of each route that is present: where its requests' visits stand in the Sheet, shape (requests, visits)."""
    for k, route in enumerate(network.routes):
        first = sheet.first_visit[sheet.route == k]
        if len(first):
            yield k, first[:, None] + np.arange(len(route.visits))


def _demands(network: Network, sheets: _Sheets, count: int) -> Demands:
    feature = uncounted_feature(network)
    if feature is not None:
        raise InputError(f"no demands without simulation: they do not account for {feature}")
    if not count:
        raise InputError("there are no requests, so nothing is demanded of any station")
    stations, routes = len(network.stations), len(network.routes)
    present = np.zeros(routes)
    visits, total_s = np.zeros((routes, stations)), np.zeros((routes, stations))
    work = _Work(network)
    for sheet, least in sheets():
        work.add(sheet, least)
        for k, at in _blocks(network, sheet):
            where = sheet.station[at].ravel()
            present[k] += len(at)
            visits[k] += np.bincount(where, minlength=stations)
            total_s[k] += np.bincount(where, (sheet.demand_s[at] * work.works[sheet.station[at]]).ravel(), stations)
    alone_s = np.zeros(routes)
    for sheet, least in sheets():
        demand_s, least_s = work.stay_s(sheet, 0), work.stay_s(least, 1)
        for k, at in _blocks(network, sheet):
            alone_s[k] += _path_s(network.routes[k], demand_s[at], least_s[at]).sum()
    asked = np.maximum(present, 1)
    low_s, high_s = work.work_s(total_s.sum(axis=0))
    return Demands(
        present / count, visits / asked[:, None], total_s / asked[:, None], low_s / count, high_s / count,
        alone_s / asked,
    )  # fmt: skip


def _path_s(route: Route, demand_s: Floats, least_s: Floats) -> Floats:
    """The time of each request's stages when nobody waits, shape (requests,), from arrays (requests, visits)."""
    path_s, at = np.zeros(len(demand_s)), 0
    for stage in route.stages:
        times = demand_s if stage.need == len(stage.branches) else least_s
        ends = []
        for branch in stage.branches:
            ends.append(times[:, at : at + len(branch)].sum(axis=1))
            at += len(branch)
        path_s += np.sort(np.stack(ends), axis=0)[stage.need - 1]
    return path_s


class _Work:
    """What stations make of their visits' demands.

    Pools and gates take no time. A batch works for its first member's demand and `batch_item_s` for each further one.
    Which members are first is not known; at least one in `batch_limit` is. When a batch begins, its first member's
    demand is still independent of all that happened, so the bounds hold for expectations as they do for drawn demands.
    """

    def __init__(self, network: Network):
        stations = network.stations
        self.works = np.array([s.discipline not in PASSED for s in stations])
        self.is_commit = np.array([s.discipline is Discipline.GROUP_COMMIT for s in stations])
        self.item_s = np.array([s.batch_item_s for s in stations])
        self.limit = np.array([s.batch_limit for s in stations])
        self.least_s = np.full((2, len(stations)), np.inf)
        self.shared_s, self.high_s = np.zeros(len(stations)), np.zeros(len(stations))
        limited = np.flatnonzero(self.is_commit & (self.limit > 0))
        self.beyond_item_s: dict[int, list[Floats]] = {int(k): [] for k in limited}

    def add(self, sheet: Sheet, least: Sheet) -> None:
        mine = self.is_commit[sheet.station]
        where, demand_s = sheet.station[mine], sheet.demand_s[mine]
        np.minimum.at(self.least_s[0], where, demand_s)
        np.minimum.at(self.least_s[1], where, least.demand_s[mine])
        stations = len(self.item_s)
        self.shared_s += np.bincount(where, np.minimum(demand_s, self.item_s[where]), stations)
        self.high_s += np.bincount(where, np.maximum(demand_s, self.item_s[where]), stations)
        for k, parts in self.beyond_item_s.items():
            parts.append(np.maximum(demand_s[where == k] - self.item_s[k], 0.0))

    def work_s(self, total_s: Floats) -> tuple[Floats, Floats]:
        """The stations' working time, at least and at most, both shape (stations,); `total_s` of the others."""
        low_s = np.where(self.is_commit, self.shared_s, total_s)
        for k, parts in self.beyond_item_s.items():
            beyond_s = np.concatenate(parts)
            batches = -(-len(beyond_s) // int(self.limit[k]))
            low_s[k] += np.sort(beyond_s)[:batches].sum()
        return low_s, np.where(self.is_commit, self.high_s, total_s)

    def stay_s(self, sheet: Sheet, row: int) -> Floats:
        """How long each visit lasts at least, shape (visits,): a commit may be another's batch, joined as a member."""
        where = sheet.station
        spent_s: Floats = sheet.demand_s * self.works[where]
        joined_s = self.least_s[row][where] + self.item_s[where]
        return np.where(self.is_commit[where], np.minimum(spent_s, joined_s), spent_s)
