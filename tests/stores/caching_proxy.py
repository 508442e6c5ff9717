"""A store of the tests: a proxy with a cache of objects, in front of any other store."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from models.layer import LayerSpec
from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import NO_POLICY, Policy
from models.network.route import Route, Visit, single
from models.network.service_demand import Demand, ServiceDemand
from models.network.station import Station
from models.shared.caches import Cache, object_hits
from models.store import Store, compile_spec, register
from traces.operations import OPS
from traces.trace import Trace


class CachingProxySpec(LayerSpec):
    """A proxy and the store below it, whose workload and clients are those of the proxy."""

    store: Literal["caching-proxy"]
    lookup: Demand = ServiceDemand()
    cache: Cache = Cache()


def compile(spec: CachingProxySpec, trace: Trace, saturated: bool = False) -> tuple[Network, Requests]:
    """Each route of the store below behind a look-up, and for GETs that hit, the look-up alone."""
    below = spec.below.model_copy(update={"workload": spec.workload})
    network, requests = compile_spec(below, trace, math.inf, saturated=saturated)
    proxy = len(network.stations)
    way = Visit(proxy + 1, ServiceDemand(constant=spec.network.latency))
    look_up = single(way, Visit(proxy, spec.lookup))

    policies: dict[str, Policy] = {op: spec.client.policy(op) for op in OPS}
    misses = [
        replace(route, stages=(look_up, *route.stages, single(way)), policy=policies.get(route.operation, NO_POLICY))
        for route in network.routes
    ]
    hit = Route("GET", (look_up, single(way, delivers=True)), policy=policies["GET"], variant=f"hit {proxy}")
    hits = object_hits(spec.cache, trace)[: trace.issued]
    stations = (
        Station(f"proxy {proxy}", "proxy", Discipline.INFINITE_SERVER, indices=(spec.level,)),
        Station(f"network of proxy {proxy}", "network", Discipline.INFINITE_SERVER, indices=("proxy", spec.level)),
    )
    return (
        replace(network, stations=(*network.stations, *stations), routes=(*misses, hit)),
        replace(requests, route=np.where(hits, len(misses), requests.route).astype(np.int32)),
    )


STORE = Store("caching-proxy", CachingProxySpec, compile, compile_saturated=partial(compile, saturated=True))
register(STORE)
