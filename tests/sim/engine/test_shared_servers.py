"""Two stations that share a server: one job or batch of both at a time, in the order of arrival."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Visit, single
from models.network.scenario import Action, ActionKind
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.networks import poisson
from tests.sim.engine.test_engines import assert_identical
from tests.sim.engine.test_theory import assert_holds
from traces.workload.distributions import Exponential

DRIVE = Station("drive", "drive", Discipline.FIFO)
LOG = Station("log", "log", Discipline.GROUP_COMMIT, batch_item_s=0.01, shares_server=True)


def network(
    second: Station = LOG, data_s: float = 0.1, commit_s: float = 0.3, actions: tuple[Action, ...] = ()
) -> Network:
    """Requests for the drive, and for the log, in two routes of one visit."""
    routes = (
        Route("data", (single(Visit(0, ServiceDemand(constant=data_s))),)),
        Route("commit", (single(Visit(1, ServiceDemand(constant=commit_s))),)),
    )
    return Network((DRIVE, second), routes, scenario=actions)


def requests(at_s: list[tuple[float, int]]) -> Requests:
    """One request at each time, of the route with this index."""
    found = poisson(len(at_s), 1.0, 0)
    times, routes = (np.array(column) for column in zip(*at_s, strict=True))
    return replace(found, arrival_s=times.astype(float), route=routes.astype(np.int32))


def run(of: Network, rows: list[tuple[float, int]]) -> Outcome:
    """Both engines' result."""
    program = Program.of(of, requests(rows), 0)
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    return outcome


def test_a_commit_waits_for_data_and_data_for_a_commit():
    outcome = run(network(), [(0.0, 0), (0.05, 1), (0.06, 0)])
    assert outcome.end_s == pytest.approx([0.1, 0.4, 0.5])


def test_commits_that_wait_are_one_batch_whatever_arrives_between():
    outcome = run(network(), [(0.0, 0), (0.01, 1), (0.02, 0), (0.03, 1), (0.04, 1)])
    assert outcome.end_s == pytest.approx([0.1, 0.42, 0.52, 0.42, 0.42])


PARTS = replace(LOG, parts=3)


def test_data_that_wait_are_served_between_the_parts_of_a_commit():
    """Parts from 0 to 0.1, 0.2 to 0.3 and 0.4 to 0.5, data between; those of the last part wait for its end."""
    outcome = run(network(PARTS), [(0.0, 1), (0.05, 0), (0.25, 0), (0.45, 0)])
    assert outcome.end_s == pytest.approx([0.5, 0.2, 0.4, 0.6])
    assert outcome.busy_s[0] == pytest.approx(0.3) and outcome.busy_s[1] == pytest.approx(0.3)


def test_all_data_that_wait_are_served_before_the_next_part_and_commits_after_the_last():
    outcome = run(network(PARTS), [(0.0, 1), (0.03, 0), (0.06, 0), (0.07, 1), (0.25, 0)])
    assert outcome.end_s == pytest.approx([0.6, 0.2, 0.3, 0.9, 0.5])


def test_a_flush_of_any_member_is_a_part_more_of_the_batch():
    commit = ServiceDemand(constant=0.3)
    flush = Route("flush", (single(Visit(1, commit, flushes=True)),))
    of = network(replace(LOG, parts=3, flush_s=0.1))
    of = replace(of, routes=(*of.routes, flush))
    # A batch without a flush, then one with, of four parts, after the first of which the data are written.
    outcome = run(of, [(0.0, 1), (0.1, 1), (0.2, 2), (0.35, 0)])
    assert outcome.end_s == pytest.approx([0.3, 0.81, 0.81, 0.3 + 0.41 / 4 + 0.1])
    assert outcome.busy_s == pytest.approx([0.1, 0.3 + 0.41])


def test_parts_without_data_between_are_one_commit():
    whole, parted = (run(network(log), [(0.0, 1), (0.1, 1), (0.2, 1), (1.0, 0)]) for log in (LOG, PARTS))
    assert parted.end_s == pytest.approx(whole.end_s)


@pytest.mark.parametrize("station", [{"shares_server": False, "parts": 2}, {"parts": 0}])
def test_only_batches_at_a_shared_server_have_parts(station):
    with pytest.raises(ValueError, match="parts must be 1"):
        replace(LOG, **station)


def test_of_two_that_came_at_the_same_time_the_earlier_station_is_first():
    outcome = run(network(), [(0.0, 0), (0.05, 1), (0.05, 0)])
    assert outcome.end_s == pytest.approx([0.1, 0.5, 0.2])


def test_a_server_that_two_queues_share_is_one_server():
    """M/M/1: two streams of equal demands behave like one of their total rate."""
    second = Station("second", "drive", Discipline.FIFO, indices=(1,), shares_server=True)
    demand = ServiceDemand(constant=1.0, distribution=Exponential())
    routes = tuple(Route(f"r{k}", (single(Visit(k, demand)),)) for k in (0, 1))
    both, means, busy = Network((DRIVE, second), routes), [], []
    for seed in range(30):
        found = poisson(20_000, 0.8, seed)
        found = replace(found, route=(np.arange(20_000) * 7 % 3 == 0).astype(np.int32))
        outcome = compiled_engine.run(Program.of(both, found, seed))
        means.append(float((outcome.end_s - outcome.start_s)[2000:].mean()))
        busy.append(float(outcome.busy_s.sum() / outcome.clock_s))
    assert_holds(1 / (1 - 0.8), np.array(means))
    assert_holds(0.8, np.array(busy))


@pytest.mark.parametrize(
    "second",
    [
        replace(LOG, discipline=Discipline.SIRO, batch_item_s=0.0),
        Station("two", "drive", Discipline.FIFO, 2, (1,), shares_server=True),
        Station("slow start", "drive", Discipline.FIFO, indices=(1,), setup_s=0.1, shares_server=True),
    ],
    ids=lambda station: station.name,
)
def test_only_simple_stations_share_a_server(second):
    with pytest.raises(ValueError, match="cannot share the server"):
        network(second)


def test_a_server_has_two_stations_at_most_which_cannot_die():
    with pytest.raises(ValueError, match="'third' cannot share"):
        Network((DRIVE, LOG, replace(LOG, name="third", indices=(2,))), network().routes)
    with pytest.raises(ValueError, match="'log' cannot share"):
        Network((LOG, replace(DRIVE, shares_server=True)), network().routes)
    for target in (0, 1):
        with pytest.raises(ValueError, match="cannot die"):
            network(actions=(Action(ActionKind.DOWN, target, 1.0),))
    assert run(network(actions=(Action(ActionKind.SPEED, 0, 0.0, value=0.5),)), [(0.1, 0)]).end_s == pytest.approx(
        [0.3]
    )
