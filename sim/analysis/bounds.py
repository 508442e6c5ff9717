"""Analysis of a Network without simulation: demands, the bottleneck, bounds, and exact means where they exist.

Denning and Buzen, "The operational analysis of queueing network models", ACM Computing Surveys 10, 1978; Lazowska,
Zahorjan, Graham, Sevcik, "Quantitative system performance", 1984, chapter 5; Zahorjan, Sevcik, Eager, Galler,
"Balanced job bound analysis of queueing networks", CACM 25, 1982.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store import Spec, before, faults_of
from sim.analysis.bound_notes import no_worst_case, notes
from sim.analysis.bounds_result import (
    BalancedJobBounds,
    Between,
    Bounds,
    ClosedLoad,
    ExactMeans,
    OpenLoad,
    ResourceBounds,
    RouteBounds,
    RouteMeans,
    StationMeans,
    Unavailable,
)
from sim.analysis.product_form import closed_means, open_means, why_not
from sim.demands.certainty import may_fail
from sim.demands.run_end import latest_end_s
from sim.demands.service_demands import Demands, mean_demands
from sim.demands.visit_places import Resource
from sim.engine.outcome import Floats
from sim.saturation.enough_requests import with_enough_requests
from sim.saturation.saturation import Saturated, at_saturation, demands_at_load, limit_of, saturation_ops
from traces.errors import InputError
from traces.statistics.arrivals import arrival_rate_ops
from traces.trace import Pacing, Trace


def bounds_of(spec: Spec, trace: Trace, generated: bool = True) -> Bounds:
    """Calculate bounds that hold for long runs of a store with the workload of a trace.

    The rate at which a resource saturates is that with the deepest queues (`sim.saturation.saturation`), so it is the
    same for all rates and numbers of clients. The demands are those at the load of the trace. Where demands do not tell
    what saturates first, the bottleneck is from simulation, and saturates at a lower rate than the bound of throughput.

    Args:
        spec: of the store.
        trace: its requests.
        generated: whether the trace was generated from the workload of the spec, so that more requests than it has tell
            the mean demands.

    Raises:
        InputError: as for `bounds`, or the spec cannot be modelled.
    """
    spec = _without_faults(spec, trace)
    enough = with_enough_requests(spec, trace, at_load=True) if generated else trace
    network, requests, demands = demands_at_load(spec, enough)
    enough = with_enough_requests(spec, enough) if generated else trace
    offered_ops = _rate_ops(trace.arrival_s, trace.pacing) if trace.pacing.loop == "open" else None
    return bounds(network, requests, demands, at_saturation(spec, enough), offered_ops)


def saturation_of(spec: Spec, trace: Trace) -> Iterator[tuple[Resource, float]]:
    """Yield the resources with queues that requests need, and the rates in op/s at which they saturate, if they do.

    They are those that `bounds_of` states; without the demands at the load of the trace, this takes half of its time.

    Raises:
        InputError: as for `at_saturation`.
    """
    spec = _without_faults(spec, trace)
    saturated = at_saturation(spec, with_enough_requests(spec, trace))
    resources, limit = saturated.demands.resources, saturated.limit
    most_ops = saturation_ops(saturated.demands)
    for k in _ranked(saturated.network, saturated.demands):
        ops = limit.ops if limit and limit.station == resources[k].name else most_ops[k]
        if math.isfinite(resources[k].servers) and math.isfinite(ops):
            yield resources[k], float(ops)


def _without_faults(spec: Spec, trace: Trace) -> Spec:
    return before(spec, latest_end_s(spec, trace)) if faults_of(spec) else spec


def _ranked(network: Network, demands: Demands) -> list[int]:
    """Return the resources that requests visit, other than gates, by demand per server; infinite servers last."""
    gates = {k for k, s in enumerate(network.stations) if s.discipline.is_gate}
    shown = [k for k, r in enumerate(demands.resources) if demands.requested[k] and not gates.issuperset(r.stations)]
    servers = np.array([resource.servers for resource in demands.resources])
    load = np.where(np.isinf(demands.high_s), demands.low_s, demands.high_s) / servers
    return sorted(shown, key=lambda k: (math.isinf(servers[k]), -load[k]))


def bounds(
    network: Network,
    requests: Requests,
    demands: Demands | None = None,
    saturated: Saturated | None = None,
    offered_ops: float | None = None,
) -> Bounds:
    """Calculate bounds that hold for every long run of the network, for any distribution of service demands.

    They follow from work conservation: no station works more than its servers can, and no pool grants more tokens than
    it has; a response takes at least its critical path; and while a request is in progress and not at an infinite
    server, at least one server works (unless tokens of a pool are held, a gate is shut, or a client pauses before a
    retry: then there is no upper bound of the response time). They hold for a finite run except for its start and end,
    and for the sampling error of its demands, unless `demands` are those of the run. `notes` has further assumptions.

    Args:
        network, requests: the mix of requests is that of the rows, each counted once.
        demands: of that mix; None: expected demands (`mean_demands`).
        saturated: the store at saturation; None: its demands are the same.
        offered_ops: arrivals per second of an open loop; None: those of `requests`.

    Raises:
        InputError: there are no requests, those of an open loop arrive all at once, groups have closed loops, or
            demands cannot be calculated for a feature of the network.
    """
    if requests.pacing.loop == "mixed":
        raise InputError(
            "workload.groups: bounds need groups with rates only, because how many requests each closed loop issues is "
            "not known beforehand"
        )
    demands = demands or mean_demands(network, requests)
    mix = _Mix(network, requests, demands, saturated, offered_ops)
    closed = mix.closed
    load = ClosedLoad("closed", mix.clients, mix.think_s) if closed else OpenLoad("open", mix.offered_ops)
    throughput_ops, response_s = _closed(mix) if closed else _open(mix)
    exact = _exact(mix, requests)
    return Bounds(
        load,
        None if mix.limit is None else mix.limit.station,
        None if mix.limit is None else mix.limit.ops,
        throughput_ops,
        response_s,
        _station_rows(mix, throughput_ops),
        _route_rows(mix),
        exact,
        _balanced_job(mix, exact) if closed else Unavailable("they apply to closed loops only"),
        notes(network, mix.routes, mix.demands, mix.background, mix.is_from_trials),
        *((None, None) if mix.limit is None else mix.limit.stretch),
        "at" if mix.limit is None else mix.limit.bound,
        mix.limit is not None and mix.limit.is_warm,
        () if mix.limit is None else mix.limit.again,
    )


class _Mix:
    """A mix of requests, its load, and its demands of resources, as arrays of shape (resources,).

    Attributes:
        max_ops, present_ops: at saturation, and with the demands at the present load.
        limit: the resource that saturates first; None: none does.
    """

    def __init__(
        self,
        network: Network,
        requests: Requests,
        demands: Demands,
        saturated: Saturated | None,
        offered_ops: float | None,
    ):
        self.network, self.demands = network, demands
        self.routes = [network.routes[k] for k in network.with_sub_requests(np.flatnonzero(demands.fraction).tolist())]
        self.closed, self.background = requests.pacing.loop == "closed", bool(requests.background)
        self.clients, self.think_s = requests.pacing.clients, float(requests.think_s.mean())
        self.offered_ops = offered_ops or _rate_ops(requests.arrival_s, requests.pacing)
        self.servers = np.array([resource.servers for resource in demands.resources])
        self.low_s, self.high_s = demands.low_s, demands.high_s
        self.may_fail = any(may_fail(network, route) for route in self.routes)
        self.queueing_s = math.inf if no_worst_case(network, self.routes, self.background) else demands.queueing_s
        self.no_contention_s = float(demands.fraction @ demands.no_contention_s)
        deepest = demands if saturated is None else saturated.demands
        self.max_ops, self.present_ops = saturation_ops(deepest), saturation_ops(demands)
        self.limit = limit_of(deepest) if saturated is None else saturated.limit
        # By station, for exact means.
        self.is_delay = np.array([s.discipline.infinite for s in network.stations])
        self.demand_s = demands.fraction @ demands.mean_s
        self.queues = ~self.is_delay & (self.demand_s > 0)
        self.delay_s = float(self.demand_s[self.is_delay].sum())

    @property
    def is_from_trials(self) -> bool:
        """Whether simulations, and not the demands, tell the limit."""
        return self.limit is not None and self.limit.is_tried and self.limit.ops != float(self.max_ops.min())

    @property
    def ranked(self) -> list[int]:
        """The resources visited, by demand per server; infinite servers last."""
        return _ranked(self.network, self.demands)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _between(low: float, high: float) -> Between:
    return Between(_finite(low), _finite(high))


def _per(count: float, time_s: float) -> float:
    return count / time_s if time_s else math.inf


def _closed(mix: _Mix) -> tuple[Between, Between]:
    """Asymptotic bounds of a closed loop: throughput and response.

    All clients thinking or at infinite servers takes 1/clients of those times per request, the rest of the time
    some server works: hence the lower throughput. Failed requests may end sooner than servers can answer them, so where
    there are any saturation says nothing of the response.
    """
    clients, most = mix.clients, float(mix.present_ops.min())
    slowest_s = mix.demands.delay_s + clients * mix.queueing_s
    least_s = mix.no_contention_s if mix.may_fail else max(mix.no_contention_s, clients / most - mix.think_s)
    fastest = min(most, _per(clients, mix.think_s + mix.no_contention_s))
    return _between(_per(clients, mix.think_s + slowest_s), fastest), _between(least_s, slowest_s)


def _open(mix: _Mix) -> tuple[Between, Between]:
    """Return bounds of an open loop; response times are unbounded if only means are known.

    While requests queue, some server works: the throughput is at least that of a single server for all demands.
    """
    low, high = (min(mix.offered_ops, most) for most in (_per(1, mix.queueing_s), float(mix.max_ops.min())))
    return _between(low, high), _between(mix.no_contention_s, math.inf)


def _rate_ops(arrival_s: Floats, pacing: Pacing) -> float:
    """Return the mean arrival rate of an open loop; infinite for a closed loop, which has none."""
    if pacing.loop == "closed":
        return math.inf
    rate_ops = arrival_rate_ops(arrival_s, pacing.duration_s)
    if math.isinf(rate_ops):
        raise InputError("all requests arrive at once; the bounds of an open loop need an arrival rate")
    return rate_ops


def _station_rows(mix: _Mix, throughput_ops: Between) -> list[ResourceBounds]:
    """Apply the utilisation law: throughput times demand per server; failed requests cause work as well."""
    low_ops, high_ops = throughput_ops.low or 0.0, throughput_ops.high
    unknown = mix.may_fail or mix.background
    rows = []
    for k in mix.ranked:
        resource, delay = mix.demands.resources[k], math.isinf(mix.servers[k])
        servers = 1.0 if delay else mix.servers[k]
        high = math.inf if unknown or high_ops is None else high_ops * mix.high_s[k] / servers
        rows.append(
            ResourceBounds(
                resource.name,
                resource.role,
                resource.kind,
                None if delay else int(resource.servers),
                float(mix.demands.requested[k]),
                _between(mix.low_s[k], mix.high_s[k]),
                mix.limit.ops if mix.limit and mix.limit.station == resource.name else _finite(mix.max_ops[k]),
                _between(low_ops * mix.low_s[k] / servers, high if delay else min(high, 1.0)),
            )
        )
    return rows


def _route_rows(mix: _Mix) -> list[RouteBounds]:
    demands, rows = mix.demands, []
    for k in np.flatnonzero(demands.fraction):
        by_role: dict[str, float] = {}
        for at in np.flatnonzero(demands.visits[k]):
            role = mix.network.stations[at].role
            by_role[role] = by_role.get(role, 0.0) + float(demands.mean_s[k, at])
        ordered = dict(sorted(by_role.items(), key=lambda item: -item[1]))
        response_s = _between(demands.no_contention_s[k], math.inf)
        rows.append(RouteBounds(mix.network.routes[k].name, float(demands.fraction[k]), ordered, response_s))
    return rows


def _exact(mix: _Mix, requests: Requests) -> ExactMeans | Unavailable:
    """Return exact means of a network in product form, or the reason why there are none."""
    reason = why_not(mix.network, requests)
    if reason is not None:
        return Unavailable(f"no product form: {reason}")
    demand_s, servers = mix.demand_s[mix.queues], _servers(mix)
    try:
        if mix.closed:
            throughput_ops, jobs = closed_means(demand_s, servers, mix.think_s + mix.delay_s, mix.clients)
        else:
            throughput_ops, jobs = mix.offered_ops, open_means(demand_s, servers, mix.offered_ops)
    except ValueError as error:
        return Unavailable(str(error))
    mean_jobs = throughput_ops * mix.demand_s
    mean_jobs[mix.queues] = jobs
    return _means(mix, mean_jobs / throughput_ops, throughput_ops)


def _servers(mix: _Mix) -> Floats:
    """Return the numbers of servers of stations with a queue."""
    return np.array([float(mix.network.stations[k].servers) for k in np.flatnonzero(mix.queues)])


def _means(mix: _Mix, residence_s: Floats, throughput_ops: float) -> ExactMeans:
    """Apply Little's law; the residence time of a route's requests at a station is proportional to their demand."""
    stretch = np.divide(residence_s, mix.demand_s, out=np.zeros_like(residence_s), where=mix.demand_s > 0)
    response_s = mix.demands.mean_s @ stretch
    network = mix.network
    stations = [
        StationMeans(network.stations[k].name, float(residence_s[k]), float(throughput_ops * residence_s[k]))
        for k in mix.ranked
        if k < len(residence_s)
    ]
    taken = np.flatnonzero(mix.demands.fraction)
    routes = [RouteMeans(network.routes[k].name, float(response_s[k])) for k in taken]
    return ExactMeans(throughput_ops, float(residence_s.sum()), stations, routes)


def _balanced_job(mix: _Mix, exact: ExactMeans | Unavailable) -> BalancedJobBounds | Unavailable:
    """Return balanced job bounds with terminals: Lazowska et al., table 5.2; infinite servers count as think time."""
    if isinstance(exact, Unavailable):
        return exact
    if (_servers(mix) > 1).any():
        return Unavailable("a station has several servers")
    if not mix.queues.any():
        return Unavailable("no station has a queue")
    clients, demand_s = mix.clients, mix.demand_s[mix.queues]
    total_s, think_s = demand_s.sum(), mix.think_s + mix.delay_s
    even_s = (clients - 1) * demand_s.mean() / (1 + think_s / total_s)
    skew_s = (clients - 1) * demand_s.max() / (1 + think_s / (clients * total_s))
    low_s = max(clients * demand_s.max() - think_s, total_s + even_s)
    high_s = total_s + skew_s
    return BalancedJobBounds(
        _between(clients / (high_s + think_s), clients / (low_s + think_s)),
        _between(mix.delay_s + low_s, mix.delay_s + high_s),
    )
