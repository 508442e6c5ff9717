"""Background load: operations that a store performs by itself, such as recovery, scrubbing, healing or lifecycle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traces.random_streams import stream_id, uniforms
from traces.workload.distributions import Exponential


@dataclass(frozen=True)
class Background:
    """Operations of one kind that no client waits for.

    Attributes:
        name: selects its random streams; unique among those of a network.
        route: index of their route, which has no client policy.
        rate_ops: operations per second.
        from_s, until_s: period in which they begin.
        size_bytes: bytes that each operation moves.
        poisson: whether they arrive as a Poisson process; else evenly spaced, the first at a random moment of the
            first gap.
    """

    name: str
    route: int
    rate_ops: float
    from_s: float
    until_s: float
    size_bytes: int = 0
    poisson: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.rate_ops < math.inf or not 0 <= self.from_s <= self.until_s < math.inf:
            raise ValueError(f"{self}: the rate must be above 0, and the time finite")

    def arrival_s(self, seed: int) -> NDArray[np.float64]:
        """Return the arrival times of operations for a seed, shape (operations,), ascending."""
        expected = self.rate_ops * (self.until_s - self.from_s)
        if not self.poisson:
            phase = random_phase(seed, "background", self.name)
            number = np.arange(max(0, math.ceil(expected - phase)), dtype=np.float64)
            return self.from_s + (phase + number) / self.rate_ops
        count = math.ceil(expected + 6 * math.sqrt(expected) + 10)
        while True:
            u = uniforms(seed, stream_id("arrivals", "background", self.name), 0, count)
            at_s = self.from_s + np.cumsum(Exponential().quantile(u)) / self.rate_ops
            if at_s[-1] >= self.until_s:
                return at_s[: int(np.searchsorted(at_s, self.until_s))]
            count *= 2

    def key_hash(self, seed: int, count: int) -> NDArray[np.uint64]:
        """Return the hash that selects each operation's row of a placement table for a seed, shape (count,)."""
        u = uniforms(seed, stream_id("keys", "background", self.name), 0, count)
        return (u * 2.0**52).astype(np.uint64)


def random_phase(seed: int, *name: str | int) -> float:
    """Return the phase of the periodic work with this name, as a fraction of its cycle, uniform on (0, 1).

    A store has run for long before a run begins, so the phase is random. It is drawn for each replication from a
    stream of its own: the phases of different work are independent, and variants of a model with the same seed have
    the same ones.
    """
    return float(uniforms(seed, stream_id("phase", *name), 0, 1)[0])
