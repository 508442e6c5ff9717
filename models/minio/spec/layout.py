"""How MinIO lays out the drives of a pool: erasure sets over hosts, parity and quorums.

As in MinIO's source at 7aac2a2c: `commonSetDriveCount` and `possibleSetCountsWithSymmetry` in
cmd/endpoint-ellipses.go, and internal/config/storageclass/storage-class.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.shared.protection import Protection

MAX_SET = 16
"""Largest number of drives of an erasure set."""

Table = NDArray[np.int32]


def set_size(drives: int, nodes: int) -> int | None:
    """Return the drives of an erasure set: the largest divisor up to 16 that is symmetric to the nodes; None: none is.

    Args:
        drives: of all nodes together.
        nodes: server processes, each on an equal number of drives.
    """
    fits = [n for n in range(1 if nodes == 1 else 2, MAX_SET + 1) if drives % n == 0 and is_symmetric(n, nodes)]
    return max(fits, default=None)


def is_symmetric(size: int, nodes: int) -> bool:
    """Whether every set of this size takes as many drives of each of its nodes."""
    return size % nodes == 0 or (nodes > size and nodes % size == 0)


def default_parity(size: int) -> int:
    """Return MinIO's default number of parity shards for a set."""
    return 0 if size == 1 else 1 if size <= 3 else 2 if size <= 5 else 3 if size <= 7 else 4


def protection(size: int, parity: int, offline: int = 0) -> Protection:
    """Return the protection of an object that is written to a set with `offline` drives down.

    Parity increases by one for each drive offline, up to half of the set, so that writes are possible as long as a
    majority is left (availability-optimised, the default: putObject, cmd/erasure-object.go). A read needs a drive for
    each data shard, and so does a write, or one more if there are as many parity shards (objectQuorumFromMeta,
    cmd/erasure-metadata.go).
    """
    raised = min(parity + offline, size // 2)
    data = size - raised
    return Protection.erasure(data, raised, data + (data == raised))


@dataclass(frozen=True)
class Layout:
    """The drives of a pool in erasure sets.

    Drives are numbered host by host. A set is a series of endpoints in which nodes vary fastest: the first drive of
    each node, then the second, and so on.

    Attributes:
        hosts: number of hosts.
        processes: server processes (nodes) of a host, each with an equal part of its drives.
        drives: number of drives of a host.
        size, parity: drives of a set, and parity shards of an object.
    """

    hosts: int
    processes: int
    drives: int
    size: int
    parity: int

    @property
    def nodes(self) -> int:
        """Number of server processes."""
        return self.hosts * self.processes

    @property
    def data(self) -> int:
        """Number of data shards of an object."""
        return self.size - self.parity

    @cached_property
    def sets(self) -> Table:
        """The drives of each set, shape (sets, drives of a set)."""
        of_node = np.arange(self.hosts * self.drives, dtype=np.int32).reshape(self.nodes, -1)
        return of_node.T.reshape(-1, self.size)

    @property
    def rotations(self) -> Table:
        """The drives of each set in the order of an object's shards, in every rotation: shape (rows, drives of a set).

        The drive of the first shard varies by object (`hashOrder` in cmd/erasure-metadata-utils.go).
        """
        turns = (np.arange(self.size)[:, None] + np.arange(self.size)) % self.size
        return self.sets[:, turns].reshape(-1, self.size)

    def node_of(self, drive: Table) -> Table:
        """Return the node of each drive, same shape."""
        return (drive // (self.drives // self.processes)).astype(np.int32)

    def host_of(self, drive: Table) -> Table:
        """Return the host of each drive, same shape."""
        return (drive // self.drives).astype(np.int32)

    @property
    def lockers(self) -> int:
        """Number of nodes of a set, each of which has a lock server."""
        return min(self.nodes, self.size)
