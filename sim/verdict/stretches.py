"""Stretches of a run in which more requests fail, or wait, or fewer are served, than in the rest of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traces.statistics.summary import Floats

STRETCHES = 20
"""Number of equal parts of the requests in which failures are counted and the backlog may wander."""
LEAST = 10
"""Least number of requests of a stretch."""
_OF_A_PART, _MOST_PARTS = 100, 200  # least number of responses of a part in which they are counted, and most parts
_LOW = 2.0  # a slump: the usual number of responses of a part of the run, over that in it
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


@dataclass(frozen=True)
class Slump:
    """A time in which clients of a closed loop get far fewer responses than usual, in s from the start.

    Attributes:
        served_ops: responses per second in it.
    """

    start_s: float
    end_s: float
    served_ops: float


def slump_of(end_s: Floats, clients: int) -> Slump | None:
    """Return the longest slump of a closed loop; None: there is none.

    In a slump the responses are less than half of the median of equal parts of the run, and by more than chance
    explains. The time in which each client usually gets two responses does not count at the start, where all begin at
    the same time and their requests obstruct each other; nor does the last part, where they end.

    Args:
        end_s: times of responses, in any order, shape (requests,).
        clients: number of clients.
    """
    parts = slump_parts(len(end_s))
    if not parts:
        return None
    part_s = float(end_s.max()) / parts
    counts = np.histogram(end_s, parts, (0.0, part_s * parts))[0].astype(np.float64)
    return slump_in(counts, part_s, clients)


def slump_parts(responses: int) -> int:
    """Return the number of equal parts of a run in which responses are counted; 0: there are too few."""
    parts = min(responses // _OF_A_PART, _MOST_PARTS)
    return parts if parts >= STRETCHES else 0


def slump_in(counts: Floats, part_s: float, clients: int) -> Slump | None:
    """Return the longest slump, see `slump_of`, given the responses in each part, which takes `part_s`."""
    parts = len(counts)
    usual = float(np.median(counts))
    few = counts < min(usual / _LOW, usual - _DEVIATIONS * math.sqrt(usual))
    few[: max(1, math.ceil(2 * clients / max(usual, 1.0)))] = few[-1] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[False], few, [False]]).astype(np.int8)))
    begins, ends = edges[::2], edges[1::2]
    if not len(begins) or (ends - begins).max() < parts / (2 * STRETCHES):
        return None
    k = int(np.argmax(ends - begins))
    served_ops = float(counts[begins[k] : ends[k]].sum()) / ((ends[k] - begins[k]) * part_s)
    return Slump(float(begins[k] * part_s), float(ends[k] * part_s), served_ops)


def worst_stretch(
    arrival_s: Floats, failed: NDArray[Any], requests: NDArray[np.int64] | None = None
) -> FailingStretch | None:
    """Return the stretch in which requests fail most; None: fewer than `LEAST` requests are in it, or none fails.

    Args:
        arrival_s: in ascending order, shape (n,).
        failed: whether the request that arrives then fails, or how many of the `requests` do, shape (n,).
        requests: numbers of requests that arrive, shape (n,); None: one each.

    The highest fraction of the 1/`STRETCHES` parts of the requests (of at least `LEAST`) sets a level of half of it.
    The stretch is the one with the most failures above that level: the subarray with the maximum sum, where a failure
    counts 1 and each request -level.
    """
    before = np.arange(len(arrival_s) + 1) if requests is None else np.concatenate([[0], np.cumsum(requests)])
    count = int(before[-1])
    if count < LEAST or not failed.any():
        return None
    size = max(LEAST, -(-count // STRETCHES))
    total = np.concatenate([[0], np.cumsum(failed)])
    begins = np.searchsorted(before, np.clip(np.arange(0, count, size), 0, max(0, count - size)), side="right") - 1
    ends = np.minimum(np.searchsorted(before, before[begins] + size), len(arrival_s))
    highest = float(((total[ends] - total[begins]) / (before[ends] - before[begins])).max())
    above = total - highest / 2 * before
    end = int(np.argmax(above - np.minimum.accumulate(above)))
    begin = int(np.argmin(above[: end + 1]))
    found = int(before[end] - before[begin])
    if found < LEAST:
        return None
    return FailingStretch(float(arrival_s[begin]), float(arrival_s[end - 1]), found, int(total[end] - total[begin]))


def jam_of(arrival_s: Floats, in_flight: NDArray[np.int64], requests: int | None = None) -> Jam | None:
    """Return the worst jam of an open loop; None: there is none.

    In a jam the number in flight exceeds that at most times by far more than chance explains: in a stretch with n
    arrivals it wanders by a few √n.

    Args:
        arrival_s: times in ascending order, at which requests arrive, shape (n,).
        in_flight: requests in flight then, shape (n,).
        requests: number of all requests; None: one arrives at each time.
    """
    if not len(arrival_s):
        return None
    count = len(arrival_s) if requests is None else requests
    limit = _TIMES * float(np.median(in_flight)) + _DEVIATIONS * math.sqrt(max(LEAST, count / STRETCHES))
    top = int(np.argmax(in_flight))
    if in_flight[top] <= limit:
        return None
    below = np.flatnonzero(in_flight <= limit)
    after = int(np.searchsorted(below, top))
    begin = int(below[after - 1]) + 1 if after else 0
    end = int(below[after]) - 1 if after < len(below) else len(arrival_s) - 1
    return Jam(float(arrival_s[begin]), float(arrival_s[end]), int(in_flight[top]))
