"""Reuse distances of requests, in objects and in bytes.

The reuse (stack) distance of a request is the number of other objects requested since the last request for the same
object (Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970): the request
hits any LRU cache that holds more objects than that. In bytes, it is the total size of these objects.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

MOST = 1_000_000
"""Maximum number of requests to analyse; of a longer trace, these many from the middle are used."""


def middle(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the part of a trace's column that is analysed: all, or `MOST` requests from the middle."""
    first = max((len(values) - MOST) // 2, 0)
    return values[first : first + MOST]


def reuse_distances(objects: Indices) -> Indices:
    """Return the reuse distance of each request that names an object again, in trace order.

    Args:
        objects: the object number of each request, shape (requests,).
    """
    last = previous(objects)
    again = np.flatnonzero(last >= 0)
    # All requests in between name distinct objects, except those that name an object of the same interval again.
    distance: Indices = again - last[again] - 1 - _sum_of_greater_before(last[again], None)
    return distance


def reuse_distances_bytes(objects: Indices, size_bytes: Indices) -> Indices:
    """Return the bytes of the other objects requested since the last request for the same object.

    Args:
        objects: the object number of each request, shape (requests,).
        size_bytes: the size of the object of each request, shape (requests,).

    Returns:
        One element for each request that names an object again, in trace order.
    """
    last = previous(objects)
    again = np.flatnonzero(last >= 0)
    total = np.concatenate([[0], np.cumsum(size_bytes)])
    between = total[again] - total[last[again] + 1]
    distance: Indices = between - _sum_of_greater_before(last[again], size_bytes[again])
    return distance


def previous(objects: Indices) -> Indices:
    """Return the index of the previous request for the same object, shape (requests,); -1 if there is none."""
    order = np.argsort(objects, kind="stable")
    same = objects[order[1:]] == objects[order[:-1]]
    result = np.full(len(objects), -1, np.int64)
    result[order[1:][same]] = order[:-1][same]
    return result


def _sum_of_greater_before(values: Indices, weights: Indices | None) -> Indices:
    """Return for each of distinct values the sum of the weights of earlier greater ones; without weights, their number.

    A radix sort of the ranks from the highest bit. At each bit, the ranks that agree in all higher bits occupy the
    places of their own range, in their original order: those with a 0 add up the ones before them.
    """
    n = len(values)
    order = np.argsort(values, kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    weight = None if weights is None else weights.astype(np.int64)
    at, found, place = rank, np.zeros(n, np.int64), np.arange(n)
    for bit in reversed(range(max(n - 1, 0).bit_length())):
        first = (at >> (bit + 1)) << (bit + 1)
        is_one = (at >> bit & 1).astype(bool)
        ones = _exclusive_sum(is_one.astype(np.int64))
        ones_before = ones[:-1] - ones[first]
        if weight is None:
            sum_before = ones_before
        else:
            heavy = _exclusive_sum(np.where(is_one, weight, 0))
            sum_before = heavy[:-1] - heavy[first]
        found += np.where(is_one, 0, sum_before)
        to = np.where(is_one, first + (1 << bit) + ones_before, place - ones_before)
        at, found, weight = _moved(at, to), _moved(found, to), None if weight is None else _moved(weight, to)
    result: Indices = found[rank]
    return result


def _exclusive_sum(values: Indices) -> Indices:
    """Return the sum of the values before each place, shape (values + 1,)."""
    result = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=result[1:])
    return result


def _moved(values: Indices, to: Indices) -> Indices:
    result = np.empty_like(values)
    result[to] = values
    return result
