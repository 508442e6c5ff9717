"""How often the requests of a workload select each row of placement tables, by the keys that it has in the long run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from models.network.demand_sheet import Requests
from models.network.joined_table import take
from models.network.network import Network
from models.network.route import Route
from models.network.station import Member
from sim.engine.outcome import Floats

Hashes = NDArray[np.uint64]

REPEATS = 2
"""Parts of a census that have the same keys equally often, as far as these are popular enough."""
_LEVEL = 0.001  # of the test whether requests have these keys
_BINS, _LEAST = 256, 10  # rows that are counted together: the most of these sets, and fewest expected requests of each


@dataclass(frozen=True, eq=False)
class KeyOdds:
    """The keys of a route's requests, each as often as in the long run, by which they load placement tables unevenly.

    Attributes:
        key_hash: that selects the row of a placement table, of each request of a census, shape (requests,).
        repeat: the part of the census, below `REPEATS`, same shape.
    """

    key_hash: Hashes
    repeat: NDArray[np.int64]

    def fraction(self, network: Network, member: Member) -> Floats:
        """Return the fraction of the visits to a column of a placement table at each station, shape (stations,).

        Stores may choose among several rows of a key at random. By how much the parts of a census differ tells the
        variance of the fractions by that, which is left out (as in the estimator of James and Stein, Proceedings of the
        Fourth Berkeley Symposium 1, 1961).
        """
        if member not in self._fractions:
            self._fractions[member] = self._fraction(network, member)
        return self._fractions[member]

    @cached_property
    def _fractions(self) -> dict[Member, Floats]:
        """Those of the columns whose fractions are known, which are all of one network."""
        return {}

    def _fraction(self, network: Network, member: Member) -> Floats:
        even = network.station_counts(member).astype(np.float64)
        used = np.flatnonzero(even)
        even /= even.sum()
        table = network.placements[member.table]
        row, times = self._counted(len(table))
        station = take(table, row, np.array([member.position]))[:, 0]
        counts = np.array([np.bincount(station, each, len(network.stations)) for each in times])
        each = counts / counts.sum(axis=1, keepdims=True)
        found = counts.sum(axis=0) / counts.sum()
        noise = float(each[:, used].var(axis=0, ddof=1).mean()) / REPEATS
        spread = float(((found - even)[used] ** 2).mean())
        part = max(0.0, 1 - noise / spread) if spread else 0.0
        return np.asarray(even + part * (found - even), np.float64)

    def are_of(self, key_hash: Hashes, rows: int) -> bool:
        """Return whether keys select rows as often as these do, apart from chance, counting rows that are neighbours.

        Args:
            key_hash: of each request, shape (requests,).
            rows: of a placement table.
        """
        count = min(_BINS, rows, len(key_hash) // _LEAST)
        if count < 2:
            return True
        which = np.arange(rows) * count // rows
        ratio = len(key_hash) / len(self.key_hash)
        expected = np.bincount(which[self._rows(rows)], minlength=count) * ratio
        found = np.bincount(which[(key_hash % np.uint64(rows)).astype(np.int64)], minlength=count)
        known = expected > 0
        if found[~known].any():
            return False
        apart = float(((found - expected)[known] ** 2 / expected[known]).sum())
        freedom = max(int(known.sum()) - 1, 1)
        return apart <= (1 + ratio) * float(scipy.special.chdtri(freedom, _LEVEL))

    def _counted(self, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows that are selected, ascending, and how often they are in each part, shape (repeats, rows)."""
        if rows not in self._counts:
            row, which = np.unique(self._rows(rows), return_inverse=True)
            times = np.bincount(self.repeat * len(row) + which, minlength=REPEATS * len(row))
            self._counts[rows] = row, times.reshape(REPEATS, len(row))
        return self._counts[rows]

    @cached_property
    def _counts(self) -> dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """What has been counted, by the number of rows."""
        return {}

    def _rows(self, rows: int) -> NDArray[np.int64]:
        return (self.key_hash % np.uint64(rows)).astype(np.int64)


def odds_of_routes(network: Network, requests: Requests, census: Requests) -> dict[int, KeyOdds]:
    """Return the keys of each route whose requests have those of a census, as far as its requests tell.

    They have those of all of its requests, or if keys decide the route, those of its requests with this route.

    Args:
        network: the network.
        requests: those at hand.
        census: requests with each key as often as in the long run, in parts of equal length.
    """
    repeat = np.arange(len(census)) * REPEATS // len(census)
    every, found = KeyOdds(census.key_hash, repeat), dict[int, KeyOdds]()
    for k in np.unique(requests.route).tolist():
        tables, mine, own = _tables(network, network.routes[k]), requests.route == k, census.route == k
        for each in _candidates(every, KeyOdds(census.key_hash[own], repeat[own])):
            if tables and all(each.are_of(requests.key_hash[mine], rows) for rows in tables):
                found[k] = each
                break
    return found


def _candidates(every: KeyOdds, own: KeyOdds) -> Iterator[KeyOdds]:
    yield every
    if len(np.unique(own.repeat)) == REPEATS:
        yield own


def _tables(network: Network, route: Route) -> set[int]:
    """Return the numbers of rows of the placement tables that a route's keys select."""
    places = (visit.station for visit in route.visits)
    return {len(network.placements[place.table]) for place in places if isinstance(place, Member)}
