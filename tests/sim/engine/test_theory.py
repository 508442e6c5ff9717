"""Queueing theory as the oracle: replicated means must have it in their confidence interval."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from models.network.demand_sheet import Requests
from models.network.discipline import DISCIPLINES, Discipline
from models.network.network import Network
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import CHUNK, Outcome, Program
from tests.networks import closed, one_station, poisson
from tests.profiles import NIGHTLY
from traces.workload.distributions import Deterministic, Exponential, Hyperexponential

REPLICATIONS, CUSTOMERS, WARM_UP = 100 if NIGHTLY else 30, 40_000, 4_000
# Some 80 checks at 99.9 % fail by chance in one run of 13. The seeds are the same each time, so chance does not come in
# again: what fails after a change, fails because of it.
CONFIDENCE = 0.99 if NIGHTLY else 0.999
WIDEST = 0.05 if NIGHTLY else 0.1
"""Half the width of an interval that is still narrow enough to prove anything, relative to the theory."""


def station(discipline: Discipline, servers: int = 1) -> Station:
    return Station("s", "server", discipline, servers, weights=(1.0,))


def replicate(network: Network, requests_of, figure) -> np.ndarray:
    """A figure of independent replications."""
    runs = (compiled_engine.run(Program.of(network, requests_of(seed), seed)) for seed in range(REPLICATIONS))
    return np.array([figure(run) for run in runs])


def assert_holds(theory: float, figures: np.ndarray) -> None:
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(figures) - 1) * figures.std(ddof=1) / math.sqrt(len(figures))
    assert abs(figures.mean() - theory) <= half
    assert half <= WIDEST * abs(theory), "the interval is too wide to prove anything"


def erlang_c(servers: int, load: float) -> float:
    """The probability of waiting in M/M/c (Erlang 1917)."""
    below = sum(load**k / math.factorial(k) for k in range(servers))
    top = load**servers / math.factorial(servers) * servers / (servers - load)
    return top / (below + top)


def mean_time_in_system(network: Network, rate_ops: float) -> np.ndarray:
    def requests_of(seed: int) -> Requests:
        return poisson(CUSTOMERS, rate_ops, seed)

    def figure(run: Outcome) -> float:
        return float((run.end_s - run.start_s)[WARM_UP:].mean())

    return replicate(network, requests_of, figure)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.7), (3, 2.1), (8, 6.4)])
def test_mmc(servers, load):
    network = one_station(station(Discipline.FIFO, servers), ServiceDemand(constant=1.0, distribution=Exponential()))
    theory = 1 + erlang_c(servers, load) / (servers - load)
    assert_holds(theory, mean_time_in_system(network, load))


@pytest.mark.parametrize("shape", [Deterministic(), Exponential(), Hyperexponential(cv=2)])
def test_mg1_fifo_is_pollaczek_khinchine(shape):
    rho = 0.6
    network = one_station(station(Discipline.FIFO), ServiceDemand(constant=1.0, distribution=shape))
    theory = 1 + rho * (1 + shape.scv) / (2 * (1 - rho))
    assert_holds(theory, mean_time_in_system(network, rho))


@pytest.mark.parametrize("shape", [Deterministic(), Exponential(), Hyperexponential(cv=2)])
def test_mg1_processor_sharing_is_insensitive_to_the_shape(shape):
    rho = 0.6
    network = one_station(station(Discipline.PROCESSOR_SHARING), ServiceDemand(constant=1.0, distribution=shape))
    assert_holds(1 / (1 - rho), mean_time_in_system(network, rho))


def test_mmc_processor_sharing_has_the_mean_of_fifo():
    network = one_station(
        station(Discipline.PROCESSOR_SHARING, 4), ServiceDemand(constant=1.0, distribution=Exponential())
    )
    assert_holds(1 + erlang_c(4, 2.8) / (4 - 2.8), mean_time_in_system(network, 2.8))


def squared_wait(network: Network, rho: float, seed: int) -> float:
    program = Program.of(network, poisson(CUSTOMERS, rho, seed), seed)
    run = compiled_engine.run(program)
    served = np.concatenate([program.draw(i, CHUNK).demand_s for i in range(0, CUSTOMERS, CHUNK)])
    return float(((run.end_s - run.start_s - served)[WARM_UP:] ** 2).mean())


def test_random_order_has_the_mean_wait_of_fifo_and_more_spread():
    rho = 0.7
    network = one_station(station(Discipline.SIRO), ServiceDemand(constant=1.0, distribution=Exponential()))
    assert_holds(1 / (1 - rho), mean_time_in_system(network, rho))
    # FIFO's second moment 2 rho / (1 - rho)^2, times 1 / (1 - rho / 2): Kingman, "On queues in which customers are
    # served in random order", Proc. Cambridge Phil. Soc. 58, 1962.
    theory = 2 * rho / (1 - rho) ** 2 / (1 - rho / 2)
    assert_holds(theory, np.array([squared_wait(network, rho, seed) for seed in range(REPLICATIONS)]))


def test_fairness_keeps_the_mean_wait_and_takes_spread_from_it():
    rho = 0.7
    of_fifo, of_random_order = 2 * rho / (1 - rho) ** 2, 2 * rho / (1 - rho) ** 2 / (1 - rho / 2)
    seconds = [of_random_order]
    for age_bias in (0.5, 1.0):
        cores = replace(station(Discipline.SIRO), age_bias=age_bias)
        network = one_station(cores, ServiceDemand(constant=1.0, distribution=Exponential()))
        assert_holds(1 / (1 - rho), mean_time_in_system(network, rho))
        seconds.append(float(np.mean([squared_wait(network, rho, seed) for seed in range(REPLICATIONS)])))
    assert of_fifo < seconds[2] < 0.95 * seconds[1] < 0.9 * seconds[0]


def test_infinite_server_has_poisson_occupancy():
    network = one_station(station(Discipline.INFINITE_SERVER), ServiceDemand(constant=1.0, distribution=Exponential()))
    figures = replicate(network, lambda seed: poisson(CUSTOMERS, 5.0, seed), lambda run: run.busy_s[0] / run.clock_s)
    assert_holds(5.0, figures)


@pytest.mark.parametrize("discipline", [Discipline.FIFO, Discipline.SIRO, Discipline.PROCESSOR_SHARING])
def test_machine_repairman(discipline):
    machines, think_s, service_s = 6, 4.0, 1.0
    network = one_station(station(discipline), ServiceDemand(constant=service_s, distribution=Exponential()))
    # Throughput of the finite-source M/M/1//N queue: Kleinrock, "Queueing Systems" I, 1975, section 3.6.
    ratio = service_s / think_s
    empty = 1 / sum(math.factorial(machines) / math.factorial(machines - k) * ratio**k for k in range(machines + 1))
    theory = (1 - empty) / service_s
    figures = replicate(
        network, lambda seed: closed(CUSTOMERS, think_s, seed, machines), lambda run: CUSTOMERS / run.clock_s
    )
    assert_holds(theory, figures)


def test_group_commit_of_a_saturating_closed_loop():
    # All clients but those of the present batch queue behind it, so batches of constant length alternate:
    # c clients split in two groups, each commits in turn, and a request takes two commits less its start.
    network = one_station(station(Discipline.GROUP_COMMIT), ServiceDemand(constant=1.0))
    run = compiled_engine.run(Program.of(network, closed(1000, 0.0, seed=1, clients=10), seed=1))
    assert len(run.end_s) / run.clock_s == pytest.approx(5, rel=0.02)


@pytest.mark.parametrize("discipline", [d for d in DISCIPLINES if d.takes_time and not d.infinite], ids=repr)
def test_littles_law_and_utilisation_law(discipline):
    network = one_station(station(discipline), ServiceDemand(constant=0.6, distribution=Exponential()))
    requests = poisson(20_000, 1.0, seed=3)
    program = Program.of(network, requests, seed=3)
    run = compiled_engine.run(program)
    in_system_s = (run.end_s - run.start_s).sum()
    if discipline is Discipline.GROUP_COMMIT:
        assert run.waiting_s[0] < in_system_s
        assert run.busy_s[0] < program.draw(0, 20_000).demand_s.sum()
        return
    served_s = sum(program.draw(i, 4_000).demand_s.sum() for i in range(0, 20_000, 4_000))
    assert run.busy_s[0] == pytest.approx(served_s, rel=1e-9)
    if discipline is not Discipline.PROCESSOR_SHARING:
        assert run.waiting_s[0] + run.busy_s[0] == pytest.approx(in_system_s, rel=1e-9)
    else:
        # Shared, jobs in service and jobs that wait add up to the jobs present, whatever their number.
        assert run.waiting_s[0] + run.busy_s[0] == pytest.approx(in_system_s, rel=1e-9)
