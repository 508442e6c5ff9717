"""Station and service demand of every visit of requests, or of their sub-requests, as flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.network.joined_table import take
from models.network.network import Network
from models.network.route import Chance, Route
from models.network.station import Bound, Member

Rows = slice | NDArray[np.int64]
Uniform = Callable[[int, Rows], NDArray[np.float64]]
"""Returns random numbers on (0, 1) for a stream and the rows that draw from it."""

PASSES_BY = -1.0
"""The demand in a Sheet of a visit that the request does not make."""

POSITIONS = 1 << 16
"""Maximum number of positions of a group's members."""


def bound_code(bound: Bound) -> int:
    """Encode a station that is bound at run time for a Sheet: -1 - (65536 x group + position)."""
    return -1 - (POSITIONS * bound.group + bound.position)


def bound_of(code: int) -> Bound:
    """Decode the result of `bound_code`."""
    return Bound(*divmod(-1 - code, POSITIONS))


@dataclass(frozen=True)
class Visits:
    """The visits of n requests, in the order of `Route.visits`, once for each attempt that a request's policy allows.

    Attributes:
        first: index of each request's first visit, shape (n,).
        station: shape (visits,); below 0: bound at run time, see `bound_code`.
        demand_s: shape (visits,); `PASSES_BY`: the request passes by, or the attempt never begins (`Network.attempts`).
    """

    first: NDArray[np.int64]
    station: NDArray[np.int32]
    demand_s: NDArray[np.float64]


def grouped(group: NDArray[Any], count: int) -> list[NDArray[np.int64]]:
    """Return the indices of the members of each of `count` groups, ascending, given each one's group, shape (n,)."""
    small = group.astype(np.uint16) if count <= 1 << 16 else group  # sorted by radix
    return np.split(np.argsort(small, kind="stable"), np.cumsum(np.bincount(group, minlength=count))[:-1])


def draw_visits(
    network: Network,
    route: NDArray[np.int32],
    size_bytes: NDArray[np.int64],
    key_hash: NDArray[np.uint64],
    load: str,
    uniform: Uniform,
) -> Visits:
    """Draw the visits of requests.

    Args:
        network: the network.
        route, size_bytes, key_hash: those of the requests, shape (n,).
        load: name of the background load whose operations they are; empty: they are requests of clients.
        uniform: their random numbers.
    """
    present = np.bincount(route, minlength=len(network.routes))
    widths = np.array([len(r.visits) * r.policy.attempts for r in network.routes])
    starts = np.concatenate([[0], np.cumsum(present * widths)])
    first = np.empty(len(route), np.int64)
    station = np.empty(starts[-1], np.int32)
    demand_s = np.empty(starts[-1], np.float64)
    rows_of = grouped(route, len(present))
    for k in np.flatnonzero(present):
        rows: Rows = slice(None) if present[k] == len(route) else rows_of[k]
        sizes = size_bytes[rows]
        start, width = starts[k], int(widths[k])
        at = slice(start, starts[k + 1])
        first[rows] = start + width * np.arange(present[k])
        drawn, streams = network.routes[k], network.streams(int(k), load)
        once = _stations(network, drawn, key_hash[rows])
        station[at].reshape(len(once), -1, len(drawn.visits))[:] = once[:, None, :]
        block = demand_s[at].reshape(-1, width)
        drawn_streams = streams.visits[: network.attempts[k]]
        block[:, len(drawn.visits) * len(drawn_streams) :] = PASSES_BY
        for v, (visit, stream) in enumerate(zip(drawn.visits * len(drawn_streams), chain(*drawn_streams), strict=True)):
            always_s = visit.demand.always_s
            block[:, v] = visit.demand.draw_s(partial(uniform, stream, rows), sizes) if always_s is None else always_s
            if not visit.is_certain and visit.demand.occasion < 1:
                block[block[:, v] == 0, v] = PASSES_BY
        if drawn.chances:
            _pass_by(block, drawn, streams.chances[: len(drawn_streams)], rows, uniform)
    return Visits(first, station, demand_s)


def _pass_by(
    block: NDArray[np.float64], route: Route, streams: Sequence[Sequence[int]], rows: Rows, uniform: Uniform
) -> None:
    """Set the demands of visits that requests pass by, shape (requests, visits of all attempts), to `PASSES_BY`.

    Each attempt decides for itself; a decision has a stream of its own, `streams` of shape (attempts, decisions).
    """
    for attempt, of_attempt in enumerate(streams):
        made: dict[Chance, NDArray[np.bool_]] = {}
        for chance, stream in zip(route.chances, of_attempt, strict=True):
            own = uniform(stream, rows) < chance.probability
            made[chance] = own & made[chance.within] if chance.within else own
        for v, visit in enumerate(route.visits, attempt * len(route.visits)):
            if visit.chance is not None:
                block[~made[visit.chance], v] = PASSES_BY


def _stations(network: Network, route: Route, key_hash: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the station of each visit, shape (requests, visits)."""
    where = [visit.station for visit in route.visits]
    codes = [0 if isinstance(w, Member) else bound_code(w) if isinstance(w, Bound) else w for w in where]
    result = np.broadcast_to(np.array(codes, np.int32), (len(key_hash), len(where)))
    if not any(isinstance(w, Member) for w in where):
        return result
    result = result.copy()
    for t, table in enumerate(network.placements):
        placed = [(v, w.position) for v, w in enumerate(where) if isinstance(w, Member) and w.table == t]
        if placed:
            columns, positions = zip(*placed, strict=True)
            rows = (key_hash % np.uint64(len(table))).astype(np.int64)
            result[:, columns] = take(table, rows, np.array(positions))
    return result
