"""An LRU cache that holds a number of bytes, simulated exactly.

Entries may be objects or parts of them. An access to an entry that the cache holds is a hit and makes the entry the
most recent one. Otherwise the entry is loaded, and the least recent ones are evicted until all fit.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

_CHUNK = 1 << 18


def lru_hits(
    entries: NDArray[np.int64],
    size_bytes: NDArray[np.int64],
    capacity_bytes: int,
    drops: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Return whether the cache holds the entry of each access when it is made, shape (accesses,); at first it is empty.

    An access with another size replaces the entry. Entries larger than the cache are never held.

    Args:
        entries: number of the entry of each access, in their order, shape (accesses,).
        size_bytes: its size, same shape.
        capacity_bytes: size of the cache.
        drops: whether an access removes the entry instead of loading it, same shape; None: none does.
    """
    hits = np.zeros(len(entries), bool)
    held: OrderedDict[int, int] = OrderedDict()
    get, renew, evict = held.get, held.move_to_end, held.popitem
    used = 0
    for first in range(0, len(entries), _CHUNK):
        rows = slice(first, first + _CHUNK)
        removes = repeat(False) if drops is None else drops[rows].tolist()
        found = []
        for entry, size, drop in zip(entries[rows].tolist(), size_bytes[rows].tolist(), removes, strict=False):
            before = get(entry)
            found.append(before is not None)
            if before == size and not drop:
                renew(entry)
                continue
            if before is not None:
                del held[entry]
                used -= before
            if not drop and size <= capacity_bytes:
                held[entry] = size
                used += size
                while used > capacity_bytes:
                    used -= evict(last=False)[1]
        hits[rows] = found
    return hits
