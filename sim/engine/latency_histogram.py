"""A quantile of the latencies seen so far, kept up at each one: what a hedge's delay is taken from."""

from __future__ import annotations

import math

SUB_BINS = 32
"""Bins of each power of two: a bin is at most 1/32 of its value wide."""

EXPONENTS = 64
"""Powers of two from 2^-40 s on."""

LEAST_EXPONENT = -40
BINS = SUB_BINS * EXPONENTS


def bin_of(latency_s: float) -> int:
    """The bin of a latency: by its binary exponent and the first bits of its mantissa, which is exact arithmetic."""
    if latency_s <= 0:
        return 0
    mantissa, exponent = math.frexp(latency_s)
    place = (exponent - LEAST_EXPONENT) * SUB_BINS + int((mantissa - 0.5) * 2 * SUB_BINS)
    return min(max(place, 0), BINS - 1)


def upper_edge_s(place: int) -> float:
    """The latency at which a bin ends."""
    exponent, sub = divmod(place, SUB_BINS)
    return math.ldexp(0.5 + (sub + 1) / (2 * SUB_BINS), exponent + LEAST_EXPONENT)


class LatencyBins:
    """Counts of latencies, and the bin that holds the quantile; moves by a step or two with each latency."""

    def __init__(self, probability: float):
        self.probability = probability
        self.counts = [0] * BINS
        self.total = self.place = self.below = 0  # below: latencies in bins up to `place`

    def add(self, latency_s: float) -> None:
        """One latency more."""
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
        """The upper edge of the bin that holds the quantile."""
        return upper_edge_s(self.place)
