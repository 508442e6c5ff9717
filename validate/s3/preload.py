"""Objects that are written before a replay, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

_THREADS = 16

Object = TypeVar("Object")


class Contents(Protocol):
    """The contents of objects."""

    def parts(self, key: str, size_bytes: int) -> list[memoryview]:
        """Return those of an object."""


class Stored(Protocol):
    """An object that must exist before a replay."""

    @property
    def bucket(self) -> str: ...

    @property
    def key(self) -> str: ...

    @property
    def size_bytes(self) -> int: ...


def write_each(objects: Sequence[Object], write: Callable[[Object], None], progress: Callable[[int], None]) -> None:
    """Write objects, 16 at a time; after an error, those that have not begun are left out.

    Args:
        objects: to be written.
        write: writes one of them, and raises an error if it cannot.
        progress: is told how many have been written.
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        try:
            for done, _ in enumerate(pool.map(write, objects), start=1):
                progress(done)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
