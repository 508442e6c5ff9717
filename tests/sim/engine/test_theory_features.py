"""Queueing theory as the oracle of priorities, pools, policies, groups and fork-joins."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import optimize, stats

from models.network.demand_sheet import Requests, draw_sheet
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import BUDGET_CAP, Policy
from models.network.route import Route, Stage, Visit, single
from models.network.scenario import Action
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Station
from sim.engine.compiled import engine as compiled_engine
from sim.engine.latency_histogram import bin_of, upper_edge_s
from sim.engine.outcome import Failure, Outcome, Program
from tests.networks import poisson
from tests.sim.engine.test_theory import (
    CUSTOMERS,
    REPLICATIONS,
    WARM_UP,
    assert_holds,
    erlang_c,
    mean_time_in_system,
    replicate,
)
from traces.random_streams import uniforms
from traces.workload.distributions import Deterministic, Exponential, Hyperexponential

ROUTE_STREAM = 999
NOTHING = ServiceDemand()
PRIORITY, FRACTION = Discipline.PRIORITY, Discipline.WEIGHTED_SHARE


def exponential(mean_s: float = 1.0) -> ServiceDemand:
    return ServiceDemand(constant=mean_s, distribution=Exponential())


def fifo(name: str, servers: int = 1) -> Station:
    return Station(name, "server", Discipline.FIFO, servers, (name,))


def mixed_routes(n: int, rate_ops: float, first_share: float, seed: int) -> Requests:
    """Poisson requests, each of the first route with this probability, else of the second."""
    route = (uniforms(seed, ROUTE_STREAM, 0, n) >= first_share).astype(np.int32)
    return dataclasses.replace(poisson(n, rate_ops, seed), route=route)


def at(*arrival_s: float) -> Requests:
    return dataclasses.replace(poisson(len(arrival_s), 1.0, seed=0), arrival_s=np.array(arrival_s, float))


def once(network: Network, *arrival_s: float) -> Outcome:
    return compiled_engine.run(Program.of(network, at(*arrival_s), seed=0))


def job(station: Station, demand_s: float, *scenario: Action, policy: Policy | None = None) -> Network:
    """One station and one route with constant demand."""
    route = Route("r", (single(Visit(0, ServiceDemand(constant=demand_s))),), policy=policy or Policy())
    return Network((station,), (route,), scenario=scenario)


def response_s(run: Outcome) -> np.ndarray:
    return run.end_s - run.start_s


def failed_share(run: Outcome, why: Failure) -> float:
    return float((run.failure == why).mean())


# Classes.


@pytest.mark.parametrize(
    ("servers", "means_s", "shapes", "rate_ops"),
    [
        (1, (1.0, 1.0), (Exponential(), Exponential()), 0.8),
        (1, (0.5, 1.5), (Deterministic(), Hyperexponential(cv=2)), 0.7),
        (3, (1.0, 1.0), (Exponential(), Exponential()), 2.4),
    ],
)
def test_waits_of_priority_classes(servers, means_s, shapes, rate_ops):
    first_share = 0.4
    demands = [ServiceDemand(constant=m, distribution=shape) for m, shape in zip(means_s, shapes, strict=True)]
    routes = tuple(Route(f"r{i}", (single(Visit(0, demand)),), priority=i) for i, demand in enumerate(demands))
    network = Network((Station("s", "server", PRIORITY, servers),), routes)
    rates = rate_ops * first_share, rate_ops * (1 - first_share)

    # Cobham, "Priority assignment in waiting line problems", Operations Research 2, 1954: what an arrival finds in
    # service, or with several servers how long until one is free, stretched by those who go before it.
    if servers == 1:
        residual_s = sum(r * m**2 * (1 + shape.scv) / 2 for r, m, shape in zip(rates, means_s, shapes, strict=True))
    else:
        residual_s = erlang_c(servers, rate_ops) / servers
    first, both = np.cumsum([r * m / servers for r, m in zip(rates, means_s, strict=True)])
    theory = means_s[0] + residual_s / (1 - first), means_s[1] + residual_s / (1 - first) / (1 - both)

    def mean_s(seed: int) -> list[float]:
        requests = mixed_routes(CUSTOMERS, rate_ops, first_share, seed)
        run = compiled_engine.run(Program.of(network, requests, seed))
        return [response_s(run)[WARM_UP:][requests.route[WARM_UP:] == k].mean() for k in (0, 1)]

    figures = np.array([mean_s(seed) for seed in range(4 * REPLICATIONS)])  # means of busy servers vary widely
    for k in (0, 1):
        assert_holds(theory[k], figures[:, k])


@pytest.mark.parametrize("weights", [(3.0, 1.0), (1.0, 1.0), (1.0, 9.0)])
def test_classes_that_always_wait_are_served_by_their_weights(weights):
    demands = exponential(0.5), ServiceDemand(constant=1.5, distribution=Hyperexponential(cv=2))
    routes = tuple(Route(f"r{i}", (single(Visit(0, demand)),), priority=i) for i, demand in enumerate(demands))
    network = Network((Station("s", "server", FRACTION, weights=weights),), routes)
    program = Program.of(network, mixed_routes(20_000, 4.0, 0.7, seed=1), seed=1)
    run, sheet = compiled_engine.run(program), program.draw(0, 20_000)
    order = np.argsort(run.end_s)
    # Both wait from soon after the beginning until the last arrival.
    order = order[(run.end_s[order] > 100) & (run.end_s[order] < sheet.arrival_s[-1])]
    demand_s = sheet.demand_s[sheet.first_visit]
    served_s = np.array([np.cumsum(demand_s[order] * (sheet.route[order] == k)) for k in (0, 1)])
    # In any interval the served demands by weight differ by no more than a job of each: Goyal, Vin and Cheng,
    # "Start-time fair queueing", SIGCOMM 1996, theorem 1. The interval is any between two departures.
    ahead = served_s[0] / weights[0] - served_s[1] / weights[1]
    largest_s = [demand_s[sheet.route == k].max() for k in (0, 1)]
    assert np.ptp(ahead) <= largest_s[0] / weights[0] + largest_s[1] / weights[1]
    assert served_s[0, -1] / served_s[:, -1].sum() == pytest.approx(weights[0] / sum(weights), rel=0.01)


# Clients that give up, and pools.


@pytest.mark.parametrize(("rho", "patience_s"), [(0.8, 3.0), (1.2, 4.0)])
def test_clients_with_deterministic_patience(rho, patience_s):
    # Who would wait longer than the patience leaves without service, so only the others add to the work V that an
    # arrival finds. Level crossings give its density, rho P0 exp(-(1 - rho) x) up to the patience and a tail exp(-x)
    # beyond, hence with E = exp(-(1 - rho) patience): P0 = (1 - rho) / (1 - rho^2 E), P(V > patience) = rho P0 E
    # (Barrer, "Queuing with impatient customers and ordered service", Operations Research 5, 1957). A client who has
    # begun to be served gives up too, but his service goes on: P(V + service > patience) = P0 E (1 + rho).
    route = Route("r", (single(Visit(0, exponential())),), policy=Policy(timeout_s=patience_s))
    network = Network((fifo("s"),), (route,))
    slack = 1 - rho
    left = math.exp(-slack * patience_s)
    empty = slack / (1 - rho**2 * left)
    never_served, given_up = rho * empty * left, empty * left * (1 + rho)
    waiting_s = rho * empty * ((1 - left * (1 + slack * patience_s)) / slack**2 + patience_s * left)

    def figure(seed: int) -> list[float]:
        program = Program.of(network, poisson(CUSTOMERS, rho, seed), seed)
        run, requested_s = compiled_engine.run(program), program.draw(0, CUSTOMERS).demand_s
        timed_out = failed_share(run, Failure.TIMEOUT)
        return [1 - run.busy_s[0] / requested_s.sum(), timed_out, run.waiting_s[0] / CUSTOMERS]

    figures = np.array([figure(seed) for seed in range(REPLICATIONS)])
    for k, theory in enumerate((never_served, given_up, waiting_s)):
        assert_holds(theory, figures[:, k])


@pytest.mark.parametrize(("tokens", "queue_limit", "load"), [(5, 0, 4.0), (5, 3, 4.0), (1, 2, 1.3)])
def test_pool_is_mmck(tokens, queue_limit, load):
    pool = Station("p", "pool", Discipline.POOL, tokens, queue_limit=queue_limit)
    stations = pool, Station("d", "work", Discipline.INFINITE_SERVER)
    visits = Visit(0, NOTHING), Visit(1, exponential()), Visit(0, NOTHING, releases=True)
    network = Network(stations, (Route("r", (single(*visits),)),))
    # Without a queue: Erlang's loss formula, 1917.
    chances = np.array(
        [
            load**n / math.factorial(min(n, tokens)) / tokens ** max(n - tokens, 0)
            for n in range(tokens + queue_limit + 1)
        ]
    )
    chances /= chances.sum()
    queue = sum(max(n - tokens, 0) * chance for n, chance in enumerate(chances))

    def figure(run: Outcome) -> list[float]:
        refused = failed_share(run, Failure.QUEUE_FULL)
        return [refused, run.busy_s[0] / run.clock_s, run.waiting_s[0] / run.clock_s]

    figures = replicate(network, lambda seed: poisson(CUSTOMERS, load, seed), figure)
    assert_holds(chances[-1], figures[:, 0])
    assert_holds(load * (1 - chances[-1]), figures[:, 1])
    if queue_limit:
        assert_holds(queue, figures[:, 2])
    else:
        assert not figures[:, 2].any()


# Groups.


def balanced(choice: Choice, members: int, policy: Policy | None = None, ties: bool = False) -> Network:
    """Members with one FIFO server each, all requests Exponential with mean 1."""
    group = Group(choice, np.arange(members, dtype=np.int32).reshape(-1, 1))
    route = Route("r", (single(Visit(Bound(0), exponential(), ties=ties)),), policy=policy or Policy())
    return Network(tuple(fifo(f"s{i}") for i in range(members)), (route,), groups=(group,))


def test_random_choice_makes_independent_queues():
    rho, members = 0.6, 20
    assert_holds(1 / (1 - rho), mean_time_in_system(balanced(Choice.RANDOM, members), rho * members))


def test_round_robin_makes_regular_arrivals():
    # Each member sees every n-th arrival: Erlang-n gaps, so a GI/M/1 queue with time 1 / (1 - sigma) in system,
    # sigma = E[exp(-(1 - sigma) gap)] (Kleinrock, "Queueing Systems" I, 1975, section 6.4).
    rho, members = 0.8, 20

    def excess(sigma: float) -> float:
        return (1 + (1 - sigma) / (rho * members)) ** -members - sigma

    sigma = optimize.brentq(excess, 0, rho)
    assert_holds(1 / (1 - sigma), mean_time_in_system(balanced(Choice.ROUND_ROBIN, members), rho * members))


def shortest_of_two(rate_ops: float) -> float:
    """Mean time in system where the shorter of two M/M/1 queues is joined, from the balance equations up to 40 jobs."""
    top = 40
    flow = np.zeros((top, top, top, top))  # from (a, b) to (c, d)
    for a in range(top):
        for b in range(top):
            c, d = (a + 1, b) if a <= b else (a, b + 1)
            if c < top and d < top:
                flow[a, b, c, d] += rate_ops
            if a:
                flow[a, b, a - 1, b] += 1
            if b:
                flow[a, b, a, b - 1] += 1
    flow = flow.reshape(top**2, top**2)
    balance = flow.T - np.diag(flow.sum(axis=1))
    balance[0] = 1
    chances = np.linalg.solve(balance, np.eye(top**2)[0]).reshape(top, top)
    return float((chances * np.add.outer(np.arange(top), np.arange(top))).sum() / rate_ops)


@pytest.mark.parametrize("choice", [Choice.LEAST_OUTSTANDING, Choice.POWER_OF_TWO])
def test_joining_the_shorter_of_two(choice):
    # Two picks out of two members leave no other choice than the shorter queue.
    assert_holds(shortest_of_two(1.6), mean_time_in_system(balanced(choice, 2), 1.6))


def test_power_of_two_choices():
    # For members without number a share rho^(2^k - 1) has k jobs or more (Mitzenmacher, "The power of two choices in
    # randomized load balancing", IEEE TPDS 12(10), 2001). What a finite number adds halves as it doubles: of 100
    # members 1 % in the mean and 6 % in the tail.
    rho, members, warm_up, late_s = 0.9, 100, 15_000, 7.0
    least = [rho ** (2**k - 1) for k in range(12)]
    joins = [least[k] ** 2 - least[k + 1] ** 2 for k in range(11)]  # a queue of k jobs
    late = sum(chance * stats.gamma.sf(late_s, k + 1) for k, chance in enumerate(joins))
    mean_s = sum(rho ** (2**i - 2) for i in range(1, 12))

    def figure(run: Outcome) -> list[float]:
        steady_s = response_s(run)[warm_up:]
        return [steady_s.mean(), (steady_s > late_s).mean()]

    figures = replicate(
        balanced(Choice.POWER_OF_TWO, members), lambda seed: poisson(CUSTOMERS, rho * members, seed), figure
    )
    assert figures[:, 0].mean() == pytest.approx(mean_s, rel=0.025)
    assert figures[:, 1].mean() == pytest.approx(late, rel=0.10)


def test_the_more_a_balancer_knows_the_shorter_the_queues():
    rho, members = 0.9, 50
    order = Choice.LEAST_OUTSTANDING, Choice.POWER_OF_TWO, Choice.ROUND_ROBIN, Choice.RANDOM
    requests = poisson(CUSTOMERS, rho * members, seed=1)
    mean_s = [response_s(compiled_engine.run(Program.of(balanced(c, members), requests, 1))).mean() for c in order]
    one_queue_s = 1 + erlang_c(members, rho * members) / (members * (1 - rho))
    assert one_queue_s < mean_s[0] < mean_s[1] < mean_s[2] < mean_s[3]


# Forks, joins and chains.


@pytest.mark.parametrize(("branches", "tolerance"), [(2, 0.0), (4, 0.03), (8, 0.03)])
def test_fork_join(branches, tolerance):
    rho = 0.7
    stage = Stage(tuple((Visit(i, exponential()),) for i in range(branches)), need=branches)
    network = Network(tuple(fifo(f"s{i}") for i in range(branches)), (Route("r", (stage,)),))
    figures = mean_time_in_system(network, rho)
    two_s = (12 - rho) / 8 / (1 - rho)  # exact: Flatto and Hahn, SIAM J. Appl. Math. 44, 1984
    if branches == 2:
        assert_holds(two_s, figures)
        return
    # Nelson and Tantawi, IEEE Trans. Computers 37(6), 1988: an approximation, hence the tolerance.
    harmonic = sum(1 / k for k in range(1, branches + 1)) / 1.5
    theory = (harmonic + 4 / 11 * (1 - harmonic) * rho) * two_s
    assert figures.mean() == pytest.approx(theory, rel=tolerance)


def test_first_of_two_idle_servers_halves_the_time():
    stage = Stage(((Visit(0, exponential()),), (Visit(0, exponential()),)), need=1)
    network = Network((Station("d", "work", Discipline.INFINITE_SERVER),), (Route("r", (stage,)),))
    assert_holds(0.5, mean_time_in_system(network, 1.0))


def test_tandem_has_independent_times():
    # Burke's and Reich's theorems: times at M/M/1 queues in a row add up as independent Exponentials.
    means_s, rate_ops, late_s = (1.0, 0.8, 0.5), 0.7, 12.0
    network = Network(
        tuple(fifo(f"s{i}") for i in range(3)),
        (Route("r", (single(*(Visit(i, exponential(m)) for i, m in enumerate(means_s))),)),),
    )
    slack = [1 / m - rate_ops for m in means_s]
    late = sum(
        math.exp(-a * late_s) * math.prod(b / (b - a) for j, b in enumerate(slack) if j != i)
        for i, a in enumerate(slack)
    )

    def figure(run: Outcome) -> list[float]:
        steady_s = response_s(run)[WARM_UP:]
        return [steady_s.mean(), (steady_s > late_s).mean()]

    figures = replicate(network, lambda seed: poisson(CUSTOMERS, rate_ops, seed), figure)
    assert_holds(sum(1 / s for s in slack), figures[:, 0])
    assert_holds(late, figures[:, 1])


def test_jackson_network_that_branches():
    # Jackson, "Networks of waiting lines", Operations Research 5, 1957: each station as if it were alone.
    rate_ops, first_share = 1.0, 0.3
    stations = fifo("entry"), fifo("left"), fifo("right", 2)
    demands = exponential(0.6), exponential(2.0), exponential(1.5)
    routes = tuple(Route(f"r{k}", (single(Visit(0, demands[0]), Visit(k, demands[k])),)) for k in (1, 2))
    loads = 0.6, 0.3 * 2.0, 0.7 * 1.5
    theory = [a + erlang_c(s.servers, a) * a / (s.servers - a) for a, s in zip(loads, stations, strict=True)]
    figures = replicate(
        Network(stations, routes),
        lambda seed: mixed_routes(CUSTOMERS, rate_ops, first_share, seed),
        lambda run: (run.busy_s + run.waiting_s) / run.clock_s,
    )
    for k in range(3):
        assert_holds(theory[k], figures[:, k])


# Hedged and tied requests.


def hedged(policy: Policy) -> Network:
    """An infinite server with Exponential times of mean 1."""
    return Network(
        (Station("d", "work", Discipline.INFINITE_SERVER),),
        (Route("r", (single(Visit(0, exponential())),), policy=policy),),
    )


def extra_share(run: Outcome) -> float:
    return float((run.attempts - 1).mean())


def test_hedge_after_a_delay():
    # min(X, delay + Y) of independent Exponentials: P(> t) = exp(-t) before the delay, exp(delay - 2 t) after it.
    delay_s = 1.0
    late_s = (math.log(100) + delay_s) / 2  # the 0.99 quantile

    def figure(run: Outcome) -> list[float]:
        return [response_s(run).mean(), (response_s(run) > late_s).mean(), extra_share(run), (run.winner == 2).mean()]

    figures = replicate(
        hedged(Policy(hedge_after_s=delay_s)), lambda seed: poisson(CUSTOMERS, 1.0, seed), figure
    )  # fmt: skip
    left = math.exp(-delay_s)
    for k, theory in enumerate((1 - left / 2, 0.01, left, left / 2)):
        assert_holds(theory, figures[:, k])


@pytest.mark.parametrize("quantile", [0.9, 0.95])
def test_hedge_after_a_quantile_adds_what_lies_above_it(quantile):
    run = compiled_engine.run(Program.of(hedged(Policy(hedge_quantile=quantile)), poisson(200_000, 1.0, 1), 1))
    # The delay is the upper edge of the bin that holds the quantile or, by chance, of a neighbour.
    place = bin_of(-math.log(1 - quantile))
    assert math.exp(-upper_edge_s(place + 1)) <= extra_share(run) <= math.exp(-upper_edge_s(place - 1))
    assert extra_share(run) == pytest.approx(1 - quantile, rel=0.1)


def test_hedges_and_retries_keep_to_their_budget():
    few, tries = 0.05, poisson(CUSTOMERS, 1.0, 1)
    most = few + BUDGET_CAP / CUSTOMERS
    run = compiled_engine.run(Program.of(hedged(Policy(hedge_after_s=0.5, hedge_budget=few)), tries, 1))
    assert few * 0.99 <= extra_share(run) <= most
    policy = Policy(timeout_s=0.5, retries=3, retry_budget=few)
    assert few * 0.99 <= extra_share(compiled_engine.run(Program.of(hedged(policy), tries, 1))) <= most


def test_retries_are_geometric():
    # Each attempt fails with probability exp(-timeout), whatever the others did.
    fails = math.exp(-1.0)
    network = hedged(Policy(timeout_s=1.0, retries=2, backoff_s=0.5))
    figures = replicate(
        network, lambda seed: poisson(CUSTOMERS, 1.0, seed),
        lambda run: [extra_share(run), failed_share(run, Failure.TIMEOUT)],
    )  # fmt: skip
    assert_holds(fails + fails**2, figures[:, 0])
    assert_holds(fails**3, figures[:, 1])


def test_tied_requests_share_one_queue_and_are_served_once():
    # All that queue stand at both members, so a member that turns free takes the oldest of all: M/M/2.
    network = balanced(Choice.RANDOM, 2, Policy(tied_after_s=0.0), ties=True)
    assert_holds(1 + erlang_c(2, 1.4) / 0.6, mean_time_in_system(network, 1.4))
    run = compiled_engine.run(Program.of(network, poisson(CUSTOMERS, 1.4, 1), 1))
    sheet = draw_sheet(network, poisson(CUSTOMERS, 1.4, 1), 1, 0, CUSTOMERS)
    assert run.busy_s.sum() == pytest.approx(sheet.demand_s[sheet.first_visit + run.winner - 1].sum(), rel=1e-9)
    assert run.visits.sum() == run.attempts.sum() > 1.5 * CUSTOMERS
    assert 0 < (run.winner == 2).sum() < (run.attempts == 2).sum()


def test_pauses_double_up_to_their_limit():
    policy = Policy(timeout_s=1.0, retries=3, backoff_s=0.5, backoff_max_s=1.0)
    run = once(job(fifo("s", 9), 9.0, policy=policy), 0)
    assert run.end_s[0] == 4 * 1 + 0.5 + 1 + 1
    assert (run.attempts[0], run.winner[0], run.failure[0]) == (4, 0, Failure.TIMEOUT)
    assert (run.busy_s[0], run.clock_s) == (4 * 9, 5.5 + 9)
