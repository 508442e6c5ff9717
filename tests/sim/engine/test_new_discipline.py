"""A discipline that only this test declares: engines, bounds and tables take it up without a line elsewhere."""

from __future__ import annotations

import re

import numpy as np
import pytest

from models.network.discipline import Discipline
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.analysis.bounds import bounds
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.engine.reference.disciplines import SERVERS, Fifo
from sim.engine.reference.requests import Job
from sim.run_tables import station_table
from tests.networks import one_station, poisson
from tests.paths import ROOT
from tests.sim.engine.test_theory_features import at
from traces.workload.distributions import Exponential

LCFS = Discipline("LCFS", sets_up=True, product_form="exponential")
STATION = Station("s", "server", LCFS)


class Lcfs(Fifo):
    """Last come, first served; no job is interrupted."""

    def _dequeue(self) -> Job:
        return self.queue.pop()


@pytest.fixture(autouse=True)
def _declared(monkeypatch):
    monkeypatch.setitem(SERVERS, LCFS, Lcfs)


def test_the_last_that_came_is_served_first():
    network = one_station(STATION, ServiceDemand(constant=1.0))
    run = simpy_engine.run(Program.of(network, at(0, 0.25, 0.5, 0.75), 0))
    assert run.end_s.tolist() == [1, 4, 3, 2]
    assert (run.busy_s[0], run.waiting_s[0]) == (4, 2.75 + 1.5 + 0.25)
    assert station_table(network, run).column("servers").to_pylist() == [1]


def test_bounds_and_exact_means_follow_from_its_properties():
    n, rate_ops = 30_000, 0.7
    network = one_station(STATION, ServiceDemand(constant=1.0, distribution=Exponential()))
    requests = poisson(n, rate_ops, seed=1)
    found = bounds(network, requests)
    assert found.max_throughput_ops == 1.0
    # The mean time in system of M/M/1 is the same for every order that does not look at the demands; what the order
    # changes is the spread: E[W^2] is 1 / (1 - load) times that of FIFO (Kingman 1962).
    assert found.exact.response_s == pytest.approx(1 / (1 - n / requests.arrival_s[-1]))
    fifo = one_station(Station("s", "server", Discipline.FIFO), ServiceDemand(constant=1.0, distribution=Exponential()))
    last, first = (simpy_engine.run(Program.of(one, requests, 1)) for one in (network, fifo))
    assert (last.end_s - last.start_s).mean() == pytest.approx(1 / (1 - rate_ops), rel=0.05)
    assert np.std(last.end_s - last.start_s) > 1.3 * np.std(first.end_s - first.start_s)


def test_the_kernel_says_that_it_does_not_have_it():
    network = one_station(STATION, ServiceDemand(constant=1.0))
    with pytest.raises(ValueError, match="LCFS"):
        compiled_engine.run(Program.of(network, at(0), 0))


def test_only_the_servers_are_told_apart_by_name():
    requested = re.compile(r"\bDiscipline\.[A-Z]|\bdiscipline (is|in|==|!=) ")
    files = [path for folder in ("sim", "cli", "validate") for path in (ROOT / folder).rglob("*.py")]
    naming = [path.name for path in files if requested.search(path.read_text())]
    assert naming == ["disciplines.py"]
