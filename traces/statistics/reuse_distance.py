"""Reuse distances of requests.

The reuse (stack) distance of a request is the number of other objects requested since the last request for the same
object (Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970): the request
hits any LRU cache that holds more objects than that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

MOST = 1_000_000
"""Maximum number of requests to analyse; of a longer trace, these many from the middle are used."""


def reuse_distances(objects: Indices) -> Indices:
    """Return the reuse distance of each request that names an object again, in trace order.

    Args:
        objects: the object number of each request, shape (requests,).
    """
    last = previous(objects)
    again = np.flatnonzero(last >= 0)
    # All requests in between name distinct objects, except those that name an object of the same interval again.
    distance: Indices = again - last[again] - 1 - _greater_before(last[again])
    return distance


def previous(objects: Indices) -> Indices:
    """Return the index of the previous request for the same object, shape (requests,); -1 if there is none."""
    order = np.argsort(objects, kind="stable")
    same = objects[order[1:]] == objects[order[:-1]]
    result = np.full(len(objects), -1, np.int64)
    result[order[1:][same]] = order[:-1][same]
    return result


def _greater_before(values: Indices) -> Indices:
    """Return for each value the number of earlier greater ones: a merge sort, all pairs of runs of a length at once."""
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
        first = pair[order] * 2 * run  # start of the pair: a left run is complete wherever there is a right one
        below = from_left[:-1] - from_left[first]
        at = right[order]
        greater[order[at]] += run - below[at]
        run *= 2
    return greater
