"""The assumptions of bounds without simulation, in sentences for the user."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.route import Route, kind_of
from models.network.scenario import ActionKind
from models.network.station import NOWHERE, Bound, Choice
from sim.demands.certainty import is_hedged, may_fail, may_refuse
from sim.demands.service_demands import Demands
from sim.demands.visit_places import is_even, is_keyed, later_changes, names_of, stations_of

_BY_LOAD = (Choice.LEAST_OUTSTANDING, Choice.POWER_OF_TWO, Choice.CLIENT)
"""Choices whose members do not have the same number of requests, or not by expectation."""
_CHOICES = {
    Choice.HASH: "by the hash of its key",
    Choice.ROUND_ROBIN: "round robin",
    Choice.RANDOM: "at random",
    Choice.LEAST_OUTSTANDING: "by the fewest outstanding requests",
    Choice.POWER_OF_TWO: "by the fewer outstanding requests of two",
    Choice.CLIENT: "by its client",
}

_ON_TRIALS = (
    "The bottleneck and its rate are from short simulations, as demands do not tell how long requests hold tokens "
    "while they wait, how often they are repeated, or what a fault leaves."
)


def no_worst_case(network: Network, routes: Sequence[Route], background: bool) -> list[str]:
    """Return why response times are unbounded, in words; empty if the offered work bounds them."""
    reasons = {
        "tokens are held while others wait": bool(_pools(network, routes)),
        "the scenario changes the network": bool(later_changes(network)),
        "the store works in the background": background,
        "idle servers have a setup time": any(station.setup_s for station in network.stations),
        "caches of idle servers cool down": any(station.caches for station in network.stations),
        "requests may fail": any(may_fail(network, route) for route in routes),
    }
    return [reason for reason, holds in reasons.items() if holds]


def notes(
    network: Network, routes: Sequence[Route], demands: Demands, background: bool, is_from_trials: bool = False
) -> list[str]:
    """Return sentences on what the bounds of these routes, and their demands, assume or neglect.

    Args:
        network, routes, demands: of the bounds.
        background: whether the store also has background work.
        is_from_trials: whether the bottleneck is from simulations.
    """
    return [
        *_on_groups(network, routes),
        *_on_policies(routes),
        *_on_failures(network, routes),
        *_on_pools(network, routes, demands),
        *_in_scenario(network),
        *_on_background(background),
        *_on_branches(routes),
        *_on_sub_requests(routes),
        *_on_worst_case(network, routes, background),
        *([_ON_TRIALS] if is_from_trials else []),
    ]


def _names(routes: Iterable[Route]) -> str:
    return ", ".join(dict.fromkeys(kind_of(route.name) for route in routes))


def _on_groups(network: Network, routes: Sequence[Route]) -> Iterator[str]:
    for g, group in enumerate(network.groups):
        bound = [r for r in routes if any(isinstance(v.station, Bound) and v.station.group == g for v in r.visits)]
        places = [Bound(g, position) for position in range(network.positions(group))]
        found = {k for place in places for k in stations_of(network, place) if network.stations[k].role != NOWHERE.role}
        members = names_of(network, sorted(found))
        how = _CHOICES[group.choice]
        keyed = [route for route in bound if is_keyed(network, route, g)]
        even = [route for route in bound if is_even(network, route, g)]
        free = [route for route in bound if route not in keyed and route not in even]
        if keyed:
            yield f"{_names(keyed)}: bound to one of {members} {how}; demands are exact for the requested keys."
        if even:
            order = " unless the order of requests has a pattern" if group.choice is Choice.ROUND_ROBIN else ""
            yield f"{_names(even)}: bound to one of {members} {how}; demands are spread evenly, exact{order}."
        if free:
            moves = "" if group.choice in _BY_LOAD else ", except for further attempts and when members join or leave"
            yield (
                f"{_names(free)}: bound to one of {members} {how}{moves}; these are treated as one station with all "
                "their servers, which is optimistic."
            )


def _on_policies(routes: Sequence[Route]) -> Iterator[str]:
    for policy in dict.fromkeys(route.policy for route in routes if route.policy.second):
        requested = _names(route for route in routes if route.policy == policy)
        yield (
            f"{requested}: a second attempt starts {_when(policy)}; demands are at least those of one attempt, so the "
            "throughput is optimistic, and response times count only until the second attempt may have ended."
        )


def _when(policy: Policy) -> str:
    if policy.hedge_quantile:
        return f"after the {100 * policy.hedge_quantile:g} % quantile of the latencies"
    return f"after {min(policy.hedge_after_s, policy.tied_after_s):g} s"


def _on_failures(network: Network, routes: Sequence[Route]) -> Iterator[str]:
    late = [route for route in routes if route.policy.timeout_s < math.inf]
    refused = [route for route in routes if any(may_refuse(network, visit) for visit in route.visits)]
    if late:
        yield f"{_names(late)}: may time out; the mean response time includes those requests, with the time they took."
    if refused:
        yield (
            f"{_names(refused)}: may be refused; the mean response time excludes those requests, and counts random "
            "demands as 0."
        )
    if late or refused:
        yield (
            "Throughput is that of successful requests, provided that their mix is that of the workload; failed and "
            "repeated attempts only add work, so it is optimistic."
        )


def _pools(network: Network, routes: Sequence[Route]) -> list[int]:
    stations = {k for route in routes for visit in route.visits for k in stations_of(network, visit.station)}
    return sorted(k for k in stations if network.stations[k].discipline.holds_tokens)


def _on_pools(network: Network, routes: Sequence[Route], demands: Demands) -> Iterator[str]:
    pools = _pools(network, routes)
    if pools:
        yield (
            f"Pools ({names_of(network, pools)}): the holding time of a token is that of a request that does not wait "
            "meanwhile, which is optimistic."
        )
    if demands.unknown_pools:
        names = ", ".join(demands.unknown_pools)
        yield f"Pools without bounds ({names}): a visit may return a token that another visit has taken."


def _in_scenario(network: Network) -> Iterator[str]:
    later = later_changes(network)
    if later:
        yield (
            "The bounds are those of the network before the scenario changes it; they are optimistic if the scenario "
            "removes capacity."
        )
    if any(action.kind is ActionKind.SPEED for action in later):
        yield "Stations whose speed the scenario changes count at the greatest speed that they ever have."


def _on_background(background: bool) -> Iterator[str]:
    if background:
        yield "The bounds neglect the background load, so throughput and response time are optimistic."


def _on_branches(routes: Sequence[Route]) -> Iterator[str]:
    partly = [route for route in routes if any(stage.need < len(stage.branches) for stage in route.stages)]
    if partly:
        yield (
            f"{_names(partly)}: branches that are not needed also count as work; a run that ends before they are done "
            "may have a higher throughput."
        )
    hedged = [route for route in routes if any(is_hedged(route))]
    if hedged:
        yield f"{_names(hedged)}: work that begins only after a timer does not count, so the throughput is optimistic."


def _on_sub_requests(routes: Sequence[Route]) -> Iterator[str]:
    partly = [route for route in routes if not all(sub.needs_all for _, sub in route.starts)]
    if partly:
        yield (
            f"{_names(partly)}: sub-requests that are not needed count as work only if all of them begin at once and "
            "none is cancelled, so the throughput may be optimistic."
        )


def _on_worst_case(network: Network, routes: Sequence[Route], background: bool) -> Iterator[str]:
    reasons = no_worst_case(network, routes, background)
    if reasons:
        yield f"There is no upper bound of the response time: {', '.join(reasons)}."
