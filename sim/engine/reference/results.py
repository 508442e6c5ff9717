"""The reference engine's results of each request, as growing columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sim.engine.outcome import Failure, Outcome, Program
from sim.engine.reference.requests import Attempt, Request
from sim.engine.reference.stations import Server


class Results:
    """A row for each request taken from the Sheets, and for each background operation."""

    def __init__(self, program: Program):
        self.roles, self.paths = len(program.network.roles), program.paths
        self.start_s: list[float] = []
        self.first_byte_s: list[float] = []
        self.end_s: list[float] = []
        self.client: list[int] = []
        self.failure: list[int] = []
        self.attempts: list[int] = []
        self.winner: list[int] = []
        self.path_s: list[list[float]] = []
        self.background_end_s = [math.nan] * sum(map(len, program.background))
        self.outstanding = self.idle_with_queue = 0

    @property
    def begun(self) -> int:
        """The number of requests begun."""
        return len(self.start_s)

    def add(self, client: int) -> None:
        """Add a row for a request."""
        for column in (self.start_s, self.first_byte_s, self.end_s):
            column.append(math.nan)
        for counts in (self.failure, self.attempts, self.winner):
            counts.append(0)
        self.client.append(client)
        if self.paths:
            self.path_s.append([math.nan] * (1 + 2 * self.roles))
        self.outstanding += 1

    def deliver(self, request: Request, now_s: float) -> None:
        """Record the time of the first byte."""
        if math.isnan(self.first_byte_s[request.index]):
            self.first_byte_s[request.index] = now_s

    def end(self, request: Request, winner: Attempt | None, why: Failure, now_s: float) -> None:
        """Record the end of a request."""
        at = request.index
        self.end_s[at], self.failure[at] = now_s, why
        self.winner[at] = 0 if winner is None else winner.number + 1
        if winner is not None and self.paths:
            before_s = winner.began_s - self.start_s[at] + winner.path_s[0]
            self.path_s[at] = [before_s, *winner.path_s[1:]]
        self.outstanding -= 1

    def outcome(self, servers: Sequence[Server], clock_s: float) -> Outcome:
        """Return the outcome, after the last event."""
        unended = sum(map(math.isnan, self.end_s))
        return Outcome(
            np.array(self.start_s), np.array(self.first_byte_s), np.array(self.end_s), np.array(self.client, np.int32),
            np.array(self.failure, np.int8), np.array(self.attempts, np.int16), np.array(self.winner, np.int16),
            np.array(self.path_s).reshape(-1, 1 + 2 * self.roles), np.array(self.background_end_s),
            np.array([s.visits for s in servers], np.int64),
            np.array([s.busy_s for s in servers], float), np.array([s.waiting_s for s in servers], float),
            np.array([s.busy for s in servers], np.int64), np.array([s.live for s in servers], np.int64),
            clock_s, self.outstanding, self.idle_with_queue, self.begun, unended,
        )  # fmt: skip
