"""How soon requests come back to an object: reuse distances.

The reuse (stack) distance of a request is how many other objects were named since the last request of its own object
(Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970): an LRU cache that
holds more objects than that answers it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

MOST = 1_000_000
"""Of more requests, so many from the middle are looked at."""


def reuse_distances(objects: Indices) -> Indices:
    """The distance of each request that names an object again, in their order.

    Args:
        objects: the number of each request's object.
    """
    last = previous(objects)
    again = np.flatnonzero(last >= 0)
    # Between both are all requests but those which come back to something in between.
    distance: Indices = again - last[again] - 1 - _greater_before(last[again])
    return distance


def previous(objects: Indices) -> Indices:
    """The place of the last request of the same object; -1 where there is none."""
    order = np.argsort(objects, kind="stable")
    same = objects[order[1:]] == objects[order[:-1]]
    result = np.full(len(objects), -1, np.int64)
    result[order[1:][same]] = order[:-1][same]
    return result


def _greater_before(values: Indices) -> Indices:
    """For each value how many earlier ones are greater: a merge sort, all pairs of runs of a length at a time."""
    n = len(values)
    rank = np.empty(n, np.int64)
    rank[np.argsort(values, kind="stable")] = np.arange(n)
    greater = np.zeros(n, np.int64)
    place = np.arange(n)
    run = 1
    while run < n:
        pair, right = place // (2 * run), (place // run) % 2 == 1
        order = np.lexsort((rank, pair))  # each pair of runs, merged
        from_left = np.concatenate([[0], np.cumsum(~right[order])])
        first = pair[order] * 2 * run  # where the pair begins: left runs are whole wherever there is a right one
        below = from_left[:-1] - from_left[first]
        at = right[order]
        greater[order[at]] += run - below[at]
        run *= 2
    return greater
