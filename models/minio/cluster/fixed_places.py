"""Places of work that one node does for one pool or several, in one state of the cluster."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from models.minio.cluster.epochs import Epoch
from models.minio.cluster.places import Places
from models.minio.cluster.pool_table import PoolTable
from models.network.station import Bound, Member


class FixedPlaces(Places):
    """The columns of `Places` for a node that is given, without what depends on the time."""

    def __init__(self, places: Places, first: Mapping[int, tuple[int, int]], state: Epoch):
        """`first` has, for each pool that the work visits, its table and the column at which its part begins."""
        vars(self).update(vars(copy.copy(places)))
        self._first, self._state = dict(first), state
        self.epochs, self.hangs, self.bound = (Epoch(),), (), False
        healing = replace(self._healing, heals=False, refills=False)
        count = len(self.stations.pools)
        self._pools = [PoolTable(self.stations, n, self._outages, (), healing) for n in range(count)]
        self._positions = [{name: k for k, name in enumerate(pool.columns)} for pool in self._pools]
        self.mixed, self.local = [True] * count, [0] * count

    def add(self, pool: int, table: int, first: int) -> None:
        """Place the columns of a further pool in a table, from a column on."""
        self._first[pool] = table, first

    def rows(self, pool: int, node: int) -> NDArray[np.int32]:
        """Return the rows of a pool, those of one erasure set after the other: shape (rows, columns)."""
        table = self._pools[pool].joined(range(self.stations.nodes), (self._state,))
        keys = np.arange(len(table.keyed))
        return table.take(node * len(keys) + keys, np.arange(table.shape[1]))

    def _place(self, pool: int, *part: int | str) -> Member | Bound:
        table, first = self._first[pool]
        return Member(table, first + self._positions[pool][part], ("pool", pool, *part))
