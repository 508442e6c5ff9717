"""Networks whose visits are changed, such as those that draw nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from models.network.network import Network
from models.network.route import Stage, Visit
from models.network.service_demand import ServiceDemand


def with_service_demands(network: Network, change: Callable[[ServiceDemand], ServiceDemand]) -> Network:
    """Return the network with each service demand changed."""
    return with_visits(network, lambda visit: replace(visit, demand=change(visit.demand)))


def with_visits(network: Network, change: Callable[[Visit], Visit]) -> Network:
    """Return the network with each visit changed."""

    def stage_of(stage: Stage) -> Stage:
        return replace(stage, branches=tuple(tuple(change(visit) for visit in b) for b in stage.branches))

    routes = (replace(route, stages=tuple(map(stage_of, route.stages))) for route in network.routes)
    return replace(network, routes=tuple(routes))


def with_all_visits(network: Network) -> Network:
    """Return the network in which no request passes by a visit."""
    return with_visits(network, lambda visit: replace(visit, demand=visit.demand_if_made, chance=None))
