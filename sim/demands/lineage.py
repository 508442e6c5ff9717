"""The requests of a Sheet and their descendants: who starts whom, and how long visits wait for sub-requests."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.network.demand_sheet import Sheet
from models.network.network import Network
from models.network.sub_requests import SubRequests
from models.network.visit_draws import Visits
from sim.engine.outcome import Floats

Ints = NDArray[np.int64]


def flattened(sheet: Sheet) -> Sheet:
    """Return a Sheet whose rows are the requests of a Sheet and then their descendants."""
    found = sheet.descendants
    if found is None:
        return sheet
    visits: Visits = found.visits
    return replace(
        sheet,
        route=np.concatenate([sheet.route, found.route]),
        key_hash=np.concatenate([sheet.key_hash, found.key_hash]),
        first_visit=np.concatenate([sheet.first_visit, visits.first + len(sheet.station)]),
        station=np.concatenate([sheet.station, visits.station]),
        demand_s=np.concatenate([sheet.demand_s, visits.demand_s]),
    )


def parents_first(network: Network) -> list[int]:
    """Return the routes, those that start sub-requests before those of the sub-requests."""
    order: list[int] = []
    left = set(range(len(network.routes)))
    while left:
        started = {route for k in left for _, sub in network.routes[k].starts for route in sub.routes}
        order += sorted(left - started)
        left &= started
    return order


@dataclass(frozen=True)
class Lineage:
    """The rows of a flattened Sheet.

    Attributes:
        requests: number of requests, which come first.
        route: the route of each request, shape (requests,).
        root: the request that each row is or descends from, shape (rows,).
        parent, attempt, position: of each descendant: the row, the attempt and the visit that start it, shape
            (descendants,).
        first_family, first_child: as those of `Descendants`; None: there are no sub-requests.
    """

    requests: int
    route: NDArray[np.int32]
    root: Ints
    parent: Ints
    attempt: Ints
    position: Ints
    first_family: Ints | None = None
    first_child: Ints | None = None

    @staticmethod
    def of(network: Network, sheet: Sheet) -> Lineage:
        """Return the lineage of a Sheet."""
        found, count = sheet.descendants, len(sheet)
        if found is None:
            nothing = np.empty(0, np.int64)
            return Lineage(count, sheet.route, np.arange(count), nothing, nothing, nothing)
        starts = np.array([len(route.starts) for route in network.routes])
        attempts = np.array([route.policy.attempts for route in network.routes])
        route = np.concatenate([sheet.route, found.route])
        width = (starts * attempts)[route]
        number = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
        family = np.repeat(found.first_family, width) + number
        row_of, number_of = np.empty(len(family), np.int64), np.empty(len(family), np.int64)
        row_of[family], number_of[family] = np.repeat(np.arange(len(route)), width), number
        of_child = np.repeat(np.arange(len(family)), np.diff(found.first_child))
        parent, number = row_of[of_child], number_of[of_child]
        positions = np.zeros((len(network.routes), max(starts.max(), 1)), np.int64)
        for k, of in enumerate(network.routes):
            positions[k, : len(of.starts)] = [position for position, _ in of.starts]
        of_parent = np.maximum(starts[route[parent]], 1)
        return Lineage(
            count,
            sheet.route,
            np.concatenate([np.arange(count), np.repeat(np.arange(count), np.diff(found.first))]),
            parent, number // of_parent, positions[route[parent], number % of_parent],
            found.first_family, found.first_child,
        )  # fmt: skip

    def children(self, rows: Ints, families: Ints | int) -> tuple[Ints, Ints]:
        """Return the first descendant, and the end, of a family of each of these rows: the one with this number."""
        assert self.first_family is not None and self.first_child is not None
        family = self.first_family[rows] + families
        return self.first_child[family], self.first_child[family + 1]


@dataclass(frozen=True)
class Weights:
    """How often the rows of a flattened Sheet are executed, shape (rows,), 0 or more: 1 for successful requests.

    Attributes:
        won: by the successful attempts of requests, unless a hedged visit starts them.
        sure: certainly, and in full.
        every: by all attempts.
    """

    won: Floats
    sure: Floats
    every: Floats

    @staticmethod
    def of(lineage: Lineage, winner: Ints) -> Weights:
        """Return the weights of requests, given the successful attempt of each row, and 0 for their descendants."""
        weight = np.where(np.arange(len(winner)) < lineage.requests, winner >= 0, False).astype(np.float64)
        return Weights(weight, weight.copy(), weight.copy())


def family_s(sub: SubRequests, first: Ints, end: Ints, mean_s: Floats, least_s: Floats) -> tuple[Floats, Floats]:
    """Return lower bounds of the expected and of the least time that visits wait for families, shape (families,).

    Without contention, the ends of children are those of list scheduling, in which no child ends earlier when others
    take longer. So with the least times they are least ends, exact if times do not vary. If all children are needed,
    the last ends neither before the longest is expected to, nor before all work divided by those in progress.

    Args:
        sub: the sub-requests.
        first, end: index of each family's first child, and after its last one, shape (families,).
        mean_s, least_s: expected and least time of each child.
    """
    count = end - first
    least = np.zeros(len(first))
    some = np.flatnonzero(count > 0)
    if not len(some):
        return least, least
    first, count = first[some], count[some]
    family = np.repeat(np.arange(len(some)), count)
    child = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(len(family))
    ends_s = _ends_s(sub, count, family, least_s[child])
    need = count if sub.need is None else np.minimum(sub.need, count)
    least[some] = ends_s[np.lexsort((ends_s, family))][np.cumsum(count) - count + need - 1]
    expected = least.copy()
    if sub.needs_all:
        longest_s = np.maximum.reduceat(mean_s[child], np.cumsum(count) - count)
        parallel = count if sub.parallel is None else np.minimum(sub.parallel, count)
        spread_s = np.bincount(family, mean_s[child]) / parallel
        expected[some] = np.maximum(least[some], np.maximum(longest_s, spread_s))
    return expected, least


def _ends_s(sub: SubRequests, count: Ints, family: Ints, time_s: Floats) -> Floats:
    """Return when each child ends that begins when one of those before it has ended, the first `parallel` at once."""
    longest = int(count.max())
    if sub.parallel is None or sub.parallel >= longest:
        return time_s
    ends_s, start = np.empty(len(time_s)), np.cumsum(count) - count
    free_s = np.zeros((len(count), sub.parallel))
    for position in range(longest):
        mine = np.flatnonzero(count > position)
        earliest = free_s[mine].argmin(axis=1)
        at = start[mine] + position
        ends_s[at] = free_s[mine, earliest] = free_s[mine, earliest] + time_s[at]
    return ends_s
