"""Sub-requests: requests of other routes that a visit starts, and waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.network.placement import part_keys

Counts = NDArray[np.int64]
Words = NDArray[np.uint64]


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
        parallel: maximum number in progress; None: all.
        need: how many have to succeed; None, or more than there are: all.
        own_keys: each has a key of its own, which depends on that of the request and on its position; otherwise that of
            the request.
        key_step: without own keys, what their key hashes add to that of the request: the first one this, the second one
            twice as much, and so on. So they can have rows of a placement table in turn.
        cancels: those in progress are cancelled when the visit is over; otherwise they go on.
        keeps: groups whose members their first attempts have in common with the attempt that starts them, where it has
            one; further attempts go to others, as usual. The members are no columns of a placement table.
        delivers: the first byte of the first one's response is that of the response to the request, unless an earlier
            one was sent: a server reads an object in parts, and sends it meanwhile.
    """

    route: int
    chunk_bytes: int | None = None
    count: int = 1
    size_bytes: int | None = None
    parallel: int | None = None
    need: int | None = None
    own_keys: bool = True
    key_step: int = 0
    cancels: bool = False
    keeps: tuple[int, ...] = ()
    delivers: bool = False

    def __post_init__(self) -> None:
        limits = (self.chunk_bytes, self.count, self.parallel, self.need)
        if any(limit is not None and limit < 1 for limit in limits) or (self.size_bytes or 0) < 0:
            raise ValueError(f"{self}: chunk_bytes, count, parallel and need must be at least 1, size_bytes at least 0")
        if self.chunk_bytes is not None and (self.count != 1 or self.size_bytes is not None):
            raise ValueError(f"{self}: give chunk_bytes, or count and size_bytes")
        if self.key_step and (self.own_keys or self.key_step < 0):
            raise ValueError(f"{self}: key_step must be at least 0, and 0 if they have own keys")

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
        return np.asarray(np.maximum(-(-size_bytes // self.chunk_bytes), 1))

    def sizes(self, size_bytes: Counts, position: Counts) -> Counts:
        """Return the bytes of sub-requests at these positions of requests of these sizes, same shape."""
        if self.chunk_bytes is not None:
            return np.asarray(np.clip(size_bytes - position * self.chunk_bytes, 0, self.chunk_bytes))
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
        if not 0 <= sub.route < len(starts):
            raise ValueError(f"{sub} is of a route that does not exist")
        if any(not 0 <= group < len(groups) or groups[group] is not None for group in sub.keeps):
            raise ValueError(f"{sub} keeps the member of a group that does not exist, or has columns for members")
    left = {k: {sub.route for sub in of_route} for k, of_route in enumerate(starts)}
    while left:
        leaves = {k for k, of in left.items() if not of & left.keys()}
        if not leaves:
            raise ValueError(f"routes {sorted(left)} start sub-requests of one another without end")
        left = {k: of for k, of in left.items() if k not in leaves}
