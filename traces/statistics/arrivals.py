"""The rate at which the requests of an open loop arrive."""

from __future__ import annotations

import numpy as np

from traces.statistics.summary import Floats

_BY_CHANCE = 1e-4  # probability of a last gap of a Poisson process from which the requests, not the time, ended


def arrival_span_s(arrival_s: Floats, duration_s: float | None) -> float:
    """Return the time in which the requests of an open loop arrive, in s from 0.

    It is the duration, unless the requests ended before: then it is the time of the last arrival. They did if the time
    after the last arrival is longer than chance explains, compared with the mean gap between the others. In a Poisson
    process of n gaps with mean m, a further gap exceeds k m with probability (1 + k/n)⁻ⁿ, as their ratio has an F
    distribution with 2 and 2n degrees of freedom.

    Args:
        arrival_s: times of arrival in any order, shape (requests,); those from the duration on do not count.
        duration_s: no request arrives at or after this time; None: unlimited.
    """
    limit_s = np.inf if duration_s is None else duration_s
    arrived_s = arrival_s[arrival_s < limit_s]
    last_s = float(arrived_s.max(initial=0.0))
    if duration_s is None:
        return last_s
    count = len(arrived_s)
    if not count or not last_s:
        return duration_s
    longest = count * (_BY_CHANCE ** (-1 / count) - 1)  # in mean gaps
    return last_s if (duration_s - last_s) * count > longest * last_s else duration_s


def arrival_rate_ops(arrival_s: Floats, duration_s: float | None) -> float:
    """Return the requests per second of an open loop over the time in which they arrive (`arrival_span_s`).

    Returns:
        0 without requests, infinite if all of them arrive at 0.
    """
    count = int((arrival_s < (np.inf if duration_s is None else duration_s)).sum())
    if not count:
        return 0.0
    span_s = arrival_span_s(arrival_s, duration_s)
    return count / span_s if span_s else float("inf")
