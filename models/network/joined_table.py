"""Placement tables, of which one may be joined of one of keys and one of coordinators, and stations of visits there.

The stations of a request to an object store depend on the object's key, which has an erasure set, and on the node that
receives the request, its *coordinator*. A table with a row for each pair of them would grow with the square of the
cluster, although most of its columns depend on one of the two alone. So there is a row for each key, one for each
coordinator, and *joins*, which say what each column takes from which of the two. All keys of a layout have the same
joins: one for a coordinator that has nothing of the key, and one for each coordinator that is *near*, because it has
some of the drives itself. Memory is linear in keys and coordinators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.network.station import Bound, Group, Member

Ints = NDArray[np.int64]
Stations = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class JoinedTable:
    """A table with a row for each coordinator and key: first those of the first coordinator, key after key.

    Attributes:
        keyed: stations of each key's parts, shape (keys, parts of a key).
        coordinators: stations of each coordinator's parts, shape (coordinators, parts of a coordinator). If the cluster
            changes, the coordinators of each epoch follow those of the one before.
        joins: the part that each column takes, shape (joins, columns): -1 - number of a part, those of the key before
            those of the coordinator; a number that is not below 0 is that of a station.
        first_join: the join of each epoch's coordinators that are not near a key, shape (epochs, keys). Those of the
            key's near ones follow it, in their order.
        near: numbers, within an epoch, of the coordinators that are near each key, shape (keys, near); any other number
            stands for none. Of equal numbers, the first one counts.
    """

    keyed: Stations
    coordinators: Stations
    joins: Stations
    first_join: Stations
    near: Stations

    def __post_init__(self) -> None:
        keys, epochs = len(self.keyed), len(self.first_join)
        if not epochs or len(self.coordinators) % epochs or not len(self.coordinators):
            raise ValueError("a joined table has as many coordinators in each epoch, at least one")
        if not keys or self.first_join.shape[1] != keys or len(self.near) != keys:
            raise ValueError("a joined table has a join in each epoch, and near coordinators, for each key")
        last = self.first_join + self.near.shape[1]
        if self.first_join.min() < 0 or last.max() >= len(self.joins):
            raise ValueError("a joined table names a join that does not exist")
        if self.joins.size == 0 or self.joins.min() < -self._parts:
            raise ValueError("a join names a part that does not exist")

    def __len__(self) -> int:
        return int(len(self.coordinators) * len(self.keyed))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self), int(self.joins.shape[1])

    @property
    def per_epoch(self) -> int:
        """Number of coordinators in each epoch."""
        return len(self.coordinators) // len(self.first_join)

    @property
    def _parts(self) -> int:
        return int(self.keyed.shape[1] + self.coordinators.shape[1])

    def range(self) -> tuple[int, int]:
        """Return the least and the greatest index of a station in the table."""
        named = [part for part in (self.keyed, self.coordinators, self.joins[self.joins >= 0]) if part.size]
        return int(min(part.min() for part in named)), int(max(part.max() for part in named))

    def station(self, key: int, coordinator: int, column: int) -> int:
        """Return the station of a key and a coordinator in a column."""
        epoch, number = divmod(coordinator, self.per_epoch)
        near = self.near[key].tolist()
        join = self.first_join[epoch, key] + (1 + near.index(number) if number in near else 0)
        part = int(self.joins[join, column])
        if part >= 0:
            return part
        of_key = self.keyed.shape[1]
        part = -1 - part
        return int(self.keyed[key, part] if part < of_key else self.coordinators[coordinator, part - of_key])

    def take(self, rows: Ints, columns: Ints | Stations) -> Stations:
        """Return the stations of rows, shape (rows, columns)."""
        coordinator, key = np.divmod(rows, len(self.keyed))
        epoch, number = np.divmod(coordinator, self.per_epoch)
        is_near = np.hstack([self.near[key] == number[:, None], np.ones((len(rows), 1), bool)])
        place = is_near.argmax(axis=1)  # that of the last column, if none
        join = self.first_join[epoch, key] + np.where(place < self.near.shape[1], 1 + place, 0)
        found = np.empty((len(rows), len(columns)), np.int32)
        for each in np.unique(join):  # there are few
            mine = np.flatnonzero(join == each)
            found[mine] = self._joined(self.joins[each, columns], key[mine], coordinator[mine])
        return found

    def _joined(self, parts: Stations, key: Ints, coordinator: Ints) -> Stations:
        """Return the stations of pairs of a key and a coordinator with one join, shape (pairs, parts)."""
        of_key = self.keyed.shape[1]
        found = np.broadcast_to(parts, (len(key), len(parts))).copy()
        number = -1 - parts
        mine = np.flatnonzero((number >= 0) & (number < of_key))
        found[:, mine] = self.keyed[key[:, None], number[mine]]
        mine = np.flatnonzero(number >= of_key)
        found[:, mine] = self.coordinators[coordinator[:, None], number[mine] - of_key]
        return found

    def counts(self, column: int, stations: int, present: NDArray[np.bool_] | None = None) -> Ints:
        """Return how often each station stands in a column, shape (stations,).

        Args:
            column: number of the column.
            stations: number of stations of the network.
            present: coordinators whose rows count, shape (coordinators,); None: all.
        """
        present = np.ones(len(self.coordinators), bool) if present is None else present
        known = column, present.tobytes()
        if known not in self._counted:
            found = self._count(column, present)
            self._counted[known] = (where := np.flatnonzero(found)), found[where]
        where, times = self._counted[known]
        counts = np.zeros(stations, np.int64)
        counts[where] = times
        return counts

    @cached_property
    def _counted(self) -> dict[tuple[int, bytes], tuple[Ints, Ints]]:
        """The stations of columns that have been counted, and how often they stand there."""
        return {}

    def _count(self, column: int, present: NDArray[np.bool_]) -> Ints:
        """Return how often each station stands in a column, without a row for each pair: shape (any, at most all)."""
        found = np.zeros(self.range()[1] + 1, np.int64)
        of_key = self.keyed.shape[1]

        def add(named: Stations, times: Ints | int = 1) -> None:
            if isinstance(times, int):
                found[: named.max(initial=-1) + 1] += times * np.bincount(named)
            else:  # whole numbers, which sums of floats have exactly
                found[: named.max(initial=-1) + 1] += np.bincount(named, weights=times).astype(np.int64)

        in_epoch = present.reshape(len(self.first_join), -1)
        epochs = set(np.flatnonzero(in_epoch.any(axis=1)).tolist())
        parts = (-1 - self.joins[:, column]).tolist()
        per_epoch = self.per_epoch
        for epoch, join, keys, number in self._pairs:
            if epoch not in epochs:
                continue
            here, part, first = in_epoch[epoch], parts[join], epoch * per_epoch
            own = self.coordinators[first : first + per_epoch, part - of_key if part >= of_key else 0]
            if number is not None:  # those that are near
                keys, number = keys[here[number]], number[here[number]]
                if part < 0:
                    found[-1 - part] += len(keys)
                else:
                    add(self.keyed[keys, part] if part < of_key else own[number])
                continue
            near, place = np.nonzero(self._is_near[keys])
            number = self.near[keys[near], place].astype(np.int64)
            near, number = near[here[number]], number[here[number]]
            others = here.sum() - np.bincount(near, minlength=len(keys))
            if part < 0:
                found[-1 - part] += others.sum()
            elif part < of_key:
                add(self.keyed[keys, part], others)
            else:
                add(own[here], len(keys))
                add(own[number], -1)
        return found

    @cached_property
    def _pairs(self) -> list[tuple[int, int, Ints, Ints | None]]:
        """The pairs of keys and coordinators by epoch and join: the keys, and the coordinators; None: all others."""
        found: list[tuple[int, int, Ints, Ints | None]] = []
        for epoch, first_join in enumerate(self.first_join):
            for first in np.unique(first_join).tolist():
                keys = np.flatnonzero(first_join == first)
                found.append((epoch, first, keys, None))
                for place in range(self.near.shape[1]):
                    mine = keys[self._is_near[keys, place]]
                    if len(mine):
                        found.append((epoch, first + 1 + place, mine, self.near[mine, place].astype(np.int64)))
        return found

    @cached_property
    def _is_near(self) -> NDArray[np.bool_]:
        """Whether each entry of `near` is a coordinator, and the first entry that is this one."""
        wide = self.near.shape[1]
        first = np.ones_like(self.near, bool)
        for place in range(1, wide):
            first[:, place] = (self.near[:, :place] != self.near[:, place, None]).all(axis=1)
        return np.asarray(first & (self.near >= 0) & (self.near < self.per_epoch))


PlacementTable = Stations | JoinedTable
"""Stations of each row, shape (rows, columns), as an array or joined from two tables."""


def take(table: PlacementTable, rows: Ints, columns: Ints | Stations) -> Stations:
    """Return the stations of rows of a table, shape (rows, columns)."""
    return table.take(rows, columns) if isinstance(table, JoinedTable) else table[rows[:, None], columns]


def counts(table: PlacementTable, column: int, stations: int) -> Ints:
    """Return how often each station stands in a column of a table, shape (stations,)."""
    if isinstance(table, JoinedTable):
        return table.counts(column, stations)
    return np.bincount(table[:, column], minlength=stations)


def first_station(where: int | Member | Bound, placements: Sequence[PlacementTable], groups: Sequence[Group]) -> int:
    """Return the station of a visit for the first row of a placement table and the first member of a group."""
    first = np.zeros(1, np.int64)
    if isinstance(where, Bound):
        group = groups[where.group]
        if group.table is None:
            return int(group.members[0, where.position])
        table = placements[group.table]
        column = where.position if isinstance(table, JoinedTable) else int(group.members[0, where.position])
        where = Member(group.table, column)
    if isinstance(where, Member):
        return int(take(placements[where.table], first, np.array([where.position]))[0, 0])
    return int(where)


def station_counts(
    where: int | Member | Bound,
    stations: int,
    placements: Sequence[PlacementTable],
    groups: Sequence[Group],
    present: NDArray[np.bool_] | None = None,
) -> Ints:
    """Return in how many cases a visit takes place at each station, shape (stations,).

    Each row of a placement table, each member of a group, and each pair of both is a case.

    Args:
        where: where the visit takes place.
        stations: number of stations of the network.
        placements, groups: those of the network.
        present: members of the group that may be chosen, shape (members,); None: all.
    """
    if isinstance(where, Member):
        return counts(placements[where.table], where.position, stations)
    if not isinstance(where, Bound):
        return np.bincount([where], minlength=stations)
    group = groups[where.group]
    present = np.ones(len(group.members), bool) if present is None else present
    if group.table is None:
        return np.bincount(group.members[present, where.position], minlength=stations)
    table = placements[group.table]
    if isinstance(table, JoinedTable):
        return table.counts(where.position, stations, present)
    return np.bincount(table[:, group.members[present, where.position]].ravel(), minlength=stations)


def stations_of_members(
    where: Bound, key_hash: NDArray[np.uint64], members: Ints, placements: Sequence[PlacementTable],
    groups: Sequence[Group],
) -> NDArray[np.int32]:  # fmt: skip
    """Return the station of a visit for each request, given its key's hash and the member chosen, same shape."""
    group = groups[where.group]
    if group.table is None:
        return np.asarray(group.members[members, where.position])
    table = placements[group.table]
    if isinstance(table, JoinedTable):
        key = (key_hash % np.uint64(len(table.keyed))).astype(np.int64)
        return table.take(members * len(table.keyed) + key, np.array([where.position]))[:, 0]
    row = (key_hash % np.uint64(len(table))).astype(np.int64)
    return np.asarray(table[row, group.members[members, where.position]])
