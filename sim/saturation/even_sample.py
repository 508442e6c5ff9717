"""Samples of requests that have each kind as often as all of them do: chance gives a random sample more or less of it.

A stratified sample, with a number of each stratum in proportion to its size (Cochran, "Sampling techniques", 1977,
chapter 5).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.network.demand_sheet import Requests
from models.network.joined_table import take
from models.network.network import Network
from models.network.station import Member
from sim.demands.visit_places import stations_of
from traces.random_streams import stream_id, uniforms

Rows = NDArray[np.int64]

_PLACES = 2  # kinds of pools whose stations are kinds of requests; of more, too few requests would be of each


@dataclass(frozen=True)
class Kinds:
    """The kinds of some requests.

    Attributes:
        labels: numbers that requests of a kind have in common, each of shape (requests,), those first of which the
            numbers of requests are to be most exact.
    """

    labels: tuple[NDArray[Any], ...]

    @staticmethod
    def of(network: Network, requests: Requests, pools: Collection[str] = ()) -> Kinds:
        """Return the kinds of requests by route, by those of these pools that their keys select, and by size.

        Of pools, those with the fewest tokens come first, such as bucket index shards before threads of OSDs: few
        requests are at each.
        """
        places = _pool_places(network, requests, pools)
        return Kinds((requests.route, *places, requests.size_bytes))

    def __len__(self) -> int:
        return len(self.labels[0])

    @cached_property
    def _order(self) -> Rows:
        """The numbers of the requests, by kind; those of a kind are in random order."""
        u = uniforms(0, stream_id("even sample", "order"), 0, len(self))
        return np.lexsort((u, *reversed(self.labels)))

    def sample(self, count: int, seed: int = 0) -> Rows:
        """Return the numbers of `count` different requests, random ones of each kind; ascending."""
        within = uniforms(seed, stream_id("even sample", "rows"), 0, count)
        return np.sort(self._order[((np.arange(count) + within) * (len(self) / count)).astype(np.int64)])


def _pool_places(network: Network, requests: Requests, pools: Collection[str]) -> Sequence[NDArray[np.int32]]:
    """Return the stations among pools that keys select, -1 for none, each of shape (requests,)."""
    stations = {k for k, station in enumerate(network.stations) if station.name in pools}
    routes = np.unique(requests.route).tolist()
    members = {visit.station for k in routes for visit in network.routes[k].visits if isinstance(visit.station, Member)}
    tokens = {
        each: network.stations[found[0]].servers
        for each in members
        if stations.issuperset(found := stations_of(network, each))
    }
    first = sorted(tokens, key=lambda each: (tokens[each], each.table, each.position))[:_PLACES]
    return [_stations_at(network, requests, each) for each in first]


def _stations_at(network: Network, requests: Requests, place: Member) -> NDArray[np.int32]:
    """Return the station of each request whose route visits a place, and -1 of the others, shape (requests,)."""
    found = np.full(len(requests), -1, np.int32)
    table, column = network.placements[place.table], np.array([place.position])
    for k in np.unique(requests.route).tolist():
        if any(visit.station == place for visit in network.routes[k].visits):
            mine = requests.route == k
            row = (requests.key_hash[mine] % np.uint64(len(table))).astype(np.int64)
            found[mine] = take(table, row, column)[:, 0]
    return found
