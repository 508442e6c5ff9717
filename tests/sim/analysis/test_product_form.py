"""Exact means of product-form networks: against the textbook recursion, closed formulas, enumeration and simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.route import Route, Stage, Visit, single
from models.network.scenario import Action, ActionKind
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Member, Station
from sim.analysis.bounds import bounds
from sim.analysis.bounds_result import Unavailable
from sim.analysis.product_form import closed_means, open_means, why_not
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from tests.networks import closed, one_station, poisson
from tests.profiles import examples
from traces.random_streams import uniforms
from traces.trace import Pacing
from traces.workload.distributions import Deterministic, Exponential, Hyperexponential

REPLICATIONS, CUSTOMERS = 30, 40_000
CONFIDENCE = 0.999

demands = st.lists(st.floats(1e-3, 10), min_size=1, max_size=4)
exponential = ServiceDemand(constant=1.0, distribution=Exponential())


def mean_value_analysis(demand_s: np.ndarray, delay_s: float, clients: int) -> tuple[float, np.ndarray]:
    """The recursion of Reiser and Lavenberg 1980 for single servers."""
    jobs = np.zeros(len(demand_s))
    throughput = 0.0
    for n in range(1, clients + 1):
        residence_s = demand_s * (1 + jobs)
        throughput = n / (delay_s + residence_s.sum())
        jobs = throughput * residence_s
    return throughput, jobs


@settings(deadline=None)
@given(demands, st.sampled_from([0.0, 0.1, 5.0, 300.0]), st.integers(1, 60))
def test_single_servers_are_as_the_recursion_says(demand_s, delay_s, clients):
    demand = np.array(demand_s)
    throughput, jobs = closed_means(demand, np.ones(len(demand)), delay_s, clients)
    expected, expected_jobs = mean_value_analysis(demand, delay_s, clients)
    assert throughput == pytest.approx(expected, rel=1e-9)
    assert jobs == pytest.approx(expected_jobs, rel=1e-7, abs=1e-12)


@examples(40)
@given(st.lists(st.tuples(st.floats(0.01, 10), st.integers(1, 4)), min_size=1, max_size=3), st.integers(1, 6))
def test_several_servers_are_as_all_states_say(stations, clients):
    demand, servers = (np.array(column, float) for column in zip(*stations, strict=True))
    delay_s = 1.0

    def weight(state: tuple[int, ...]) -> float:
        served = [
            d**n / math.prod(min(i, c) for i in range(1, n + 1)) for n, d, c in zip(state, demand, servers, strict=True)
        ]
        thinking = clients - sum(state)
        return math.prod(served) * delay_s**thinking / math.factorial(thinking)

    states = [s for s in product(range(clients + 1), repeat=len(stations)) if sum(s) <= clients]
    weights = np.array([weight(s) for s in states])
    jobs = weights @ np.array(states) / weights.sum()
    throughput, found = closed_means(demand, servers, delay_s, clients)
    assert found == pytest.approx(jobs, rel=1e-9)
    assert throughput == pytest.approx((clients - jobs.sum()) / delay_s, rel=1e-9)


@pytest.mark.parametrize(("machines", "think_s", "service_s"), [(6, 4.0, 1.0), (1, 0.5, 2.0), (40, 50.0, 1.0)])
def test_machine_repairman(machines, think_s, service_s):
    # Kleinrock, "Queueing Systems" I, 1975, section 3.6.
    ratio = service_s / think_s
    idle = 1 / sum(math.perm(machines, k) * ratio**k for k in range(machines + 1))
    throughput, _ = closed_means(np.array([service_s]), np.ones(1), think_s, machines)
    assert throughput == pytest.approx((1 - idle) / service_s, rel=1e-10)


@pytest.mark.parametrize("clients", [50, 64, 65, 100, 2000])
def test_many_servers_keep_their_digits(clients):
    demand, servers = np.array([0.064, 0.0005, 0.0005]), np.array([64.0, 1.0, 1.0])
    throughput, jobs = closed_means(demand, servers, 0.01, clients)
    assert jobs.sum() + throughput * 0.01 == pytest.approx(clients, rel=1e-9)
    assert (jobs >= throughput * demand * (1 - 1e-9)).all()
    assert throughput <= min(1000, clients / (0.01 + demand.sum())) * (1 + 1e-12)
    if clients == 2000:
        assert throughput == pytest.approx(1000, rel=1e-6)


def test_mmc_waits_as_erlang_says():
    load = np.array([0.5, 2.1, 60.0])
    servers = np.array([1.0, 3.0, 64.0])
    jobs = open_means(load, servers, 1.0)
    assert jobs[0] == pytest.approx(1.0)
    below = sum(2.1**k / math.factorial(k) for k in range(3))
    top = 2.1**3 / math.factorial(3) * 3 / 0.9
    assert jobs[1] == pytest.approx(2.1 + top / (below + top) * 2.1 / 0.9)
    assert 60 < jobs[2] < 60 + 60 / 4
    with pytest.raises(ValueError, match="saturate"):
        open_means(load, servers, 2.0)


def mixed_network() -> Network:
    """Two routes and two keys' servers over stations of all product-form kinds."""
    stations = (
        Station("cores", "cpu", Discipline.PROCESSOR_SHARING, 2),
        Station("any order", "cpu", Discipline.SIRO, 2, (1,)),
        Station("left", "drive", Discipline.FIFO),
        Station("right", "drive", Discipline.FIFO, indices=(1,)),
        Station("wire", "network", Discipline.INFINITE_SERVER),
    )
    spread = ServiceDemand(constant=0.1, per_byte=0.02, distribution=Hyperexponential(cv=2))
    drive = ServiceDemand(constant=0.4, distribution=Exponential())
    cpu = ServiceDemand(constant=0.3, distribution=Exponential())
    wire = ServiceDemand(constant=0.5)
    get = Route("GET", (single(Visit(0, spread), Visit(4, wire)), single(Visit(Member(0, 0), drive), Visit(1, cpu))))
    put = Route("PUT", (single(Visit(1, cpu), Visit(0, spread), Visit(1, cpu), Visit(4, wire)),))
    return Network(stations, (get, put), (np.array([[2], [2], [3]], np.int32),))


def mixed_requests(n: int, seed: int, pacing: Pacing, rate_ops: float = 1.0) -> Requests:
    u = [uniforms(seed, 100 + stream, 0, n) for stream in range(5)]
    return Requests(
        route=(u[0] < 0.4).astype(np.int32),
        size_bytes=np.where(u[1] < 0.5, 0, 20),
        key_hash=(u[2] * 3000).astype(np.uint64),
        arrival_s=np.zeros(n) if pacing.loop == "closed" else np.cumsum(-np.log(u[3])) / rate_ops,
        think_s=-np.log(u[4]) * 0.7,
        phase=np.zeros(n, np.int32),
        pacing=pacing,
    )


def assert_near(theory: float, figures: list[float]) -> None:
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(figures) - 1) * np.std(figures, ddof=1) / math.sqrt(len(figures))
    assert abs(np.mean(figures) - theory) <= half
    assert half <= 0.02 * theory, "the interval is too wide to prove anything"


@pytest.mark.parametrize("clients", [2, 9])
def test_closed_network_is_simulated_as_computed(clients):
    network, pacing = mixed_network(), Pacing("closed", clients=clients)
    runs = []
    for seed in range(REPLICATIONS):
        requests = mixed_requests(CUSTOMERS, seed, pacing)
        runs.append((requests, compiled_engine.run(Program.of(network, requests, seed))))
    exact = bounds(network, mixed_requests(1_000_000, 999, pacing)).exact
    assert_near(exact.throughput_ops, [CUSTOMERS / run.clock_s for _, run in runs])
    for k, route in enumerate(exact.routes):
        figures = [(run.end_s - run.start_s)[requests.route == k].mean() for requests, run in runs]
        assert_near(route.response_s, figures)
    jobs = {row.name: row.mean_jobs for row in exact.stations}
    for k, station in enumerate(network.stations):
        assert_near(jobs[station.name], [(run.busy_s[k] + run.waiting_s[k]) / run.clock_s for _, run in runs])


def test_open_network_is_simulated_as_computed():
    network, rate_ops, warm_up = mixed_network(), 2.0, 2000
    figures = []
    for seed in range(REPLICATIONS):
        run = compiled_engine.run(Program.of(network, mixed_requests(CUSTOMERS, seed, Pacing(), rate_ops), seed))
        figures.append(float((run.end_s - run.start_s)[warm_up:].mean()))
    many = mixed_requests(1_000_000, 999, Pacing(), rate_ops)
    exact = bounds(network, many).exact
    assert_near(exact.response_s, figures)
    parts = [row.residence_s for row in exact.stations]
    assert sum(parts) == pytest.approx(exact.response_s)


@settings(deadline=None)
@given(demands, st.floats(0, 20), st.floats(0, 5), st.integers(1, 40))
def test_balanced_job_bounds_hold_the_exact_means(demand_s, think_s, delay_s, clients):
    stations = [Station(f"s{i}", "server", Discipline.PROCESSOR_SHARING, indices=(i,)) for i in range(len(demand_s))]
    stations.append(Station("wire", "network", Discipline.INFINITE_SERVER))
    visits = (Visit(i, ServiceDemand(constant=d)) for i, d in enumerate([*demand_s, delay_s]))
    network = Network(tuple(stations), (Route("job", (single(*visits),)),))
    given_requests = closed(10, think_s, seed=1, clients=clients)
    found = bounds(network, given_requests)
    for figure in ("throughput_ops", "response_s"):
        exact, wide, narrow = getattr(found.exact, figure), getattr(found, figure), getattr(found.balanced_job, figure)
        assert narrow.low * (1 - 1e-9) <= exact <= narrow.high * (1 + 1e-9)
        assert wide.low * (1 - 1e-9) <= narrow.low
        assert narrow.high <= wide.high * (1 + 1e-9)


def station(discipline: Discipline, **options) -> Station:
    return Station("s", "server", discipline, **options)


@pytest.mark.parametrize(
    ("discipline", "law", "reason"),
    [
        (Discipline.FIFO, ServiceDemand(constant=1.0), "station s has deterministic demands, not exponential ones"),
        (Discipline.SIRO, ServiceDemand(constant=1.0, distribution=Hyperexponential(cv=2)), "hyperexponential"),
        (Discipline.FIFO, ServiceDemand(constant=1.0, per_byte=1.0, distribution=Exponential()), "from 1 to 3 s"),
        (Discipline.GROUP_COMMIT, exponential, "GROUP_COMMIT"),
        (Discipline.FIFO, exponential, None),
        (Discipline.SIRO, exponential, None),
        (Discipline.PROCESSOR_SHARING, ServiceDemand(constant=1.0, per_byte=1.0), None),
        (Discipline.GROUP_COMMIT, ServiceDemand(), None),
    ],
)
def test_reasons_of_stations(discipline, law, reason):
    network = one_station(station(discipline), law)
    requests = closed(4, 0.0, seed=1, clients=2)
    requests.size_bytes[0] = 2
    found = why_not(network, requests)
    assert (found is None) if reason is None else (found is not None and reason in found)


def test_reasons_of_routes_and_phases():
    fork = Route("PUT", (single(Visit(0, exponential)), Stage(((Visit(0, exponential),),) * 2, 2)))
    straight = Route("GET", (single(Visit(0, exponential)),))
    network = Network((station(Discipline.FIFO),), (straight, fork))
    requests = closed(4, 0.0, seed=1, clients=2)
    assert why_not(network, requests) is None, "a route that is not requested does not matter"
    requests.route[2] = 1
    assert why_not(network, requests) == "stage 2 of PUT is a fork"
    requests.phase[3] = 1
    assert "phases" in (why_not(network, requests) or "")


def grouped(choice: Choice) -> Network:
    """Each request goes to one of two alike."""
    stations = (station(Discipline.FIFO), Station("t", "server", Discipline.FIFO, indices=(1,)))
    route = Route("GET", (single(Visit(Bound(0), exponential)),))
    group = Group(choice, np.array([[0], [1]], np.int32))
    return Network(stations, (route,), groups=(group,))


def test_a_group_at_random_has_product_form():
    requests = closed(100_000, 1.0, seed=1, clients=4)
    found = bounds(grouped(Choice.RANDOM), requests).exact
    throughput, _ = closed_means(np.array([0.5, 0.5]), np.ones(2), requests.think_s.mean(), 4)
    assert found.throughput_ops == pytest.approx(throughput)
    run = compiled_engine.run(Program.of(grouped(Choice.RANDOM), requests, 1))
    assert 100_000 / run.clock_s == pytest.approx(throughput, rel=0.02)


def test_reasons_of_groups_policies_and_the_scenario():
    requests = closed(4, 0.0, seed=1, clients=4)
    assert why_not(grouped(Choice.HASH), requests) is None
    for choice in (Choice.ROUND_ROBIN, Choice.LEAST_OUTSTANDING, Choice.POWER_OF_TWO):
        assert why_not(grouped(choice), requests) == f"GET is bound to a station by {choice.name}"
    network = one_station(station(Discipline.FIFO), exponential)
    hedged = replace(network.routes[0], policy=Policy(hedge_after_s=1.0))
    assert why_not(replace(network, routes=(hedged,)), requests) == "job has timeouts, retries or hedges"
    slower = (Action(ActionKind.SPEED, 0, at_s=1.0, value=0.5),)
    assert why_not(replace(network, scenario=slower), requests) == "the scenario changes the network"


def test_arrivals_have_to_be_poisson():
    network = one_station(station(Discipline.FIFO), exponential)
    requests = poisson(2000, 0.5, seed=1)
    assert why_not(network, requests) is None
    exact = bounds(network, requests).exact
    rate_ops = 2000 / requests.arrival_s[-1]
    assert exact.response_s == pytest.approx(1 / (1 - rate_ops))
    # Equal gaps; then exponential gaps whose rate changes half-way.
    for arrival_s in (
        np.arange(2000) * 2.0,
        np.cumsum(np.diff(requests.arrival_s, prepend=0) * np.repeat([1, 3], 1000)),
    ):
        requests.arrival_s[:] = arrival_s
        assert why_not(network, requests) == "the arrivals are not Poisson"


def test_overload_and_instant_requests_have_no_exact_means():
    network = one_station(station(Discipline.FIFO), exponential)
    assert "saturate" in bounds(network, poisson(2000, 1.5, seed=1)).exact.reason
    instant = one_station(station(Discipline.FIFO), ServiceDemand(distribution=Deterministic()))
    found = bounds(instant, closed(5, 0.0, seed=1))
    assert found.exact == found.balanced_job == Unavailable("requests take no time")
    assert found.throughput_ops.high is None
