"""Accesses that wait at the drives by a Trace, from which a hard disk chooses the one that its head reaches first."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from traces.trace import Pacing, Trace


def waiting_accesses(trace: Trace, accesses: NDArray[np.float64], drives: int, access_s: float) -> float:
    """Return the mean number of accesses at a drive that is busy; infinite: ever more in an overloaded open loop.

    Clients of a closed loop have one request each, which waits for the slowest of its k accesses: on average 1/H of
    them are still at drives, with the harmonic number H of k, if their times are independent and exponential (Nelson
    and Tantawi, IEEE Transactions on Computers 37(6), 1988; from memory). Time that requests are elsewhere is left
    out. In an open loop an M/M/1 queue of the mean rate has ``u / (1 - u)`` accesses.

    Args:
        trace: the requests.
        accesses: number of accesses that each request makes at the same time, on different drives, shape (requests,).
        drives: number of drives, which are used evenly.
        access_s: mean time of an access in s.
    """
    clients = _clients(trace.pacing)
    if clients is not None:
        harmonic = np.maximum(1, scipy.special.digamma(np.maximum(accesses, 1) + 1) + np.euler_gamma)
        return clients * float((accesses / harmonic).mean()) / drives
    at_once = float(accesses.sum()) / len(trace) / drives
    span_s = float(trace.arrival_s[-1]) if len(trace) else 0.0
    if len(trace) < 2 or not span_s:
        return len(trace) * at_once
    used = len(trace) / span_s * at_once * access_s
    return used / (1 - used) if used < 1 else math.inf


def _clients(pacing: Pacing) -> int | None:
    """Return the number of clients of closed loops; None for an open loop or a mixed one with such a group."""
    if pacing.loop == "mixed":
        counts = [_clients(group) for _, group in pacing.groups]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None
    return pacing.clients if pacing.loop == "closed" else None
