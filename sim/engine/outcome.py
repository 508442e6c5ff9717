"""Input and output of an engine, and the invariants of every execution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.network.demand_sheet import Requests, Sheet, draw_background, draw_sheet, sources
from models.network.descendants import at_a_time
from models.network.network import Network
from models.network.retry_policy import NO_POLICY
from sim.engine.column import Column
from traces.random_streams import stream_id
from traces.trace import Pacing
from traces.workload.generate import group_seed

CHUNK = 8192
"""Requests drawn at a time. With fewer, the cost of a draw in Python matters; with more, a Sheet exceeds CPU caches."""

JITTER_STREAM = stream_id("jitter")
"""Number of the random stream for pauses before first retries; those of further retries follow."""

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
    CONFLICT = 6


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
        chunk: requests drawn at a time, fewer than `CHUNK` if they have many sub-requests.
    """

    network: Network
    draw: Draw
    seed: int
    pacing: Pacing = field(default=Pacing())
    background: tuple[Sheet, ...] = ()
    paths: bool = False
    closed: tuple[tuple[Draw, Pacing], ...] = ()
    chunk: int = CHUNK

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
        """Create the program for the compiled requests of a Trace, with phases of periodic work for the seed."""
        network, requests = network.at_phases(seed), requests.at_phases(seed)
        (draw, pacing), *closed = [
            (partial(draw_sheet, network, source.requests, group_seed(seed, source.name)), source.pacing)
            for source in sources(requests)
        ]
        background = tuple(draw_background(network, background, seed) for background in requests.background)
        chunk = at_a_time(network, requests, CHUNK)
        return Program(network, draw, seed, pacing, background, paths, tuple(closed), chunk)


@dataclass(frozen=True)
class RequestOutcomes:
    """The results of consecutive requests, in order of request index.

    Attributes:
        start_s, first_byte_s, end_s: shape (requests,); `first_byte_s` is NaN if no stage delivers.
        client: number of the client, shape (requests,); -1 in an open loop.
        failure: a `Failure`, shape (requests,).
        attempts: number of attempts begun, shape (requests,).
        winner: number of the attempt that completed the request, from 1, shape (requests,); 0: none.
        path_s: times of each successful request along its critical path (the branches that determined the ends of
            its stages): seconds before the winning attempt began, then waiting and service time for each of the
            network's roles; shape (requests, 1 + 2 x roles). NaN for a failed request; no rows if not recorded.
    """

    start_s: Floats
    first_byte_s: Floats
    end_s: Floats
    client: NDArray[np.int32]
    failure: NDArray[np.int8]
    attempts: NDArray[np.int16]
    winner: NDArray[np.int16]
    path_s: Floats

    def __len__(self) -> int:
        return len(self.end_s)

    @property
    def ended(self) -> NDArray[np.bool_]:
        """Whether each request ended, shape (requests,)."""
        return np.isfinite(self.end_s)

    def require(self, clock_s: float) -> None:
        """Check the invariants of requests in a run that has come to a time.

        Raises:
            InvariantError: the invariant that does not hold.
        """
        _require(self._broken(clock_s))

    def _broken(self, clock_s: float) -> Iterator[tuple[str, Any]]:
        """Return the invariants of requests: the message, and whether, or for which, it applies."""
        ended, won = self.ended, self.winner > 0
        yield "a request ended before it started", self.end_s < self.start_s
        early, late = self.first_byte_s < self.start_s, self.first_byte_s > self.end_s
        yield "a first byte was sent before the start of its request or after the end", early | late
        yield "a request ended without an attempt", ended & (self.attempts < 1)
        yield "an attempt succeeded that did not begin", self.winner > self.attempts
        yield "a request both failed and succeeded, or neither", ended & (won == (self.failure != Failure.NONE))
        yield "a request ended after the run", self.end_s > clock_s
        if len(self.path_s):
            parts_s, latency_s = self.path_s[won], self.end_s[won] - self.start_s[won]
            adds_up = np.isclose(parts_s.sum(axis=1), latency_s, rtol=1e-9, atol=1e-9 + 1e-12 * clock_s)
            yield "the parts of a critical path do not add up to the latency", ~adds_up
            yield "a part of a critical path is negative", parts_s < 0


Taking = Callable[[RequestOutcomes], None]
"""A function that takes the results of requests, chunk after chunk, so that the engine does not keep them."""


@dataclass(frozen=True)
class Outcome(RequestOutcomes):
    """The results for each request, none if they were taken during the run, and for each station.

    Attributes:
        background_end_s: end of each background operation, load after load; NaN if it did not end.
        visits: visits begun at each station, shape (stations,).
        busy_s: server-seconds in use (infinite server: job-seconds in service; pool: tokens held), shape (stations,).
        waiting_s: job-seconds spent waiting, shape (stations,).
        held: pool tokens held at the end, shape (stations,); busy servers too, which only a broken engine leaves.
        waiting: jobs that wait in a queue at the end, for a gate or a token, shape (stations,).
        clock_s: when the last visit or attempt ended.
        in_flight: requests begun but not ended.
        begun: requests begun.
        unended: those of them without an end in their results.
        idle_with_queue: stations found with both an idle server and a waiting job; not 0 only if the engine is broken.
    """

    background_end_s: Floats
    visits: NDArray[np.int64]
    busy_s: Floats
    waiting_s: Floats
    held: NDArray[np.int64]
    waiting: NDArray[np.int64]
    clock_s: float
    in_flight: int
    idle_with_queue: int
    begun: int
    unended: int

    def check(self, network: Network) -> None:
        """Check the invariants of every run.

        Raises:
            InvariantError: the invariant that does not hold.
        """
        self.require(self.clock_s)
        self.require_stations(network)

    def require_stations(self, network: Network) -> None:
        """Check the invariants of stations, and of the number of requests.

        Raises:
            InvariantError: the invariant that does not hold.
        """
        _require(self._of_stations(network))

    def taken_by(self, taking: Taking) -> Outcome:
        """Pass on the results of all requests, and return the outcome without them."""
        names = [each.name for each in fields(RequestOutcomes)]
        taking(RequestOutcomes(**{name: getattr(self, name) for name in names}))
        return replace(self, **{name: getattr(self, name)[:0] for name in names})

    def _of_stations(self, network: Network) -> Iterator[tuple[str, Any]]:
        """Return the invariants in the same form as those of requests."""
        ended = self.begun - self.unended
        yield f"{self.begun} requests in, {ended} ended and {self.in_flight} in flight", self.unended != self.in_flight
        yield "a background operation ended after the run", self.background_end_s > self.clock_s
        stations = network.stations
        tokens = np.array([s.servers if s.discipline.holds_tokens else 0 for s in stations])
        has_jobs_left = np.array([s.discipline.holds_tokens or s.discipline.is_gate for s in stations])
        yield "a server was idle while jobs waited in its queue", self.idle_with_queue
        yield "more tokens were returned than taken, or taken than the pool has", (self.held < 0) | (self.held > tokens)
        yield "jobs wait at a server at the end of the run", ~has_jobs_left & (self.waiting != 0)
        yield "jobs wait at a pool at the end of the run that has tokens", (self.waiting > 0) & (self.held < tokens)
        if not self.waiting.any():
            yield "a token was not returned, though no job waits", self.held
            yield "a request is in flight at the end of the run, though no job waits", self.in_flight
            yield "a background operation did not end, though no job waits", np.isnan(self.background_end_s)
        servers = np.array([s.servers for s in stations])
        limited = np.array([not s.discipline.infinite for s in stations])
        busy_s, slack_s = self.busy_s.copy(), 1e-9 * (1 + servers * self.clock_s)
        for second in (i for i, s in enumerate(stations) if s.shares_server):
            busy_s[second] += busy_s[second - 1]
        too_long = limited & (busy_s > servers * self.clock_s + slack_s)
        yield "a station was busy for longer than its servers were available", too_long
        yield "a station was busy, or jobs waited, for a negative time", np.minimum(busy_s, self.waiting_s) < -slack_s


def _require(invariants: Iterator[tuple[str, Any]]) -> None:
    for message, is_broken in invariants:
        if np.any(is_broken):
            raise InvariantError(message)


class Kept:
    """The results of requests, chunk after chunk, that are one array a column at the end."""

    def __init__(self) -> None:
        self._columns: dict[str, Column] = {}

    def __call__(self, chunk: RequestOutcomes) -> None:
        for each in fields(RequestOutcomes):
            values = getattr(chunk, each.name)
            self._columns.setdefault(each.name, Column(values)).append(values)

    def outcomes(self) -> RequestOutcomes:
        """Return all results."""
        return RequestOutcomes(**{name: column.array() for name, column in self._columns.items()})
