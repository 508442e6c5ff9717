"""The reference engine: requests and their attempts on the stations of `sim/engine/reference/stations.py`.

It is meant to be read. The compiled engine is the same machine; `docs/engine.md` tells the order of events.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import simpy

from models.network.demand_sheet import Sheet, bound_of
from models.network.retry_policy import HEDGE_SAMPLES, Policy
from models.network.scenario import Action, Kind
from sim.engine.latency_histogram import LatencyBins
from sim.engine.outcome import CHUNK, JITTER_STREAM, Failure, Outcome, Program
from sim.engine.reference.load_balancer import LoadBalancer
from sim.engine.reference.stations import SERVERS, Clock, Job, Pool
from traces.random_streams import mixed


class Rows:
    """A Sheet as lists, which Python reads faster."""

    def __init__(self, sheet: Sheet):
        self.route, self.key_hash, self.first_visit = (
            column.tolist() for column in (sheet.route, sheet.key_hash, sheet.first_visit)
        )
        self.arrival_s, self.think_s, self.phase = (c.tolist() for c in (sheet.arrival_s, sheet.think_s, sheet.phase))
        self.station, self.demand_s = sheet.station.tolist(), sheet.demand_s.tolist()


class Request:
    """One request on its way. A background request has its stream's index instead of a client, and no policy."""

    __slots__ = (
        "client", "demands", "ended", "index", "key_hash", "open", "pending", "retries", "route", "route_index", "row",
        "stations", "stream", "taken", "tied", "width",
    )  # fmt: skip

    def __init__(self, index: int, row: int, client: int, stream: int):
        self.index, self.row, self.client, self.stream = index, row, client, stream
        self.open: dict[int, Attempt] = {}  # attempts that have no outcome yet, by number
        self.taken: dict[int, list[int]] = {}  # group: members that attempts have been bound to
        self.ended = self.tied = False
        self.retries = self.pending = 0  # pending: retries that are due
        self.route: Any
        self.route_index = self.key_hash = self.width = 0
        self.stations: list[int] = []  # of all attempts' visits, each attempt `width` of them
        self.demands: list[float] = []


class Attempt:
    """One attempt at a request: the stage it has come to, and how many branches of that are done or have failed."""

    __slots__ = (
        "began_s", "bindings", "cancelled", "done", "failed", "first", "held", "live", "number", "over", "path_s",
        "places", "priority", "request", "spent", "stage", "waiting",
    )  # fmt: skip

    def __init__(self, request: Request, number: int, began_s: float):
        self.request, self.number, self.began_s, self.priority = request, number, began_s, request.route.priority
        # Where paths are wanted: waiting and service by role up to its present stage, and at each visit by branch.
        self.path_s: list[float] = []
        self.spent: dict[int, list[tuple[str, float, float]]] = {}
        self.places = request.route.places
        self.first = number * request.width  # its visits' place among those of all attempts
        self.stage = self.done = self.failed = self.live = 0
        self.cancelled = self.over = False
        self.waiting: dict[int, Job] = {}  # jobs in queues, by the visit
        self.bindings: dict[int, int] = {}  # group: member
        self.held: dict[int, Pool] = {}  # the pools whose tokens it has, by the visit that took them


class Engine:
    """One execution of a program."""

    def __init__(self, program: Program, progress: Callable[[int], None] | None = None):
        self.program, self.progress, self.paths = program, progress, program.paths
        network = program.network
        self.network = network
        self.tied = any(route.policy.tied_after_s < math.inf for route in network.routes)
        self.clock, self.clock_s = Clock(), 0.0
        classes = 1 + max((route.priority for route in network.routes), default=0)
        stations = len(network.stations)
        self.servers = [
            SERVERS[station.discipline](station, self.clock, self, partial(mixed, program.seed, i), classes)
            for i, station in enumerate(network.stations)
        ]
        self.balancers = [
            LoadBalancer(group, network, partial(mixed, program.seed, stations + i))
            for i, group in enumerate(network.groups)
        ]
        self.start_s: list[float] = []
        self.first_byte_s: list[float] = []
        self.end_s: list[float] = []
        self.client: list[int] = []
        self.failure: list[int] = []
        self.attempts: list[int] = []
        self.winner: list[int] = []
        self.path_s: list[list[float]] = []
        self.roles = network.roles
        self.background_end_s = [math.nan] * sum(len(stream.sheet) for stream in program.background)
        self.released = [False] * len(program.background)
        self.background_next = [0] * len(program.background)
        self.background_zero_s = [0.0] * len(program.background)
        routes = len(network.routes)
        self.begun, self.retried, self.hedged = [0] * routes, [0] * routes, [0] * routes
        self.seen = [LatencyBins(route.policy.hedge_quantile) for route in network.routes]
        self.counted = sorted(
            (action for action in network.agenda if action.after_ended is not None),
            key=lambda action: action.after_ended or 0,
        )
        self.sheet: Rows
        self.background = [Rows(stream.sheet) for stream in program.background]
        self.sheet_first = self.sheet_end = self.next_row = 0
        self.outstanding = self.ended = self.phase = self.idle_with_queue = 0
        self.parked = [False] * network.pacing.clients

    def run(self) -> Outcome:
        """Execute all requests."""
        for action in self.network.agenda:
            if action.after_ended is None:
                self.clock.at(action.at_s, self._act, action)
        for i, stream in enumerate(self.program.background):
            if not stream.held:
                self._release(i)
        pacing = self.network.pacing
        if pacing.loop == "open":
            if self._row_ready():
                self.clock.at(self.sheet.arrival_s[0], self._arrive, None)
        else:
            for client in range(pacing.clients):
                self.clock.at(client * pacing.stagger_s, self._ready, client)
        self.clock.run()
        for server in self.servers:
            server.settle(self.clock_s)
        return self._outcome()

    def _outcome(self) -> Outcome:
        servers = self.servers
        return Outcome(
            np.array(self.start_s), np.array(self.first_byte_s), np.array(self.end_s), np.array(self.client, np.int32),
            np.array(self.failure, np.int8), np.array(self.attempts, np.int16), np.array(self.winner, np.int16),
            np.array(self.path_s).reshape(-1, 1 + 2 * len(self.roles)), np.array(self.background_end_s),
            np.array([s.visits for s in servers], np.int64),
            np.array([s.busy_s for s in servers], float), np.array([s.waiting_s for s in servers], float),
            np.array([s.busy if isinstance(s, Pool) else 0 for s in servers], np.int64),
            self.clock_s, self.outstanding, self.idle_with_queue,
        )  # fmt: skip

    # Where requests come from.

    def _row_ready(self) -> bool:
        """Whether there is a next request; draws its Sheet where that is not done yet."""
        if self.next_row < self.sheet_end:
            return True
        self.idle_with_queue += sum(server.idles_with_queue() for server in self.servers)
        if self.progress:
            self.progress(self.next_row)
        sheet = self.program.draw(self.next_row, CHUNK)
        self.sheet = Rows(sheet)
        self.sheet_first, self.sheet_end = sheet.first, sheet.first + len(sheet)
        return len(sheet) > 0

    def _take(self, client: int) -> Request:
        """The next request, taken out of the Sheet."""
        request = Request(self.next_row, self.next_row - self.sheet_first, client, -1)
        self._copy(request, self.sheet)
        for column in (self.start_s, self.first_byte_s, self.end_s):
            column.append(math.nan)
        for counts in (self.failure, self.attempts, self.winner):
            counts.append(0)
        self.client.append(client)
        if self.paths:
            self.path_s.append([math.nan] * (1 + 2 * len(self.roles)))
        self.next_row += 1
        self.outstanding += 1
        return request

    def _copy(self, request: Request, rows: Rows) -> None:
        """Take all attempts' visits out of the Sheet, so that it can go before the request does."""
        request.route_index = rows.route[request.row]
        request.route = self.network.routes[request.route_index]
        request.key_hash = rows.key_hash[request.row]
        request.width, first = len(request.route.visits), rows.first_visit[request.row]
        visits = slice(first, first + request.width * request.route.policy.attempts)
        request.stations, request.demands = rows.station[visits], rows.demand_s[visits]

    def _arrive(self, _: simpy.Event) -> None:
        request = self._take(-1)
        if self._row_ready():
            self.clock.at(self.sheet.arrival_s[self.next_row - self.sheet_first], self._arrive, None)
        self._begin(request)

    def _ready(self, event: simpy.Event) -> None:
        """A closed-loop client wants its next request."""
        client, pacing, now = event._value, self.network.pacing, self.clock._now
        limit_s = math.inf if pacing.duration_s is None else pacing.duration_s
        if now >= limit_s or not self._row_ready():
            return
        row = self.next_row - self.sheet_first
        if self.sheet.phase[row] != self.phase:
            self.parked[client] = True
            if self.outstanding == 0:
                self._open_phase(self.sheet.phase[row])
            return
        think_s = self.sheet.think_s[row]
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
                self.clock.at(self.clock._now + client * self.network.pacing.stagger_s, self._ready, client)

    def _issue(self, event: simpy.Event) -> None:
        self._begin(event._value)

    def _release(self, stream: int) -> None:
        """A background stream begins."""
        self.released[stream], self.background_zero_s[stream] = True, self.clock._now
        self.clock.at(self.clock._now, self._released, stream)

    def _released(self, event: simpy.Event) -> None:
        self._await_background(event._value)

    def _await_background(self, stream: int) -> None:
        sheet, row = self.background[stream], self.background_next[stream]
        if row < len(sheet.route):
            self.clock.at(self.background_zero_s[stream] + sheet.arrival_s[row], self._arrive_background, stream)

    def _arrive_background(self, event: simpy.Event) -> None:
        stream = event._value
        row = self.background_next[stream]
        before = sum(len(other.route) for other in self.background[:stream])
        request = Request(before + row, row, -1, stream)
        self._copy(request, self.background[stream])
        self.background_next[stream] += 1
        self._await_background(stream)
        self._attempt(request)

    # A request's attempts.

    def _begin(self, request: Request) -> None:
        now, policy = self.clock._now, request.route.policy
        self.start_s[request.index] = now
        self.begun[request.route_index] += 1
        second_s = self._second_after_s(request, policy)
        if second_s < math.inf:
            self.clock.at(now + second_s, self._second, request)
        self._attempt(request)

    def _second_after_s(self, request: Request, policy: Policy) -> float:
        """When a second attempt starts without the first having failed."""
        if policy.hedge_quantile:
            seen = self.seen[request.route_index]
            return seen.quantile_s() if seen.total >= HEDGE_SAMPLES else math.inf
        return min(policy.hedge_after_s, policy.tied_after_s)

    def _attempt(self, request: Request) -> None:
        """Begin the next attempt."""
        number = 0
        if request.stream < 0:
            number = self.attempts[request.index]
            self.attempts[request.index] += 1
        attempt = request.open[number] = Attempt(request, number, self.clock._now)
        if self.paths:
            attempt.path_s = [0.0] * (2 * len(self.roles))
        if request.route.policy.timeout_s < math.inf:
            self.clock.at(self.clock._now + request.route.policy.timeout_s, self._time_out, attempt)
        self._fork(attempt)

    def _second(self, event: simpy.Event) -> None:
        request = event._value
        if request.ended:
            return
        policy, route = request.route.policy, request.route_index
        if request.tied:  # it is being served already
            return
        if self.hedged[route] + 1 > policy.hedge_share * self.begun[route]:
            return
        self.hedged[route] += 1
        self._attempt(request)

    def _time_out(self, event: simpy.Event) -> None:
        self._give_up(event._value, Failure.TIMEOUT)

    def _give_up(self, attempt: Attempt, why: Failure) -> None:
        """An attempt has failed; another is under way, or a retry is due, or the request has failed."""
        request = attempt.request
        if attempt.over:
            return
        self._cancel(attempt)
        if request.ended or (request.stream < 0 and self._under_way(request)):
            return
        policy, route = request.route.policy, request.route_index
        if request.retries < policy.retries and self.retried[route] + 1 <= policy.retry_share * self.begun[route]:
            self.retried[route] += 1
            pause_s = min(policy.backoff_s * 2.0**request.retries, policy.backoff_max_s)
            if policy.jitter:
                share = (mixed(self.program.seed, JITTER_STREAM + request.retries, request.index) >> 11) * 2.0**-53
                pause_s *= 1.0 - policy.jitter * share
            request.retries += 1
            request.pending += 1
            self.clock.at(self.clock._now + pause_s, self._retry, request)
        else:
            self._end(request, None, why)

    def _under_way(self, request: Request) -> bool:
        return request.pending > 0 or bool(request.open)

    def _retry(self, event: simpy.Event) -> None:
        request = event._value
        request.pending -= 1
        if not request.ended:
            self._attempt(request)

    def _end(self, request: Request, winner: Attempt | None, why: Failure) -> None:
        now, self.clock_s = self.clock._now, self.clock._now
        request.ended = True
        if request.stream >= 0:
            self.background_end_s[request.index] = now
            return
        self.end_s[request.index], self.failure[request.index] = now, why
        self.winner[request.index] = 0 if winner is None else winner.number + 1
        if winner is not None and self.paths:
            self.path_s[request.index] = [winner.began_s - self.start_s[request.index], *winner.path_s]
        self.outstanding -= 1
        self.ended += 1
        if winner is not None and request.route.policy.hedge_quantile:
            self.seen[request.route_index].add(now - self.start_s[request.index])
        if request.route.policy.cancels:
            for attempt in list(request.open.values()):
                self._cancel(attempt)
        if request.client >= 0:
            self.clock.at(now, self._ready, request.client)
        while self.counted and self.ended >= (self.counted[0].after_ended or 0):
            self._do(self.counted.pop(0))

    def _cancel(self, attempt: Attempt) -> None:
        """What waits leaves its queue; what is in service ends there."""
        self.clock_s = self.clock._now
        attempt.cancelled = True
        self._close(attempt)
        for _, job in sorted(attempt.waiting.items()):
            job.server.drop(job)
            attempt.live -= 1
        attempt.waiting.clear()
        if attempt.live == 0:
            self._drained(attempt)

    def _close(self, attempt: Attempt) -> None:
        """The attempt has an outcome, so its members have one less under way."""
        attempt.over = True
        del attempt.request.open[attempt.number]
        for group, member in attempt.bindings.items():
            self.balancers[group].done(attempt.request.key_hash, member)

    def _drained(self, attempt: Attempt) -> None:
        """No branch is left; tokens that it still holds go back."""
        for position, pool in sorted(attempt.held.items()):
            pool.give_back(attempt, position)

    # An attempt's way through its stages.

    def _fork(self, attempt: Attempt) -> None:
        """Start the branches of the attempt's present stage."""
        attempt.done = attempt.failed = 0
        firsts = attempt.request.route.forks[attempt.stage]
        attempt.live += len(firsts)
        for position in firsts:
            self._enter(Job(attempt, position))

    def _enter(self, job: Job) -> None:
        """The visit at the job's position begins."""
        attempt = job.attempt
        request, visit = attempt.request, attempt.first + job.position
        job.demand = request.demands[visit]
        station = request.stations[visit]
        if station < 0:
            bound = bound_of(station)
            member = self._member(attempt, bound.group)
            if member < 0:
                self.refuse_soon(job, Failure.NO_MEMBER)
                return
            station = self.balancers[bound.group].station(request.key_hash, member, bound.position)
        job.server = self.servers[station]
        job.server.enter(job)

    def _member(self, attempt: Attempt, group: int) -> int:
        """The member that the attempt is bound to; binds it where it is not."""
        if group not in attempt.bindings:
            taken = attempt.request.taken.setdefault(group, [])
            member = self.balancers[group].pick(attempt.request.key_hash, taken)
            if member < 0:
                return -1
            taken.append(member)
            attempt.bindings[group] = member
        return attempt.bindings[group]

    def leave(self, job: Job) -> None:
        """A visit is over: on to the next of its branch, or to the join."""
        attempt = job.attempt
        self.clock_s = self.clock._now
        if attempt.cancelled:
            self._end_branch(attempt)
            return
        stage, last = attempt.places[job.position]
        if self.paths:
            attempt.spent.setdefault(last, []).append((job.server.station.role, *job.server.spent(job)))
        if job.position != last:
            job.position += 1
            self._enter(job)
            return
        attempt.live -= 1
        if stage == attempt.stage and not attempt.over:
            attempt.done += 1
            if attempt.done == attempt.request.route.stages[stage].need:
                if self.paths:
                    self._add_branch(attempt, last)
                self._join(attempt)
        if attempt.live == 0:
            self._drained(attempt)

    def _add_branch(self, attempt: Attempt, last: int) -> None:
        """Add the visits of the branch that ends with the visit `last` to the attempt's path."""
        for role, waiting_s, service_s in attempt.spent[last]:
            at = 2 * self.roles.index(role)
            attempt.path_s[at] += waiting_s
            attempt.path_s[at + 1] += service_s

    def _join(self, attempt: Attempt) -> None:
        request, now = attempt.request, self.clock._now
        stages = request.route.stages
        if stages[attempt.stage].delivers and request.stream < 0 and math.isnan(self.first_byte_s[request.index]):
            self.first_byte_s[request.index] = now
        if attempt.stage + 1 < len(stages):
            attempt.stage += 1
            self._fork(attempt)
            return
        self._close(attempt)
        if not request.ended:
            self._end(request, attempt, Failure.NONE)

    def _end_branch(self, attempt: Attempt) -> None:
        attempt.live -= 1
        if attempt.live == 0:
            self._drained(attempt)

    # What the stations call.

    def refuse_soon(self, job: Job, why: Failure) -> None:
        """Refuse a job in an event of its own, so that no station is entered while another is changing."""
        self.clock.at(self.clock._now, self._refused, (job, why))

    def _refused(self, event: simpy.Event) -> None:
        self.refuse(*event._value)

    def refuse(self, job: Job, why: Failure) -> None:
        """The job's branch has failed; so has its attempt, when too few branches are left."""
        attempt = job.attempt
        self.clock_s = self.clock._now
        stage, _ = attempt.places[job.position]
        attempt.live -= 1
        if stage == attempt.stage and not attempt.over:
            attempt.failed += 1
            of = attempt.request.route.stages[stage]
            if attempt.done < of.need and len(of.branches) - attempt.failed < of.need:
                self._give_up(attempt, why)
                return
        if attempt.live == 0:
            self._drained(attempt)

    def go_on_soon(self, job: Job) -> None:
        """Have a job go on in an event of its own."""
        self.clock.at(self.clock._now, self._go_on, job)

    def _go_on(self, event: simpy.Event) -> None:
        self.leave(event._value)

    def releases(self, job: Job) -> bool:
        """Whether the job gives a token back."""
        return bool(job.attempt.request.route.visits[job.position].releases)

    def served(self, job: Job) -> None:
        """A job's service begins: at a tied visit the other attempts are cancelled."""
        attempt = job.attempt
        request = attempt.request
        if attempt.over or request.route.policy.tied_after_s == math.inf or not request.route.visits[job.position].ties:
            return
        request.tied = True
        for other in list(request.open.values()):
            if other is not attempt:
                self._cancel(other)

    # The agenda.

    def _act(self, event: simpy.Event) -> None:
        self._do(event._value)

    def _do(self, action: Action) -> None:
        match action.kind:
            case Kind.SPEED:
                self.servers[action.target].set_speed(action.value)
            case Kind.DOWN | Kind.SHUT:
                if not self.servers[action.target].down:
                    self.servers[action.target].die()
            case Kind.UP | Kind.OPEN:
                if self.servers[action.target].down:
                    self.servers[action.target].revive()
            case Kind.JOIN | Kind.LEAVE:
                self.balancers[action.target].present[action.member] = action.kind is Kind.JOIN
            case Kind.RELEASE:
                if not self.released[action.target]:
                    self._release(action.target)


def run(program: Program, progress: Callable[[int], None] | None = None) -> Outcome:
    """Execute a program; `progress` is told how many requests have begun.

    Raises:
        InvariantError: the engine broke one of its laws.
    """
    outcome = Engine(program, progress).run()
    outcome.check(program.network)
    return outcome
