"""How the reference engine picks a member of a group."""

from __future__ import annotations

from collections.abc import Callable

from models.network import Choice, Group


class LoadBalancer:
    """Picks members of one group."""

    def __init__(self, group: Group, draw: Callable[[int], int]):
        self.group, self.draw = group, draw
        self.present = [True] * len(group.members)
        self.outstanding = [0] * len(group.members)
        self.picks = self.draws = 0

    def pick(self, key_hash: int, taken: list[int]) -> int:
        """A member that is present, if possible none of `taken`; -1 where none is present."""
        candidates = [m for m, present in enumerate(self.present) if present and m not in taken]
        candidates = candidates or [m for m, present in enumerate(self.present) if present]
        if not candidates:
            return -1
        chosen = candidates[self._place(key_hash, candidates)]
        self.outstanding[chosen] += 1
        return chosen

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
