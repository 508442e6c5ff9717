"""The descendants of a Sheet's requests: their sub-requests, the sub-requests of these, and so on, as flat arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.network.network import Network
from models.network.sub_requests import SubRequests
from models.network.visit_draws import Rows, Visits, draw_visits, grouped
from traces.random_streams import mixed_words, stream_id, uniforms_of

Words = NDArray[np.uint64]

_EACH = 8
"""Descendants of each request up to which requests are drawn in full chunks."""

_ROUTE = stream_id("route of a sub-request")


class Routed(Protocol):
    """Requests with routes and sizes."""

    @property
    def route(self) -> NDArray[np.int32]:
        """Index of the route of each."""

    @property
    def size_bytes(self) -> NDArray[np.int64]:
        """Bytes that each moves."""


@dataclass(frozen=True)
class Descendants:
    """All descendants of n requests, in the order of request, generation, parent, and position.

    A *family* is the sub-requests that one attempt starts at one visit. So each request and each descendant has as many
    families as its route has attempts and visits that start some, attempt by attempt; those of a request come before
    those of its descendants, in the order of these. A family that is not started, because the visit is passed by, is
    empty. The descendants in order are the families in order, one after the other.

    Attributes:
        first: index of each request's first descendant, and the number of descendants; shape (n + 1,).
        route: index of the route of each descendant, shape (descendants,).
        key_hash: as in the Sheet, shape (descendants,).
        identity: what their random numbers are functions of, different for all, shape (descendants,).
        visits: their visits.
        first_family: index of the first family of each request, then of each descendant; shape (n + descendants,).
        first_child: index of each family's first descendant, and their number; shape (families + 1,).
    """

    first: NDArray[np.int64]
    route: NDArray[np.int32]
    key_hash: Words
    identity: Words
    visits: Visits
    first_family: NDArray[np.int64]
    first_child: NDArray[np.int64]


@dataclass(frozen=True)
class _Generation:
    """Requests, or their descendants of one generation; `root`: the request, in ascending order."""

    root: NDArray[np.int64]
    route: NDArray[np.int32]
    size_bytes: NDArray[np.int64]
    key_hash: Words
    identity: Words
    visits: Visits


@dataclass(frozen=True)
class _Families:
    """The families of a generation: those of each row from `first` on, each with its request and its size."""

    first: NDArray[np.int64]
    root: NDArray[np.int64]
    count: NDArray[np.int64]


def identities(seed: int, load: str, first: int, count: int) -> Words:
    """Return the identities of requests `first` … `first + count - 1`, or of the operations of a background load."""
    number = np.arange(first, first + count, dtype=np.uint64)
    return mixed_words(np.full(count, seed, np.uint64), stream_id("sub-requests", load), number)


def draw_descendants(
    network: Network,
    route: NDArray[np.int32],
    size_bytes: NDArray[np.int64],
    key_hash: Words,
    identity: Words,
    visits: Visits,
    load: str,
) -> Descendants:
    """Return the descendants of requests with these identities and visits; a pure function of its arguments.

    The identity of a sub-request is a hash of that of its parent, the attempt and visit that start it, and its position
    among them. Its demands are hashes of its identity and the streams of its visits, so they depend neither on the
    order of events nor on other sub-requests.

    Args:
        network: the network.
        route, size_bytes, key_hash, identity: those of the requests, shape (n,).
        visits: of these requests.
        load: name of the background load whose operations they are; empty: they are requests of clients.
    """
    count = len(route)
    if not count:
        return no_descendants(0)
    generations = [_Generation(np.arange(count), route, size_bytes, key_hash, identity, visits)]
    families: list[_Families] = []
    while len(generations[-1].root):
        of_last, children = _next_generation(network, generations[-1], load)
        families.append(of_last)
        generations.append(children)
    roots = np.concatenate([generation.root for generation in generations[1:]])
    order = np.argsort(roots, kind="stable")
    family_order = np.argsort(np.concatenate([of.root for of in families]), kind="stable")
    rank = np.empty(len(family_order) + 1, np.int64)  # the last for rows at the end that have no families
    rank[family_order] = np.arange(len(family_order))
    rank[-1] = 0
    before = np.cumsum([0, *(len(of.root) for of in families)])
    first_family = np.concatenate([rank[of.first + at] for of, at in zip(families, before, strict=False)])
    counts = np.concatenate([of.count for of in families])[family_order]
    later = generations[1:]
    return Descendants(
        np.concatenate([[0], np.cumsum(np.bincount(roots, minlength=count))]).astype(np.int64),
        np.concatenate([g.route for g in later])[order],
        np.concatenate([g.key_hash for g in later])[order],
        np.concatenate([g.identity for g in later])[order],
        _joined([g.visits for g in later], order),
        np.concatenate([first_family[:count], first_family[count:][order]]),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
    )


def _joined(parts: list[Visits], order: NDArray[np.int64]) -> Visits:
    before = np.cumsum([0, *(len(part.station) for part in parts)])
    first = np.concatenate([part.first + at for part, at in zip(parts, before, strict=False)])
    return Visits(
        first[order], np.concatenate([part.station for part in parts]),
        np.concatenate([part.demand_s for part in parts]),
    )  # fmt: skip


def _next_generation(network: Network, parents: _Generation, load: str) -> tuple[_Families, _Generation]:
    """Return the families of a generation, and the next one: all of their members."""
    starts = [r.starts for r in network.routes]
    widths = np.array([len(at) * r.policy.attempts for at, r in zip(starts, network.routes, strict=True)])
    width = widths[parents.route]
    ends = np.cumsum(width)
    first = ends - width
    count = np.zeros(ends[-1], np.int64)
    kind = np.zeros(ends[-1], np.int64)
    kinds: list[tuple[SubRequests, int]] = []
    rows_of = grouped(parents.route, len(network.routes))
    for k in np.flatnonzero(np.bincount(parents.route, minlength=len(network.routes))).tolist():
        rows = rows_of[k]
        visits = len(network.routes[k].visits)
        for attempt in range(network.routes[k].policy.attempts):
            for ordinal, (position, sub) in enumerate(starts[k]):
                mine = first[rows] + attempt * len(starts[k]) + ordinal
                demand_s = parents.visits.demand_s[parents.visits.first[rows] + attempt * visits + position]
                count[mine] = np.where(demand_s >= 0, sub.counts(parents.size_bytes[rows]), 0)
                kind[mine] = len(kinds)
                kinds.append((sub, stream_id("children", network.streams(k, load).visits[attempt][position])))
    family = np.repeat(np.arange(len(count)), count)
    position = np.arange(len(family)) - np.repeat(np.cumsum(count) - count, count)
    row = np.repeat(np.arange(len(parents.root)), width)
    members = _members(parents, row[family], position, kind[family], kinds)
    return _Families(first, parents.root[row], count), _with_visits(network, members, load)


def _members(
    parents: _Generation,
    parent: NDArray[np.int64],
    position: NDArray[np.int64],
    kind: NDArray[np.int64],
    kinds: list[tuple[SubRequests, int]],
) -> _Generation:
    """Return the members of families without visits, given the row of each one's parent, its position and its kind."""
    route, size = np.empty(len(parent), np.int32), np.empty(len(parent), np.int64)
    key_hash, identity = np.empty(len(parent), np.uint64), np.empty(len(parent), np.uint64)
    rows_of = grouped(kind, len(kinds)) if kinds else []
    for number, (sub, stream) in enumerate(kinds):
        rows: Rows = slice(None) if len(kinds) == 1 else rows_of[number]
        mine, at = parent[rows], position[rows]
        size[rows] = sub.sizes(parents.size_bytes[mine], at)
        identity[rows] = mixed_words(parents.identity[mine], stream, at.astype(np.uint64))
        key = identity[rows] if sub.new_keys else parents.key_hash[mine]
        key_hash[rows] = sub.keys(key, sub.first + at)
        if isinstance(sub.route, int):
            route[rows] = sub.route
        else:
            uniform = uniforms_of(mixed_words(identity[rows], _ROUTE, 0))
            route[rows] = sub.route.chosen(size[rows], uniform)
    nothing = Visits(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))
    return _Generation(parents.root[parent], route, size, key_hash, identity, nothing)


def _with_visits(network: Network, members: _Generation, load: str) -> _Generation:
    last: list[Any] = [None, None]  # rows of a route, and their identities

    def uniform(stream: int, rows: Rows) -> NDArray[np.float64]:
        if last[0] is not rows:
            last[:] = rows, members.identity[rows]
        return uniforms_of(mixed_words(last[1], stream, 0))

    visits = draw_visits(network, members.route, members.size_bytes, members.key_hash, load, uniform)
    return _Generation(
        members.root, members.route, members.size_bytes, members.key_hash, members.identity, visits
    )  # fmt: skip


def joined(parts: list[tuple[int, Descendants | None]]) -> Descendants | None:
    """Return the descendants of Sheets one after the other, each given with its number of requests; None: there are
    none."""
    if all(part is None for _, part in parts):
        return None
    found = [no_descendants(count) if part is None else part for count, part in parts]
    rows = np.cumsum([0, *(len(part.route) for part in found)])
    families = np.cumsum([0, *(len(part.first_child) - 1 for part in found)])
    firsts = [part.first_family + at for part, at in zip(found, families, strict=False)]
    of_requests = [of[:count] for of, (count, _) in zip(firsts, parts, strict=True)]
    of_others = [of[count:] for of, (count, _) in zip(firsts, parts, strict=True)]
    return Descendants(
        np.concatenate([*(part.first[:-1] + at for part, at in zip(found, rows, strict=False)), rows[-1:]]),
        np.concatenate([part.route for part in found]),
        np.concatenate([part.key_hash for part in found]),
        np.concatenate([part.identity for part in found]),
        _joined([part.visits for part in found], np.arange(rows[-1])),
        np.concatenate([*of_requests, *of_others]),
        np.concatenate([*(part.first_child[:-1] + at for part, at in zip(found, rows, strict=False)), rows[-1:]]),
    )


def no_descendants(count: int) -> Descendants:
    """Return those of requests that have none."""
    words, empty = np.empty(0, np.uint64), np.empty(0, np.int64)
    visits = Visits(empty, np.empty(0, np.int32), np.empty(0))
    return Descendants(
        np.zeros(count + 1, np.int64), np.empty(0, np.int32), words, words, visits, np.zeros(count, np.int64),
        np.zeros(1, np.int64),
    )  # fmt: skip


def by_route(network: Network, k: int, size_bytes: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64], float]]:
    """Yield requests of a route, then the sub-requests that one attempt at each starts, and so on.

    Args:
        network: the network.
        k: the route of the requests.
        size_bytes: their sizes, shape (n,).

    Yields:
        route, sizes, and the fraction of the requests that start them, as decided by the visits and choices of routes.
    """
    if not len(size_bytes):
        return
    yield k, size_bytes, 1.0
    for visit, sub in network.routes[k].starts:
        fraction = network.routes[k].visits[visit].fraction
        for own, of_own, chosen in sub.by_route(sub.all_sizes(size_bytes)):
            for route, sizes, part in by_route(network, own, of_own):
                yield route, sizes, fraction * chosen * part


def at_a_time(network: Network, requests: Routed, most: int) -> int:
    """Return how many of these requests to draw at a time: at most `most`, fewer if they have many descendants."""
    if not network.has_sub_requests:
        return most
    mean = mean_descendants(network, requests.route, requests.size_bytes)
    return max(1, min(most, int(_EACH * most / max(mean, 1.0))))


def mean_descendants(network: Network, route: NDArray[np.int32], size_bytes: NDArray[np.int64]) -> float:
    """Return the approximate mean number of descendants of requests with these routes and sizes."""

    def of(k: int, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        total = np.zeros(len(sizes))
        for _, sub in network.routes[k].starts:
            first = sub.sizes(sizes, np.zeros_like(sizes))
            each = np.max([of(route, first) for route in sub.routes], axis=0)
            total += network.routes[k].policy.attempts * sub.counts(sizes) * (1 + each)
        return total

    found = [of(k, size_bytes[route == k]).sum() for k in np.unique(route).tolist()]
    return float(sum(found)) / max(len(route), 1)
