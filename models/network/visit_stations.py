"""The stations at which a visit may take place, if that depends on the key or on a choice at run time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.network.joined_table import Ints, JoinedTable, PlacementTable, counts, take
from models.network.station import Bound, Group, Member


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
