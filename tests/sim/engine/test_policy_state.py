"""Budgets of retries and hedges, and what requests of an operation have in common."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import HEDGE_SAMPLES, Policy
from models.network.route import Route, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.policy_state import TokenBucket
from sim.engine.reference import engine as simpy_engine
from tests.networks import poisson
from tests.profiles import random_examples
from traces.workload.distributions import Lognormal

AFTER_S = 0.7


def most_above(times_s: np.ndarray, begun_s: np.ndarray, budget: float) -> float:
    """The maximum over all windows of time of: number of `times_s` - budget x number of `begun_s`."""
    at_s, step = np.r_[times_s, begun_s], np.r_[np.ones(len(times_s)), np.full(len(begun_s), -budget)]
    excess = np.r_[0.0, np.cumsum(step[np.argsort(at_s, kind="stable")])]
    return float((excess - np.minimum.accumulate(excess)).max())


@given(st.lists(st.booleans(), max_size=300), st.floats(0.01, 1), st.integers(1, 20))
def test_no_window_has_more_than_the_budget_and_the_cap(takes, budget, cap):
    bucket = TokenBucket(budget, cap)
    begun, taken = [], []
    for i, take in enumerate(takes):
        if not take:
            begun.append(float(i))
            bucket.add()
        elif bucket.take():
            taken.append(float(i))
        elif begun:
            assert bucket.tokens < 1
    assert most_above(np.array(taken), np.array(begun), budget) <= cap + 1e-9


def test_a_budget_that_is_not_used_does_not_accumulate():
    bucket = TokenBucket(0.1, 10)
    for _ in range(100_000):
        bucket.add()
    assert sum(bucket.take() for _ in range(1000)) == 10


@given(
    st.integers(0, 999), st.sampled_from([0.05, 0.3, 1.0]), st.sampled_from([1, 3, 10]),
    st.sampled_from([0.5, 0.9, 1.3]), st.booleans(),
)  # fmt: skip
@random_examples(10)
def test_no_window_of_a_run_has_more_second_attempts(seed, budget, cap, load, retries):
    """Second attempts start a fixed time after their request, and are late in bursts, as a queue is long or short."""
    late = {"timeout_s": AFTER_S, "retries": 1, "retry_budget": budget, "retry_budget_cap": cap}
    hedged = {"hedge_after_s": AFTER_S, "hedge_budget": budget, "hedge_budget_cap": cap}
    demand = ServiceDemand(constant=load, distribution=Lognormal(cv=3))
    route = Route("GET", (single(Visit(0, demand)),), policy=Policy(**(late if retries else hedged)))
    network = Network((Station("server", "server", Discipline.FIFO),), (route,))
    program = Program.of(network, poisson(2000, 1.0, seed), seed)
    for run in (simpy_engine.run(program), compiled_engine.run(program)):
        second_s = run.start_s[run.attempts > 1] + AFTER_S
        excess = most_above(second_s, run.start_s, budget)
        assert excess <= cap + 1e-9
        if load > 1 and budget < 1:
            assert excess > cap - 1, "the budget is used up"


def two_kinds(small: Policy, large: Policy) -> Network:
    """Requests of two sizes at servers without queues; the large ones take a hundred times as long."""
    station = Station("server", "server", Discipline.INFINITE_SERVER)
    demands = (ServiceDemand(constant=0.01), ServiceDemand(constant=1.0))
    routes = [
        Route(f"GET {size}", (single(Visit(0, demand)),), policy=policy)
        for size, demand, policy in zip(("small", "large"), demands, (small, large), strict=True)
    ]
    return Network((station,), tuple(routes))


def extra_of_large(network: Network, n: int = 4000) -> float:
    """Second attempts per request of the large objects, which are one in ten."""
    requests = poisson(n, 1.0, seed=1)
    large = np.arange(n) % 10 == 0
    run = compiled_engine.run(Program.of(network, replace(requests, route=large.astype(np.int32)), 1))
    return float((run.attempts[large][HEDGE_SAMPLES:] - 1).mean())


def test_the_routes_of_an_operation_have_budget_and_latencies_in_common():
    policy = Policy("GET", hedge_quantile=0.8)
    assert extra_of_large(two_kinds(policy, policy)) == 1.0, "all large ones are later than p80 of both"
    assert extra_of_large(two_kinds(policy, replace(policy, operation="other"))) == 0.0
    limited = replace(policy, hedge_budget=0.05)
    assert extra_of_large(two_kinds(limited, limited)) == pytest.approx(0.5, rel=0.05)
    assert two_kinds(policy, policy).first_with_policy == (0, 0)
    assert two_kinds(policy, limited).first_with_policy == (0, 1)


def test_a_budget_of_zero_or_none_has_no_cap():
    never = Policy("GET", hedge_after_s=0.5, hedge_budget=0.0)
    assert extra_of_large(two_kinds(never, never)) == 0.0
    unlimited = replace(never, hedge_budget=math.inf, hedge_budget_cap=1)
    assert extra_of_large(two_kinds(unlimited, unlimited)) == 1.0


def test_a_cap_below_one_is_refused():
    with pytest.raises(ValueError, match="caps of budgets must be at least 1"):
        Policy(hedge_budget_cap=0)


def test_pauses_double_or_grow_with_the_square_up_to_the_longest():
    doubled, squared = (
        Policy(backoff_s=2.0, backoff_max_s=30.0),
        Policy(backoff_s=2.0, backoff_max_s=30.0, squares=True),
    )
    assert [doubled.pause_s(k) for k in range(5)] == [2, 4, 8, 16, 30]
    assert [squared.pause_s(k) for k in range(5)] == [2, 8, 18, 30, 30]
