"""A request without others in its way: how long it holds tokens, and how soon it may be answered."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim.demands.service_demands
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.route import Route, Stage, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Member, Station
from sim.analysis.bounds import bounds
from sim.analysis.bounds_result import Between
from sim.demands.no_contention import held_s
from sim.demands.service_demands import mean_demands
from tests.networks import closed, poisson
from tests.sim.analysis.test_bounds import GIVE_BACK, ROUNDING, TAKE, constant, exponential, simulated
from traces.workload.distributions import SlowMode


def wire(seconds: float) -> Visit:
    return Visit(1, constant(seconds))


def test_tokens_held_limit_throughput():
    stations = (Station("tokens", "pool", Discipline.POOL, 2), Station("wire", "network", Discipline.INFINITE_SERVER))
    route = Route("r", (single(TAKE, wire(1.0), GIVE_BACK, wire(0.5)),))
    network = Network(stations, (route,))
    requests = closed(100, 0.0, seed=1, clients=5)
    found = bounds(network, requests)
    assert found.throughput_ops == Between(0.0, 2.0)
    assert found.response_s == Between(2.5, None)
    assert found.bottleneck == "tokens"
    pool, delay = found.stations
    assert (pool.name, pool.kind, pool.servers, pool.visits) == ("tokens", "pool", 2, 1.0)
    assert pool.demand_s == Between(1.0, None)
    assert pool.max_throughput_ops == 2.0
    assert delay.name == "wire"
    assert found.notes[-1] == "There is no upper bound of the response time: tokens are held while others wait."
    assert "POOL" in found.exact.reason
    run = simulated(network, requests)
    assert run.busy_s[0] == pytest.approx(100)
    assert 100 / run.clock_s == pytest.approx(2.0, rel=0.03)


@pytest.mark.parametrize(
    ("stages", "held_s"),
    [
        # Until all is done, also of branches that nothing waits for; but who is first is not what is counted on.
        ([single(TAKE, wire(1.0)), Stage(((wire(2.0),), (wire(3.0),)), 2)], 4.0),
        ([single(TAKE, wire(1.0)), Stage(((wire(2.0),), (wire(3.0),)), 1)], 3.0),
        # From one stage to a branch of a later one.
        ([single(wire(7.0), TAKE, wire(1.0)), Stage(((wire(2.0), GIVE_BACK, wire(9.0)), (wire(5.0),)), 2)], 3.0),
        ([single(TAKE, wire(1.0)), single(wire(0.5)), single(wire(0.25), GIVE_BACK, wire(9.0))], 1.75),
        # Two tokens, whichever of them is given back first; and a branch's own beside one that is kept.
        ([single(TAKE, wire(1.0), TAKE, wire(2.0), GIVE_BACK, wire(4.0), GIVE_BACK)], 7.0 + 2.0),
        ([single(TAKE), Stage(((TAKE, wire(1.0), GIVE_BACK), (TAKE, wire(2.0), GIVE_BACK)), 2)], 2.0 + 1.0 + 2.0),
        # Nothing to give back, or nothing that is surely held.
        ([single(GIVE_BACK, wire(1.0), TAKE, wire(2.0))], 2.0),
        ([Stage(((TAKE, wire(1.0)), (wire(0.5),)), 1), single(wire(1.0), GIVE_BACK)], None),
        ([Stage(((TAKE, wire(1.0)), (wire(0.5), GIVE_BACK)), 2)], None),
    ],
)
def test_how_long_tokens_are_held(stages, held_s):
    stations = (Station("tokens", "pool", Discipline.POOL, 50), Station("wire", "network", Discipline.INFINITE_SERVER))
    network = Network(stations, (Route("r", tuple(stages)),))
    requests = poisson(20, 1.0, seed=1)
    demands, found = mean_demands(network, requests), bounds(network, requests)
    assert demands.low_s[0] == pytest.approx(held_s or 0.0)
    assert demands.unknown_pools == (() if held_s else ("tokens",))
    assert any("Pools without bounds" in note for note in found.notes) == (held_s is None)
    assert simulated(network, requests).busy_s[0] >= 20 * demands.low_s[0] * (1 - ROUNDING)


def test_pools_alike_are_looked_at_together(monkeypatch):
    """As many as a cluster has index shards: each request takes its own key's token of a pool of two."""
    pools, calls = 200, []
    stations = (
        *(Station(f"pool {k}", "pool", Discipline.POOL, indices=(k,)) for k in range(pools)),
        Station("wire", "network", Discipline.INFINITE_SERVER),
    )  # fmt: skip
    take, give = (Visit(Member(0, 0), constant(0.0), releases=releases) for releases in (False, True))
    last = Visit(Member(0, 1), constant(0.0))
    stage = single(take, Visit(pools, constant(1.0)), give, last, Visit(pools, constant(0.5)))
    rows = np.stack(
        [np.arange(pools), np.where(np.arange(pools) % 2, np.arange(pools), (np.arange(pools) + 1) % pools)]
    )
    network = Network(stations, (Route("r", (stage,)),), (rows.T.astype(np.int32),))
    monkeypatch.setattr(sim.demands.service_demands, "held_s", lambda *given: calls.append(1) or held_s(*given))
    requests = poisson(pools, 1.0, seed=1)
    requests.key_hash[:] = np.arange(pools)
    demands = mean_demands(network, requests)
    # An odd row's pool is taken twice, and once more by the even row before it.
    assert demands.low_s[:pools] * pools == pytest.approx(np.where(np.arange(pools) % 2, 1.0 + 0.5 + 0.5, 1.0))
    assert len(calls) == 2, "all tokens are held between the same visits, or from the last one"


def test_a_pool_under_two_names_has_no_limit():
    """What one visit takes another may give back, though they name the pool in different ways."""
    stations = (Station("tokens", "pool", Discipline.POOL, 1), Station("wire", "network", Discipline.INFINITE_SERVER))
    groups = (Group(Choice.LEAST_OUTSTANDING, np.array([[0], [1]], np.int32)),)
    route = Route("r", (single(TAKE, Visit(Bound(0), ServiceDemand(), releases=True), wire(1.0)),))
    keyed = Route("r", (single(TAKE, Visit(Member(0, 0), ServiceDemand(), releases=True), wire(1.0)),))
    requests = poisson(20, 1.0, seed=1)
    demands = mean_demands(Network(stations, (keyed,), (np.array([[0]], np.int32),)), requests)
    assert demands.low_s.tolist() == [0.0, 1.0]
    demands = mean_demands(Network(stations, (route,), groups=groups), requests)
    assert demands.low_s[0] == 0.0


@pytest.mark.parametrize(
    ("law", "policy", "least_s", "mean_s"),
    [
        # Until the second attempt may be answered: the mean of min(X, 1); really of min(X, 1 + Y).
        (exponential, Policy(hedge_after_s=1.0), 1 - math.exp(-1), 1 - math.exp(-1) / 2),
        (exponential, Policy(tied_after_s=0.0), 0.0, 0.5),
        (exponential, Policy(hedge_quantile=0.5), 0.0, None),
        (exponential, Policy(timeout_s=0.5), 1 - math.exp(-0.5), 1 - math.exp(-0.5)),
        (constant(1.0), Policy(hedge_after_s=0.5), 1.0, 1.0),
        (constant(1.0), Policy(hedge_quantile=0.5), 1.0, 1.0),
        (constant(1.0), Policy(timeout_s=0.25, retries=1, backoff_s=0.0), 0.25, 0.5),
    ],
)
def test_a_response_counts_until_another_attempt_may_be_sooner(law, policy, least_s, mean_s):
    route = Route("GET", (single(Visit(0, law)),), policy=policy)
    network = Network((Station("wire", "network", Discipline.INFINITE_SERVER),), (route,))
    requests = poisson(40_000, 1.0, seed=1)
    found = bounds(network, requests)
    assert found.response_s.low == pytest.approx(least_s, rel=1e-3)
    run = simulated(network, requests)
    response_s = (run.end_s - run.start_s).mean()
    assert response_s >= least_s * 0.99
    assert mean_s is None or response_s == pytest.approx(mean_s, rel=0.02)
    assert any(("second attempt" if policy.second else "time out") in note for note in found.notes)


def test_the_time_until_another_attempt_is_divided_among_the_visits():
    law = ServiceDemand(constant=1.0, distribution=SlowMode(probability=0.1, factor=20))
    route = Route("GET", (single(Visit(0, law), Visit(0, constant(1.0))),), policy=Policy(timeout_s=2.5))
    network = Network((Station("wire", "network", Discipline.INFINITE_SERVER),), (route,))
    requests = poisson(40_000, 1.0, seed=1)
    least_s, run = bounds(network, requests).response_s.low, simulated(network, requests)
    assert 1.0 < least_s <= (run.end_s - run.start_s).mean() < 2.0
