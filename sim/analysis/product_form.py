"""Exact means of networks in product form, without simulation.

Which networks: Baskett, Chandy, Muntz, Palacios, "Open, closed, and mixed networks of queues with different classes of
customers", JACM 22, 1975; Kelly, "Reversibility and stochastic networks", 1979, chapter 3, for shared cores and
service in random order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy

from models.network.demand_sheet import Requests
from models.network.descendants import by_route
from models.network.network import Network
from models.network.retry_policy import NO_POLICY
from models.network.route import Visit
from models.network.station import Bound, Choice
from sim.demands.visit_places import is_even, is_keyed, later_changes, stations_of
from sim.engine.outcome import Floats
from traces.workload.distributions import Exponential

_MAX_STATES = 20_000_000  # stations times clients: a few seconds and half a gigabyte
_SIGNIFICANCE = 1e-4  # arrivals with a smaller p-value are not Poisson


def why_not(network: Network, requests: Requests) -> str | None:
    """Return why there are no exact means, in words; None if the network has product form.

    The conditions: no scenario and no retries; every stage has one branch, and sub-requests begin one after the other,
    so that they are like further visits; a group's member is picked by key or at random; stations are infinite or
    shared servers with demands of any distribution, or have exponential demands with the same mean and a service order
    that does not depend on them. Requests of several routes, sizes and keys are classes that a client changes at each
    request: one chain, so their averaged demands are exact if each row of a Trace is an independent draw from the mix,
    which is assumed.
    """
    closed = requests.pacing.loop == "closed"
    if closed and len(np.unique(requests.phase)) > 1:
        return "the requests come in phases with different mixes"
    if later_changes(network):
        return "the scenario changes the network"
    if requests.background:
        return "the store works in the background"
    for k in network.with_sub_requests(np.unique(requests.route).tolist()):
        route = network.routes[k]
        if any(sub.parallel != 1 and (sub.chunk_bytes is not None or sub.count > 1) for _, sub in route.starts):
            return f"{route.name} starts several sub-requests at a time"
        if not all(sub.needs_all for _, sub in route.starts):
            return f"{route.name} does not need all of its sub-requests"
        if route.policy != NO_POLICY:
            return f"{route.name} has timeouts, retries or hedges"
        for group in dict.fromkeys(v.station.group for v in route.visits if isinstance(v.station, Bound)):
            choice = network.groups[group].choice
            if not is_keyed(network, route, group) and (choice, is_even(network, route, group)) != (
                Choice.RANDOM,
                True,
            ):
                return f"{route.name} is bound to a station by {choice.name}"
        forked = next((s for s, stage in enumerate(route.stages) if len(stage.branches) > 1), None)
        if forked is not None:
            return f"stage {forked + 1} of {route.name} is a fork"
    for k, station in enumerate(network.stations):
        reason = _why_station_not(network, requests, k)
        if reason is not None:
            return f"station {station.name} {reason}"
    return None if closed else _why_not_poisson(requests)


def _why_station_not(network: Network, requests: Requests, index: int) -> str | None:
    station, visits = network.stations[index], list(_visits_to(network, requests, index))
    means = [mean for visit, sizes in visits for mean in visit.demand_if_made.mean_s(sizes).tolist()]
    never_busy = (
        not any(means) and not station.batch_item_s and not station.flush_s and not station.discipline.holds_tokens
    )
    if not visits or never_busy:
        return None
    if station.queue_s:
        return "has a queue of limited length before it is shared"
    if station.discipline.product_form == "any":
        return None
    if station.discipline.product_form is None:
        return f"has the discipline {station.discipline.name}"
    if station.setup_s:
        return "has a setup time"
    if station.caches:
        return "has CPU caches that cool down while idle"
    shapes = (visit.demand_if_made.distribution for visit, _ in visits)
    other = next((shape for shape in shapes if not isinstance(shape, Exponential)), None)
    if other is not None:
        return f"has {other.kind} demands, not exponential ones"
    if not math.isclose(min(means), max(means), rel_tol=1e-12):
        return f"has mean demands from {min(means):.3g} to {max(means):.3g} s, which must be equal"
    return None


def _visits_to(network: Network, requests: Requests, station: int) -> Iterator[tuple[Visit, np.ndarray]]:
    """Yield the possible visits to a station, and the sizes of their requests."""
    for k in np.unique(requests.route):
        for route, sizes, _ in by_route(network, int(k), np.unique(requests.size_bytes[requests.route == k])):
            for visit in network.routes[route].visits:
                if station in stations_of(network, visit.station):
                    yield visit, np.unique(sizes)


def _why_not_poisson(requests: Requests) -> str | None:
    """Test for a Poisson process: arrivals uniform over time, gaps exponential (Kolmogorov-Smirnov tests)."""
    arrival_s = requests.arrival_s
    gaps = np.diff(arrival_s, prepend=0.0)
    uniform = scipy.stats.kstest(arrival_s / arrival_s[-1], "uniform").pvalue
    exponential = scipy.stats.kstest(gaps / gaps.mean(), "expon").pvalue
    return "the arrivals are not Poisson" if min(uniform, exponential) < _SIGNIFICANCE else None


def closed_means(demand_s: Floats, servers: Floats, delay_s: float, clients: int) -> tuple[float, Floats]:
    """Return throughput (1/s) and mean jobs at each station, shape (stations,), of a closed network in product form.

    The means of mean value analysis (Reiser and Lavenberg, "Mean-value analysis of closed multichain queuing
    networks", JACM 27, 1980), computed from normalising constants (Buzen, "Computational algorithms for closed queueing
    networks with exponential servers", CACM 16, 1973), whose terms are all positive: the recursion of mean value
    analysis subtracts, which loses all digits at a station with many servers. Each station's terms are scaled to a
    distribution of its jobs, such that the stations together have `clients` jobs in expectation; so no constant
    overflows or underflows.

    Args:
        demand_s: mean service per request, above 0, shape (stations,).
        servers: of each station, shape (stations,).
        delay_s: time per request spent thinking and at infinite servers.
        clients: at least 1.

    Raises:
        ValueError: requests take no time, or there are too many stations and clients.
    """
    if not delay_s and not len(demand_s):
        raise ValueError("requests take no time")
    if (len(demand_s) + 1) * clients > _MAX_STATES:
        raise ValueError(f"{len(demand_s)} stations and {clients} clients are too many for an exact solution")
    jobs = np.arange(clients + 1)
    service = np.cumsum(np.log(np.clip(jobs, 1, servers[:, None])), axis=1)
    terms = jobs * np.log(demand_s)[:, None] - service
    if delay_s:
        terms = np.vstack([terms, jobs * math.log(delay_s) - scipy.special.gammaln(jobs + 1)])
    pace = _pace(terms, clients)
    of_jobs = scipy.special.softmax(terms + jobs * pace, axis=1)
    before, after = _partial_sums(of_jobs), _partial_sums(of_jobs[::-1])[::-1]
    whole = before[-1]
    throughput = math.exp(pace) * whole[clients - 1] / whole[clients]
    mean_jobs = np.empty(len(demand_s))
    for k in range(len(demand_s)):
        others = _convolved(before[k], after[k + 1])
        mean_jobs[k] = (jobs * of_jobs[k]) @ others[::-1] / whole[clients]
    return float(throughput), mean_jobs


def _pace(terms: Floats, clients: int) -> float:
    """Return the logarithm of the throughput at which independent stations have `clients` jobs in total."""
    jobs = np.arange(clients + 1)

    def total_jobs(pace: float) -> float:
        return float((scipy.special.softmax(terms + jobs * pace, axis=1) @ jobs).sum())

    wanted = clients - 0.5  # between the two numbers of jobs whose probabilities are needed
    low = high = -float(terms[:, 1].max())
    while total_jobs(low) > wanted:
        low -= 1.0
    while total_jobs(high) < wanted:
        high += 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if total_jobs(middle) < wanted else (low, middle)
    return high


def _partial_sums(distributions: Floats) -> Floats:
    """Return the distributions of the sums of no row, the first row, the first two, …; shape (rows + 1, jobs)."""
    sums = np.zeros((len(distributions) + 1, distributions.shape[1]))
    sums[0, 0] = 1.0
    for k, row in enumerate(distributions):
        sums[k + 1] = _convolved(sums[k], row)
    return sums


def _convolved(a: Floats, b: Floats) -> Floats:
    """Return the distribution of the sum of two numbers of jobs, truncated to the length of the arrays."""
    of_sum: Floats = scipy.signal.convolve(a, b)[: len(a)]
    return of_sum


def open_means(demand_s: Floats, servers: Floats, rate_ops: float) -> Floats:
    """Return mean jobs at each station, shape (stations,), of an open network in product form with Poisson arrivals.

    Each station is an independent M/M/c queue (Jackson, "Networks of waiting lines", Operations Research 5, 1957).

    Raises:
        ValueError: a station is saturated.
    """
    load = rate_ops * demand_s
    if (load >= servers).any():
        raise ValueError(f"{rate_ops:.6g} requests per second saturate the bottleneck")
    waiting = [_erlang_c(int(c), a) * a / (c - a) for c, a in zip(servers, load, strict=True)]
    mean_jobs: Floats = load + np.array(waiting)
    return mean_jobs


def _erlang_c(servers: int, load: float) -> float:
    """Return the probability of waiting in M/M/c, from Erlang's loss formula (Erlang 1917)."""
    blocked = 1.0
    for busy in range(1, servers + 1):
        blocked = load * blocked / (busy + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))
