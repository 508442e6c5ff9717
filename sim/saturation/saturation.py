"""The service demands of a store at saturation, from which follows the rate of each resource there.

At saturation, queues are as deep as they get. Where service times depend on the queue, as those of hard disks do, those
of the deepest queue are a fixed point: at the rate that they allow, the queue is that deep. They are the least that any
load gives. So they do not depend on the rate of the workload, and no load is served at more than the rate that follows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from models.network.demand_sheet import Requests
from models.network.descendants import by_route
from models.network.network import Network
from models.network.station import Choice
from models.shared.faults import fault_times
from models.shared.recent import Recent
from models.shared.work import WORKERS
from models.store import Spec, before, compile_spec, faults_of, warms
from sim.demands.chance import are_keys_even, without_chance
from sim.demands.key_odds import odds_of_routes
from sim.demands.request_work import settling_of, work_s
from sim.demands.run_end import compile_until_end, latest_end_s
from sim.demands.service_demands import Demands, LeastDemands, MeanDemands
from sim.engine.outcome import Floats
from sim.saturation.even_sample import Kinds
from sim.saturation.key_census import census_of
from sim.saturation.network_stretches import WHOLE, Stretch, background_servers, has_lasting_workers, stretches_of
from sim.saturation.stable_rate import RateLimit, pools_of, repeats, tried
from sim.saturation.warm import Warm, bound_of, warm_at_saturation
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace
from traces.workload.workload import Workload

_LEAST_ROWS, _MOST_ROWS = 2_000, 5_000
"""Range of the greatest number of requests over which demands are averaged."""
_COMPILED = 50_000  # requests of a long trace of which these are
_LEAST_FREE = 0.01  # fraction of a station's servers that background work leaves to requests at least
_VISITS = 600_000  # of these requests in a closed loop, or with those of their sub-requests
_FEWEST_ROWS, _MOST_VISITS = 200, 2_000_000  # of the averaged requests, where each has very many visits


@dataclass(frozen=True)
class Saturated:
    """A store with the deepest queues, and what it implies.

    Attributes:
        mix: its network, some requests of the workload, and their demands.
        limits: of each stretch of the run, in order of time; empty: no resource limits the rate.
    """

    mix: Mix
    limits: tuple[RateLimit, ...]

    @property
    def network(self) -> Network:
        """The network with the deepest queues."""
        return self.mix.network

    @property
    def requests(self) -> Requests:
        """Some requests of the workload."""
        return self.mix.requests

    @cached_property
    def demands(self) -> Demands:
        """The demands of these requests."""
        return self.mix.demands()

    @property
    def limit(self) -> RateLimit | None:
        """The least limit; None: there is none."""
        return min(self.limits, key=lambda each: each.ops, default=None)


_RECENT: Recent[tuple[Spec, Trace], Saturated] = Recent(4)


def at_saturation(spec: Spec, trace: Trace) -> Saturated:
    """Return a store at saturation, for the mix of the requests of a trace; it must not be changed.

    It is kept by spec and trace, and made of a copy of the spec without the rate and the length of its workload, so
    loads of a store share it.

    The limits are those of the demands, less background work, or others if these do not tell them
    (`sim.saturation.stable_rate`).

    Raises:
        InputError: as for `mix_at_saturation`.
    """
    unpaced = spec.model_copy(update={"workload": _unpaced(spec.workload, len(trace))})
    return _RECENT.of((unpaced, trace), lambda: _at_saturation(unpaced, trace))


def _unpaced(workload: Workload, rows: int) -> Workload:
    """Return a workload with the number of its requests, in an open loop at a rate of 1/s."""
    if workload.groups:
        return workload
    rate = {} if workload.rate is None else {"rate": 1.0, "duration": None}
    return workload.model_copy(update={"operations": rows, **rate})


def _at_saturation(spec: Spec, trace: Trace) -> Saturated:
    trace = _shortened(spec, trace)
    warm = _warm(spec, trace) if warms(spec) else None
    mix = mix_at_saturation(spec, trace) if warm is None else Mix(warm.network, warm.requests)
    network, requests = mix.network, mix.requests
    # The rate at saturation is that of many clients, so their machines issue equally many requests.
    has_machines = any(group.choice is Choice.CLIENT for group in network.groups)
    evenly = mix.least(even_clients=has_machines)
    changes = warm is not None and (network.scenario or any(load.from_s > 0 for load in requests.background))
    stretches = stretches_of(*(compile_until_end(spec, trace) if changes else (network, requests)))
    is_known = not (pools_of(network, requests) or network.scenario or repeats(network, requests))
    first_fault_s = min(fault_times(faults_of(spec).values()), default=math.inf)
    limits = []
    for stretch in stretches:
        if stretch[1] <= first_fault_s < math.inf:
            healthy = at_saturation(before(spec, 0.0), trace).limit
            limit = healthy and replace(healthy, from_s=stretch[0], until_s=stretch[1])
        else:
            limit = limit_of(evenly, background_servers(network, requests, stretch), stretch)
            if limit is not None and not is_known:
                issued, warming = (trace, 0) if warm is None else (warm.trace, warm.settling.first)
                limit = tried(spec, issued, network, requests, limit, warming)
                if limit.bound == "at" and has_lasting_workers(network, requests, stretch):
                    limit = replace(limit, bound="at least")
            if limit is not None and warm is not None:
                limit = replace(
                    limit, is_warm=True, bound=bound_of(warm.settling) if limit.bound == "at" else limit.bound
                )
        if limit is not None:
            limits.append(limit)
    return Saturated(mix, _joined(limits, stretches))


def _joined(limits: list[RateLimit], stretches: list[Stretch]) -> tuple[RateLimit, ...]:
    """Return the limits with those of neighbouring stretches joined if they are the same, each with all its stretches.

    If there is one for all stretches, it is that of the whole run.
    """
    joined: list[RateLimit] = []
    for each in limits:
        if joined and joined[-1].until_s == each.from_s and joined[-1].is_same(each):
            least = min(joined[-1], each, key=lambda limit: limit.ops)
            joined[-1] = replace(least, from_s=joined[-1].from_s, until_s=each.until_s)
        else:
            joined.append(each)
    if len(joined) == 1 and (joined[0].from_s, joined[0].until_s) == (stretches[0][0], stretches[-1][1]):
        return (replace(joined[0], from_s=WHOLE[0], until_s=WHOLE[1]),)
    return tuple(
        replace(each, again=tuple((o.from_s, o.until_s) for o in joined if o is not each and o.is_same(each)))
        for each in joined
    )


def _warm(spec: Spec, trace: Trace) -> Warm:
    """Return the store at saturation whose caches have filled."""

    def first(network: Network, requests: Requests) -> tuple[str, float]:
        limit = limit_of(Mix(network, requests).least())
        return ("", math.inf) if limit is None else (limit.role, limit.ops)

    return warm_at_saturation(spec, trace, latest_end_s(spec, trace), first)


def limit_of(demands: LeastDemands, busy_servers: Floats | None = None, stretch: Stretch = WHOLE) -> RateLimit | None:
    """Return the resource that saturates first by its demands; None: none does.

    Args:
        demands: of the requests.
        busy_servers: how many servers of each station do other work, shape (stations,); None: none.
        stretch: of the run.
    """
    most_ops = saturation_ops(demands)
    if busy_servers is not None and busy_servers.any():
        servers = np.array([resource.servers for resource in demands.resources])
        busy = np.array([busy_servers[list(resource.stations)].sum() for resource in demands.resources])
        most_ops *= np.clip(1 - busy / servers, _LEAST_FREE, 1.0)
    first = int(most_ops.argmin())
    resource = demands.resources[first]
    if math.isinf(most_ops[first]):
        return None
    return RateLimit(resource.name, resource.role, float(most_ops[first]), *stretch)


def demands_at_load(spec: Spec, trace: Trace) -> tuple[Network, Requests, Demands]:
    """Return the network of a store at the load of a trace, its requests, and the demands of those of its workload.

    Demands are averaged over the rows, each counted once, or some of a long trace; of a store whose caches are empty at
    first, over those that find them filled. Which of several equal stations has the most of them by chance does not
    count.

    Raises:
        InputError: the spec cannot be modelled, or the network has a feature that is not supported.
    """
    network, requests = compile_until_end(spec, trace)
    if warms(spec):
        requests = requests.after(settling_of(work_s(network, requests)).first)
    census = census_of(spec, network, latest_end_s(spec, trace))
    return network, requests, Mix(network, requests, census).demands()


def mix_at_saturation(spec: Spec, trace: Trace) -> Mix:
    """Return the same for queues as deep as they get, and some of the requests of a long trace; raises the same."""
    end_s = latest_end_s(spec, trace)
    network, requests = compile_spec(spec, _shortened(spec, trace), end_s, saturated=True)
    return Mix(network, requests, census_of(spec, network, end_s))


def saturation_ops(demands: LeastDemands) -> Floats:
    """Return the requests per second at which each resource saturates, shape (resources,).

    Infinite: it never does, or no request waits there.
    """
    servers = np.array([resource.servers for resource in demands.resources])
    most_ops = np.full(len(servers), np.inf)
    with np.errstate(divide="ignore", over="ignore"):
        np.divide(servers, demands.low_s, out=most_ops, where=demands.low_s > 0)
    most_ops[[resource.role == WORKERS for resource in demands.resources]] = np.inf  # no request waits for these
    return most_ops


class Mix:
    """The demands of the mix of a network's requests, without the chance by which one of many equal stations has most.

    Attributes:
        network, requests: as compiled.
    """

    def __init__(self, network: Network, requests: Requests, census: Requests | None = None):
        """`census`: requests with each key as often as in the long run; None: how often is not known."""
        self.network, self.requests = network, requests
        self._routes = np.unique(requests.route).tolist()
        odds = {} if census is None else odds_of_routes(network, requests, census)
        self._even = [k for k in self._routes if k in odds or are_keys_even(network, requests, k)]
        self._mean = MeanDemands(network, _sampled(network, requests), settled=True, key_odds=odds)

    def demands(self) -> Demands:
        """Return the demands."""
        found = self._mean.demands(self._even)
        if len(self._even) == len(self._routes):
            return without_chance(found)
        # A popular object loads some stations more; but chance must not hide that the placement is uneven.
        return without_chance(found, without_chance(self._mean.least(self._routes)))

    def least(self, even_clients: bool = False) -> LeastDemands:
        """Return the least demands, those of `demands` unless all client machines issue equally many requests."""
        found = self._mean.least(self._even, even_clients)
        if len(self._even) == len(self._routes):
            return without_chance(found)
        return without_chance(found, without_chance(self._mean.least(self._routes, even_clients)))


def _sampled(network: Network, requests: Requests) -> Requests:
    """Return the requests, or of many some, of each kind as many as its fraction of all."""
    visits = _visits(network, requests)
    most = min(max(int(_VISITS / visits), _LEAST_ROWS), _MOST_ROWS, max(int(_MOST_VISITS / visits), _FEWEST_ROWS))
    if len(requests) <= most:
        return requests
    rows = Kinds.of(network, requests).sample(most)
    per_row = ("route", "size_bytes", "key_hash", "arrival_s", "think_s", "phase")
    chosen = {name: getattr(requests, name)[rows] for name in per_row}
    return replace(requests, **chosen, group=None if requests.group is None else requests.group[rows])


def _visits(network: Network, requests: Requests) -> float:
    """Return the mean number of visits of requests, those of their sub-requests included; at least 1."""
    total = 0
    for k in np.unique(requests.route).tolist():
        sizes = requests.size_bytes[requests.route == k]
        total += sum(len(network.routes[r].visits) * len(of) for r, of, _ in by_route(network, k, sizes))
    return max(total / max(len(requests), 1), 1.0)


def _shortened(spec: Spec, trace: Trace) -> Trace:
    """Return the trace, or of many rows as many as are needed; all if what a cache holds depends on their order."""
    if len(trace) <= _COMPILED or warms(spec):
        return trace
    within = uniforms(0, stream_id("saturation/rows"), 0, _COMPILED)
    rows = ((np.arange(_COMPILED) + within) * (len(trace) / _COMPILED)).astype(np.int64)
    return replace(trace, table=trace.table.take(pa.array(rows)))
