"""Base classes of stations in the reference engine: SimPy's clock, and servers with a queue.

Events are callbacks instead of processes. `sim/engine/reference/disciplines.py` has a server for each discipline.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappush
from typing import Any, Protocol

import simpy
from simpy.events import NORMAL

from models.network.station import Caches, Station
from sim.engine.cpu_caches import cold_time_s, cooled, warmed
from sim.engine.outcome import Failure
from sim.engine.reference.requests import Job


class Due(simpy.Event):
    """An event that is on the clock when created, and calls one function."""

    _ok = True

    def __init__(self, callback: Callable[[Any], None], argument: Any):
        self.callbacks, self._value = [callback], argument


class Clock(simpy.Environment):
    """A SimPy environment with events at absolute times, because adding a delay to the current time would round."""

    def at(self, time: float, callback: Callable[[Any], None], argument: Any) -> None:
        """Call `callback` with an event whose value is `argument`."""
        heappush(self._queue, (time, NORMAL, next(self._eid), Due(callback, argument)))


class Jobs(Protocol):
    """What servers call for a job; implemented in `sim/engine/reference/attempts.py`."""

    notes_service: bool

    def end_visit(self, job: Job) -> None:
        """End the visit."""

    def end_visit_soon(self, job: Job) -> None:
        """End the visit in a separate event."""

    def fail_branch(self, job: Job, why: Failure) -> None:
        """Fail the job's branch."""

    def fail_branch_soon(self, job: Job, why: Failure) -> None:
        """Fail the job's branch in a separate event."""

    def service_begun(self, job: Job) -> None:
        """Record that service has begun; called if `notes_service`."""


class Server:
    """Base class of the disciplines."""

    def __init__(self, station: Station, clock: Clock, jobs: Jobs, draw: Callable[[int], int], classes: int):
        self.station, self.clock, self.jobs, self.draw = station, clock, jobs, draw
        self.servers, self.speed = station.servers, 1.0
        self.queue: deque[Job] = deque()
        self.live = self.busy = self.visits = 0  # live: jobs in the queue that are not cancelled
        self.busy_s = self.waiting_s = 0.0
        self.down, self.died, self.notes_service = False, 0, jobs.notes_service
        self.deaths: list[float] = []
        self.caches, self.warm_fraction, self.warm_at = station.caches, 1.0, 0.0
        self.pair: tuple[Server, ...] = ()  # with the station that uses the same server, the earlier one first

    def enter(self, job: Job) -> None:
        """Begin a visit."""
        self.visits += 1
        job.since = self.clock._now
        if self.down:
            self.jobs.fail_branch_soon(job, Failure.STATION_DOWN)
        else:
            self._admit(job)

    def drop(self, job: Job) -> None:
        """Cancel a waiting job; it stays in the queue until it is dequeued (lazy deletion)."""
        self.live -= 1
        self.waiting_s += self.clock._now - job.since
        job.dropped = True

    def take_down(self) -> None:
        """Refuse waiting jobs; jobs in service are lost at their departure."""
        if self.caches:
            self._cool_caches()
        self.down, self.busy = True, 0
        self.died += 1
        self.deaths.append(self.clock._now)
        while self.live:
            self.jobs.fail_branch_soon(self._next(), Failure.STATION_DOWN)

    def bring_up(self) -> None:
        self.down = False

    def set_speed(self, speed: float) -> None:
        self.speed = speed

    def integrate(self, now_s: float) -> None:
        """Update the integrals to the present."""

    def idles_with_queue(self) -> bool:
        return self.live > 0 and self.busy < self.servers

    def _admit(self, job: Job) -> None:
        raise NotImplementedError

    def spent(self, job: Job) -> tuple[float, float]:
        """Return waiting and service time of a job that departs now."""
        return job.began - job.since, self.clock._now - job.began

    def _occupy(self) -> None:
        """Begin to use a server, which the other station of the pair then cannot use."""
        self.busy += 1
        for server in self.pair:
            server.busy = 1

    def _hand_over_server(self) -> None:
        """Free the server of a pair, and let it serve the job that has waited longest."""
        for server in self.pair:
            server.busy = 0
        waiting = [server for server in self.pair if server._waits()]
        if waiting:
            chosen = min(waiting, key=lambda server: server._oldest_s())
            chosen._occupy()
            chosen._serve_waiting()

    def _waits(self) -> bool:
        """Whether a job or a batch needs the server."""
        return self.live > 0

    def _serve_waiting(self) -> None:
        """Begin the next service."""
        raise NotImplementedError

    def _oldest_s(self) -> float:
        """Return when the next job arrived; there must be one."""
        while self.queue[0].dropped:
            self.queue.popleft()
        return self.queue[0].since

    def _wait(self, job: Job) -> None:
        job.attempt.waiting[job.position] = job
        self.live += 1
        self._enqueue(job)

    def _next(self) -> Job:
        """Return the next job that is not cancelled; there must be one."""
        job = self._dequeue()
        while job.dropped:
            job = self._dequeue()
        self.live -= 1
        self.waiting_s += self.clock._now - job.since
        del job.attempt.waiting[job.position]
        return job

    def _enqueue(self, job: Job) -> None:
        self.queue.append(job)

    def _dequeue(self) -> Job:
        return self.queue.popleft()

    def _lose(self, job: Job) -> None:
        """Refuse a job whose station has died during its service; the time after that does not count as busy."""
        self.busy_s -= self.clock._now - self.deaths[job.life]
        self.jobs.fail_branch(job, Failure.STATION_DOWN)

    def _cool_caches(self) -> None:
        """Update the warm fraction to the present, before servers become idle or busy."""
        assert self.caches
        idle_s = (self.clock._now - self.warm_at) * (self.servers - self.busy) / self.servers
        self.warm_fraction, self.warm_at = cooled(self.warm_fraction, idle_s, self.caches.decay_s), self.clock._now

    def _warm_caches(self, job: Job, caches: Caches) -> None:
        """Add the cold-cache time to the job's demand, and warm up the caches."""
        work_s, warm_fraction = job.demand, self.warm_fraction
        job.demand += cold_time_s(warm_fraction, work_s, caches.cold_penalty_s, caches.warm_up_s)
        self.warm_fraction = warmed(warm_fraction, work_s / self.servers, caches.warm_up_s)

    def _serve(self, job: Job) -> None:
        """Put the job's departure on the clock."""
        if self.caches:
            self._warm_caches(job, self.caches)
        clock, duration = self.clock, job.demand / self.speed
        self.busy_s += duration
        clock.at(clock._now + duration, self._depart, job)
        job.began, job.life = clock._now, self.died  # like `_begin`, inlined because a call per visit is slow
        if self.notes_service:
            self.jobs.service_begun(job)

    def _depart(self, event: simpy.Event) -> None:
        raise NotImplementedError

    def _begin(self, job: Job) -> None:
        """Record that the service of a job has begun."""
        job.began, job.life = self.clock._now, self.died
        if self.notes_service:
            self.jobs.service_begun(job)
