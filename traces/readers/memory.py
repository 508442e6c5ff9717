"""Memory of blocks: how the C library treats it, and what each thread keeps."""

from __future__ import annotations

import ctypes
import functools
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h of glibc
_KEPT_BYTES = 32 << 20  # more than a block; the most that glibc takes


@functools.cache
def keep_freed_memory() -> None:
    """Have the process keep the blocks that it frees for those that come next.

    glibc gives large ones back to the system, and each that is taken anew is paged in again while all other threads of
    the process are halted: two threads then read a log no faster than one. Other C libraries are left as they are.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
    mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)


class Room(threading.local):
    """A thread's own memory for the block that it reads, kept for its next one: fresh memory would be paged in.

    It allocates twice the requested size, for later blocks. Pages that are never touched take no memory.
    """

    def __init__(self, row: np.dtype[Any]) -> None:
        """Begin without any.

        Args:
            row: what a row consists of.
        """
        self._text = np.empty(0, np.uint8)
        self._rows = np.empty(0, row)

    def text(self, size: int, kept: int = 0) -> NDArray[np.uint8]:
        """Return a buffer of `size` bytes, whose first `kept` bytes are preserved from earlier calls."""
        if len(self._text) < size:
            larger, held = np.empty(2 * size, np.uint8), self._text[:kept]
            larger[: len(held)] = held
            self._text = larger
        return self._text[:size]

    def rows(self, count: int) -> NDArray[np.void]:
        """Return `count` uninitialised rows."""
        if len(self._rows) < count:
            self._rows = np.empty(2 * count, self._rows.dtype)
        return self._rows[:count]
