"""Choice of a group member in the reference engine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from models.network.network import Network
from models.network.station import Choice, Group


class LoadBalancer:
    """Picks members of one group.

    `present` and `outstanding` are indexed by member or, if members are columns, by the member's first station.
    """

    def __init__(self, group: Group, network: Network, draw: Callable[[int], int]):
        self.group, self.draw = group, draw
        self.joined = network.joined(group)
        self.placement: NDArray[np.int32] | None = None
        if group.table is not None and self.joined is None:
            self.placement = np.asarray(network.placements[group.table])
        names = len(group.members) if self.placement is None else len(network.stations)
        self.present = [True] * names
        self.outstanding = [0] * names
        self.picks = self.draws = 0

    def station(self, key_hash: int, member: int, position: int) -> int:
        """Return the station at a position of a member."""
        if self.joined is not None:
            return self.joined.station(key_hash % len(self.joined.keyed), member, position)
        station = self.group.members[member, position]
        if self.placement is not None:
            station = self.placement[key_hash % len(self.placement), station]
        return int(station)

    def pick(self, key_hash: int, taken: list[int], client: int) -> int:
        """Pick a present member, if possible none of `taken`; -1: none is present.

        `client`: number of the request's client, or of the request in an open loop.
        """
        if self.group.choice is Choice.CLIENT:
            chosen = client % len(self.group.members)
            self.bind(key_hash, chosen)
            return chosen
        members = [m for m in range(len(self.group.members)) if self.present[self._name(key_hash, m)]]
        candidates = [m for m in members if m not in taken] or members
        if not candidates:
            return -1
        chosen = candidates[self._place(key_hash, [self._name(key_hash, m) for m in candidates])]
        self.bind(key_hash, chosen)
        return chosen

    def bind(self, key_hash: int, member: int) -> None:
        """Count an attempt that is bound to a member."""
        self.outstanding[self._name(key_hash, member)] += 1

    def done(self, key_hash: int, member: int) -> None:
        """Record the end of an attempt that picked this member."""
        self.outstanding[self._name(key_hash, member)] -= 1

    def _name(self, key_hash: int, member: int) -> int:
        return member if self.placement is None else self.station(key_hash, member, 0)

    def _place(self, key_hash: int, candidates: list[int]) -> int:
        count = len(candidates)
        match self.group.choice:
            case Choice.HASH:
                return key_hash % count
            case Choice.ROUND_ROBIN:
                self.picks += 1
                return (self.picks - 1) % count
            case Choice.RANDOM:
                return self._random() % count
            case Choice.LEAST_OUTSTANDING:
                return min(range(count), key=lambda i: self.outstanding[candidates[i]])
        first, second = self._random() % count, self._random() % max(count - 1, 1)
        second += second >= first and count > 1
        fewer = self.outstanding[candidates[second]] < self.outstanding[candidates[first]]
        return second if fewer else first

    def _random(self) -> int:
        self.draws += 1
        return self.draw(self.draws - 1)
