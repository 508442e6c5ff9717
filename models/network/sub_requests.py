"""Sub-requests: requests of other routes that a visit starts, and waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class SubRequests:
    """What a visit starts when it is over: the parts of an upload, the blocks of a file, the members of a quorum.

    They have keys, sizes and random numbers of their own, and the policy of their route. They are no requests of the
    workload. The first `parallel` of them begin at once, and another one whenever one has ended. The branch goes on as
    soon as `need` of them have succeeded, and fails when too few are left. Then, and if the attempt is cancelled, those
    that have not begun are dropped.

    Attributes:
        route: index of their route.
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
        cancels: those in progress are cancelled when the visit is over; otherwise they go on.
        keeps: groups, without a placement table, whose members they have in common with the attempt that starts them,
            where it has one.
        delivers: the first byte of the first one's response is that of the response to the request, unless an earlier
            one was sent: a server reads an object in parts, and sends it meanwhile.
    """

    route: int
    chunk_bytes: int | None = None
    count: int = 1
    size_bytes: int | None = None
    first: int = 0
    most: int | None = None
    parallel: int | None = None
    need: int | None = None
    own_keys: bool = True
    new_keys: bool = False
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

    def sizes(self, size_bytes: Counts, position: Counts) -> Counts:
        """Return the bytes of sub-requests at these positions of requests of these sizes, same shape."""
        if self.chunk_bytes is not None:
            before = (self.first + position) * self.chunk_bytes
            return np.asarray(np.clip(size_bytes - before, 0, self.chunk_bytes))
        return size_bytes if self.size_bytes is None else np.full(len(size_bytes), self.size_bytes, np.int64)


def refuse_cycles(starts: list[list[SubRequests]], groups: list[Any]) -> None:
    """Refuse sub-requests of routes that do not exist, or that start one another without end.

    Args:
        starts: the sub-requests of each route.
        groups: the placement table of each group; None: its members are stations.

    Raises:
        ValueError: the first that is wrong.
    """
    for sub in (sub for of_route in starts for sub in of_route):
        if not 0 <= sub.route < len(starts):
            raise ValueError(f"{sub} is of a route that does not exist")
        if any(not 0 <= group < len(groups) or groups[group] is not None for group in sub.keeps):
            raise ValueError(f"{sub} keeps the member of a group that does not exist, or has a placement table")
    left = {k: {sub.route for sub in of_route} for k, of_route in enumerate(starts)}
    while left:
        leaves = {k for k, of in left.items() if not of & left.keys()}
        if not leaves:
            raise ValueError(f"routes {sorted(left)} start sub-requests of one another without end")
        left = {k: of for k, of in left.items() if k not in leaves}
