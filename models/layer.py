"""A layer: a store that stands on another one, whose network it extends by its own stations and routes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from models.below.issued import Issued, issued_trace, routes_of
from models.below.lifted import BELOW, Lifted
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.route import Route, words
from models.network.scenario import Action
from models.network.station import Group, Station
from models.network.sub_requests import SubRequests
from models.shared.store_spec import StoreSpec
from models.spec.field_paths import nested_specs
from models.store import AnySpec, compile_spec, store_of
from traces.trace import Trace


class LayerSpec(StoreSpec):
    """The settings of a store that stands on another one."""

    below: AnySpec = Field(
        description="Spec of the store below, without a workload, which follows from that of the layer."
    )

    @model_validator(mode="before")
    @classmethod
    def _one_workload(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and isinstance(data.get(BELOW), Mapping):
            return {**data, BELOW: {**data[BELOW], "workload": data.get("workload")}}
        return data

    @property
    def level(self) -> int:
        """Number of stores below, which tells the stations of equal layers on one another apart."""
        return len(dict(nested_specs(self)))


@dataclass(frozen=True)
class Below:
    """The store below a layer, compiled for the requests that this one issues.

    Attributes:
        network: its Network; the layer's stations and routes follow, so that indices stay the same.
        background: its background work.
        starts: the sub-requests of each `Issued` of the layer, in order, with their routes in the network.
    """

    network: Network
    requests: Requests
    starts: tuple[SubRequests, ...]

    def with_layer(
        self,
        stations: Iterable[Station],
        routes: Iterable[Route],
        trace: Trace,
        route: NDArray[np.int32],
        scenario: Iterable[Action] = (),
        *,
        sent: Mapping[int, Route] | None = None,
        placements: Iterable[NDArray[np.int32]] = (),
        groups: Iterable[Group] = (),
    ) -> tuple[Network, Requests]:
        """Return the Network of the layer, and the requests of a Trace on it.

        Args:
            stations: of the layer, the first of which has the index ``len(network.stations)``.
            routes: of the layer.
            trace: its requests.
            route: index of the route of each row among those of the layer, shape (rows,).
            scenario: what the layer's faults change.
            sent: by index, routes of the store below with what the layer does for each of its attempts.
            placements, groups: of the layer, which follow those of the store below as stations do.
        """
        below = self.network
        changed = [(sent or {}).get(number, route) for number, route in enumerate(below.routes)]
        network = replace(
            below,
            stations=(*below.stations, *stations),
            routes=(*changed, *routes),
            placements=(*below.placements, *placements),
            groups=(*below.groups, *groups),
            scenario=(*below.scenario, *scenario),
        )
        number = (route + len(self.network.routes)).astype(np.int32)
        return network, replace(Requests.of(trace, number), background=self.requests.background)


def compile_below(
    spec: LayerSpec, trace: Trace, *, saturated: bool = False, issued: Sequence[Issued] | None = None
) -> Below:
    """Return the store below, compiled for what the requests of a Trace on a layer issue (`Store.issues`).

    Its own means and rates, such as the load of its disks and what its caches hold, are those of these requests. It has
    all faults of its spec, as the layer's is without those that do not matter.

    Args:
        spec: of the layer.
        trace: its requests.
        saturated: as of `compile_spec`.
        issued: what they issue, if that is known already.

    Raises:
        InputError: the store below does not serve a request, or cannot be modelled.
    """
    store = store_of(spec)
    assert store.issues is not None, f"{store.name}: declares no issues"
    issued = store.issues(spec, trace) if issued is None else issued
    found = issued_trace(trace, issued)
    lifted = Lifted(store.issues, store_of(spec.below).operations)
    network, requests = compile_spec(lifted.spec(spec), found.trace, math.inf, saturated=saturated)
    kind, size_bytes = found.kind[: len(requests)], requests.size_bytes
    starts = tuple(
        replace(each.starts, route=routes_of(requests.route[kind == number], size_bytes[kind == number]))
        for number, each in enumerate(issued)
    )
    routes = tuple(_within(route) for route in network.routes)
    if found.parents < len(trace) and trace.pacing.loop == "open":
        requests = _until_end(requests, trace)
    return Below(replace(network, routes=routes), requests, starts)


def _within(route: Route) -> Route:
    """Return a route of the store below, whose policy has nothing in common with the layer's requests."""
    policy = route.policy
    if policy.attempts > 1:
        policy = replace(policy, operation=words(BELOW, policy.operation))
    return replace(route, policy=policy, variant=words(route.variant, BELOW))


def _until_end(requests: Requests, trace: Trace) -> Requests:
    """Return the requests with background work that lasts until the end of a trace whose first requests they are of."""
    ends_s = float(requests.arrival_s.max(initial=0.0)), float(trace.arrival_s[: trace.issued].max(initial=0.0))
    loads = [replace(load, until_s=ends_s[1]) if load.until_s == ends_s[0] else load for load in requests.background]
    return replace(requests, background=tuple(loads))
