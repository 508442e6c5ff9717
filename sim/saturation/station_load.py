"""The loads of stations in a run, of which chance makes one of many equal ones the busiest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.shared.work import WORKERS

_DEVIATIONS = 3.0  # times 1/√visits: the load of the busiest of equal stations rarely exceeds their mean by more


@dataclass(frozen=True)
class StationLoad:
    """The load of a station: utilisation, or service demand per request and server.

    Attributes:
        visits: number of visits from which it was estimated.
    """

    station: str
    role: str
    load: float
    visits: float


def utilizations(stations: Sequence[Sequence[Mapping[str, Any]]]) -> list[StationLoad]:
    """Return the mean utilisation of each station with a limited number of servers that requests may need."""
    each: dict[str, list[Mapping[str, Any]]] = {}
    for rows in stations:
        for row in rows:
            if row["servers"] is not None and row["visits"] and row["role"] != WORKERS:
                each.setdefault(row["name"], []).append(row)
    return [
        StationLoad(
            name,
            rows[0]["role"],
            math.fsum(row["utilization"] for row in rows) / len(stations),
            sum(row["visits"] for row in rows),
        )
        for name, rows in each.items()
    ]


def busiest(loads: Iterable[StationLoad]) -> StationLoad | None:
    """Return the station with the greatest load; None: no station has any.

    If the stations of its role are equally loaded apart from chance, the load is their mean.
    """
    roles: dict[str, list[StationLoad]] = {}
    for each in loads:
        if each.load > 0:
            roles.setdefault(each.role, []).append(each)
    return max((_of_role(members) for members in roles.values()), key=lambda found: found.load, default=None)


def _of_role(members: list[StationLoad]) -> StationLoad:
    top = max(members, key=lambda each: each.load)
    mean = math.fsum(each.load for each in members) / len(members)
    by_chance = top.load <= mean * (1 + _DEVIATIONS / math.sqrt(max(top.visits, 1.0)))
    return StationLoad(top.station, top.role, mean if by_chance else top.load, top.visits)
