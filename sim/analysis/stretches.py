"""Stretches of a run in which more requests fail, or wait, than in the rest of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traces.statistics.summary import Floats

STRETCHES = 20
"""Number of equal parts of the requests in which failures are counted and the backlog may wander."""
LEAST = 10
"""Least number of requests of a stretch."""
_TIMES, _DEVIATIONS = 3.0, 5.0  # a jam: in flight, times the median, and times √n of a stretch above it


@dataclass(frozen=True)
class FailingStretch:
    """The time in which requests of an operation fail most, from the first of them to the last, in s from the start.

    Attributes:
        requests, failed: numbers of those that arrive in it.
    """

    start_s: float
    end_s: float
    requests: int
    failed: int

    @property
    def errors(self) -> float:
        """Fraction of the requests that fail."""
        return self.failed / self.requests


@dataclass(frozen=True)
class Jam:
    """A time in which requests pile up and then are served, in s from the start.

    Attributes:
        in_flight: the greatest number of requests in flight.
    """

    start_s: float
    end_s: float
    in_flight: int


def worst_stretch(arrival_s: Floats, failed: NDArray[np.bool_]) -> FailingStretch | None:
    """Return the stretch in which requests fail most; None: fewer than `LEAST` requests are in it, or none fails.

    Args:
        arrival_s: in ascending order, shape (requests,).
        failed: shape (requests,).

    The highest fraction of the 1/`STRETCHES` parts of the requests (of at least `LEAST`) sets a level of half of it.
    The stretch is the one with the most failures above that level: the subarray with the maximum sum, where a failure
    counts 1 and each request -level.
    """
    count = len(arrival_s)
    if count < LEAST or not failed.any():
        return None
    size = max(LEAST, -(-count // STRETCHES))
    total = np.concatenate([[0], np.cumsum(failed)])
    begins = np.minimum(np.arange(0, count, size), count - size) if count >= size else np.array([0])
    highest = float((total[np.minimum(begins + size, count)] - total[begins]).max()) / min(size, count)
    above = total - highest / 2 * np.arange(count + 1)
    end = int(np.argmax(above - np.minimum.accumulate(above)))
    begin = int(np.argmin(above[: end + 1]))
    if end - begin < LEAST:
        return None
    lost = int(total[end] - total[begin])
    return FailingStretch(float(arrival_s[begin]), float(arrival_s[end - 1]), end - begin, lost)


def jam_of(arrival_s: Floats, in_flight: NDArray[np.int64]) -> Jam | None:
    """Return the worst jam of an open loop; None: there is none.

    In a jam the number in flight exceeds that at most times by far more than chance explains: in a stretch with n
    arrivals it wanders by a few √n.

    Args:
        arrival_s: in ascending order, shape (requests,).
        in_flight: requests in flight when each one arrives, shape (requests,).
    """
    if not len(arrival_s):
        return None
    limit = _TIMES * float(np.median(in_flight)) + _DEVIATIONS * math.sqrt(max(LEAST, len(arrival_s) / STRETCHES))
    top = int(np.argmax(in_flight))
    if in_flight[top] <= limit:
        return None
    below = np.flatnonzero(in_flight <= limit)
    after = int(np.searchsorted(below, top))
    begin = int(below[after - 1]) + 1 if after else 0
    end = int(below[after]) - 1 if after < len(below) else len(arrival_s) - 1
    return Jam(float(arrival_s[begin]), float(arrival_s[end]), int(in_flight[top]))
