"""The life cycle of a request: attempts, hedges and retries, and the stages of an attempt.

This is the core of the engine. The kernel's `requests.c` and `attempts.c` do the same in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import simpy

from models.network.visit_draws import PASSES_BY, bound_of
from sim.engine.outcome import JITTER_STREAM, Failure, Program
from sim.engine.policy_state import PolicyState
from sim.engine.reference.disciplines import SERVERS, Pool
from sim.engine.reference.families import Families, receiver
from sim.engine.reference.load_balancer import LoadBalancer
from sim.engine.reference.requests import Attempt, Job, Request
from sim.engine.reference.results import Results
from sim.engine.reference.stations import Clock, Server
from traces.random_streams import mixed


class Attempts:
    """All requests in flight, the stations they visit, and their outcomes.

    Attributes:
        client_is_free: called with the number of the client when its request has ended.
        clock_s: when the last visit or attempt ended.
    """

    def __init__(self, program: Program, clock: Clock, results: Results):
        network = program.network
        self.clock, self.results, self.seed, self.paths = clock, results, program.seed, program.paths
        self.roles, self.routes, self.clock_s = network.roles, network.routes, 0.0
        self.families = Families(self, (1 + 2 * len(network.roles)) * program.paths)
        self.client_is_free: Callable[[int], None]
        self.tied = any(route.policy.tied_after_s < math.inf for route in network.routes)
        self.early = any(visit.early for route in network.routes for visit in route.visits)
        self.notes_service = self.tied or self.early
        self.servers = [
            SERVERS[station.discipline](
                station, clock, self, partial(mixed, program.seed, station.identity), network.classes
            )
            for station in network.stations
        ]
        for i, station in enumerate(network.stations):
            if station.shares_server:
                pair = self.servers[i - 1], self.servers[i]
                pair[0].pair = pair[1].pair = pair
        self.balancers = [
            LoadBalancer(group, network, partial(mixed, program.seed, group.identity)) for group in network.groups
        ]
        states = [PolicyState(route.policy) for route in network.routes]
        self.states = [states[first] for first in network.first_with_policy]

    def count_idle(self) -> None:
        """Count stations with an idle server and a waiting job, which there are not."""
        self.results.idle_with_queue += sum(server.idles_with_queue() for server in self.servers)

    # A request's attempts.

    def begin(self, request: Request) -> None:
        """Begin a request of a client, or a sub-request."""
        now = request.start_s = self.clock._now
        if request.is_recorded:
            self.results.start_s[request.index] = now
        second_s = self.states[request.route_index].begin()
        if second_s < math.inf:
            self.clock.at(now + second_s, self._begin_second_attempt, request)
        self.attempt(request)

    def attempt(self, request: Request) -> None:
        """Begin the next attempt."""
        number = request.attempts
        request.attempts += 1
        if request.is_recorded:
            self.results.attempts[request.index] += 1
        attempt = request.open[number] = Attempt(request, number, self.clock._now)
        if self.paths:
            attempt.path_s = [0.0] * (1 + 2 * len(self.roles))
        if request.family is not None and number == 0:
            for group, member in request.family.members.items():
                attempt.bindings[group] = member
                request.taken.setdefault(group, []).append(member)
                self.balancers[group].bind(request.key_hash, member)
        if request.route.policy.timeout_s < math.inf:
            self.clock.at(self.clock._now + request.route.policy.timeout_s, self._time_out, attempt)
        self._fork(attempt)

    def _begin_second_attempt(self, event: simpy.Event) -> None:
        request = event._value
        if request.ended or request.tied:  # tied: the first attempt is already in service
            return
        if self.states[request.route_index].hedges.take():
            self.attempt(request)

    def _time_out(self, event: simpy.Event) -> None:
        self._fail_attempt(event._value, Failure.TIMEOUT)

    def _fail_attempt(self, attempt: Attempt, why: Failure) -> None:
        """Fail an attempt: unless another is in progress or a retry pending, retry it or fail the request."""
        request = attempt.request
        if attempt.over:
            return
        self._cancel(attempt)
        if request.ended or (not request.background and (request.pending > 0 or request.open)):
            return
        policy = request.route.policy
        if request.retries < policy.retries and self.states[request.route_index].retries.take():
            pause_s = policy.pause_s(request.retries)
            if policy.jitter:
                fraction = (mixed(self.seed, JITTER_STREAM + request.retries, request.number) >> 11) * 2.0**-53
                pause_s *= 1.0 - policy.jitter * fraction
            request.retries += 1
            request.pending += 1
            self.clock.at(self.clock._now + pause_s, self._retry, request)
        else:
            self._end(request, None, why)

    def _retry(self, event: simpy.Event) -> None:
        request = event._value
        request.pending -= 1
        if not request.ended:
            self.attempt(request)

    def _end(self, request: Request, winner: Attempt | None, why: Failure) -> None:
        now = self.clock_s = self.clock._now
        request.ended = True
        if request.background:
            self.results.background_end_s[request.index] = now
            return
        if request.is_recorded:
            self.results.end(request, winner, why, now)
        if winner is not None:
            self.states[request.route_index].observe(now - request.start_s)
        if request.route.policy.cancels:
            for attempt in list(request.open.values()):
                self._cancel(attempt)
        if request.family is not None:
            self.families.ended(request, winner, why)
        elif request.client >= 0:
            self.client_is_free(request.client)

    def cancel_request(self, request: Request) -> None:
        """End a sub-request without a result."""
        request.ended = True
        for attempt in list(request.open.values()):
            self._cancel(attempt)

    def _cancel(self, attempt: Attempt) -> None:
        """Cancel an attempt: waiting jobs leave their queues, jobs in service end there.

        No further sub-requests begin; those in progress end, or are cancelled.
        """
        self.clock_s = self.clock._now
        attempt.cancelled = True
        self._close(attempt)
        for position, job in sorted({**attempt.waiting, **attempt.families}.items()):
            if position in attempt.waiting:
                job.server.drop(job)
                attempt.live -= 1
            elif self.families.abandon(job):
                attempt.live -= 1
        attempt.waiting.clear()
        self._return_tokens_if_over(attempt)

    def _close(self, attempt: Attempt) -> None:
        """Record that the attempt has an outcome; its members have one outstanding attempt less."""
        attempt.over = True
        del attempt.request.open[attempt.number]
        for group, member in attempt.bindings.items():
            self.balancers[group].done(attempt.request.key_hash, member)

    def _return_tokens_if_over(self, attempt: Attempt) -> None:
        """Return the tokens that the attempt still holds if it has ended and none of its branches is in progress."""
        if attempt.live == 0 and attempt.over:
            for position, pool in sorted(attempt.held.items()):
                pool.return_token(attempt, position)

    # The stages of an attempt.

    def _fork(self, attempt: Attempt) -> None:
        """Start the branches of the attempt's current stage."""
        attempt.done = attempt.failed = attempt.claimed = 0
        firsts = attempt.request.route.forks[attempt.stage]
        attempt.live += len(firsts)
        for position in firsts:
            self._enter(Job(attempt, position))

    def _enter(self, job: Job) -> None:
        """Begin the visit at the job's position, or the next one that the request does not pass by."""
        attempt = job.attempt
        request, visit = attempt.request, attempt.first + job.position
        while request.demands[visit] == PASSES_BY:
            if job.position == attempt.places[job.position][1]:
                self._complete(job)
                return
            job.position += 1
            visit += 1
        job.demand = request.demands[visit]
        server = self._server(attempt, job.position)
        if server is None:
            self.fail_branch_soon(job, Failure.NO_MEMBER)
            return
        job.server = server
        if attempt.visits[job.position].timer and server.station.discipline.infinite:
            job.timed = True
            self._end_branch(attempt)
        server.enter(job)

    def _server(self, attempt: Attempt, position: int) -> Server | None:
        """Return where a visit takes place; None: no member of its group is present."""
        request = attempt.request
        station = request.stations[attempt.first + position]
        if station < 0:
            bound = bound_of(station)
            member = self._member(attempt, bound.group)
            if member < 0:
                return None
            station = self.balancers[bound.group].station(request.key_hash, member, bound.position)
        server: Server = self.servers[station]
        return server

    def _member(self, attempt: Attempt, group: int) -> int:
        """Return the member to which the attempt is bound; binds it first if necessary."""
        if group not in attempt.bindings:
            taken = attempt.request.taken.setdefault(group, [])
            request = attempt.request
            client = request.index if request.client < 0 else request.client
            member = self.balancers[group].pick(request.key_hash, taken, client)
            if member < 0:
                return -1
            taken.append(member)
            attempt.bindings[group] = member
        return attempt.bindings[group]

    def end_visit(self, job: Job) -> None:
        """End a visit: continue with the next of its branch, or join the stage."""
        attempt = job.attempt
        if job.timed and not self._resume_branch(job):
            return
        self.clock_s = self.clock._now
        if attempt.cancelled:
            self._end_branch(attempt)
            return
        visit, last = attempt.visits[job.position], attempt.places[job.position][1]
        if job.family is not None:
            path_s = self.families.end_visit(job)
            if self.paths:
                attempt.spent.setdefault(last, []).append(path_s)
        else:
            if (visit.timer or visit.claims) and not self._branch_is_needed(job, visit.claims):
                return
            if self.paths:
                attempt.spent.setdefault(last, []).append((job.server.station.role, *job.server.spent(job)))
            if visit.starts is not None and self.families.start(job):
                return
        if job.position != last:
            job.position += 1
            self._enter(job)
        else:
            self._complete(job)

    def _complete(self, job: Job) -> None:
        """End a branch at its last visit, and join its stage if no more branches are needed."""
        attempt = job.attempt
        stage, last = attempt.places[job.position]
        attempt.live -= 1
        if stage == attempt.stage and not attempt.over:
            attempt.done += 1
            if attempt.done == attempt.request.route.stages[stage].need:
                if self.paths:
                    self._add_branch(attempt, last)
                self._join(attempt)
        self._return_tokens_if_over(attempt)

    def _resume_branch(self, job: Job) -> bool:
        """Return whether the stage of a branch still needs it at the end of a timer, which is in progress again then.

        During a timer of an infinite server it is not, so it holds no tokens of an attempt that has ended, and a timer
        that ends in vain is not the end of a run.
        """
        attempt = job.attempt
        job.timed = False
        if attempt.places[job.position][0] != attempt.stage or attempt.over:
            return False
        attempt.live += 1
        return True

    def _branch_is_needed(self, job: Job, claims: bool) -> bool:
        """Return whether its stage still needs a branch, and let it claim the stage; otherwise stop the branch."""
        attempt = job.attempt
        stage, _ = attempt.places[job.position]
        if stage != attempt.stage or attempt.over:
            self._end_branch(attempt)
            return False
        of = attempt.request.route.stages[stage]
        if attempt.claimed >= of.need:
            self.fail_branch(job, Failure.STATION_DOWN)
            return False
        if claims:
            attempt.claimed += 1
            if attempt.claimed == of.need and of.delivers:
                self._deliver(attempt.request)
        return True

    def _deliver(self, of: Request) -> None:
        """Send the first byte of a response, which may be that of the request that a sub-request descends from."""
        request = receiver(of)
        if request is not None and request.is_recorded:
            self.results.deliver(request, self.clock._now)

    def _add_branch(self, attempt: Attempt, last: int) -> None:
        """Add the visits of the branch that ends with the visit `last` to the attempt's path."""
        for spent in attempt.spent.get(last, ()):
            if isinstance(spent, list):
                attempt.path_s = [a + b for a, b in zip(attempt.path_s, spent, strict=True)]
                continue
            role, waiting_s, service_s = spent
            at = 1 + 2 * self.roles.index(role)
            attempt.path_s[at] += waiting_s
            attempt.path_s[at + 1] += service_s

    def _join(self, attempt: Attempt) -> None:
        """All needed branches of a stage are done: begin the next stage, or end the attempt and its request."""
        request = attempt.request
        stages = request.route.stages
        if stages[attempt.stage].delivers:
            self._deliver(request)
        if attempt.stage + 1 < len(stages):
            attempt.stage += 1
            self._fork(attempt)
            return
        self._close(attempt)
        if not request.ended:
            self._end(request, attempt, Failure.NONE)

    def _end_branch(self, attempt: Attempt) -> None:
        attempt.live -= 1
        self._return_tokens_if_over(attempt)

    # Called by stations.

    def fail_branch_soon(self, job: Job, why: Failure) -> None:
        """Refuse a job in a separate event, so that no station is entered while another is changing."""
        self.clock.at(self.clock._now, self._fail_branch, (job, why))

    def _fail_branch(self, event: simpy.Event) -> None:
        self.fail_branch(*event._value)

    def fail_branch(self, job: Job, why: Failure) -> None:
        """Fail the job's branch, and its attempt if too few branches are left."""
        attempt = job.attempt
        if job.timed and not self._resume_branch(job):
            return
        self.clock_s = self.clock._now
        if job.family is not None:
            self.families.end_visit(job)
        stage, _ = attempt.places[job.position]
        attempt.live -= 1
        if stage == attempt.stage and not attempt.over:
            attempt.failed += 1
            of = attempt.request.route.stages[stage]
            if attempt.done < of.need and len(of.branches) - attempt.failed < of.need:
                self._fail_attempt(attempt, why)
                return
        self._return_tokens_if_over(attempt)

    def end_visit_soon(self, job: Job) -> None:
        """Let a job continue in a separate event."""
        self.clock.at(self.clock._now, self._end_visit, job)

    def _end_visit(self, event: simpy.Event) -> None:
        self.end_visit(event._value)

    def service_begun(self, job: Job) -> None:
        """Record that the service of a job has begun; at a tied visit, cancel the other attempts."""
        self._cancel_tied_attempts(job)
        if self.early:
            self._release_early(job.attempt, job.position)

    def _release_early(self, attempt: Attempt, position: int) -> None:
        """Make the release that follows a visit whose service begins, if it is an early one."""
        release = position + 1
        if position == attempt.places[position][1] or not attempt.visits[release].early:
            return
        if attempt.request.demands[attempt.first + release] == PASSES_BY:
            return
        pool = self._server(attempt, release)
        if isinstance(pool, Pool) and pool.release(attempt, release):
            attempt.returned.add(release)

    def _cancel_tied_attempts(self, job: Job) -> None:
        attempt = job.attempt
        request = attempt.request
        if attempt.over or request.route.policy.tied_after_s == math.inf or not request.route.visits[job.position].ties:
            return
        request.tied = True
        for other in list(request.open.values()):
            if other is not attempt:
                self._cancel(other)
