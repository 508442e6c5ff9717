"""Places of work that one node does for one pool or several, in one state of the cluster."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from models.minio.cluster.epochs import Epoch
from models.minio.cluster.places import Places
from models.network.station import Bound, Member


class FixedPlaces(Places):
    """The columns of `Places` for a node that is given, without what depends on the time."""

    def __init__(self, places: Places, first: Mapping[int, tuple[int, int]], state: Epoch):
        """`first` has, for each pool that the work visits, its table and the column at which its part begins."""
        vars(self).update(vars(copy.copy(places)))
        self._first, self._state = dict(first), state
        self.epochs, self.hangs, self.bound = (Epoch(),), (), False
        count = len(self.stations.pools)
        self.mixed, self.local = [True] * count, [0] * count

    def add(self, pool: int, table: int, first: int) -> None:
        """Place the columns of a further pool in a table, from a column on."""
        self._first[pool] = table, first

    def rows(self, pool: int, node: int) -> NDArray[np.int32]:
        """Return the rows of a pool, those of one erasure set after the other: shape (rows, columns)."""
        return np.asarray(self.block(pool, node, self._state, self.stations.nowhere), np.int32)

    def _place(self, pool: int, column: int, *part: int | str) -> Member | Bound:
        table, first = self._first[pool]
        return Member(table, first + column, ("pool", pool, *part))
