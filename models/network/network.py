"""The Network: stations, routes and scenario of a store, as engines execute them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from models.network.background import random_phase
from models.network.joined_table import (
    Ints,
    JoinedTable,
    PlacementTable,
    first_station,
    station_counts,
    stations_of_members,
)
from models.network.route import Route
from models.network.scenario import Action, ActionKind
from models.network.station import UNBOUNDED, Bound, Group, Member, Station
from models.network.streams import Streams, streams_of
from models.network.sub_requests import refuse_cycles

V = TypeVar("V")


@dataclass(frozen=True)
class Network:
    """The parts of a store's model that do not change during a run.

    Attributes:
        stations, routes: referred to by index.
        placements: tables of station indices, shape (rows, members): placement groups or erasure sets. A key
            belongs to the row of its hash modulo the number of rows. Some are joined from two tables (`JoinedTable`).
        groups: alternatives bound at run time.
        scenario: actions on the network during the run.
    """

    stations: tuple[Station, ...]
    routes: tuple[Route, ...]
    placements: tuple[PlacementTable, ...] = ()
    groups: tuple[Group, ...] = ()
    scenario: tuple[Action, ...] = ()

    def __post_init__(self) -> None:
        names = [s.name for s in self.stations]
        if len(set(names)) < len(names):
            raise ValueError("two stations have the same name")
        for table in (*self.placements, *(group.members for group in self.groups if group.table is None)):
            low, high = _range(table)
            if low < 0 or high >= len(names):
                raise ValueError("a placement table or a group names a station that does not exist")
        self._check_identities()
        for group in self.groups:
            self._check_keyed(group)
        for route in self.routes:
            for visit in route.visits:
                self._check(visit.station)
        columns_of = [group.table if self.is_named(group) else None for group in self.groups]
        refuse_cycles([[sub for _, sub in route.starts] for route in self.routes], columns_of)
        for station in self.stations:
            if station.discipline.is_weighted and len(station.weights) < self.classes:
                raise ValueError(f"station {station.name!r} needs {self.classes} weights")
        self._check_pairs()
        for action in self.scenario:
            self._check_action(action)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The distinct roles of the stations, in order of appearance."""
        return tuple(dict.fromkeys(station.role for station in self.stations))

    def streams(self, route: int, load: str = "") -> Streams:
        """Return the random streams of a route, for requests or for the operations of a background load."""
        found = self._streams.get((route, load))
        if found is None:
            found = streams_of(self.routes[route], self.stations, self.placements, self.groups, load)
            self._streams[route, load] = found
        return found

    @cached_property
    def _streams(self) -> dict[tuple[int, str], Streams]:
        """Those that have been requested, by route and load."""
        return {}

    def once(self, make: Callable[[Network], V]) -> V:
        """Return what a function makes of the network, made once; it must not be changed."""
        if make not in self._made:
            self._made[make] = make(self)
        found: V = self._made[make]
        return found

    @cached_property
    def _made(self) -> dict[Callable[[Network], Any], Any]:
        """What `once` has returned, by function."""
        return {}

    def first_station(self, where: int | Member | Bound) -> int:
        """Return the station of a visit for the first row of a placement table and the first member of a group."""
        return first_station(where, self.placements, self.groups)

    def station_counts(self, where: int | Member | Bound, present: NDArray[np.bool_] | None = None) -> Ints:
        """Return in how many cases a visit takes place at each station, see `station_counts`, shape (stations,)."""
        if not isinstance(where, Member):
            return station_counts(where, len(self.stations), self.placements, self.groups, present)
        if where not in self._counted:
            found = station_counts(where, len(self.stations), self.placements, self.groups)
            self._counted[where] = (at := np.flatnonzero(found)), found[at]
        at, times = self._counted[where]
        counts = np.zeros(len(self.stations), np.int64)
        counts[at] = times
        return counts

    @cached_property
    def _counted(self) -> dict[Member, tuple[Ints, Ints]]:
        """The stations of columns that have been counted, and in how many cases a visit is there."""
        return {}

    def stations_of_members(
        self, where: Bound, key_hash: NDArray[np.uint64], members: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Return the station of a visit for each request's key hash and member of the group, same shape."""
        return stations_of_members(where, key_hash, members, self.placements, self.groups)

    def positions(self, group: Group) -> int:
        """Return the number of stations of each member of a group, at one of which a visit is."""
        joined = self.joined(group)
        return int(group.members.shape[1]) if joined is None else joined.shape[1]

    def joined(self, group: Group) -> JoinedTable | None:
        """Return the joined table whose coordinators are the members of a group; None: they are something else."""
        table = None if group.table is None else self.placements[group.table]
        return table if isinstance(table, JoinedTable) else None

    def is_named(self, group: Group) -> bool:
        """Return whether the scenario names members of a group by their first stations, because they are columns."""
        return group.table is not None and self.joined(group) is None

    def at_phases(self, seed: int) -> Network:
        """Return the network with the phases of its periodic gates for a seed; the same if it has none."""
        if not any(station.period_s for station in self.stations):
            return self
        stations = tuple(
            replace(s, phase_s=s.period_s * random_phase(seed, s.role, *s.indices)) if s.period_s else s
            for s in self.stations
        )
        return replace(self, stations=stations)

    @cached_property
    def limited_pools(self) -> frozenset[int]:
        """The pools whose queue is limited: they refuse jobs."""
        stations = enumerate(self.stations)
        return frozenset(k for k, s in stations if s.discipline.holds_tokens and s.queue_limit < UNBOUNDED)

    @cached_property
    def ending_stations(self) -> frozenset[int]:
        """The stations that may end each branch that visits them.

        They die, their gate stays shut, or they repeat a transaction only a limited number of times.
        """
        dead = {action.target for action in self.scenario if action.kind is ActionKind.DOWN}
        shut = {action.target for action in self.scenario if action.kind is ActionKind.SHUT}
        polled = {k for k in shut if self.stations[k].poll_s > 0 and self.stations[k].poll_limit < UNBOUNDED}
        counters = {k for k, s in enumerate(self.stations) if s.discipline.counts_commits}
        return frozenset(dead | polled | {k for k in counters if self.stations[k].repeat_limit < UNBOUNDED})

    @cached_property
    def attempts(self) -> tuple[int, ...]:
        """How many attempts of each route may begin: where nothing fails, no retry does."""
        limits = ((s.queue_limit, s.poll_limit, s.repeat_limit) for s in self.stations)
        fails = bool(self.scenario) or any(limit < UNBOUNDED for of in limits for limit in of)
        fails |= any(route.policy.timeout_s < math.inf for route in self.routes)
        return tuple(r.policy.attempts if fails else 1 + r.policy.second for r in self.routes)

    @cached_property
    def has_sub_requests(self) -> bool:
        """Whether a visit starts sub-requests."""
        return any(route.starts for route in self.routes)

    def with_sub_requests(self, routes: Iterable[int]) -> tuple[int, ...]:
        """Return these routes and those of their sub-requests, of the sub-requests of these, and so on, ascending."""
        found: set[int] = set()
        more = set(routes)
        while more:
            found |= more
            more = {each for k in more for _, sub in self.routes[k].starts for each in sub.routes} - found
        return tuple(sorted(found))

    @cached_property
    def classes(self) -> int:
        """Number of priority classes of the routes."""
        return 1 + max((route.priority for route in self.routes), default=0)

    @cached_property
    def first_with_policy(self) -> tuple[int, ...]:
        """For each route, the first one with an equal policy: both have budgets and observed latencies in common."""
        policies = [route.policy for route in self.routes]
        first = {policy: i for i, policy in reversed(list(enumerate(policies)))}
        return tuple(first[policy] for policy in policies)

    def is_paired(self, station: int) -> bool:
        """Return whether a station shares its server with another one."""
        return any(s.shares_server for s in self.stations[station : station + 2])

    def _check_identities(self) -> None:
        for kind, parts in (("stations", self.stations), ("groups", self.groups)):
            identities = [part.identity for part in parts]
            if len(set(identities)) == len(parts):
                continue
            part = next(part for part in parts if identities.count(part.identity) > 1)
            raise ValueError(f"two {kind} have the role {part.role!r} and the indices {part.indices}")

    def _check_pairs(self) -> None:
        for number, station in enumerate(self.stations):
            if not station.shares_server:
                continue
            before = self.stations[number - 1] if number else None
            if before is None or before.shares_server or not (before.may_pair and station.may_pair):
                raise ValueError(f"station {station.name!r} cannot share the server of the station before it")

    def _check_keyed(self, group: Group) -> None:
        if group.table is None:
            return
        if not 0 <= group.table < len(self.placements):
            raise ValueError(f"placement table {group.table} does not exist")
        joined = self.joined(group)
        if joined is not None:
            if not np.array_equal(group.members, joined.coordinators):
                raise ValueError("the members of a group with a joined table are its coordinators")
            return
        columns = self.placements[group.table].shape[1]
        if group.members.size == 0 or group.members.min() < 0 or group.members.max() >= columns:
            raise ValueError(f"a group names a column that placement table {group.table} does not have")

    def _check_action(self, action: Action) -> None:
        if action.kind in (ActionKind.JOIN, ActionKind.LEAVE):
            if not 0 <= action.target < len(self.groups):
                raise ValueError(f"{action} names a group that does not exist")
            group = self.groups[action.target]
            if not 0 <= action.member < (len(self.stations) if self.is_named(group) else len(group.members)):
                raise ValueError(f"{action} names a member that does not exist")
        elif not 0 <= action.target < len(self.stations):
            raise ValueError(f"{action} names a station that does not exist")
        else:
            discipline = self.stations[action.target].discipline
            if discipline.holds_tokens or discipline.counts_commits:
                raise ValueError(f"{action}: pools and counters of commits have no actions")
            if (action.kind in (ActionKind.SHUT, ActionKind.OPEN)) != discipline.is_gate:
                raise ValueError(f"{action}: only gates can be shut and opened")
            if self.stations[action.target].period_s:
                raise ValueError(f"{action}: a gate that opens periodically has no actions")
            if action.kind in (ActionKind.DOWN, ActionKind.UP) and self.is_paired(action.target):
                raise ValueError(f"{action}: a station that shares its server cannot die")

    def _check(self, station: int | Member | Bound) -> None:
        if isinstance(station, Bound):
            if not (0 <= station.group < len(self.groups)) or not (
                0 <= station.position < self.positions(self.groups[station.group])
            ):
                raise ValueError(f"{station} is in no group")
        elif isinstance(station, Member):
            if not (0 <= station.table < len(self.placements)) or not (
                0 <= station.position < self.placements[station.table].shape[1]
            ):
                raise ValueError(f"{station} is in no placement table")
        elif not 0 <= station < len(self.stations):
            raise ValueError(f"station {station} does not exist")


def _range(table: PlacementTable) -> tuple[int, int]:
    """Return the least and the greatest index of a station in a table; -1 if it is empty."""
    if isinstance(table, JoinedTable):
        return table.range()
    return (int(table.min()), int(table.max())) if table.size else (-1, -1)
