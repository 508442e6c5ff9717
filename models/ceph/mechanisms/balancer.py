"""The balancer: moves placement groups from OSDs that have too many of them to OSDs that have too few.

The manager's module does so for each pool in mode upmap, which is the default since Pacific, until no OSD has more than
`upmap_max_deviation` placement groups more or fewer than its weight is worth (OSDMap::calc_pg_upmaps of
src/osd/OSDMap.cc; src/pybind/mgr/balancer/module.py). Exceptions to CRUSH's choice are stored, and dropped if their OSD
is out (`models.ceph.mechanisms.given_placement.without`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

Osds = NDArray[np.int32]


def balanced(table: Osds, weight: NDArray[np.float64], domain: NDArray[np.int64], max_deviation: int) -> Osds:
    """Return the OSDs of placement groups after the balancer has moved some of them.

    Args:
        table: the OSDs that CRUSH chooses, shape (placement groups, width).
        weight: of each OSD, shape (OSDs,); OSDs of weight 0 get nothing.
        domain: the failure domain of each OSD, shape (OSDs,); a placement group has at most one OSD in each.
        max_deviation: placement groups that an OSD may have more or fewer than its fraction of all weights.

    Returns:
        same shape; each OSD keeps its position. Some deviate by more if the failure domains leave no other choice.
    """
    cluster = _Cluster(table, weight, domain)
    for osd, sign in cluster.deviating(max_deviation):
        if not cluster.relieve(osd, sign):
            cluster.give_up(osd)
    return cluster.table


class _Cluster:
    """The placement groups of each OSD, and how many these are beyond its fraction."""

    def __init__(self, table: Osds, weight: NDArray[np.float64], domain: NDArray[np.int64]):
        self.table, self._domain = table.copy(), domain.tolist()
        counts = np.bincount(table.ravel(), minlength=len(weight))
        rows = np.split(np.argsort(table.ravel(), kind="stable") // table.shape[1], np.cumsum(counts)[:-1])
        self._rows: list[list[int]] = [each.tolist() for each in rows]
        self._deviation: list[float] = (counts - table.size * weight / weight.sum()).tolist()
        self._sorted = sorted((self._deviation[osd], osd) for osd in np.flatnonzero(weight).tolist())
        self._stuck: set[int] = set()

    def deviating(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield the OSD with the most placement groups too many, then with too few, and the sign of its deviation."""
        for sign in (1, -1):
            while True:
                order = reversed(self._sorted) if sign > 0 else iter(self._sorted)
                deviation, osd = next(((d, osd) for d, osd in order if osd not in self._stuck), (0.0, -1))
                if sign * deviation <= most:
                    break
                yield osd, sign

    def give_up(self, osd: int) -> None:
        """Leave the OSD as it is."""
        self._stuck.add(osd)

    def relieve(self, osd: int, sign: int) -> bool:
        """Move a placement group from the OSD (`sign` 1) or to it (-1); return whether there is one."""
        if sign > 0:
            rows = self._rows[osd]
            return any(self._moved(row, osd, taker) for row in rows for taker in self._below(self._deviation[osd] - 1))
        givers = self._above(self._deviation[osd] + 1)
        return any(self._moved(row, giver, osd) for giver in givers for row in self._rows[giver])

    def _below(self, most: float) -> Iterator[int]:
        """Yield the OSDs that deviate by less, the least first."""
        return (osd for _, osd in takewhile(lambda each: each[0] < most, self._sorted))

    def _above(self, least: float) -> Iterator[int]:
        """Yield the OSDs that deviate by more, the most first."""
        return (osd for _, osd in takewhile(lambda each: each[0] > least, reversed(self._sorted)))

    def _moved(self, row: int, giver: int, taker: int) -> bool:
        """Move a placement group between two OSDs if no other of its OSDs is in the taker's failure domain."""
        osds = self.table[row].tolist()
        if any(self._domain[osd] == self._domain[taker] for osd in osds if osd not in (giver, -1)):
            return False
        self.table[row, osds.index(giver)] = taker
        self._rows[giver].remove(row)
        self._rows[taker].append(row)
        for osd, change in ((giver, -1), (taker, 1)):
            del self._sorted[bisect_left(self._sorted, (self._deviation[osd], osd))]
            self._deviation[osd] += change
            insort(self._sorted, (self._deviation[osd], osd))
        return True
