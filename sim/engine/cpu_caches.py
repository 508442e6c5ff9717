"""CPU cache warm-up of a station (`network.Caches`), as pure functions for both engines.

The *warm fraction* is the mean fraction of the servers' caches whose contents are still there.
"""

from __future__ import annotations

import math


def cooled(warm_fraction: float, idle_s: float, decay_s: float) -> float:
    """Return the warm fraction after an idle time; if only a fraction of the servers was idle, `idle_s` is scaled."""
    return warm_fraction * math.exp(-idle_s / decay_s)


def cold_time_s(warm_fraction: float, work_s: float, cold_penalty_s: float, warm_up_s: float) -> float:
    """Return the additional service time of work that begins at that warm fraction."""
    return cold_penalty_s * (1 - warm_fraction) * (1 - math.exp(-work_s / warm_up_s))


def warmed(warm_fraction: float, work_s: float, warm_up_s: float) -> float:
    """Return the warm fraction after work; with several servers, `work_s` is the work per server."""
    return 1 - (1 - warm_fraction) * math.exp(-work_s / warm_up_s)
