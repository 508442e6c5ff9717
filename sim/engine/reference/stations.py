"""What all stations of the reference engine have in common: SimPy's clock, and servers with their queue.

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
    """An event that is on the clock from the start, and calls one function."""

    _ok = True

    def __init__(self, callback: Callable[[Any], None], argument: Any):
        self.callbacks, self._value = [callback], argument


class Clock(simpy.Environment):
    """A SimPy environment whose events are put at absolute times: adding a delay to the present would round."""

    def at(self, time: float, callback: Callable[[Any], None], argument: Any) -> None:
        """Call `callback` with an event whose value is `argument`."""
        heappush(self._queue, (time, NORMAL, next(self._eid), Due(callback, argument)))


class Jobs(Protocol):
    """What servers do with a job: `sim/engine/reference/attempts.py`."""

    tied: bool

    def leave(self, job: Job) -> None:
        """The visit is over."""

    def go_on_soon(self, job: Job) -> None:
        """The visit is over, in an event of its own."""

    def refuse(self, job: Job, why: Failure) -> None:
        """The job's branch has failed."""

    def refuse_soon(self, job: Job, why: Failure) -> None:
        """The job's branch has failed, in an event of its own."""

    def served(self, job: Job) -> None:
        """Its service begins; called where some attempts are tied."""


class Server:
    """What the disciplines have in common."""

    def __init__(self, station: Station, clock: Clock, jobs: Jobs, draw: Callable[[int], int], classes: int):
        self.station, self.clock, self.jobs, self.draw = station, clock, jobs, draw
        self.servers, self.speed = station.servers, 1.0
        self.queue: deque[Job] = deque()
        self.live = self.busy = self.visits = 0  # live: those in the queue that have not been dropped
        self.busy_s = self.waiting_s = 0.0
        self.down, self.died, self.tied = False, 0, jobs.tied
        self.deaths: list[float] = []
        self.caches, self.warm_fraction, self.warm_at = station.caches, 1.0, 0.0

    def enter(self, job: Job) -> None:
        """A visit begins."""
        self.visits += 1
        job.since = self.clock._now
        if self.down:
            self.jobs.refuse_soon(job, Failure.STATION_DOWN)
        else:
            self._admit(job)

    def drop(self, job: Job) -> None:
        """A waiting job gives up; it stays in the queue, cancelled, until the queue comes to it."""
        self.live -= 1
        self.waiting_s += self.clock._now - job.since
        job.dropped = True

    def die(self) -> None:
        """Refuse who waits; who is in service will find out."""
        if self.caches:
            self._cool()
        self.down, self.busy = True, 0
        self.died += 1
        self.deaths.append(self.clock._now)
        while self.live:
            self.jobs.refuse_soon(self._next(), Failure.STATION_DOWN)

    def revive(self) -> None:
        self.down = False

    def set_speed(self, speed: float) -> None:
        self.speed = speed

    def settle(self, now_s: float) -> None:
        """Bring the integrals up to now."""

    def idles_with_queue(self) -> bool:
        return self.live > 0 and self.busy < self.servers

    def _admit(self, job: Job) -> None:
        raise NotImplementedError

    def spent(self, job: Job) -> tuple[float, float]:
        """How long a job that leaves now has waited, and how long it was served."""
        return job.began - job.since, self.clock._now - job.began

    def _wait(self, job: Job) -> None:
        job.attempt.waiting[job.position] = job
        self.live += 1
        self._enqueue(job)

    def _next(self) -> Job:
        """The next job that still waits; there is one."""
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
        """The station has died since the job's service began; its time after that was not spent."""
        self.busy_s -= self.clock._now - self.deaths[job.life]
        self.jobs.refuse(job, Failure.STATION_DOWN)

    def _cool(self) -> None:
        """Bring the warmth up to now, before servers turn idle or busy."""
        assert self.caches
        idle_s = (self.clock._now - self.warm_at) * (self.servers - self.busy) / self.servers
        self.warm_fraction, self.warm_at = cooled(self.warm_fraction, idle_s, self.caches.decay_s), self.clock._now

    def _warm(self, job: Job, caches: Caches) -> None:
        """Have the job fill the caches with its work."""
        work_s, warm_fraction = job.demand, self.warm_fraction
        job.demand += cold_time_s(warm_fraction, work_s, caches.cold_penalty_s, caches.warm_up_s)
        self.warm_fraction = warmed(warm_fraction, work_s / self.servers, caches.warm_up_s)

    def _serve(self, job: Job) -> None:
        """Put the job's departure on the clock."""
        if self.caches:
            self._warm(job, self.caches)
        clock, duration = self.clock, job.demand / self.speed
        self.busy_s += duration
        clock.at(clock._now + duration, self._depart, job)
        job.began, job.life = clock._now, self.died  # as `_begin` does; a call for every visit would be felt
        if self.tied:
            self.jobs.served(job)

    def _depart(self, event: simpy.Event) -> None:
        raise NotImplementedError

    def _begin(self, job: Job) -> None:
        """The job is in service now."""
        job.began, job.life = self.clock._now, self.died
        if self.tied:
            self.jobs.served(job)
