"""The sub-requests of visits: the same as the kernel's `families.c`, in the same order.

A *family* is the sub-requests that one attempt starts at one visit, the *children* of that attempt's request.
"""

from __future__ import annotations

from typing import Protocol

import simpy

from models.network.route import Route
from models.network.sub_requests import SubRequests
from sim.engine.outcome import Failure
from sim.engine.reference.requests import Attempt, Job, Request
from sim.engine.reference.stations import Clock


class Requests(Protocol):
    """What families call; implemented in `sim/engine/reference/attempts.py`."""

    clock: Clock
    routes: tuple[Route, ...]

    def begin(self, request: Request) -> None:
        """Begin a sub-request."""

    def cancel_request(self, request: Request) -> None:
        """End a sub-request without a result."""

    def end_visit_soon(self, job: Job) -> None:
        """End the visit in a separate event."""

    def fail_branch_soon(self, job: Job, why: Failure) -> None:
        """Fail the job's branch in a separate event."""


class Family:
    """A family in progress.

    Attributes:
        job: the branch that waits for it.
        sub: what its visit starts.
        next, end: rows of the next child to begin, and after the last one.
        count, need: how many children there are, and how many have to succeed.
        done, failed: children that have succeeded and failed.
        children: those in progress, in the order in which they began.
        is_due: whether the beginning of the next child is on the clock.
        is_over: whether no further child begins: enough have succeeded, too few are left, or it is abandoned.
        is_abandoned: whether its attempt has been cancelled; then the branch ends when the last child in progress has.
        members: of the groups that children have in common with the attempt, the members that it is bound to.
        path_s: critical path since its visit ended, up to the last end of a child.
    """

    __slots__ = (
        "children", "count", "done", "end", "failed", "is_abandoned", "is_due", "is_over", "job", "members", "need",
        "next", "path_s", "sub",
    )  # fmt: skip

    def __init__(self, job: Job, sub: SubRequests, first: int, end: int, path_s: list[float]):
        self.job, self.sub, self.next, self.end = job, sub, first, end
        self.count = end - first
        self.need = self.count if sub.need is None else min(sub.need, self.count)
        self.done = self.failed = 0
        self.children: dict[Request, None] = {}
        self.is_due = self.is_over = self.is_abandoned = False
        bindings = job.attempt.bindings
        self.members = {group: bindings[group] for group in sub.keeps if group in bindings}
        self.path_s = path_s


def receiver(request: Request) -> Request | None:
    """Return the request whose client receives the first byte of a response: it, or what it descends from, or none."""
    while request.family is not None:
        family: Family = request.family
        assert request.descendants is not None
        is_first = request.node - request.descendants.requests == family.end - family.count
        if not family.sub.delivers or not is_first or family.is_over or request.ended:
            return None
        attempt = family.job.attempt
        if attempt.over or attempt.places[family.job.position][0] != attempt.stage:
            return None
        request = attempt.request
    return request


class Families:
    """Starts the sub-requests of visits, and lets their branches go on."""

    def __init__(self, requests: Requests, path_width: int):
        """`path_width`: number of the parts of a critical path; 0: they are not recorded."""
        self.requests, self.path_width = requests, path_width

    def start(self, job: Job) -> bool:
        """Start the sub-requests of the job's visit, which is over; return whether there are any."""
        attempt, request = job.attempt, job.attempt.request
        rows, starts = request.descendants, request.route.starts
        assert rows is not None
        ordinal, sub = next((i, sub) for i, (position, sub) in enumerate(starts) if position == job.position)
        family = rows.first_family[request.node] + attempt.number * len(starts) + ordinal
        first, end = rows.first_child[family], rows.first_child[family + 1]
        if first == end:
            return False
        started = job.family = Family(job, sub, first, end, [0.0] * self.path_width)
        attempt.families[job.position] = job
        self._schedule(started)
        return True

    def end_visit(self, job: Job) -> list[float]:
        """Let a branch go on, or fail, whose family is over; return the family's critical path."""
        family: Family = job.family
        job.family = None
        del job.attempt.families[job.position]
        return list(family.path_s)

    def abandon(self, job: Job) -> bool:
        """Begin no further children of a cancelled attempt; return whether its branch ends now."""
        family = job.family
        if family.is_over:  # the branch will go on, or be refused, in an event of its own
            return False
        family.is_over = family.is_abandoned = True
        self._cancel(family)
        return not family.children

    def ended(self, child: Request, winner: Attempt | None, why: Failure) -> None:
        """Count a child that has ended: let the branch go on or fail, or begin the next child."""
        family: Family = child.family
        del family.children[child]
        if family.is_over:
            if family.is_abandoned and not family.children:
                self.requests.end_visit_soon(family.job)
            return
        if self.path_width:
            family.path_s = self._path_s(child, winner)
        if winner is None:
            family.failed += 1
        else:
            family.done += 1
        if family.done == family.need:
            self.requests.end_visit_soon(family.job)
        elif family.count - family.failed < family.need:
            self.requests.fail_branch_soon(family.job, why)
        else:
            self._schedule(family)
            return
        family.is_over = True
        self._cancel(family)

    def _schedule(self, family: Family) -> None:
        """Put the beginning of the next child on the clock, if there is one and it need not wait for another's end."""
        limit = family.sub.parallel
        if family.is_due or family.next == family.end or (limit is not None and len(family.children) >= limit):
            return
        family.is_due = True
        self.requests.clock.at(self.requests.clock._now, self._begin, family)

    def _begin(self, event: simpy.Event) -> None:
        family = event._value
        family.is_due = False
        if family.is_over:
            return
        parent = family.job.attempt.request
        child = Request.child_of(parent, self.requests.routes, family.next, family)
        child.inherited_s = family.path_s
        family.next += 1
        family.children[child] = None
        self.requests.begin(child)
        if not family.is_over:
            self._schedule(family)

    def _cancel(self, family: Family) -> None:
        """Cancel the children in progress if the visit does so."""
        if not family.sub.cancels:
            return
        children = list(family.children)
        family.children.clear()
        for child in children:
            self.requests.cancel_request(child)

    def _path_s(self, child: Request, winner: Attempt | None) -> list[float]:
        """Return the path up to the end of a child: up to its beginning, which was the end of another one, and on."""
        if winner is None:
            before_s = child.inherited_s[0] + (self.requests.clock._now - child.start_s)
            return [before_s, *child.inherited_s[1:]]
        own = winner.path_s
        before_s = child.inherited_s[0] + (winner.began_s - child.start_s + own[0])
        return [before_s, *(a + b for a, b in zip(child.inherited_s[1:], own[1:], strict=True))]
