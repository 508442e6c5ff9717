"""Input and output of an engine, and the invariants of every execution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.network.demand_sheet import Requests, Sheet, draw_background, draw_sheet, sources
from models.network.network import Network
from models.network.retry_policy import NO_POLICY
from traces.trace import Pacing
from traces.workload.generate import group_seed

CHUNK = 8192
"""Requests drawn at a time. With fewer, the cost of a draw in Python matters; with more, a Sheet exceeds CPU caches."""

JITTER_STREAM = 1 << 32
"""Number of the first random stream for pauses before retries; stations and groups have the low numbers."""

Floats = NDArray[np.float64]
Draw = Callable[[int, int], Sheet]


class InvariantError(AssertionError):
    """The engine violated one of its own invariants: a bug in tailcast, never in the input."""


class Failure(IntEnum):
    """Why a request failed."""

    NONE = 0
    QUEUE_FULL = 1
    GATE_SHUT = 2
    STATION_DOWN = 3
    NO_MEMBER = 4
    TIMEOUT = 5


@dataclass(frozen=True)
class Program:
    """The input of an engine: a network, and its requests as Sheets that are drawn in chunks.

    Attributes:
        draw: returns the Sheet of `count` requests starting at `first`; the last Sheet is shorter.
        seed: of the random numbers drawn during the run.
        pacing: when requests are issued.
        closed: closed loops next to it: the draws and the pacing of each.
        background: all operations of each background load; their routes have no policy.
        paths: whether to record critical paths.
    """

    network: Network
    draw: Draw
    seed: int
    pacing: Pacing = field(default=Pacing())
    background: tuple[Sheet, ...] = ()
    paths: bool = False
    closed: tuple[tuple[Draw, Pacing], ...] = ()

    @property
    def loops(self) -> tuple[tuple[Draw, Pacing], ...]:
        """The draws and the pacing of each source of requests; only the first may be an open loop."""
        return ((self.draw, self.pacing), *self.closed)

    def __post_init__(self) -> None:
        for sheet in self.background:
            if any(self.network.routes[k].policy != NO_POLICY for k in np.unique(sheet.route)):
                raise ValueError("the route of a background load has a client policy")

    @staticmethod
    def of(network: Network, requests: Requests, seed: int, paths: bool = False) -> Program:
        """Create the program for the compiled requests of a Trace."""
        (draw, pacing), *closed = [
            (partial(draw_sheet, network, source.requests, group_seed(seed, source.name)), source.pacing)
            for source in sources(requests)
        ]
        background = tuple(draw_background(network, background, seed) for background in requests.background)
        return Program(network, draw, seed, pacing, background, paths, tuple(closed))


@dataclass(frozen=True)
class Outcome:
    """The results for each request, in order of request index, and for each station.

    Attributes:
        start_s, first_byte_s, end_s: shape (requests,); `first_byte_s` is NaN if no stage delivers.
        client: number of the client, shape (requests,); -1 in an open loop.
        failure: a `Failure`, shape (requests,).
        attempts: number of attempts begun, shape (requests,).
        winner: number of the attempt that completed the request, from 1, shape (requests,); 0: none.
        path_s: times of each successful request along its critical path (the branches that determined the ends of
            its stages): seconds before the winning attempt began, then waiting and service time for each of the
            network's roles; shape (requests, 1 + 2 x roles). NaN for a failed request; no rows if not recorded.
        background_end_s: end of each background operation, load after load; NaN if it did not end.
        visits: visits begun at each station, shape (stations,).
        busy_s: server-seconds in use (infinite server: job-seconds in service; pool: tokens held), shape (stations,).
        waiting_s: job-seconds spent waiting, shape (stations,).
        held: pool tokens not returned, shape (stations,).
        clock_s: when the last visit or attempt ended.
        in_flight: requests begun but not ended.
        idle_with_queue: stations found with both an idle server and a waiting job; not 0 only if the engine is broken.
    """

    start_s: Floats
    first_byte_s: Floats
    end_s: Floats
    client: NDArray[np.int32]
    failure: NDArray[np.int8]
    attempts: NDArray[np.int16]
    winner: NDArray[np.int16]
    path_s: Floats
    background_end_s: Floats
    visits: NDArray[np.int64]
    busy_s: Floats
    waiting_s: Floats
    held: NDArray[np.int64]
    clock_s: float
    in_flight: int
    idle_with_queue: int

    def check(self, network: Network) -> None:
        """Check the invariants of every run.

        Raises:
            InvariantError: the invariant that does not hold.
        """
        ended = int(np.isfinite(self.end_s).sum())
        if len(self.end_s) != ended + self.in_flight:
            raise InvariantError(f"{len(self.end_s)} requests in, {ended} ended and {self.in_flight} in flight")
        if self.in_flight == 0 and not (self.end_s >= self.start_s).all():
            raise InvariantError("a request ended before it started")
        if len(self.path_s) and self.in_flight == 0:
            won = self.winner > 0
            latency_s = self.end_s[won] - self.start_s[won]
            if not np.allclose(self.path_s[won].sum(axis=1), latency_s, rtol=1e-9, atol=1e-9 + 1e-12 * self.clock_s):
                raise InvariantError("the parts of a critical path do not add up to the latency")
        if self.idle_with_queue:
            raise InvariantError("a server was idle while jobs waited in its queue")
        tokens = np.array([s.servers if s.discipline.holds_tokens else 0 for s in network.stations])
        if (self.held < 0).any() or (self.held > tokens).any():
            raise InvariantError("more tokens were returned than taken, or taken than the pool has")
        limited = np.array([not s.discipline.infinite for s in network.stations])
        servers = np.array([s.servers for s in network.stations])
        if (limited & (self.busy_s > servers * self.clock_s * (1 + 1e-9) + 1e-9)).any():
            raise InvariantError("a station was busy for longer than its servers were available")
