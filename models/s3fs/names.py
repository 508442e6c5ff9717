"""What a mount remembers: the names that exist (`StatCache`, src/cache.cpp)."""

from __future__ import annotations

from collections import OrderedDict, defaultdict


class Names:
    """A cache of names, the least recently used of which are evicted.

    Attributes:
        entries: number of names that it holds (`max_stat_cache_size`).
        lasts_s: time in s after which a name is looked up again (`stat_cache_expire`).
    """

    def __init__(self, entries: int, lasts_s: float):
        self.entries, self.lasts_s = entries, lasts_s
        self._held: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._used = 0
        self._within = defaultdict[str, set[str]](set)  # names by the directory that they are in

    def has(self, name: str, now_s: float) -> bool:
        """Return whether a name is known; otherwise it has to be looked up."""
        found = self._held.get(name)
        if found is None or now_s - found[0] >= self.lasts_s:
            return False
        self._held.move_to_end(name)
        return True

    def keep(self, name: str, now_s: float, entries: int = 1) -> None:
        """Remember a name; a directory that was listed with as many entries."""
        self.forget(name)
        self._held[name] = now_s, entries
        self._within[_directory(name)].add(name)
        self._used += entries
        while self._used > self.entries:
            self.forget(next(iter(self._held)))

    def forget(self, name: str) -> None:
        """Forget a name."""
        if (found := self._held.pop(name, None)) is not None:
            self._used -= found[1]
            self._within[_directory(name)].discard(name)

    def known_in(self, directory: str, now_s: float) -> int:
        """Return how many names in a directory, which ends with a slash, are known one by one."""
        found = (self._held[name][0] for name in self._within.get(directory, ()))
        return sum(now_s - since_s < self.lasts_s for since_s in found)


def _directory(name: str) -> str:
    """Return the directory that a name is in, with its slash."""
    return name[: name.rstrip("/").rfind("/") + 1]
