"""Hit ratios of LRU caches, exact, from reuse distances.

A cache that evicts the least recently used objects first holds the most recent ones up to its capacity, so a request
hits if its object and all others requested since its last request fit together (Mattson et al. 1970, see
`traces.statistics.reuse_distance`). An object larger than the cache is not admitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traces.statistics.reuse_distance import Indices, previous, reuse_distances, reuse_distances_bytes

FRACTIONS = (0.001, 0.01, 0.1)
"""Cache sizes, as fractions of the footprint, at which traces are compared."""


@dataclass(frozen=True)
class HitRatios:
    """Hit ratios of an LRU cache of a fraction of the footprint.

    Attributes:
        fraction: capacity of the cache as a fraction of the footprint, of objects or of bytes.
        of_objects: fraction of requests that hit if the capacity is a number of objects.
        of_bytes: fraction of requests that hit if the capacity is a number of bytes.
        bytes_of_bytes: the same, weighted by the size of the objects.
    """

    fraction: float
    of_objects: float
    of_bytes: float
    bytes_of_bytes: float


def footprint_bytes(objects: Indices, size_bytes: Indices) -> int:
    """Return the total size of all objects requested, each at its largest size.

    Args:
        objects: the object number of each request, from 0, shape (requests,).
        size_bytes: the size of the object of each request, shape (requests,).
    """
    largest = np.zeros(int(objects.max()) + 1 if len(objects) else 0, np.int64)
    np.maximum.at(largest, objects, size_bytes)
    return int(largest.sum())


def lru_hits(objects: Indices, size_bytes: Indices, capacity_bytes: float) -> NDArray[np.bool_]:
    """Return whether each request hits an LRU cache of limited bytes, empty at first, shape (requests,)."""
    admitted = np.flatnonzero(size_bytes <= capacity_bytes)
    kept, sizes = objects[admitted], size_bytes[admitted]
    again = previous(kept) >= 0
    hits = np.zeros(len(objects), bool)
    hits[admitted[again]] = reuse_distances_bytes(kept, sizes) + sizes[again] <= capacity_bytes
    return hits


def hit_ratios(objects: Indices, size_bytes: Indices, fractions: tuple[float, ...] = FRACTIONS) -> list[HitRatios]:
    """Return the hit ratios of LRU caches of several fractions of the footprint, empty at first.

    Args:
        objects: the object number of each request, from 0, shape (requests,), not empty.
        size_bytes: the size of the object of each request, shape (requests,).
        fractions: capacities of the caches as fractions of the footprint.
    """
    requests, distinct = len(objects), len(np.unique(objects))
    footprint, moved = footprint_bytes(objects, size_bytes), int(size_bytes.sum())
    in_objects = reuse_distances(objects)
    again = previous(objects) >= 0
    own = size_bytes[again]
    in_bytes = reuse_distances_bytes(objects, size_bytes) + own
    largest = int(size_bytes.max())
    found = []
    for fraction in fractions:
        capacity = fraction * footprint
        if largest > capacity:
            hits = lru_hits(objects, size_bytes, capacity)
            count, hit_bytes = int(hits.sum()), int(size_bytes[hits].sum())
        else:
            count, hit_bytes = int((in_bytes <= capacity).sum()), int(own[in_bytes <= capacity].sum())
        within = int((in_objects + 1 <= fraction * distinct).sum())
        found.append(HitRatios(fraction, within / requests, count / requests, hit_bytes / moved if moved else 0.0))
    return found
