"""How warm a station's servers are: what engines make of `network.Caches`. Pure, and the same for both engines.

*Warmth* is the mean fraction of the servers' caches that is not lost.
"""

from __future__ import annotations

import math


def cooled(warm_fraction: float, idle_s: float, decay_s: float) -> float:
    """The warmth after `idle_s` in which all servers were idle, or a longer time in which some were."""
    return warm_fraction * math.exp(-idle_s / decay_s)


def cold_time_s(warm_fraction: float, work_s: float, cold_penalty_s: float, warm_up_s: float) -> float:
    """What work takes longer that begins at that warmth."""
    return cold_penalty_s * (1 - warm_fraction) * (1 - math.exp(-work_s / warm_up_s))


def warmed(warm_fraction: float, work_s: float, warm_up_s: float) -> float:
    """The warmth after work; of several servers, `work_s` is a server's share of it."""
    return 1 - (1 - warm_fraction) * math.exp(-work_s / warm_up_s)
