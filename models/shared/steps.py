"""The vocabulary of routes: what requests of any store do, in the field's words, as visits and stages.

A *step* is a series of visits, empty if it takes no time; `+` joins steps to longer ones, and a branch of a fork is a
step. *Stages* come one after the other, and are joined by `+` as well. A *place* is a station, or what a placement
table or a group has for the request. All functions are pure: they return visits and stages, and know no store::

    in_series(use(cores, demand), send(network.wire(nic), link_out, link_in))
    fan_out([call(cores, at("cores"), demand, way) + append(at("volume"), demand) for at in replicas], wait_for=2)
    detached(latency, [access(drive, write)])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from models.network.route import Chance, Stage, Visit
from models.network.service_demand import NOTHING, ServiceDemand
from models.network.station import Bound, Member
from models.network.sub_requests import SubRequests

Place = int | Member | Bound
Server = Callable[[str], Member | Bound]
"""The places of a server, and of a call to it, by the names of its parts."""
Step = tuple[Visit, ...]
Stages = tuple[Stage, ...]


# Steps: one station after the other.


def visit(place: Place, demand: ServiceDemand = NOTHING, *, ties: bool = False, chance: Chance | None = None) -> Step:
    """Return one visit, which waits for its station even if it takes no time there.

    Args:
        place: of the visit.
        demand: its service demand.
        ties: the first of tied attempts to be served here cancels the other.
        chance: whether the request makes the visit or passes by; None: it does.
    """
    return (Visit(place, demand, ties=ties, chance=chance),)


def use(place: Place, demand: ServiceDemand | None) -> Step:
    """Return the use of cores, of a lock or of another server; nothing if it takes no time."""
    return visit(place, demand) if demand is not None and demand.takes_time else ()


def check(place: Place) -> Step:
    """Return the passage of what may hold a request back or refuse it: a shut gate, or a dead station.

    It takes no time otherwise.
    """
    return visit(place)


def instant(place: Place) -> Step:
    """Return a step that takes no time, for a branch that is done at once; `place` is an infinite server."""
    return visit(place)


def delay(place: Place, seconds: float) -> Step:
    """Return the wait for a constant time at an infinite server; nothing if that is 0."""
    return use(place, ServiceDemand(constant=seconds))


def timer(place: Place, seconds: float) -> Step:
    """Return a wait of a branch after which it goes on only if its stage still needs it.

    At the beginning of a branch, it makes the branch a hedged part of the request; a branch with nothing else limits
    how long the stage waits for the others.
    """
    return (Visit(place, ServiceDemand(constant=seconds), timer=True),)


def claiming(step: Step) -> Step:
    """Return the step with a last visit that claims the stage: its branch is one of those that the stage needs.

    Branches that come to their claim when the stage has enough stop there.
    """
    return (*step[:-1], replace(step[-1], claims=True))


# Resources.


def acquire(pool: Place) -> Step:
    """Return the wait for a token of a pool, which the attempt keeps until `release`, or its end."""
    return visit(pool)


def release(pool: Place, *, early: bool = False) -> Step:
    """Return the return of a token; an `early` one is made when the service of the visit before it begins."""
    return (Visit(pool, NOTHING, releases=True, early=early),)


def hold(pool: Place, *steps: Step) -> Step:
    """Return the steps with a token of a pool held from before the first to after the last; nothing without steps.

    A thread, a worker process or a lock is a token. Of ``hold(a, hold(b, step))``, the inner one is returned first.
    """
    held = joined(steps)
    return acquire(pool) + held + release(pool) if held else ()


def transaction(counter: Place, *steps: Step) -> Step:
    """Return the steps of a transaction under optimistic concurrency control.

    It is repeated if another one has committed at the counter since its beginning, or the last visit to the counter
    among the steps.
    """
    return visit(counter) + joined(steps) + (Visit(counter, NOTHING, releases=True),)


# Sub-requests.


def chunked(at: Place, size_bytes: int, route: int, *, parallel: int | None = None, **more: Any) -> Step:
    """Return the transfer of a request's bytes in chunks, each of them a sub-request.

    Args:
        at: an infinite server, where the request waits for them.
        size_bytes: of each chunk but the last.
        route: index of the chunks' route.
        parallel: maximum number of chunks in progress; None: all.
        more: further properties of `SubRequests`, such as `delivers`.
    """
    return starts(at, SubRequests(route, size_bytes, parallel=parallel, **more))


def starts(at: Place, requests: SubRequests) -> Step:
    """Return a step that starts sub-requests, and waits for them, at an infinite server."""
    return (Visit(at, NOTHING, starts=requests),)


# Networks and drives.


def send(demand: ServiceDemand, *links: Place) -> Step:
    """Return the transfer of bytes over links, each of which receives all before the next one does (store and forward).

    Links without a limit are left out. Bytes that pass all links at the same time are `pipelined`.
    """
    return joined(use(link, demand) for link in links)


def call(caller: Place, callee: Place, demand: ServiceDemand, way: Step = ()) -> Step:
    """Return a call from node to node: the work on the cores of the caller, the way, and as much work of the callee.

    What the callee does for it follows. The way has the latency of both directions, for nothing waits for the second
    one but the caller; cores are waited for even if the work takes no time.
    """
    return visit(caller, demand) + way + visit(callee, demand)


def round_trip(way: Step, *steps: Step) -> Step:
    """Return the steps with a way before the first and after the last one."""
    return way + joined(steps) + way


def access(drive: Place, demand: ServiceDemand, overlapping: Step = (), *, times: int = 1) -> Step:
    """Return accesses to a drive, one after the other: each the part that overlaps with others, and then the exclusive.

    Args:
        drive: which serves as many accesses at the same time as its queue depth says.
        demand: of the exclusive part, for which an access waits even if it takes no time.
        overlapping: the further latency of an access, at an infinite server.
        times: number of accesses.
    """
    return (overlapping + visit(drive, demand)) * times


def append(volume: Place, demand: ServiceDemand, *, tombstone: bool = False) -> Step:
    """Return the append of a record to a volume, which is locked meanwhile; nothing if appends take no time.

    Args:
        volume: one server, which serves in order of arrival.
        demand: of a record with an object of the request's size.
        tombstone: whether the record has no bytes of the object, because it says that it is deleted.
    """
    return visit(volume, demand.without_bytes if tombstone else demand) if demand.takes_time else ()


def commit(log: Place, demand: ServiceDemand, *, flushes: bool = False) -> Step:
    """Return a commit to a log: the request waits for the batch that it joins, even if its own part takes no time.

    Args:
        log: a station that serves batches (group commit), or one that serves a commit at a time.
        demand: of the commit.
        flushes: whether the batch has to flush data before, which takes the station's `flush_s` longer.
    """
    return (Visit(log, demand, flushes=flushes),)


# Stages: forks of branches that are joined.


def in_series(*steps: Step, delivers: bool = False) -> Stages:
    """Return one stage, in which the steps are made one after the other; none if they take no time.

    Args:
        steps: of the request.
        delivers: whether the first byte of the response is sent at the end.
    """
    return fan_out([joined(steps)], delivers=delivers)


def fan_out(branches: Iterable[Step], wait_for: int | None = None, *, delivers: bool = False) -> Stages:
    """Return one stage, in which the branches begin together, and a quorum of them is waited for.

    The others go on and load their stations, but for a `timer` or what is `claiming`.

    Args:
        branches: one for each part that the request goes to.
        wait_for: the number of branches that the request waits for; None: all. Then branches that take no time are left
            out, and there is no stage if all do; a quorum counts them, so they have to be `instant`.
        delivers: whether the first byte of the response is sent at the end.

    Raises:
        ValueError: a quorum has more branches than there are, or an empty one.
    """
    found = tuple(branch for branch in branches if branch or wait_for is not None)
    return (Stage(found, len(found) if wait_for is None else wait_for, delivers),) if found else ()


def pipelined(step: Step) -> tuple[Step, ...]:
    """Return a branch for each visit of a step: bytes are at all places at the same time, piece by piece.

    So the stage takes as long as the slowest of them.
    """
    return tuple((each,) for each in step)


def detached(at: Place, branches: Iterable[Step]) -> Stages:
    """Return one stage, in which the branches begin that no request waits for; they only load their stations.

    Args:
        at: an infinite server, where a further branch is done at once, which is all that the stage needs.
        branches: of work that goes on after the request, if need be; none: there is no stage.
    """
    found = tuple(branch for branch in branches if branch)
    return (Stage((instant(at), *found), 1),) if found else ()


# Changes of steps and stages.


def joined(steps: Iterable[Step]) -> Step:
    """Return one step of several."""
    return tuple(each for step in steps for each in step)


def changed(step: Step, change: Callable[[ServiceDemand], ServiceDemand]) -> Step:
    """Return the step with other demands."""
    return tuple(replace(each, demand=change(each.demand)) for each in step)


def sometimes(branches: Iterable[Step], chance: Chance) -> tuple[Step, ...]:
    """Return the branches with visits that are all made or all passed by; chances of their own are within this one."""
    found = tuple(branches)
    own = dict.fromkeys(each.chance for branch in found for each in branch if each.chance)
    within = {each: Chance(each.probability, chance) for each in own}
    return tuple(
        tuple(replace(each, chance=within[each.chance] if each.chance else chance) for each in branch)
        for branch in found
    )


def revised(stages: Iterable[Stage], change: Callable[[Visit], Visit]) -> Stages:
    """Return the stages with each visit changed."""
    return tuple(replace(s, branches=tuple(tuple(map(change, branch)) for branch in s.branches)) for s in stages)


def with_demands(stages: Iterable[Stage], change: Callable[[ServiceDemand], ServiceDemand]) -> Stages:
    """Return the stages with other demands."""
    return revised(stages, lambda each: replace(each, demand=change(each.demand)))


def quiet(stages: Iterable[Stage]) -> Stages:
    """Return the stages without the first byte of a response, such as those of a request within another one."""
    return tuple(replace(stage, delivers=False) for stage in stages)
