"""Longer and longer runs until they have settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from sim.replication.summaries import Replication, Replications
from traces.run import Run

MOST_REQUESTS = 5_000_000
"""Largest number of requests, in all replications together, to which runs are lengthened."""
MOST_LONGER = 256
"""Greatest factor by which runs are lengthened."""


class Simulation(Protocol):
    """A function from a seed to a Run; it must be picklable, such as a ``partial`` of a function.

    One that does not keep the requests returns their figures.
    """

    def __call__(self, *, seed: int) -> Run | Replication: ...


@dataclass(frozen=True)
class Longer:
    """How to lengthen runs.

    Attributes:
        of: returns the simulation of runs that are longer by a factor.
        said: called with the factor before longer runs are simulated.
    """

    of: Callable[[int], Simulation]
    said: Callable[[int], None] = lambda factor: None


class Replicating(Protocol):
    """A function that replicates a simulation; `try_length`: it may stop when the runs turn out to be too short."""

    def __call__(self, simulation: Simulation, *, try_length: bool) -> Replications: ...


def settling(replicating: Replicating, longer: Longer, *, stops_early: bool = False) -> Replications:
    """Return replications that have settled, or those of the greatest length allowed.

    Runs that have not settled are simulated again from their beginning, twice as long at least, with the same seeds.

    Args:
        replicating, longer: what to lengthen, and how.
        stops_early: whether `replicating` may stop when it tries a length.
    """
    factor = 1
    while True:
        following = 2 * factor
        done = replace(replicating(longer.of(factor), try_length=True), longer=factor)
        if not done.unsettled:
            return done
        while following < factor * min(done.unsettled[0].longer, MOST_LONGER) / 2:
            following *= 2
        following = _allowed(done, factor, following)
        if following <= factor:
            if not stops_early:
                return done
            return replace(replicating(longer.of(factor), try_length=False), longer=factor)
        longer.said(following)
        factor = following


def _allowed(done: Replications, factor: int, following: int) -> int:
    """Return the greatest factor up to `following`, by halves, that the limits allow."""
    requests = sum(figures["count"] for run in done.runs for figures in run.summary["ops"].values()) / factor
    while following > factor and (following > MOST_LONGER or requests * following > MOST_REQUESTS):
        following //= 2
    return following
