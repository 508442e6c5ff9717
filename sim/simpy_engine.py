"""The reference engine: SimPy's clock and event queue, one event for each departure, callbacks instead of processes.

It is meant to be read. The compiled engine is the same machine; `docs/engine.md` tells the order of events.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import simpy
from simpy.events import NORMAL

from models.network import Discipline, Station
from models.sheet import Sheet
from sim.layout import Layout, layout_of
from sim.outcome import CHUNK, Outcome, Program
from traces.streams import mixed


class Clock(simpy.Environment):
    """A SimPy environment whose events are put at absolute times: adding a delay to the present would round."""

    def at(self, time: float, callback: Callable[[Any], None], argument: Any) -> None:
        """Call `callback` with an event whose value is `argument`."""
        event = simpy.Event(self)
        event._ok = True
        event._value = argument
        event.callbacks.append(callback)
        heapq.heappush(self._queue, (time, NORMAL, next(self._eid), event))


class Request:
    """One request on its way: the stage it has come to, and how many branches of that are done."""

    __slots__ = ("client", "demands", "done", "index", "last_stage", "positions", "stage", "stations")

    def __init__(self, index: int, client: int, layout: Layout, route: int, stations: list[Any], demands: list[float]):
        self.index, self.client = index, client
        self.stage, self.last_stage = layout.route_first_stage[route], layout.route_first_stage[route + 1] - 1
        self.positions = layout.route_first_position[route]
        self.stations, self.demands = stations, demands
        self.done = 0


class Job:
    """One branch of a request's stage, at the visit it has come to."""

    __slots__ = ("demand", "position", "request", "since")

    def __init__(self, request: Request, position: int):
        self.request, self.position = request, position
        self.demand = request.demands[position]
        self.since = 0.0


class Server:
    """What the disciplines have in common; each puts its jobs' departures on the clock."""

    def __init__(self, station: Station, clock: Clock, leave: Callable[[Job], None], draw: Callable[[int], int]):
        self.clock, self.leave, self.draw, self.servers = clock, leave, draw, station.servers
        self.queue: deque[Job] = deque()
        self.busy, self.visits = 0, 0
        self.busy_s = self.waiting_s = 0.0

    def enter(self, job: Job) -> None:
        raise NotImplementedError

    def idles_with_queue(self) -> bool:
        return bool(self.queue) and self.busy < self.servers

    def _next(self) -> Job:
        job = self.queue.popleft()
        self.waiting_s += self.clock._now - job.since
        return job

    def _wait(self, job: Job) -> None:
        job.since = self.clock._now
        self.queue.append(job)


class Delay(Server):
    def enter(self, job: Job) -> None:
        self.visits += 1
        self.busy_s += job.demand
        self.clock.at(self.clock._now + job.demand, self._depart, job)

    def _depart(self, event: simpy.Event) -> None:
        self.leave(event._value)


class Fifo(Server):
    def enter(self, job: Job) -> None:
        self.visits += 1
        if self.busy < self.servers:
            self.busy += 1
            self._serve(job)
        else:
            self._wait(job)

    def _serve(self, job: Job) -> None:
        self.busy_s += job.demand
        self.clock.at(self.clock._now + job.demand, self._depart, job)

    def _depart(self, event: simpy.Event) -> None:
        if self.queue:
            self._serve(self._next())
        else:
            self.busy -= 1
        self.leave(event._value)


class RandomOrder(Fifo):
    def __init__(self, station: Station, clock: Clock, leave: Callable[[Job], None], draw: Callable[[int], int]):
        super().__init__(station, clock, leave, draw)
        self.choices = 0

    def _next(self) -> Job:
        chosen = self.draw(self.choices) % len(self.queue)
        self.choices += 1
        # The last takes the place of the chosen one: any job is as likely as any other, whatever their order.
        self.queue[chosen], self.queue[-1] = self.queue[-1], self.queue[chosen]
        job = self.queue.pop()
        self.waiting_s += self.clock._now - job.since
        return job


class GroupCommit(Server):
    def __init__(self, station: Station, clock: Clock, leave: Callable[[Job], None], draw: Callable[[int], int]):
        super().__init__(station, clock, leave, draw)
        self.limit = station.batch_limit or math.inf
        self.item_s = station.batch_item_s

    def enter(self, job: Job) -> None:
        self.visits += 1
        if self.busy:
            self._wait(job)
        else:
            self.busy = 1
            self._commit([job])

    def _commit(self, batch: list[Job]) -> None:
        duration = batch[0].demand + (len(batch) - 1) * self.item_s
        self.busy_s += duration
        self.clock.at(self.clock._now + duration, self._depart, batch)

    def _depart(self, event: simpy.Event) -> None:
        if self.queue:
            self._commit([self._next() for _ in range(int(min(self.limit, len(self.queue))))])
        else:
            self.busy = 0
        for job in event._value:
            self.leave(job)


class ProcessorSharing(Server):
    """Virtual time: every job present gains attained service at the same rate, so jobs leave in order of the
    attained service at which they will be done."""

    def __init__(self, station: Station, clock: Clock, leave: Callable[[Job], None], draw: Callable[[int], int]):
        super().__init__(station, clock, leave, draw)
        self.jobs: list[tuple[float, int, Job]] = []
        self.attained_s = self.last_s = 0.0
        self.version = 0

    def enter(self, job: Job) -> None:
        self._advance()
        heapq.heappush(self.jobs, (self.attained_s + job.demand, self.visits, job))
        self.visits += 1
        self._schedule()

    def idles_with_queue(self) -> bool:
        return False

    def _rate(self) -> float:
        present = len(self.jobs)
        return self.servers / present if present > self.servers else 1.0

    def _advance(self) -> None:
        elapsed = self.clock._now - self.last_s
        present = len(self.jobs)
        if present:
            self.busy_s += min(present, self.servers) * elapsed
            self.waiting_s += max(present - self.servers, 0) * elapsed
            self.attained_s += elapsed * self._rate()
        self.last_s = self.clock._now

    def _schedule(self) -> None:
        self.version += 1  # outdates the departure that was on the clock
        if self.jobs:
            left = max(self.jobs[0][0] - self.attained_s, 0.0)
            self.clock.at(self.clock._now + left / self._rate(), self._depart, self.version)

    def _depart(self, event: simpy.Event) -> None:
        if event._value != self.version:
            return
        self._advance()
        done, _, job = heapq.heappop(self.jobs)
        self.attained_s = done if self.jobs else 0.0
        self._schedule()
        self.leave(job)


_SERVERS: dict[Discipline, type[Server]] = {
    Discipline.DELAY: Delay,
    Discipline.FIFO: Fifo,
    Discipline.GROUP_COMMIT: GroupCommit,
    Discipline.RANDOM_ORDER: RandomOrder,
    Discipline.PROCESSOR_SHARING: ProcessorSharing,
}


class Engine:
    """One execution of a program."""

    def __init__(self, program: Program, progress: Callable[[int], None] | None = None):
        self.program, self.progress = program, progress
        self.clock, self.clock_s = Clock(), 0.0
        self.layout = type(layout := layout_of(program.network))(*(column.tolist() for column in layout))
        self.servers = [
            _SERVERS[station.discipline](station, self.clock, self._leave, partial(mixed, program.seed, i))
            for i, station in enumerate(program.network.stations)
        ]
        self.start_s: list[float] = []
        self.first_byte_s: list[float] = []
        self.end_s: list[float] = []
        self.client: list[int] = []
        self.sheet: Sheet
        self.sheet_end = self.next_row = self.outstanding = self.phase = self.idle_with_queue = 0
        self.parked = [False] * program.network.pacing.clients

    def run(self) -> Outcome:
        """Execute all requests."""
        pacing = self.program.network.pacing
        if pacing.loop == "open":
            if self._row_ready():
                self.clock.at(self.arrival_s[0], self._arrive, None)
        else:
            for client in range(pacing.clients):
                self.clock.at(client * pacing.stagger_s, self._ready, client)
        self.clock.run()
        servers = self.servers
        return Outcome(
            np.array(self.start_s), np.array(self.first_byte_s), np.array(self.end_s), np.array(self.client, np.int32),
            np.array([s.visits for s in servers], np.int64),
            np.array([s.busy_s for s in servers], float), np.array([s.waiting_s for s in servers], float),
            self.clock_s, self.outstanding, self.idle_with_queue,
        )  # fmt: skip

    def _row_ready(self) -> bool:
        """Whether there is a next request; draws its Sheet where that is not done yet."""
        if self.next_row < self.sheet_end:
            return True
        self.idle_with_queue += sum(server.idles_with_queue() for server in self.servers)
        if self.progress:
            self.progress(self.next_row)
        sheet = self.program.draw(self.next_row, CHUNK)
        self.sheet_first, self.sheet_end = sheet.first, sheet.first + len(sheet)
        self.arrival_s, self.think_s, self.phases = (c.tolist() for c in (sheet.arrival_s, sheet.think_s, sheet.phase))
        self.routes, self.first_visit = sheet.route.tolist(), sheet.first_visit.tolist()
        self.station, self.demand_s = sheet.station.tolist(), sheet.demand_s.tolist()
        return len(sheet) > 0

    def _take(self, client: int) -> Request:
        """The next request, taken out of the Sheet."""
        row = self.next_row - self.sheet_first
        route, first = self.routes[row], self.first_visit[row]
        last = first + self.layout.route_first_position[route + 1] - self.layout.route_first_position[route]
        stations = [self.servers[s] for s in self.station[first:last]]
        request = Request(self.next_row, client, self.layout, route, stations, self.demand_s[first:last])
        for column in (self.start_s, self.first_byte_s, self.end_s):
            column.append(math.nan)
        self.client.append(client)
        self.next_row += 1
        self.outstanding += 1
        return request

    def _arrive(self, _: simpy.Event) -> None:
        request = self._take(-1)
        if self._row_ready():
            self.clock.at(self.arrival_s[self.next_row - self.sheet_first], self._arrive, None)
        self._begin(request)

    def _ready(self, event: simpy.Event) -> None:
        """A closed-loop client wants its next request."""
        client, pacing, now = event._value, self.program.network.pacing, self.clock._now
        limit_s = math.inf if pacing.duration_s is None else pacing.duration_s
        if now >= limit_s or not self._row_ready():
            return
        row = self.next_row - self.sheet_first
        if self.phases[row] != self.phase:
            self.parked[client] = True
            if self.outstanding == 0:
                self._open_phase(self.phases[row])
            return
        think_s = self.think_s[row]
        if think_s > 0:
            if now + think_s < limit_s:
                self.clock.at(now + think_s, self._issue, self._take(client))
        else:
            self._begin(self._take(client))

    def _open_phase(self, phase: int) -> None:
        self.phase = phase
        for client, parked in enumerate(self.parked):
            if parked:
                self.parked[client] = False
                self.clock.at(self.clock._now + client * self.program.network.pacing.stagger_s, self._ready, client)

    def _issue(self, event: simpy.Event) -> None:
        self._begin(event._value)

    def _begin(self, request: Request) -> None:
        self.start_s[request.index] = self.clock._now
        self._fork(request)

    def _fork(self, request: Request) -> None:
        """Start the branches of the request's present stage."""
        layout, stage = self.layout, request.stage
        first, last = layout.stage_first_branch[stage], layout.stage_first_branch[stage + 1]
        request.done = 0
        for branch in range(first, last):
            job = Job(request, layout.branch_first_position[branch])
            request.stations[job.position].enter(job)

    def _leave(self, job: Job) -> None:
        """A visit is over: on to the next of its branch, or to the join."""
        request, layout = job.request, self.layout
        self.clock_s = self.clock._now
        at = request.positions + job.position
        if not layout.position_is_last[at]:
            job.position += 1
            job.demand = request.demands[job.position]
            request.stations[job.position].enter(job)
            return
        if layout.position_stage[at] == request.stage:
            request.done += 1
            if request.done == layout.stage_need[request.stage]:
                self._join(request)

    def _join(self, request: Request) -> None:
        layout, now = self.layout, self.clock._now
        if layout.stage_delivers[request.stage]:
            self.first_byte_s[request.index] = now
        if request.stage < request.last_stage:
            request.stage += 1
            self._fork(request)
            return
        self.end_s[request.index] = now
        self.outstanding -= 1
        if request.client >= 0:
            self.clock.at(now, self._ready, request.client)


def run(program: Program, progress: Callable[[int], None] | None = None) -> Outcome:
    """Execute a program; `progress` is told how many requests have begun.

    Raises:
        InvariantError: the engine broke one of its laws.
    """
    outcome = Engine(program, progress).run()
    outcome.check(program.network)
    return outcome
