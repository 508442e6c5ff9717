"""The random streams of a route's visits and decisions.

A visit's stream depends on the operation, the place that it goes to, which of the visits to this place it is, and the
attempt. So visits to other places, further routes of the operation and other names leave its random numbers as they
are. Routes of an operation have streams in common: of each request, only one is executed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from models.network.joined_table import PlacementTable, first_station
from models.network.route import Chance, Route
from models.network.station import Bound, Group, Indices, Member, Station
from traces.random_streams import stream_id


@dataclass(frozen=True)
class Streams:
    """The random streams of a route: different ones for all visits and decisions of all attempts.

    Attributes:
        visits: the streams of the visits of each attempt, in order; shape (attempts, visits).
        chances: the streams of its decisions (`Route.chances`); shape (attempts, decisions).
    """

    visits: tuple[tuple[int, ...], ...]
    chances: tuple[tuple[int, ...], ...]


def streams_of(
    route: Route,
    stations: Sequence[Station],
    placements: Sequence[PlacementTable],
    groups: Sequence[Group],
    load: str = "",
) -> Streams:
    """Return the streams of a route.

    Args:
        route: a route of a network.
        stations, placements, groups: those of the network.
        load: name of the background load whose operations take the route; empty: it is that of requests.
    """
    of = ("background", load) if load else ("requests", route.operation)
    seen: Counter[Indices] = Counter()
    keys: list[Indices] = []
    for visit in route.visits:
        place = _place(visit.station, stations, placements, groups)
        keys.append((*of, seen[place], *place))
        seen[place] += 1
    attempts = range(route.policy.attempts)
    decisions = [_decision(route, chance, keys) for chance in route.chances]
    return Streams(
        tuple(tuple(stream_id("demand", attempt, *key) for key in keys) for attempt in attempts),
        tuple(tuple(stream_id("chance", attempt, *key) for key in decisions) for attempt in attempts),
    )


def _place(
    where: int | Member | Bound,
    stations: Sequence[Station],
    placements: Sequence[PlacementTable],
    groups: Sequence[Group],
) -> Indices:
    """Return the part that a visit goes to; if it has no name, role and indices of the first station there."""
    if isinstance(where, Member | Bound) and where.part:
        return where.part
    station = stations[first_station(where, placements, groups)]
    return (station.role, *station.indices)


def _decision(route: Route, chance: Chance, keys: Sequence[Indices]) -> Indices:
    """Return what identifies a decision: the first visit that it decides on, and how many decisions it is within.

    Decisions with the same first visit are within one another.
    """
    first = next(key for key, visit in zip(keys, route.visits, strict=True) if _decides(chance, visit.chance))
    depth, outer = 0, chance.within
    while outer is not None:
        depth, outer = depth + 1, outer.within
    return (depth, *first)


def _decides(chance: Chance, of_visit: Chance | None) -> bool:
    return of_visit is not None and of_visit.is_within(chance)
