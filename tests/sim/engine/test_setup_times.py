"""Setup times of idle servers: theory and bounds."""

from __future__ import annotations

import numpy as np
import pytest

from models.network.discipline import DISCIPLINES, Discipline
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from tests.networks import one_station, poisson
from traces.workload.distributions import Exponential

WITH_QUEUE = (Discipline.FIFO, Discipline.SIRO, Discipline.PRIORITY, Discipline.WEIGHTED_SHARE)


@pytest.mark.parametrize("discipline", WITH_QUEUE)
def test_mean_response_with_an_exceptional_first_service(discipline):
    # P. D. Welch, "On a generalized M/G/1 queuing process in which the first customer of each busy period receives
    # exceptional service", Operations Research 12(5), 1964.
    rate, setup_s, n = 0.6, 0.5, 20_000
    station = Station("s", "server", discipline, setup_s=setup_s, weights=(1.0,))
    network = one_station(station, ServiceDemand(constant=1.0, distribution=Exponential()))
    first, first_square = 1 + setup_s, 1 + (1 + setup_s) ** 2  # moments of setup + exponential
    waiting_s = rate * 2 / (2 * (1 - rate)) + rate * (first_square - 2) / (2 * (1 + rate * (first - 1)))
    begins = (1 - rate) / (1 - rate + rate * first)  # the share of jobs that find the server idle
    expected_s = waiting_s + 1 + begins * setup_s
    means = []
    for seed in range(40):
        outcome = compiled_engine.run(Program.of(network, poisson(n, rate, seed), seed))
        means.append((outcome.end_s - outcome.start_s)[n // 20 :].mean())
    error = np.std(means, ddof=1) / np.sqrt(len(means))
    assert abs(np.mean(means) - expected_s) < 2.7 * error
    assert 2.7 * error < 0.05 * expected_s


@pytest.mark.parametrize("discipline", sorted(set(DISCIPLINES) - set(WITH_QUEUE), key=repr))
def test_other_stations_have_no_setup(discipline):
    with pytest.raises(ValueError, match="setup_s"):
        Station("s", "server", discipline, setup_s=0.1)
