"""The rank sum test of Mann and Whitney, without the import of `scipy.stats`, which takes longer than a simulation."""

from __future__ import annotations

import functools
import math

import numpy as np
import scipy

from traces.statistics.summary import Floats

_FEW = 8
"""Size of a sample up to which the distribution is computed, if no values are equal; of others it is nearly normal."""


def rank_sum_p(a: Floats, b: Floats) -> float:
    """Return the two-sided p-value of the hypothesis that two samples have the same distribution.

    Equal to that of `scipy.stats.mannwhitneyu`: exact for small samples without equal values, else by the normal
    approximation with corrections for ties and continuity (Mann and Whitney, Annals of Mathematical Statistics 18(1),
    1947).

    Args:
        a, b: the samples, at least one value each, without NaN.
    """
    _, which, counts = np.unique(np.concatenate([a, b]), return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    n, m = len(a), len(b)
    u = float(ranks[which[:n]].sum()) - n * (n + 1) / 2
    u = max(u, n * m - u)
    if min(n, m) <= _FEW and len(counts) == n + m:
        tail = float(_distribution(min(n, m), max(n, m))[n * m - int(u)])
    else:
        ties = float((counts.astype(np.float64) ** 3 - counts).sum())
        deviation = np.sqrt(n * m / 12 * ((n + m + 1) - ties / ((n + m) * (n + m - 1))))
        with np.errstate(divide="ignore"):
            tail = float(scipy.special.ndtr(-(u - n * m / 2 - 0.5) / deviation))
    return min(2 * tail, 1.0)


@functools.lru_cache(maxsize=64)
def _distribution(n: int, m: int) -> Floats:
    """Return the probabilities that the smaller statistic U is at most 0 … n m / 2.

    The numbers of arrangements are the coefficients of the Gaussian binomial (n + m over n), the product of
    (1 - q^(m + i)) / (1 - q^i) for i from 1 to n.
    """
    arrangements = np.zeros(n * m // 2 + 1, np.int64)
    arrangements[0] = 1
    for i in range(1, n + 1):
        arrangements[m + i :] -= arrangements[: max(0, len(arrangements) - m - i)].copy()
        for first in range(i):
            arrangements[first::i] = np.cumsum(arrangements[first::i])
    return np.cumsum(arrangements / math.comb(n + m, n))
