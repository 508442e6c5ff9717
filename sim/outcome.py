"""What an engine hands back, and the invariants that every execution must keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.network import Discipline, Network
from models.sheet import Requests, Sheet, draw_sheet

CHUNK = 4096
"""Requests drawn at a time: a Sheet of this many fits the processor's cache."""

Floats = NDArray[np.float64]


class InvariantError(AssertionError):
    """The engine broke one of its own laws: a bug in tailcast, never in the input."""


@dataclass(frozen=True)
class Program:
    """What an engine executes: a network, and its requests as Sheets drawn chunk by chunk.

    Attributes:
        draw: the Sheet of `count` requests from `first` on; shorter where the requests end.
        seed: of what is drawn while the clock runs.
    """

    network: Network
    draw: Callable[[int, int], Sheet]
    seed: int

    @staticmethod
    def of(network: Network, requests: Requests, seed: int) -> Program:
        """The requests of a Trace under a seed."""
        return Program(network, lambda first, count: draw_sheet(network, requests, seed, first, count), seed)


@dataclass(frozen=True)
class Outcome:
    """What happened to each request, in order of request index, and at each station.

    Attributes:
        start_s, first_byte_s, end_s: shape (requests,); `first_byte_s` is NaN where no stage delivers.
        client: who asked, shape (requests,); -1 in an open loop.
        visits: visits served at each station, shape (stations,).
        busy_s: server-seconds in use (infinite server: job-seconds in service), shape (stations,).
        waiting_s: job-seconds spent waiting, shape (stations,).
        clock_s: when the last event happened.
        in_flight: requests begun and not ended.
        idle_with_queue: stations found with an idle server and a job that waits; 0 unless the engine is broken.
    """

    start_s: Floats
    first_byte_s: Floats
    end_s: Floats
    client: NDArray[np.int32]
    visits: NDArray[np.int64]
    busy_s: Floats
    waiting_s: Floats
    clock_s: float
    in_flight: int
    idle_with_queue: int

    def check(self, network: Network) -> None:
        """Hold the outcome against the laws that every run keeps.

        Raises:
            InvariantError: naming the law.
        """
        ended = int(np.isfinite(self.end_s).sum())
        if len(self.end_s) != ended + self.in_flight:
            raise InvariantError(f"{len(self.end_s)} requests in, {ended} ended and {self.in_flight} in flight")
        if self.in_flight == 0 and not (self.end_s >= self.start_s).all():
            raise InvariantError("a request ended before it started")
        if self.idle_with_queue:
            raise InvariantError("a server idled while its queue held work")
        limited = np.array([s.discipline is not Discipline.DELAY for s in network.stations])
        servers = np.array([s.servers for s in network.stations])
        if (limited & (self.busy_s > servers * self.clock_s * (1 + 1e-9) + 1e-12)).any():
            raise InvariantError("a station was busy for more than its servers have time")
