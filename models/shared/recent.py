"""Compiled parts of a store that were made last: variants of a spec that have a part in common have it once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The values made last, by keys that are compared, not hashed, as specs cannot be."""

    def __init__(self, most: int):
        """`most`: number of values that are kept."""
        self._most = most
        self._kept: list[tuple[K, V]] = []
        self._lock = threading.Lock()

    def of(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, which is made if it is not kept; it must not be changed."""
        with self._lock:
            kept = list(self._kept)
        found = next((each for each in kept if each[0] == key), None)
        found = (key, make()) if found is None else found
        with self._lock:
            self._kept = [found, *(each for each in self._kept if each is not found)][: self._most]
        return found[1]
