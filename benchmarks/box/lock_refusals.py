"""How often a PUT finds its own earlier lock: releases that are overtaken, and the quorum of lock servers.

Since 2025-07-23 a PUT looks up its object under a read lock first. It does not wait for the release of that lock, and
asks for the write lock at once. A server handles both messages in threads of their own, so the second may overtake the
first; the server refuses then. If too many servers refuse, the PUT pauses
(`models.minio.requests.routes.RETRY_S`) and asks again.

With a release that is `lead` ahead, and waits for cores that are exponential with mean 1 at both, the request overtakes
it with the probability exp(-lead) / 2. Waits grow with the load of the cores, as 1 / (1 - utilization).
"""

from __future__ import annotations

import math


def refused_fraction(lockers: int, overtaken: float) -> float:
    """Return the probability that a write lock is refused.

    Args:
        lockers: number of lock servers, of which more than half must grant it.
        overtaken: probability that a server handles the request before the release.
    """
    spare = lockers - (lockers // 2 + 1)
    granted = (math.comb(lockers, k) * overtaken**k * (1 - overtaken) ** (lockers - k) for k in range(spare + 1))
    return max(0.0, 1 - sum(granted))


def overtaken_fraction(lockers: int, refused: float) -> float:
    """Return the inverse of `refused_fraction`: how often a request overtakes a release, at most half of the time."""
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if refused_fraction(lockers, middle) < refused else (low, middle)
    return (low + high) / 2


def overtaken_at(utilization: float, idle_lead: float) -> float:
    """Return how often a request overtakes a release at a utilization of the cores.

    Args:
        utilization: fraction of the time that cores are busy.
        idle_lead: by how much a release is ahead, in mean waits on cores that are idle.
    """
    return math.exp(-idle_lead * (1 - min(utilization, 1.0))) / 2


def idle_lead(utilization: float, overtaken: float) -> float:
    """Return the lead with which `overtaken_at` gives a fraction."""
    return max(0.0, -math.log(max(2 * overtaken, 1e-9)) / max(1 - utilization, 1e-3))
