"""Visits that a request passes by, on both engines: it neither waits there nor is served."""

from __future__ import annotations

import numpy as np
import pytest

from models.network.demand_sheet import draw_sheet
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Chance, Route, Stage, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from models.network.visit_draws import PASSES_BY
from sim.demands.service_demands import mean_demands
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.networks import poisson
from traces.workload.distributions import Deterministic, Exponential, Occasional

ENGINES = pytest.mark.parametrize("engine", [simpy_engine, compiled_engine])
FIFO = Station("drive", "drive", Discipline.FIFO)
CORE = Station("core", "cpu", Discipline.INFINITE_SERVER)
POOL = Station("pool", "pool", Discipline.POOL)


def fixed(seconds: float) -> ServiceDemand:
    return ServiceDemand(constant=seconds)


def network(*stages: Stage) -> Network:
    return Network((FIFO, CORE, POOL), (Route("job", stages),))


@ENGINES
@pytest.mark.parametrize("occasional", [False, True])
def test_a_request_that_passes_by_does_not_wait(engine, occasional):
    """Of all requests, the fraction that visits the queue is an M/M/1 queue of its own; the others take no time."""
    made, load, n = 0.25, 0.8, 20_000
    demand = ServiceDemand(constant=1.0, distribution=Exponential())
    if occasional:
        shape = Occasional(probability=made, of=Exponential())
        visit = Visit(0, ServiceDemand(constant=made, distribution=shape))
    else:
        visit = Visit(0, demand, chance=Chance(made))
    net = network(single(visit))
    means = []
    for seed in range(4):
        program = Program.of(net, poisson(n, load / made, seed=seed), seed)
        run = engine.run(program)
        took_s, visits = run.end_s - run.start_s, program.draw(0, n).demand_s >= 0
        assert not took_s[~visits].any()
        assert run.visits[0] == visits.sum() == pytest.approx(made * n, rel=0.1)
        means.append(took_s[visits].mean())
    assert np.mean(means) == pytest.approx(1 / (1 - load), rel=0.15)


@ENGINES
def test_visits_of_one_decision_are_made_together(engine):
    """A token is taken, and returned, by those requests only that also visit the drive in between."""
    chance = Chance(0.5)
    inner = Chance(0.5, within=chance)
    branch = (
        Visit(2, ServiceDemand(), chance=chance), Visit(0, fixed(1.0), chance=inner),
        Visit(2, ServiceDemand(), releases=True, chance=chance), Visit(1, fixed(3.0)),
    )  # fmt: skip
    n, net = 2000, network(single(*branch))
    program = Program.of(net, poisson(n, 0.1, seed=1), seed=1)
    take, drive, release, core = program.draw(0, n).demand_s.reshape(n, 4).T
    assert ((take == PASSES_BY) == (release == PASSES_BY)).all() and (core == 3.0).all()
    assert (take[drive >= 0] >= 0).all()
    assert (take >= 0).mean() == pytest.approx(0.5, abs=0.05)
    assert (drive >= 0).mean() == pytest.approx(0.25, abs=0.05)
    run = engine.run(program)
    assert run.visits.tolist() == [(drive >= 0).sum(), n, 2 * (take >= 0).sum()]
    assert run.busy_s[2] == pytest.approx(run.busy_s[0])  # tokens are held for as long as the drive is visited


@ENGINES
@pytest.mark.parametrize(("need", "took_s"), [(1, 0.0), (2, 5.0)])
def test_a_branch_without_visits_ends_at_once(engine, need, took_s):
    fork = Stage(((Visit(0, fixed(2.0), chance=Chance(0.0)),), (Visit(1, fixed(5.0)),)), need)
    net = network(fork, single(Visit(0, fixed(1.0))))
    run = engine.run(Program.of(net, poisson(1, 1.0, seed=1), seed=1, paths=True))
    assert run.end_s - run.start_s == pytest.approx(took_s + 1.0)
    assert run.path_s.sum() == pytest.approx(took_s + 1.0)


def test_expected_demands_count_what_is_made():
    chance = Chance(0.5)
    visits = Visit(0, fixed(2.0), chance=chance), Visit(1, fixed(1.0), chance=Chance(0.5, within=chance))
    found = mean_demands(network(single(*visits)), poisson(10, 1.0, seed=1))
    assert found.visits[0].tolist() == [0.5, 0.25, 0.0]
    assert found.mean_s[0].tolist() == [1.0, 0.25, 0.0]
    assert found.no_contention_s.tolist() == [1.25]


def test_a_visit_that_claims_is_made():
    """A visit that decides what its branch does next takes no time instead of being passed by."""
    with pytest.raises(ValueError, match="claims"):
        Visit(0, fixed(1.0), claims=True, chance=Chance(0.5))
    shape = Occasional(probability=0.5, of=Deterministic())
    claims = Visit(0, ServiceDemand(constant=1.0, distribution=shape), claims=True)
    sheet = draw_sheet(network(single(claims)), poisson(100, 1.0, seed=1), 1, 0, 100)
    assert set(sheet.demand_s.tolist()) == {0.0, 2.0}


def test_a_probability_is_one():
    with pytest.raises(ValueError, match="between 0 and 1"):
        Chance(1.5)
