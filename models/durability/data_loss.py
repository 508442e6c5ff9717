"""The probability of data loss by failures of drives, from a Markov chain of the drives that are failed together.

The chain is that of Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988,
with any number of tolerated failures: drives fail independently at a constant rate, and each failed one is rebuilt at a
constant rate, by itself. Data are lost when all drives of a fatal set are failed at the same time: it has one drive
more than an object can lose, each with a part of that object. With objects spread over all drives, their number is that
of copysets: Cidon et al., "Copysets: reducing the frequency of data loss in cloud storage", USENIX ATC 2013. Errors of
sectors, and failures with a common cause, are not included.
"""

from __future__ import annotations

import math

YEAR_S = 365.25 * 86400


def failure_rate(annual_fraction: float) -> float:
    """Return the rate in 1/s at which a drive fails, of which a fraction (0 to 1) fails within a year."""
    return -math.log1p(-annual_fraction) / YEAR_S


def mean_time_to_loss_s(drives: int, tolerated: int, failure_rate: float, rebuild_s: float) -> float:
    """Return the mean time in s until more than `tolerated` of some drives are failed at once, all whole at first.

    The exact mean of the birth-death chain: h(i), the mean time from i to i + 1 failed drives, is
    (1 + i μ h(i - 1)) / ((n - i) λ).

    Args:
        drives: n, more than `tolerated`.
        tolerated: failures that lose nothing.
        failure_rate: λ of a drive, in 1/s, above 0.
        rebuild_s: mean time 1 / μ until a failed drive's parts are elsewhere, above 0.
    """
    step_s, total_s = 0.0, 0.0
    for failed in range(tolerated + 1):
        step_s = (1 + failed / rebuild_s * step_s) / ((drives - failed) * failure_rate)
        total_s += step_s
    return total_s


def fatal_sets(groups: float, width: int, parity: int, domains: int, drives_each: int) -> float:
    """Return the expected number of sets of parity + 1 drives whose loss takes an object with it.

    Args:
        groups: number of groups of drives over which objects are spread, such as placement groups, each a random choice
            of one drive from `width` domains.
        width: parts of an object.
        parity: parts that it can lose.
        domains: failure domains, at least `width`.
        drives_each: drives of a domain.
    """
    together = parity + 1
    possible = math.comb(domains, together) * float(drives_each) ** together
    # Of each group, C(width, together) of the possible sets; expected number of different ones among all groups.
    covered = math.comb(width, together) / possible
    return possible if covered >= 1 else -possible * math.expm1(groups * math.log1p(-covered))


def annual_loss(fatal: float, parity: int, failure_rate: float, rebuild_s: float) -> float:
    """Return the probability that data are lost within a year.

    Args:
        fatal: number of fatal sets, each of parity + 1 drives. Losses of several at once count as several, so this is
            an upper bound, which is close to the probability as long as losses are rare.
        parity: parts that an object can lose.
        failure_rate: of a drive, in 1/s.
        rebuild_s: mean time in s from a failure until the drive's parts are elsewhere.
    """
    return -math.expm1(-YEAR_S * fatal / mean_time_to_loss_s(parity + 1, parity, failure_rate, rebuild_s))
