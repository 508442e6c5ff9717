"""What certainly takes place of a route: which visits may fail, wait forever, be repeated, or be left out."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from models.network.network import Network
from models.network.retry_policy import NO_POLICY
from models.network.route import Route, Visit
from models.network.scenario import ActionKind
from models.network.station import UNBOUNDED, Bound
from models.network.sub_requests import SubRequests
from sim.demands.visit_places import stations_of, targets


def may_refuse(network: Network, visit: Visit) -> bool:
    """Whether a branch may end at this visit: a full queue, a gate that stays shut, a dead station, no member.

    So it does if too many of the sub-requests that it starts fail.
    """
    if isinstance(visit.station, Bound) and visit.station.group in targets(network, ActionKind.LEAVE):
        return True
    if visit.starts is not None and any(may_fail(network, network.routes[k]) for k in visit.starts.routes):
        return True
    ends = network.ending_stations if visit.releases else network.ending_stations | network.limited_pools
    return bool(ends) and not ends.isdisjoint(stations_of(network, visit.station))


def may_fail(network: Network, route: Route) -> bool:
    """Whether an attempt at a request of the route may fail."""
    return route.policy.timeout_s < math.inf or any(may_refuse(network, visit) for visit in route.visits)


def may_stop(network: Network, visit: Visit, lasting: Collection[int] = ()) -> bool:
    """Whether a branch that is not needed may be blocked forever at this visit.

    `lasting`: pools at which no job waits forever, see `lasting_pools`.
    """
    waits_at = network.once(_holding).difference(lasting) | targets(network, ActionKind.SHUT)
    held = not visit.releases and not waits_at.isdisjoint(stations_of(network, visit.station))
    waits = visit.starts is not None and any(
        may_stop(network, v, lasting) for k in visit.starts.routes for v in network.routes[k].visits
    )
    return held or waits or may_refuse(network, visit)


def _holding(network: Network) -> frozenset[int]:
    """Return the pools of tokens."""
    return frozenset(k for k, station in enumerate(network.stations) if station.discipline.holds_tokens)


def repeated(network: Network, route: Route) -> list[bool]:
    """Return for each visit whether it may be made again: it is within a transaction that may conflict."""
    counters = {k for k, s in enumerate(network.stations) if s.discipline.counts_commits}
    result: list[bool] = []
    if not counters:
        return [False] * len(route.visits)
    for stage in route.stages:
        for branch in stage.branches:
            at = [not counters.isdisjoint(stations_of(network, visit.station)) for visit in branch]
            begins = [i for i, visit in enumerate(branch) if at[i] and not visit.releases]
            commits = [i for i, visit in enumerate(branch) if at[i] and visit.releases]
            result += [bool(begins and commits) and begins[0] < i < commits[-1] for i in range(len(branch))]
    return result


def lasting_pools(network: Network) -> frozenset[int]:
    """Return the pools that refuse no job, and whose tokens are held only over visits that certainly end.

    A job with a token of such a pool waits for no gate, and for no other pool but those that were found before: so
    there is no deadlock. It visits no dead station.
    """
    pools = network.once(_holding)
    if targets(network, ActionKind.DOWN, ActionKind.SHUT) or any(r.policy != NO_POLICY for r in network.routes):
        return frozenset()
    endless = {k for k in pools if network.stations[k].queue_limit >= UNBOUNDED}
    at = [[pools.intersection(stations_of(network, v.station)) for v in route.visits] for route in network.routes]
    found: set[int] = set()
    while True:
        lasting = set(endless)
        for route, pools_at in zip(network.routes, at, strict=True):
            waits = [set() if v.releases else of - found for v, of in zip(route.visits, pools_at, strict=True)]
            for v, visit in enumerate(route.visits):
                if pools_at[v] and not visit.releases and not _comes_back(route, v, waits):
                    lasting -= pools_at[v]
        if lasting == found:
            return frozenset(found)
        found = lasting


def _comes_back(route: Route, take: int, waits_at: Sequence[Collection[int]]) -> bool:
    """Whether a token taken at a visit is returned by its own branch or a later stage.

    There may be no other pool between at which it may wait forever, and nothing at which the branch may stop.
    """
    stage, last = route.places[take]
    if _may_stop_after(route.visits[take]) or route.visits[take].starts is not None:
        return False
    for v in (*range(take + 1, last + 1), *(v for v, (s, _) in enumerate(route.places) if s > stage)):
        if route.visits[v].releases and route.visits[v].station == route.visits[take].station:
            return _is_made_with(route.visits[v], route.visits[take])
        if waits_at[v] or _may_stop_after(route.visits[v]) or route.visits[v].starts is not None:
            return False
    return False


def _is_made_with(visit: Visit, other: Visit) -> bool:
    """Whether a request that makes the other visit certainly makes the visit."""
    if visit.demand.occasion < 1:
        return False
    return visit.chance is None or (other.chance is not None and other.chance.is_within(visit.chance))


def _may_stop_after(visit: Visit) -> bool:
    return visit.timer or visit.claims


def are_sure(network: Network, sub: SubRequests, lasting: Collection[int]) -> bool:
    """Whether all sub-requests of a visit that is over are executed in full, `lasting` as for `may_stop`.

    They are if all are needed, or if all begin before any can end, and go on.
    """
    if sub.needs_all:
        return True
    routes = [network.routes[k] for k in sub.routes]
    take_time = all(any(v.fraction == 1 and v.demand.constant > 0 for v in route.visits) for route in routes)
    alone = all(route.policy == NO_POLICY for route in routes)
    go_on = not any(may_stop(network, v, lasting) for route in routes for v in route.visits)
    return sub.begins_all and not sub.cancels and take_time and alone and go_on


def is_done(network: Network, route: Route, lasting: Collection[int]) -> list[bool]:
    """Return whether each visit takes place in every successful attempt.

    Those of branches that a stage needs do; so do those of further branches, unless they may be refused or blocked, but
    not visits after one at which the branch may stop. `lasting`: as for `may_stop`.
    """
    done: list[bool] = []
    for stage in route.stages:
        for branch in stage.branches:
            sure = stage.need == len(stage.branches) or not any(may_stop(network, v, lasting) for v in branch)
            done += [sure] * len(branch)
    return [is_sure and not late for is_sure, late in zip(done, is_hedged(route), strict=True)]


def is_hedged(route: Route) -> list[bool]:
    """Return whether each visit takes place only if its stage still needs its branch, because it is behind a timer."""
    hedged: list[bool] = []
    for stage in route.stages:
        for branch in stage.branches:
            late = False
            for visit in branch:
                hedged.append(late)
                late |= stage.need < len(stage.branches) and _may_stop_after(visit)
    return hedged


def are_hedged(route: Route) -> list[bool]:
    """Return whether the sub-requests of each visit begin only if its stage still needs its branch.

    Unlike the visit itself, they come after the timer or the claim that it may be.
    """
    stages = [route.stages[stage] for stage, _ in route.places]
    return [
        late or (stage.need < len(stage.branches) and _may_stop_after(visit))
        for late, stage, visit in zip(is_hedged(route), stages, route.visits, strict=True)
    ]
