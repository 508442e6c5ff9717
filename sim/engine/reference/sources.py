"""Sources of requests: an open loop, the clients of a closed loop, and the store's background load."""

from __future__ import annotations

import math
from collections.abc import Callable

import simpy

from models.network.demand_sheet import Sheet
from sim.engine.outcome import Draw, Program
from sim.engine.reference.attempts import Attempts
from sim.engine.reference.requests import Request, SheetRows
from sim.engine.reference.stations import Clock
from traces.trace import Pacing


class Sheets:
    """The requests of a source in order, drawn in chunks."""

    def __init__(self, program: Program, draw: Draw, attempts: Attempts, progress: Callable[[int], None] | None):
        self.program, self.draw, self.attempts, self.progress = program, draw, attempts, progress
        self.rows: SheetRows
        self.first = self.end = self.next = 0
        self.exhausted = False

    @property
    def row(self) -> int:
        """The index of the next request in `rows`."""
        return self.next - self.first

    def ready(self) -> bool:
        """Whether there is a next request; draws its Sheet if necessary."""
        if self.next < self.end or self.exhausted:
            return not self.exhausted
        self.attempts.count_idle()
        if self.progress:
            self.progress(self.attempts.results.begun)
        sheet = self.draw(self.next, self.program.chunk)
        self.rows, self.first, self.end = SheetRows(sheet), sheet.first, sheet.first + len(sheet)
        self.exhausted = len(sheet) == 0
        return not self.exhausted

    def take(self, client: int) -> Request:
        """Take the next request out of the Sheet."""
        index = self.attempts.results.begun
        request = Request(self.program.network.routes, self.rows, self.row, index, client, False)
        self.attempts.results.add(client)
        self.next += 1
        return request


class OpenLoop:
    """Requests that begin when they arrive."""

    def __init__(self, sheets: Sheets, clock: Clock):
        self.sheets, self.clock = sheets, clock

    def start(self) -> None:
        """Put the first arrival on the clock."""
        self._await()

    def _await(self) -> None:
        if self.sheets.ready():
            self.clock.at(self.sheets.rows.arrival_s[self.sheets.row], self._arrive, None)

    def _arrive(self, _: simpy.Event) -> None:
        request = self.sheets.take(-1)
        self._await()
        self.sheets.attempts.begin(request)


class ClosedLoop:
    """Clients, each of which takes the next request when its last one has ended."""

    def __init__(self, sheets: Sheets, clock: Clock, pacing: Pacing, first: int):
        """`first`: number of the first client, after those of other closed loops."""
        self.sheets, self.clock, self.pacing, self.first = sheets, clock, pacing, first
        self.limit_s = math.inf if self.pacing.duration_s is None else self.pacing.duration_s
        self.phase = 0
        self.parked = [False] * self.pacing.clients

    def start(self) -> None:
        """Start all clients, one after the other."""
        for client in range(self.pacing.clients):
            self.clock.at(client * self.pacing.stagger_s, self._ready, client)

    def is_free(self, client: int) -> None:
        """Let a client, numbered within this loop, take its next request."""
        self.clock.at(self.clock._now, self._ready, client)

    def _ready(self, event: simpy.Event) -> None:
        """Let a client take its next request."""
        client, sheets, now = event._value, self.sheets, self.clock._now
        if now >= self.limit_s or not sheets.ready():
            return
        phase = sheets.rows.phase[sheets.row]
        if phase != self.phase:
            self.parked[client] = True
            if sheets.attempts.results.outstanding == 0:
                self._open(phase)
            return
        think_s = sheets.rows.think_s[sheets.row]
        if think_s > 0:
            if now + think_s < self.limit_s:
                self.clock.at(now + think_s, self._issue, sheets.take(self.first + client))
        else:
            sheets.attempts.begin(sheets.take(self.first + client))

    def _open(self, phase: int) -> None:
        """Begin a phase: all parked clients become ready."""
        self.phase = phase
        for client, parked in enumerate(self.parked):
            if parked:
                self.parked[client] = False
                self.clock.at(self.clock._now + client * self.pacing.stagger_s, self._ready, client)

    def _issue(self, event: simpy.Event) -> None:
        self.sheets.attempts.begin(event._value)


class BackgroundLoad:
    """The operations of one background load."""

    def __init__(self, program: Program, sheet: Sheet, before: int, attempts: Attempts, clock: Clock):
        """`before`: number of operations of all loads before this one."""
        self.routes, self.rows, self.before = program.network.routes, SheetRows(sheet), before
        self.attempts, self.clock, self.next = attempts, clock, 0

    def start(self) -> None:
        """Put the first operation on the clock."""
        self._await()

    def _await(self) -> None:
        if self.next < len(self.rows.route):
            self.clock.at(self.rows.arrival_s[self.next], self._arrive, None)

    def _arrive(self, _: simpy.Event) -> None:
        request = Request(self.routes, self.rows, self.next, self.before + self.next, -1, True)
        self.next += 1
        self._await()
        self.attempts.attempt(request)
