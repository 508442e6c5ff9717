"""How warm a station's servers are: what engines make of `network.Caches`. Pure, and the same for both engines.

*Warmth* is the mean fraction of the servers' caches that is not lost.
"""

from __future__ import annotations

import math


def cooled(warmth: float, idle_s: float, cooling_s: float) -> float:
    """The warmth after `idle_s` in which all servers were idle, or a longer time in which some were."""
    return warmth * math.exp(-idle_s / cooling_s)


def refill_time_s(warmth: float, work_s: float, refill_s: float, warming_s: float) -> float:
    """What work takes longer that begins at that warmth."""
    return refill_s * (1 - warmth) * (1 - math.exp(-work_s / warming_s))


def warmed(warmth: float, work_s: float, warming_s: float) -> float:
    """The warmth after work; of several servers, `work_s` is a server's share of it."""
    return 1 - (1 - warmth) * math.exp(-work_s / warming_s)
