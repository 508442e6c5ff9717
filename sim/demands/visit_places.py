"""The stations at which a visit may be served, known before simulation or only bounded, and the resources there."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.network.joined_table import take
from models.network.network import Network
from models.network.route import Route
from models.network.scenario import Action, ActionKind, first_speeds
from models.network.station import NOWHERE, Bound, Choice, Member
from sim.demands.key_odds import KeyOdds

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Resource:
    """A limited resource: the servers of a station, the tokens of a pool, or those of all members of a group.

    Attributes:
        kind: ``station``, ``pool``, or ``group`` for the members of a group that are not all pools, and for two
            stations that share a server.
        stations: their indices.
        servers: total number of servers or tokens; infinite if one of the stations is an infinite server.
    """

    name: str
    role: str
    kind: str
    stations: tuple[int, ...]
    servers: float
    shares_server: bool = False

    @property
    def is_group(self) -> bool:
        """Whether it is a set of stations to which requests are bound at run time."""
        return len(self.stations) > 1 and not self.shares_server


def stations_of(network: Network, where: int | Member | Bound) -> tuple[int, ...]:
    """Return all stations at which a visit may be served."""
    if not isinstance(where, Member | Bound):
        return (int(where),)
    return network.once(_KnownStations).of(network, where)


class _KnownStations:
    """The stations of the places of a network, which are found once; those of many places are the same."""

    def __init__(self, network: Network):
        self._of: dict[Member | Bound, tuple[int, ...]] = {}
        self._alike: dict[bytes, tuple[int, ...]] = {}

    def of(self, network: Network, where: Member | Bound) -> tuple[int, ...]:
        if where not in self._of:
            found = np.flatnonzero(_counts(network, where))
            alike = found.tobytes()
            if alike not in self._alike:
                self._alike[alike] = tuple(found.tolist())
            self._of[where] = self._alike[alike]
        return self._of[where]


def stations_by_visits(network: Network, where: int | Member | Bound) -> Floats:
    """Return the fraction of visits at each station, shape (stations,), if keys and members are even."""
    counts = _counts(network, where)
    return np.asarray(counts / counts.sum(), np.float64)


def _counts(network: Network, where: int | Member | Bound) -> NDArray[np.int64]:
    """Return how often a visit is at each station for all keys and members that are ever present, (stations,)."""
    present = ~_absent(network, where.group) if isinstance(where, Bound) else None
    return network.station_counts(where, present)


def _absent(network: Network, number: int) -> NDArray[np.bool_]:
    """Return whether each member of a group leaves it before the first request and never joins again."""
    group, of_kind = network.groups[number], {}
    for kind in (ActionKind.LEAVE, ActionKind.JOIN):
        mine = [a for a in network.scenario if a.kind is kind and a.target == number]
        of_kind[kind] = {a.member for a in mine if kind is ActionKind.JOIN or a.at_s == 0.0}
    gone = list(of_kind[ActionKind.LEAVE] - of_kind[ActionKind.JOIN])
    named = np.arange(len(group.members))
    if group.table is not None and network.is_named(group):
        named = take(network.placements[group.table], np.zeros(1, np.int64), group.members[:, 0])[0]
    absent = np.isin(named, gone)
    return absent & ~absent.all()


def later_changes(network: Network) -> list[Action]:
    """Return the actions of the scenario without those that only set a speed before any request."""
    kept = first_speeds(network.scenario)
    return [
        action
        for action in network.scenario
        if action.kind is not ActionKind.SPEED or action.at_s > 0 or action.value != kept[action.target]
    ]


def targets(network: Network, *kinds: ActionKind) -> set[int]:
    """Return the targets of the scenario's actions of these kinds."""
    return {action.target for action in network.scenario if action.kind in kinds}


def visits_together(place: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield requests, and the visits that each of them makes to one place, the same visits of all of them.

    `place`: the place of each visit, shape (requests, visits). Each visit of each request is yielded once.
    """
    alike, kind = _alike(place)
    for v in range(place.shape[1]):
        mine = np.flatnonzero(alike[:, v] == v)  # kinds of requests that have not been to this place before
        forms, which = np.unique(np.packbits(alike[mine] == v, axis=1), axis=0, return_inverse=True)
        of_kind = np.full(len(alike), -1)
        of_kind[mine] = which.ravel()
        form_of = of_kind[kind]
        for i, form in enumerate(np.unpackbits(forms, axis=1, count=place.shape[1])):
            yield np.flatnonzero(form_of == i), np.flatnonzero(form)


def _alike(place: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which visits of a request are to one place, for each kind of requests in which these are the same.

    Returns:
        the first visit to the place of each visit, shape (kinds, visits), and the kind of each request, (requests,).
    """
    order = np.argsort(place, axis=1, kind="stable")
    sorted_place = np.take_along_axis(place, order, axis=1)
    begins = np.ones(place.shape, bool)
    np.not_equal(sorted_place[:, 1:], sorted_place[:, :-1], out=begins[:, 1:])
    first = np.maximum.accumulate(np.where(begins, np.arange(place.shape[1]), 0), axis=1)
    found = np.empty_like(place)
    np.put_along_axis(found, order, np.take_along_axis(order, first, axis=1), axis=1)
    numbers = np.ascontiguousarray(found.astype(np.uint16))
    rows = numbers.view(np.dtype((np.void, numbers.shape[1] * 2))).ravel() if place.size else np.zeros(len(place))
    _, firsts, kind = np.unique(rows, return_index=True, return_inverse=True)
    return found[firsts], kind


def is_keyed(network: Network, route: Route, group: int) -> bool:
    """Whether the key hash alone determines the group member to which a request of the route is bound."""
    chosen = network.groups[group].choice is Choice.HASH and _stays(network, route, group)
    return chosen and not _keeping(network, route, group)


def is_even(network: Network, route: Route, group: int) -> bool:
    """Whether all members of the group have the same expected number of the route's requests."""
    chosen = network.groups[group]
    evenly = chosen.choice in (Choice.ROUND_ROBIN, Choice.RANDOM) and chosen.table is None
    if not evenly or not _stays(network, route, group):
        return False
    return all(is_even(network, parent, group) for parent in _keeping(network, route, group))


def _keeping(network: Network, route: Route, group: int) -> list[Route]:
    """Return the routes that start requests of this route which may keep the member that they are bound to."""
    if group not in network.once(_kept_groups):
        return []
    return [
        parent
        for parent in network.routes
        if any(group in sub.keeps and any(network.routes[k] is route for k in sub.routes) for _, sub in parent.starts)
    ]


def _kept_groups(network: Network) -> frozenset[int]:
    """Return the groups of which some sub-request may keep the member."""
    return frozenset(group for route in network.routes for _, sub in route.starts for group in sub.keeps)


def _stays(network: Network, route: Route, group: int) -> bool:
    # A further attempt goes to another member, and the first may leave its queue unserved.
    return route.policy.attempts == 1 and group not in targets(network, ActionKind.JOIN, ActionKind.LEAVE)


class Places:
    """The places of a network: its stations, then the columns of groups, where a visit may go to any member.

    Attributes:
        columns: fraction of a column's visits at each station if evenly spread, shape (columns, stations).
        tabled: number of columns, the first ones, that stand for the rows of a placement table.
        known_fraction: whether stations have this fraction in expectation, shape (columns,).
        free: the sets of stations whose fractions are unknown before simulation.
        pairs: two stations each that share a server.
        fastest, slowest: maximum and minimum speed in the scenario of a place's stations, shape (places,).
    """

    def __init__(
        self, network: Network, routes: Iterable[int], expected: bool,
        any_keys: Collection[int] = (), even_clients: bool = False, key_odds: Mapping[int, KeyOdds] | None = None,
    ):  # fmt: skip
        """Number the places.

        Args:
            network: the network.
            routes: those requested.
            expected: whether fractions are expectations, not those of one run.
            any_keys: routes whose keys select all rows of placement tables equally often in expectation, or as often as
                those of `key_odds`.
            even_clients: whether all client machines issue equally many requests, as in an open loop.
            key_odds: the keys of some routes; None: of none.
        """
        self._key_odds = key_odds or {}
        self._even_clients = even_clients
        self.network, self.expected, self.stations = network, expected, len(network.stations)
        self.columns: Floats = np.empty((0, self.stations))
        self.known_fraction: NDArray[np.bool_] = np.empty(0, bool)
        self._place: dict[tuple[Bound, bool], int] = {}
        self._spread: dict[tuple[KeyOdds | None, Member], int] = {}
        self._add_spread(any_keys)
        self._any_keys, self.tabled = frozenset(any_keys), len(self.columns)
        for k in routes:
            for visit in network.routes[k].visits:
                if isinstance(visit.station, Bound) and not is_keyed(network, network.routes[k], visit.station.group):
                    self._add(network.routes[k], visit.station)
        self.free = sorted({tuple(np.flatnonzero(row).tolist()) for row in self.columns[~self.known_fraction]})
        self.pairs = [(k - 1, k) for k, station in enumerate(network.stations) if station.shares_server]
        high = np.ones(self.stations)
        for station, speed in first_speeds(network.scenario).items():
            high[station] = speed
        low = high.copy()
        for action in network.scenario:
            if action.kind is ActionKind.SPEED and action.at_s > 0:
                high[action.target] = max(high[action.target], action.value)
                low[action.target] = min(low[action.target], action.value)
        self.fastest, self.slowest = self.of_each(high, max), self.of_each(low, min)

    def _add(self, route: Route, bound: Bound) -> None:
        even = self._has_known_fraction(route, bound)
        if (bound, even) in self._place:
            return
        fraction = stations_by_visits(self.network, bound)
        if fraction.max() == 1.0:  # all members have this station in common
            self._place[bound, even] = int(fraction.argmax())
            return
        self._place[bound, even] = self.stations + len(self.columns)
        self.columns = np.vstack([self.columns, fraction])
        self.known_fraction = np.append(self.known_fraction, even)

    def _add_spread(self, routes: Collection[int]) -> None:
        """Add the columns of placement tables whose stations are equal, but for those that stand for no visit."""
        visits = ((self._key_odds.get(k), visit.station) for k in routes for visit in self.network.routes[k].visits)
        members = dict.fromkeys((odds, place) for odds, place in visits if isinstance(place, Member))
        if not members:
            return
        kind, absent = self.network.once(_kinds)
        changed = targets(self.network, ActionKind.SPEED)
        fractions: list[Floats] = []
        for odds, member in members:
            of_keys = stations_by_visits(self.network, member) if odds is None else odds.fraction(self.network, member)
            fraction = np.where(absent, 0.0, of_keys)
            used = np.flatnonzero(fraction)
            if len(used) and (kind[used] == kind[used[0]]).all() and not changed.intersection(used.tolist()):
                self._spread[odds, member] = self.stations + len(fractions)
                fractions.append(fraction)
        self.columns = np.array(fractions).reshape(-1, self.stations)
        self.known_fraction = np.ones(len(fractions), bool)

    def of_any_key(self, k: int, place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of route k's visits, shape (requests, visits), with the columns of `any_keys`."""
        if k not in self._any_keys:
            return place
        spread, odds = place.copy(), self._key_odds.get(k)
        for v, visit in enumerate(self.network.routes[k].visits):
            if isinstance(visit.station, Member) and (odds, visit.station) in self._spread:
                spread[:, v] = self._spread[odds, visit.station]
        return spread

    def _has_known_fraction(self, route: Route, bound: Bound) -> bool:
        of_client = self._even_clients and self.network.groups[bound.group].choice is Choice.CLIENT
        return self.expected and (of_client or is_even(self.network, route, bound.group))

    def __len__(self) -> int:
        return self.stations + len(self.columns)

    def of_each(self, figures: NDArray[Any], combine: Callable[[NDArray[Any]], Any]) -> NDArray[Any]:
        """Combine a figure of the stations, shape (stations,), over those of each place; shape (places,)."""
        return np.append(figures, np.array([combine(figures[row > 0]) for row in self.columns], figures.dtype))

    def members(self, place: int) -> list[int]:
        """Return the stations of a place."""
        column = place - self.stations
        return [place] if column < 0 else [int(k) for k in np.flatnonzero(self.columns[column])]

    def meet(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether two places differ but have a station in common; broadcasts."""
        a, b = np.broadcast_arrays(a, b)
        shared = self._shared_stations
        met = np.zeros(a.shape, bool)
        for one, other in ((a, b), (b, a)):
            at = one >= self.stations
            met[at] |= shared[one[at] - self.stations, other[at]]
        return np.asarray(met & (a != b))

    @cached_property
    def _shared_stations(self) -> NDArray[np.bool_]:
        """Whether a column has a station in common with a place, shape (columns, places)."""
        wide = self.columns > 0
        return np.hstack([wide, wide @ wide.T])

    def of(self, route: Route, station: NDArray[np.int32], key_hash: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the place of each visit, shape (requests, visits), from the Sheet's stations, same shape, and keys."""
        places = station.astype(np.int64)
        for v, visit in enumerate(route.visits):
            where = visit.station
            if not isinstance(where, Bound):
                continue
            if is_keyed(self.network, route, where.group):
                members = np.flatnonzero(~_absent(self.network, where.group))
                chosen = members[(key_hash % np.uint64(len(members))).astype(np.int64)]
                places[:, v] = self.network.stations_of_members(where, key_hash, chosen)
            else:
                places[:, v] = self._place[where, self._has_known_fraction(route, where)]
        return places

    def evenly(self, figures: Floats) -> Floats:
        """Distribute the places' figures to stations, shape (…, stations), evenly within groups."""
        return figures[..., : self.stations] + figures[..., self.stations :] @ self.columns

    def certain(self, figures: Floats) -> Floats:
        """Return the lower bound of each resource's part of the places' figures, (…, places) to (…, resources)."""
        return self._shared(figures, np.where(self.known_fraction[:, None], self.columns, 0.0), inside=True)

    def possible(self, figures: Floats) -> Floats:
        """Return the upper bound of each resource's part of the places' figures, (…, places) to (…, resources)."""
        return self._shared(
            figures, np.where(self.known_fraction[:, None], self.columns, self.columns > 0), inside=False
        )

    def _shared(self, figures: Floats, columns: Floats, inside: bool) -> Floats:
        known, of_columns = figures[..., : self.stations], figures[..., self.stations :]
        stations = known + of_columns @ columns
        expected = known + of_columns @ np.where(self.known_fraction[:, None], self.columns, 0.0)
        groups = []
        for members in self.free:
            fraction = self.columns[:, list(members)].sum(axis=1)
            mine = ~self.known_fraction & (fraction > 1 - 1e-9 if inside else fraction > 0)
            groups.append(expected[..., list(members)].sum(axis=-1) + of_columns[..., mine].sum(axis=-1))
        groups += [stations[..., list(pair)].sum(axis=-1) for pair in self.pairs]
        return np.concatenate([stations, *(group[..., None] for group in groups)], axis=-1)

    def resources(self) -> tuple[Resource, ...]:
        """Return the stations, each set of stations to which requests are bound at run time, and the pairs."""
        free = (_resource(self.network, members) for members in self.free)
        pairs = (_pair(self.network, pair) for pair in self.pairs)
        return (*self.network.once(_station_resources), *free, *pairs)


def _kinds(network: Network) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return which stations serve alike, and which stand for no visit, shape (stations,)."""
    kinds: dict[tuple[object, ...], int] = {}
    kind = np.array([kinds.setdefault(station.service, len(kinds)) for station in network.stations])
    return kind, np.array([station.role == NOWHERE.role for station in network.stations])


def _station_resources(network: Network) -> tuple[Resource, ...]:
    return tuple(_resource(network, (k,)) for k in range(len(network.stations)))


def _pair(network: Network, pair: tuple[int, int]) -> Resource:
    roles = " and ".join(network.stations[k].role for k in pair)
    return Resource(names_of(network, pair), roles, "group", pair, 1.0, shares_server=True)


def _resource(network: Network, members: tuple[int, ...]) -> Resource:
    stations = [network.stations[k] for k in members]
    if len(members) == 1:
        (one,) = stations
        servers = math.inf if one.discipline.infinite else one.servers
        return Resource(one.name, one.role, "pool" if one.discipline.holds_tokens else "station", members, servers)
    roles = {station.role for station in stations}
    pool = all(station.discipline.holds_tokens for station in stations)
    return Resource(
        name=names_of(network, members),
        role=roles.pop() if len(roles) == 1 else "group",
        kind="pool" if pool else "group",
        stations=members,
        servers=sum(math.inf if s.discipline.infinite else s.servers for s in stations),
    )


def names_of(network: Network, stations: Iterable[int]) -> str:
    """Return the names of stations; the first and the last if there are many."""
    names = [network.stations[k].name for k in stations]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} … {names[-1]}"
