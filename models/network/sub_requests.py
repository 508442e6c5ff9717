"""Sub-requests: requests of other routes that a visit starts, and waits for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.network.placement import part_keys

Counts = NDArray[np.int64]
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class RouteChoice:
    """The routes of sub-requests that do not all take the same one: by their size, and at random among those of a size.

    A store has routes for small and large objects, and for reads that a cache serves and others.

    Attributes:
        largest_bytes: the largest size of each class of sizes, ascending; the last class has all larger ones too.
        routes: for each class, the indices of its routes, each with the fraction of the sub-requests that take it;
            they add up to 1.
    """

    largest_bytes: tuple[int, ...]
    routes: tuple[tuple[tuple[int, float], ...], ...]

    def __post_init__(self) -> None:
        ascend = all(a < b for a, b in zip(self.largest_bytes, self.largest_bytes[1:], strict=False))
        sums = [sum(fraction for _, fraction in of_class) for of_class in self.routes]
        if not self.routes or len(self.routes) != len(self.largest_bytes) or not ascend:
            raise ValueError(f"{self}: each class of sizes needs a largest size, ascending, and routes")
        if any(abs(total - 1) > 1e-9 for total in sums) or any(f <= 0 for each in self.routes for _, f in each):
            raise ValueError(f"{self}: the fractions of a class must be above 0 and add up to 1")

    @cached_property
    def _ends(self) -> tuple[Counts, NDArray[np.float64]]:
        """The routes of all classes one after the other, and where in the class's number + (0, 1) each one ends."""
        routes = np.array([route for of_class in self.routes for route, _ in of_class], np.int64)
        ends = [number + np.cumsum([f for _, f in of_class]) for number, of_class in enumerate(self.routes)]
        for number, each in enumerate(ends):
            each[-1] = number + 1
        return routes, np.concatenate(ends)

    def classes(self, size_bytes: Counts) -> Counts:
        """Return the number of the class of each size, same shape."""
        return np.asarray(np.searchsorted(self.largest_bytes[:-1], size_bytes, side="left"))

    def chosen(self, size_bytes: Counts, uniform: NDArray[np.float64]) -> Counts:
        """Return the route of each sub-request, same shape, given its size and a random number in (0, 1)."""
        routes, ends = self._ends
        chosen = np.searchsorted(ends, self.classes(size_bytes) + uniform, side="right")
        return np.asarray(routes[chosen.clip(0, len(routes) - 1)])


@dataclass(frozen=True)
class SubRequests:
    """What a visit starts when it is over: the parts of an upload, the blocks of a file, the members of a quorum.

    They have keys, sizes and random numbers of their own, and the policy of their route. They are no requests of the
    workload. The first `parallel` of them begin at once, and another one whenever one has ended. The branch goes on as
    soon as `need` of them have succeeded, and fails when too few are left. Then, and if the attempt is cancelled, those
    that have not begun are dropped.

    Attributes:
        route: index of their route, or which of several each one takes.
        chunk_bytes: they divide the bytes of the request into chunks of this size, of which the last may be smaller;
            there is at least one. None: there are `count` of them.
        count: number of sub-requests, without `chunk_bytes`.
        size_bytes: bytes that each of them moves, without `chunk_bytes`; None: those of the request.
        first: position of the first of them, which keys depend on. The chunks before it are no sub-requests; if there
            are no others, the branch goes on at once.
        most: maximum number of chunks; None: all.
        parallel: maximum number in progress; None: all.
        need: how many have to succeed; None, or more than there are: all.
        own_keys: each has a key of its own, which depends on that of the request and on its position; otherwise that of
            the request.
        new_keys: their own keys are different ones for each request, even of the same key: those of new objects.
        key_step: without own keys, what their key hashes add to that of the request: the first one this, the second one
            twice as much, and so on. So they can have rows of a placement table in turn.
        cancels: those in progress are cancelled when the visit is over; otherwise they go on.
        keeps: groups whose members their first attempts have in common with the attempt that starts them, where it has
            one; further attempts go to others, as usual. The members are no columns of a placement table.
        delivers: the first byte of the first one's response is that of the response to the request, unless an earlier
            one was sent: a server reads an object in parts, and sends it meanwhile.
    """

    route: int | RouteChoice
    chunk_bytes: int | None = None
    count: int = 1
    size_bytes: int | None = None
    first: int = 0
    most: int | None = None
    parallel: int | None = None
    need: int | None = None
    own_keys: bool = True
    new_keys: bool = False
    key_step: int = 0
    cancels: bool = False
    keeps: tuple[int, ...] = ()
    delivers: bool = False

    def __post_init__(self) -> None:
        limits = (self.chunk_bytes, self.most, self.count, self.parallel, self.need)
        if any(limit is not None and limit < 1 for limit in limits) or min(self.size_bytes or 0, self.first) < 0:
            raise ValueError(
                f"{self}: chunk_bytes, most, count, parallel, need must be at least 1, size_bytes and first at least 0"
            )
        if self.chunk_bytes is not None and (self.count != 1 or self.size_bytes is not None):
            raise ValueError(f"{self}: give chunk_bytes, or count and size_bytes")
        if self.most is not None and self.chunk_bytes is None:
            raise ValueError(f"{self}: most limits the number of chunks, so give chunk_bytes")
        if self.new_keys and not self.own_keys:
            raise ValueError(f"{self}: new keys are own keys")
        if self.key_step and (self.own_keys or self.key_step < 0):
            raise ValueError(f"{self}: key_step must be at least 0, and 0 if they have own keys")

    @property
    def routes(self) -> tuple[int, ...]:
        """The routes that they may take, ascending."""
        if isinstance(self.route, int):
            return (self.route,)
        return tuple(sorted({route for of_class in self.route.routes for route, _ in of_class}))

    def by_route(self, size_bytes: Counts) -> Iterator[tuple[int, Counts, float]]:
        """Yield each route with the sizes of the sub-requests that may take it, and the fraction of them that do."""
        if isinstance(self.route, int):
            yield self.route, size_bytes, 1.0
            return
        of_size = self.route.classes(size_bytes)
        for number, routes in enumerate(self.route.routes):
            sizes = size_bytes[of_size == number]
            if len(sizes):
                yield from ((route, sizes, fraction) for route, fraction in routes)

    @property
    def needs_all(self) -> bool:
        """Whether the visit waits for all of them, whatever the size of the request."""
        return self.need is None or (self.chunk_bytes is None and self.need >= self.count)

    @property
    def begins_all(self) -> bool:
        """Whether all of them begin at once, whatever the size of the request."""
        return self.parallel is None or (self.chunk_bytes is None and self.parallel >= self.count)

    def counts(self, size_bytes: Counts) -> Counts:
        """Return how many sub-requests each request of these sizes starts, same shape."""
        if self.chunk_bytes is None:
            return np.full(len(size_bytes), self.count, np.int64)
        chunks = np.maximum(-(-size_bytes // self.chunk_bytes), 1)
        return np.asarray(np.clip(chunks - self.first, 0, self.most))

    def all_sizes(self, size_bytes: Counts) -> Counts:
        """Return the bytes of all sub-requests of requests of these sizes, request by request."""
        count = self.counts(size_bytes)
        position = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        return self.sizes(np.repeat(size_bytes, count), position)

    def sizes(self, size_bytes: Counts, position: Counts) -> Counts:
        """Return the bytes of sub-requests at these positions of requests of these sizes, same shape."""
        if self.chunk_bytes is not None:
            before = (self.first + position) * self.chunk_bytes
            return np.asarray(np.clip(size_bytes - before, 0, self.chunk_bytes))
        return size_bytes if self.size_bytes is None else np.full(len(size_bytes), self.size_bytes, np.int64)

    def keys(self, key_hash: Words, position: Counts) -> Words:
        """Return the key hashes of sub-requests at these positions of requests with these ones, same shape."""
        if self.own_keys:
            return part_keys(key_hash, position)
        return key_hash + np.uint64(self.key_step) * (position.astype(np.uint64) + np.uint64(1))


def refuse_cycles(starts: list[list[SubRequests]], groups: list[Any]) -> None:
    """Refuse sub-requests of routes that do not exist, or that start one another without end.

    Args:
        starts: the sub-requests of each route.
        groups: the placement table that has the members of each group as columns; None: they are something else.

    Raises:
        ValueError: the first that is wrong.
    """
    for sub in (sub for of_route in starts for sub in of_route):
        if not all(0 <= route < len(starts) for route in sub.routes):
            raise ValueError(f"{sub} is of a route that does not exist")
        if any(not 0 <= group < len(groups) or groups[group] is not None for group in sub.keeps):
            raise ValueError(f"{sub} keeps the member of a group that does not exist, or has columns for members")
    left = {k: {route for sub in of_route for route in sub.routes} for k, of_route in enumerate(starts)}
    while left:
        leaves = {k for k, of in left.items() if not of & left.keys()}
        if not leaves:
            raise ValueError(f"routes {sorted(left)} start sub-requests of one another without end")
        left = {k: of for k, of in left.items() if k not in leaves}
