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
from models.network.network import Network
from models.network.retry_policy import NO_POLICY
from models.network.route import Visit
from models.network.station import Bound, Choice
from sim.analysis.visit_places import is_even, is_keyed, stations_of
from sim.engine.outcome import Floats
from traces.workload.distributions import Exponential

_MAX_STATES = 20_000_000  # stations times clients: some seconds and half a gigabyte
_DOUBT = 1e-4  # of a test's p-value: arrivals less likely than this are not Poisson


def why_not(network: Network, requests: Requests) -> str | None:
    """Why means cannot be had exactly, in words; None where the network has product form.

    Nothing is changed by a scenario or retried; every stage has one branch; a group's member is picked by
    key or at random; stations are infinite or shared servers with demands of any distribution, or serve
    exponential ones of one mean in any order that does not look at it. Requests of several routes, sizes and keys
    are classes that a client changes at each request: one chain, so their averaged demands are exact, as long as each
    row of a Trace is an independent draw from the mix, which is taken for granted.
    """
    closed = requests.pacing.loop == "closed"
    if closed and len(np.unique(requests.phase)) > 1:
        return "the requests come in phases, each with a mix of its own"
    if network.scenario:
        return "the scenario changes the network"
    if requests.background:
        return "the store works in the background"
    for k in np.unique(requests.route):
        route = network.routes[k]
        if route.policy != NO_POLICY:
            return f"{route.name} may be given up, or asked again"
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
    means = [mean for visit, sizes in visits for mean in visit.demand.mean_s(sizes).tolist()]
    never_busy = not any(means) and not station.batch_item_s and not station.discipline.holds_tokens
    if not visits or never_busy or station.discipline.product_form == "any":
        return None
    if station.discipline.product_form is None:
        return f"has the discipline {station.discipline.name}"
    if station.setup_s:
        return "has servers that have to wake when they were idle"
    if station.caches:
        return "has servers that lose their caches while they are idle"
    other = next((v.demand.distribution for v, _ in visits if not isinstance(v.demand.distribution, Exponential)), None)
    if other is not None:
        return f"has demands that are {other.kind}, not exponential"
    if not math.isclose(min(means), max(means), rel_tol=1e-12):
        return f"has demands of means from {min(means):.3g} to {max(means):.3g} s, not of one"
    return None


def _visits_to(network: Network, requests: Requests, station: int) -> Iterator[tuple[Visit, np.ndarray]]:
    """The visits that may be to a station, and the sizes that their requests have."""
    for k in np.unique(requests.route):
        sizes = np.unique(requests.size_bytes[requests.route == k])
        for visit in network.routes[k].visits:
            if station in stations_of(network, visit.station):
                yield visit, sizes


def _why_not_poisson(requests: Requests) -> str | None:
    """Poisson arrivals are uniform over time, and their gaps exponential (Kolmogorov-Smirnov of both)."""
    arrival_s = requests.arrival_s
    gaps = np.diff(arrival_s, prepend=0.0)
    uniform = scipy.stats.kstest(arrival_s / arrival_s[-1], "uniform").pvalue
    exponential = scipy.stats.kstest(gaps / gaps.mean(), "expon").pvalue
    return "the arrivals are not Poisson" if min(uniform, exponential) < _DOUBT else None


def closed_means(demand_s: Floats, servers: Floats, delay_s: float, clients: int) -> tuple[float, Floats]:
    """Throughput (1/s) and mean jobs at each station, shape (stations,), of a closed network in product form.

    The means of mean value analysis (Reiser and Lavenberg, "Mean-value analysis of closed multichain queuing
    networks", JACM 27, 1980), had from the normalising constants (Buzen, "Computational algorithms for closed queueing
    networks with exponential servers", CACM 16, 1973), whose terms are all positive: the recursion subtracts,
    which leaves no digits at a station of many servers. Each station's terms are scaled to a distribution of its jobs
    with `clients` jobs expected in all; no constant over- or underflows then.

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
    law = scipy.special.softmax(terms + jobs * pace, axis=1)
    before, after = _running(law), _running(law[::-1])[::-1]
    whole = before[-1]
    throughput = math.exp(pace) * whole[clients - 1] / whole[clients]
    mean_jobs = np.empty(len(demand_s))
    for k in range(len(demand_s)):
        others = _sum_law(before[k], after[k + 1])
        mean_jobs[k] = (jobs * law[k]) @ others[::-1] / whole[clients]
    return float(throughput), mean_jobs


def _pace(terms: Floats, clients: int) -> float:
    """The logarithm of the throughput at which the stations, each by itself, hold `clients` jobs in all."""
    jobs = np.arange(clients + 1)

    def held(pace: float) -> float:
        return float((scipy.special.softmax(terms + jobs * pace, axis=1) @ jobs).sum())

    wanted = clients - 0.5  # between the two numbers of jobs whose probabilities are needed
    low = high = -float(terms[:, 1].max())
    while held(low) > wanted:
        low -= 1.0
    while held(high) < wanted:
        high += 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if held(middle) < wanted else (low, middle)
    return high


def _running(law: Floats) -> Floats:
    """Laws of the sum of no row, the first row, the first two, …; shape (rows + 1, jobs)."""
    sums = np.zeros((len(law) + 1, law.shape[1]))
    sums[0, 0] = 1.0
    for k, row in enumerate(law):
        sums[k + 1] = _sum_law(sums[k], row)
    return sums


def _sum_law(a: Floats, b: Floats) -> Floats:
    """The law of the sum of two numbers of jobs, as far as the arrays reach."""
    law: Floats = scipy.signal.convolve(a, b)[: len(a)]
    return law


def open_means(demand_s: Floats, servers: Floats, rate_ops: float) -> Floats:
    """Mean jobs at each station, shape (stations,), of an open network in product form with Poisson arrivals.

    Each station is an M/M/c queue by itself (Jackson, "Networks of waiting lines", Operations Research 5, 1957).

    Raises:
        ValueError: a station cannot keep up with the rate.
    """
    load = rate_ops * demand_s
    if (load >= servers).any():
        raise ValueError(f"{rate_ops:.6g} requests per second saturate the bottleneck")
    waiting = [_erlang_c(int(c), a) * a / (c - a) for c, a in zip(servers, load, strict=True)]
    mean_jobs: Floats = load + np.array(waiting)
    return mean_jobs


def _erlang_c(servers: int, load: float) -> float:
    """The probability of waiting in M/M/c, by way of Erlang's loss formula (Erlang 1917)."""
    blocked = 1.0
    for busy in range(1, servers + 1):
        blocked = load * blocked / (busy + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))
