"""The service demands of a store at saturation, from which follows the rate of each resource there.

At saturation, queues are as deep as they get. Where service times depend on the queue, as those of hard disks do, those
of the deepest queue are a fixed point: at the rate that they allow, the queue is that deep. They are the least that any
load gives. So they do not depend on the rate of the workload, and no load is served at more than the rate that follows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store import Spec
from models.work import WORKERS
from sim.analysis.chance import are_keys_even, without_chance
from sim.analysis.run_end import compile_until_end
from sim.analysis.service_demands import Demands, mean_demands
from sim.engine.outcome import Floats
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace

_LEAST_ROWS, _MOST_ROWS = 2_000, 20_000
"""Range of the greatest number of requests over which demands are averaged; open loops, which can be overloaded, have
the most of them."""
_VISITS = 600_000  # of these requests in a closed loop


def demands_at_load(spec: Spec, trace: Trace) -> tuple[Network, Requests, Demands]:
    """Return the network of a store at the load of a trace, its requests, and the demands of those of its workload.

    Demands are averaged over the rows, each counted once, or some of a long trace. Which of several equal
    stations has the most of them by chance does not count.

    Raises:
        InputError: the spec cannot be modelled, or the network has a feature that is not supported.
    """
    return _with_demands(*compile_until_end(spec, trace))


def demands_at_saturation(spec: Spec, trace: Trace) -> tuple[Network, Requests, Demands]:
    """Return the same for queues as deep as they get; raises the same."""
    return _with_demands(*compile_until_end(spec, trace, saturated=True))


def saturation_ops(demands: Demands) -> Floats:
    """Return the requests per second at which each resource saturates, shape (resources,).

    Infinite: it never does, or no request waits there.
    """
    servers = np.array([resource.servers for resource in demands.resources])
    most_ops = np.full(len(servers), np.inf)
    with np.errstate(divide="ignore", over="ignore"):
        np.divide(servers, demands.low_s, out=most_ops, where=demands.low_s > 0)
    most_ops[[resource.role == WORKERS for resource in demands.resources]] = np.inf  # no request waits for these
    return most_ops


def _with_demands(network: Network, requests: Requests) -> tuple[Network, Requests, Demands]:
    routes, some = np.unique(requests.route).tolist(), _sampled(network, requests)
    usual = without_chance(mean_demands(network, some, routes, settled=True))
    even = [k for k in routes if are_keys_even(network, requests, k)]
    if len(even) == len(routes):
        return network, requests, usual
    # A popular object loads some stations more; but chance must not hide that the placement is uneven.
    return network, requests, without_chance(mean_demands(network, some, even, settled=True), usual)


def _sampled(network: Network, requests: Requests) -> Requests:
    """Return the requests, or of many a random one of each of as many parts, so that no pattern of rows is lost."""
    visits = np.array([len(route.visits) for route in network.routes])[requests.route].mean() if len(requests) else 1
    most = _MOST_ROWS if requests.pacing.loop == "open" else min(max(int(_VISITS / visits), _LEAST_ROWS), _MOST_ROWS)
    if len(requests) <= most:
        return requests
    within = uniforms(0, stream_id("saturation/rows"), 0, most)
    rows = ((np.arange(most) + within) * (len(requests) / most)).astype(np.int64)
    per_row = ("route", "size_bytes", "key_hash", "arrival_s", "think_s", "phase")
    chosen = {name: getattr(requests, name)[rows] for name in per_row}
    return replace(requests, **chosen, group=None if requests.group is None else requests.group[rows])
