"""A server for each discipline: how it admits jobs, and which it serves next."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

import simpy

from models.network.discipline import Discipline
from models.network.station import Station
from sim.engine.outcome import Failure
from sim.engine.reference.requests import Attempt, Job, Transaction
from sim.engine.reference.stations import Clock, Jobs, Server


class InfiniteServer(Server):
    _admit = Server._serve

    def idles_with_queue(self) -> bool:
        return False

    def _depart(self, event: simpy.Event) -> None:
        job = event._value
        if job.life != self.died:
            self._lose(job)
        else:
            self.jobs.end_visit(job)


class Fifo(Server):
    def _admit(self, job: Job) -> None:
        if self.busy < self.servers:
            if self.caches:
                self._cool_caches()
            self._occupy()
            job.demand += self.station.setup_s
            self._serve(job)
        else:
            self._wait(job)

    def _depart(self, event: simpy.Event) -> None:
        job = event._value
        if job.life != self.died:
            self._lose(job)
            return
        if self.caches:
            self._cool_caches()
        if self.pair:
            self._hand_over_server()
        elif self.live:
            self._serve_waiting()
        else:
            self.busy -= 1
        self.jobs.end_visit(job)

    def _serve_waiting(self) -> None:
        self._serve(self._next())


class Siro(Fifo):
    choices = 0

    def _dequeue(self) -> Job:
        chosen, age_bias = self._random() % len(self.queue), self.station.age_bias
        if age_bias and (self._random() >> 11) * 2.0**-53 < age_bias:
            other = self._random() % len(self.queue)
            chosen = other if self.queue[other].since < self.queue[chosen].since else chosen
        # The last takes the place of the chosen one: the order of the queue does not matter.
        self.queue[chosen], self.queue[-1] = self.queue[-1], self.queue[chosen]
        return self.queue.pop()

    def _random(self) -> int:
        self.choices += 1
        return self.draw(self.choices - 1)


class Priority(Fifo):
    def __init__(self, station: Station, clock: Clock, jobs: Jobs, draw: Callable[[int], int], classes: int):
        super().__init__(station, clock, jobs, draw, classes)
        self.queues: list[deque[Job]] = [deque() for _ in range(classes)]

    def _enqueue(self, job: Job) -> None:
        self.queues[job.attempt.priority].append(job)

    def _dequeue(self) -> Job:
        return next(queue for queue in self.queues if queue).popleft()


class WeightedShare(Priority):
    """Start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996): each class has the virtual time at which its next
    job starts; the least is served."""

    def __init__(self, station: Station, clock: Clock, jobs: Jobs, draw: Callable[[int], int], classes: int):
        super().__init__(station, clock, jobs, draw, classes)
        self.start = [0.0] * classes
        self.virtual = 0.0

    def _enqueue(self, job: Job) -> None:
        of = job.attempt.priority
        if not self.queues[of]:
            self.start[of] = max(self.start[of], self.virtual)
        self.queues[of].append(job)

    def _dequeue(self) -> Job:
        waiting = [of for of, queue in enumerate(self.queues) if queue]
        return self.queues[min(waiting, key=lambda of: self.start[of])].popleft()

    def _serve(self, job: Job) -> None:
        of = job.attempt.priority
        self.virtual = max(self.virtual, self.start[of])
        self.start[of] = self.virtual + job.demand / self.station.weights[of]
        super()._serve(job)


class GroupCommit(Server):
    """A batch server. At a shared one, a batch pauses after each part of its service, `paused_s` being since when."""

    paused: list[Job] | None = None
    paused_s = part_s = 0.0
    parts_left = 0

    def _admit(self, job: Job) -> None:
        if self.busy:
            self._wait(job)
        else:
            self._occupy()
            self._commit([job])

    def _commit(self, batch: list[Job]) -> None:
        station, parts = self.station, self.station.parts
        duration = batch[0].demand + (len(batch) - 1) * station.batch_item_s
        if station.flush_s and any(job.attempt.visits[job.position].flushes for job in batch):
            duration += station.flush_s
            parts += 1
        duration /= self.speed
        self.busy_s += duration
        if station.shares_server:
            self.parts_left = parts - 1
            self.part_s = duration = duration / parts
        self.clock.at(self.clock._now + duration, self._depart, batch)
        for job in batch:
            self._begin(job)

    def _depart(self, event: simpy.Event) -> None:
        batch = event._value
        if self.parts_left:
            self.parts_left -= 1
            self.paused, self.paused_s = batch, self.clock._now
            self._hand_over_server()
            return
        if batch[0].life != self.died:
            self.busy_s -= self.clock._now - self.deaths[batch[0].life]
            for job in batch:
                self.jobs.fail_branch(job, Failure.STATION_DOWN)
            return
        if self.pair:
            self._hand_over_server()
        elif self.live:
            self._serve_waiting()
        else:
            self.busy = 0
        for job in batch:
            self.jobs.end_visit(job)

    def _waits(self) -> bool:
        return self.paused is not None or super()._waits()

    def _oldest_s(self) -> float:
        return self.paused_s if self.paused is not None else super()._oldest_s()

    def _serve_waiting(self) -> None:
        if self.paused is None:
            self._commit([self._next() for _ in range(self.live)])
        else:
            self.clock.at(self.clock._now + self.part_s, self._depart, self.paused)
            self.paused = None


class ProcessorSharing(Server):
    """Virtual time: all jobs gain attained service at the same rate, so they depart in order of the attained service at
    which they are done.

    A job waits before that for the work in the queue: `left_s` is the work of all jobs that is not done.
    """

    def __init__(self, station: Station, clock: Clock, jobs: Jobs, draw: Callable[[int], int], classes: int):
        super().__init__(station, clock, jobs, draw, classes)
        self.present: list[tuple[float, int, Job]] = []
        self.behind = self.joined = 0
        self.attained_s = self.last_s = self.left_s = 0.0
        self.version = 0

    def take_down(self) -> None:
        super().take_down()
        self.integrate(self.clock._now)
        while self.present:
            self.jobs.fail_branch_soon(heappop(self.present)[2], Failure.STATION_DOWN)
        self.attained_s = self.left_s = 0.0
        self.behind = 0
        self.version += 1

    def set_speed(self, speed: float) -> None:
        self.integrate(self.clock._now)
        self.speed = speed
        self._schedule()

    def integrate(self, now_s: float) -> None:
        elapsed = now_s - self.last_s
        present = len(self.present)
        if present:
            self.busy_s += min(present, self.servers) * elapsed
            self.waiting_s += max(present - self.servers, 0) * elapsed
            self.attained_s += elapsed * self._rate()
        if self.station.queue_s:
            self.waiting_s += self.behind * elapsed
            self.left_s = max(self.left_s - min(present, self.servers) * elapsed * self.speed, 0.0)
        self.last_s = now_s

    def idles_with_queue(self) -> bool:
        return False

    def spent(self, job: Job) -> tuple[float, float]:
        """Service is the no-contention time at speed 1, waiting the rest."""
        stayed = self.clock._now - job.since
        served = min(stayed, job.demand)
        return stayed - served, served

    def _admit(self, job: Job) -> None:
        self.integrate(self.clock._now)
        wait_s = 0.0
        if self.station.queue_s:
            jobs = len(self.present) + self.behind
            queued_s = min(self.left_s, jobs * self.station.queued_each_s) if jobs else 0.0
            wait_s = min(queued_s / self.servers, self.station.queue_s) / self.speed
            self.left_s += job.demand
        if wait_s:
            self.behind += 1
            self.clock.at(self.clock._now + wait_s, self._queue_ended, job)
        else:
            self._join(job)
        self._begin(job)

    def _queue_ended(self, event: simpy.Event) -> None:
        job = event._value
        if job.life != self.died:
            self.jobs.fail_branch(job, Failure.STATION_DOWN)
            return
        self.integrate(self.clock._now)
        self.behind -= 1
        self._join(job)

    def _join(self, job: Job) -> None:
        self.joined += 1
        heappush(self.present, (self.attained_s + job.demand, self.joined, job))
        self._schedule()

    def _rate(self) -> float:
        present = len(self.present)
        return self.speed * (self.servers / present if present > self.servers else 1.0)

    def _schedule(self) -> None:
        self.version += 1  # invalidates the departure on the clock
        if self.present:
            left = max(self.present[0][0] - self.attained_s, 0.0)
            self.clock.at(self.clock._now + left / self._rate(), self._depart, self.version)

    def _depart(self, event: simpy.Event) -> None:
        if event._value != self.version:
            return
        self.integrate(self.clock._now)
        done, _, job = heappop(self.present)
        self.attained_s = done if self.present else 0.0
        self._schedule()
        self.jobs.end_visit(job)


class NoService(Server):
    """A station without service: all time there is waiting."""

    def spent(self, job: Job) -> tuple[float, float]:
        return self.clock._now - job.since, 0.0


class Pool(NoService):
    """A pool of tokens, of which `busy` are held."""

    last_s = 0.0

    def _admit(self, job: Job) -> None:
        if job.attempt.request.route.visits[job.position].releases:
            if job.position not in job.attempt.returned:
                self.release(job.attempt, job.position)
            self.jobs.end_visit_soon(job)
        elif self.busy < self.servers:
            self.integrate(self.clock._now)
            self.busy += 1
            self._grant_token(job)
        elif self.live < self.station.queue_limit:
            self._wait(job)
        else:
            self.jobs.fail_branch_soon(job, Failure.QUEUE_FULL)

    def release(self, attempt: Attempt, position: int) -> bool:
        """Return the token that was taken first, by a visit before this one; return whether there is one."""
        taken = [p for p, pool in attempt.held.items() if pool is self and p < position]
        if taken:
            self.return_token(attempt, min(taken))
        return bool(taken)

    def return_token(self, attempt: Attempt, position: int) -> None:
        """Return the token that an attempt took at this visit; it is granted to the first waiting job."""
        del attempt.held[position]
        if self.live:
            self._grant_token(self._next())
        else:
            self.integrate(self.clock._now)
            self.busy -= 1

    def integrate(self, now_s: float) -> None:
        self.busy_s += self.busy * (now_s - self.last_s)
        self.last_s = now_s

    def _grant_token(self, job: Job) -> None:
        job.attempt.held[job.position] = self
        self.jobs.end_visit_soon(job)


class Gate(NoService):
    """A gate; `down` while it is shut, which refuses no job."""

    def enter(self, job: Job) -> None:
        self.visits += 1
        job.since = self.clock._now
        period_s, phase_s = self.station.period_s, self.station.phase_s
        if period_s:
            opens_s = phase_s + (math.floor((self.clock._now - phase_s) / period_s) + 1) * period_s
            self.clock.at(max(opens_s, self.clock._now), self._poll_gate, job)
        elif not self.down:
            self.jobs.end_visit_soon(job)
        elif self.station.poll_s:
            job.polls = 1
            self.clock.at(self.clock._now + self.station.poll_s, self._poll_gate, job)
        else:
            self._wait(job)

    def take_down(self) -> None:
        self.down = True

    def bring_up(self) -> None:
        self.down = False
        while self.live:
            self.jobs.end_visit_soon(self._next())

    def idles_with_queue(self) -> bool:
        return self.live > 0 and not self.down

    def _poll_gate(self, event: simpy.Event) -> None:
        job = event._value
        if self.down and job.polls < self.station.poll_limit and not job.attempt.cancelled:
            job.polls += 1
            self.clock.at(self.clock._now + self.station.poll_s, self._poll_gate, job)
            return
        self.waiting_s += self.clock._now - job.since
        if self.down:
            self.jobs.fail_branch(job, Failure.GATE_SHUT)
        else:
            self.jobs.end_visit(job)


class Optimistic(NoService):
    """A counter of commits."""

    count = choices = 0

    def _admit(self, job: Job) -> None:
        attempt, position = job.attempt, job.position
        mine = [transaction for transaction in job.transactions if transaction.server is self]
        if not attempt.visits[position].releases:
            spent = len(attempt.spent.get(attempt.places[position][1], ()))
            job.transactions.append(Transaction(self, position, job.since, spent, self.count))
        elif mine and mine[-1].count != self.count:
            self._repeat(job, mine[0])
            return
        else:
            self.count += 1
            job.transactions = [transaction for transaction in job.transactions if transaction.server is not self]
        self.jobs.end_visit_soon(job)

    def _repeat(self, job: Job, transaction: Transaction) -> None:
        """Let the branch go back to the beginning of its transaction, unless it has done what cannot be repeated."""
        attempt, first = job.attempt, transaction.position
        done = attempt.visits[first : job.position]
        is_final = any(visit.timer or visit.claims or visit.starts is not None for visit in done)
        if is_final or transaction.repetitions >= self.station.repeat_limit:
            self.jobs.fail_branch_soon(job, Failure.CONFLICT)
            return
        for position, pool in sorted(attempt.held.items()):
            if first < position < job.position:
                pool.return_token(attempt, position)
        attempt.returned.difference_update(range(first, job.position))
        del job.transactions[job.transactions.index(transaction) + 1 :]
        transaction.repetitions += 1
        fraction = (self.draw(self.choices) >> 11) * 2.0**-53
        self.choices += 1
        pause_s = self.station.repeat_s * float(transaction.repetitions**2 - 1) * fraction
        self.waiting_s += pause_s
        job.position, job.server, job.since = first, self, transaction.since
        self.clock.at(self.clock._now + pause_s, self._begin_again, job)

    def _begin_again(self, event: simpy.Event) -> None:
        job = event._value
        transaction = job.transactions[-1]
        self.visits += 1
        transaction.count = self.count
        if (spent := job.attempt.spent.get(job.attempt.places[job.position][1])) is not None:
            del spent[transaction.spent :]
        self.jobs.end_visit(job)


SERVERS: dict[Discipline, type[Server]] = {
    Discipline.INFINITE_SERVER: InfiniteServer,
    Discipline.FIFO: Fifo,
    Discipline.PROCESSOR_SHARING: ProcessorSharing,
    Discipline.GROUP_COMMIT: GroupCommit,
    Discipline.SIRO: Siro,
    Discipline.PRIORITY: Priority,
    Discipline.WEIGHTED_SHARE: WeightedShare,
    Discipline.POOL: Pool,
    Discipline.GATE: Gate,
    Discipline.OPTIMISTIC: Optimistic,
}
"""The server of each discipline."""
