"""A running quantile of the latencies observed so far, which sets the delay of hedged requests."""

from __future__ import annotations

import math

SUB_BINS = 32
"""Bins per power of two: the width of a bin is at most 1/32 of its value."""

EXPONENTS = 64
"""Number of powers of two, starting at 2^-40 s."""

LEAST_EXPONENT = -40
BINS = SUB_BINS * EXPONENTS


def bin_of(latency_s: float) -> int:
    """Return the bin of a latency from its binary exponent and leading mantissa bits, which is exact arithmetic."""
    if latency_s <= 0:
        return 0
    mantissa, exponent = math.frexp(latency_s)
    place = (exponent - LEAST_EXPONENT) * SUB_BINS + int((mantissa - 0.5) * 2 * SUB_BINS)
    return min(max(place, 0), BINS - 1)


def upper_edge_s(place: int) -> float:
    """Return the upper edge of a bin."""
    exponent, sub = divmod(place, SUB_BINS)
    return math.ldexp(0.5 + (sub + 1) / (2 * SUB_BINS), exponent + LEAST_EXPONENT)


class LatencyHistogram:
    """Counts of latencies and the bin of the quantile, which moves by a step or two with each latency."""

    def __init__(self, probability: float):
        self.probability = probability
        self.counts = [0] * BINS
        self.total = self.place = self.below = 0  # below: latencies in bins up to `place`

    def add(self, latency_s: float) -> None:
        """Add a latency."""
        place = bin_of(latency_s)
        self.counts[place] += 1
        self.total += 1
        if place <= self.place:
            self.below += 1
        wanted = self.probability * self.total
        while self.below < wanted:
            self.place += 1
            self.below += self.counts[self.place]
        while self.below - self.counts[self.place] >= wanted and self.place > 0:
            self.below -= self.counts[self.place]
            self.place -= 1

    def quantile_s(self) -> float:
        """Return the upper edge of the bin that contains the quantile."""
        return upper_edge_s(self.place)
