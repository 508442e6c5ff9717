"""How the C library treats the memory of blocks."""

from __future__ import annotations

import ctypes
import functools

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
