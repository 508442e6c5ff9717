"""Shared servers with a queue of limited length before them, such as full links: between FIFO and processor sharing."""

from __future__ import annotations

import math
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
from models.shared.links import QUEUED_BYTES, acknowledged_rounds, link
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Failure, Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.networks import one_station, poisson
from tests.sim.engine.test_engines import assert_identical
from tests.sim.engine.test_theory import assert_holds, mean_time_in_system
from traces.workload.distributions import Deterministic, Exponential, Hyperexponential


def shared(queue_s: float, each_s: float = math.inf, servers: int = 1) -> Station:
    return Station(
        "link", "network", Discipline.PROCESSOR_SHARING, servers, queue_s=queue_s, queued_each_s=each_s
    )  # fmt: skip


def transfers(at_s: list[float], bytes_each: list[int]) -> Requests:
    return replace(poisson(len(at_s), 1.0, 0), arrival_s=np.array(at_s), size_bytes=np.array(bytes_each))


def run(station: Station, requests: Requests, *actions: Action) -> Outcome:
    """Both engines' result, with a second for each byte."""
    route = Route("transfer", (single(Visit(0, ServiceDemand(per_byte=1.0))),))
    program = Program.of(Network((station,), (route,), scenario=actions), requests, 0)
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    return outcome


def test_a_message_waits_for_the_queue_of_a_full_link():
    full = transfers([0.0, 0.0, 5.0], [10, 10, 0])
    assert run(shared(3.0), full).end_s[2] == 5.0 + 3.0
    assert run(shared(0.0), full).end_s[2] == 5.0


def test_a_message_waits_no_longer_than_for_what_is_there():
    assert run(shared(3.0), transfers([0.0, 1.0, 7.0], [2, 0, 0])).end_s.tolist() == [2.0, 2.0, 7.0]


def test_each_transfer_has_a_limited_part_of_the_queue():
    full = transfers([0.0, 0.0, 0.0, 8.0], [10, 10, 10, 0])
    assert run(shared(9.0, 2.0), full).end_s[3] == 8.0 + 3 * 2.0
    assert run(shared(5.0, 2.0), full).end_s[3] == 8.0 + 5.0


def test_connections_that_reach_a_rate_together_empty_the_queue_together():
    full = transfers([0.0, 0.0, 1.0], [10, 10, 0])
    assert run(shared(9.0, 2.0, servers=2), full).end_s[2] == 1.0 + 2 * 2.0 / 2


def test_transfers_share_a_link_equally_behind_its_queue():
    # The second one reaches the link after 1 s, so both share it until the first has 10 s: 1 + 2 x 9.
    assert run(shared(1.0), transfers([0.0, 0.0], [10, 10])).end_s.tolist() == [19.0, 20.0]


def test_a_queue_without_limit_is_fifo():
    requests = transfers([0.0, 1.0, 1.5, 20.0], [4, 1, 2, 3])
    assert run(shared(math.inf), requests).end_s.tolist() == [4.0, 5.0, 7.0, 23.0]


@pytest.mark.parametrize("queue_s", [0.0, 0.5, 3.0, math.inf])
def test_a_link_is_busy_for_as_long_whatever_its_queue(queue_s):
    outcome = run(shared(queue_s), transfers([0.0, 0.25, 0.5, 4.0, 20.0], [5, 1, 3, 2, 2]))
    assert outcome.busy_s.tolist() == pytest.approx([13.0])
    assert sorted(outcome.end_s)[-2:] == pytest.approx([11.0, 22.0])


def test_bytes_in_the_queue_leave_later_on_a_slower_link():
    slow = Action(ActionKind.SPEED, 0, 0.0, value=0.5)
    assert run(shared(3.0), transfers([0.0, 5.0], [20, 0]), slow).end_s[1] == 5.0 + 6.0


def test_what_waits_before_a_link_is_lost_with_it():
    gone = [Action(ActionKind.DOWN, 0, 2.0), Action(ActionKind.UP, 0, 2.5)]
    outcome = run(shared(3.0), transfers([0.0, 1.0, 4.0], [10, 1, 1]), *gone)
    assert outcome.failure.tolist() == [Failure.STATION_DOWN, Failure.STATION_DOWN, 0]
    assert outcome.end_s[2] == 5.0


@pytest.mark.parametrize("shape", [Deterministic(), Exponential(), Hyperexponential(cv=2)])
def test_mean_times_are_between_those_of_sharing_and_fifo(shape):
    rho, demand = 0.6, ServiceDemand(constant=1.0, distribution=shape)
    sharing, fifo = 1 / (1 - rho), 1 + rho * (1 + shape.scv) / (2 * (1 - rho))  # Pollaczek and Khinchine
    assert_holds(fifo, mean_time_in_system(one_station(shared(math.inf), demand), rho))
    between = mean_time_in_system(one_station(shared(1.0), demand), rho).mean()
    low, high = sorted((sharing, fifo))
    assert 0.98 * low <= between <= 1.02 * high


def test_only_shared_servers_have_a_queue_before_them():
    with pytest.raises(ValueError, match="queue_s"):
        Station("drive", "drive", Discipline.FIFO, queue_s=1.0)
    with pytest.raises(ValueError, match="queue_s"):
        shared(-1.0)
    with pytest.raises(ValueError, match="queue_s"):
        shared(1.0, -1.0)


def test_a_link_of_a_spec():
    found = link("in", "network", (), 1e6, 2e6, connections=2)
    assert (found.queue_s, found.queued_each_s, found.servers) == (2.0, 2 * QUEUED_BYTES / 1e6, 2)
    plain = Station("in", "network", Discipline.PROCESSOR_SHARING)
    assert link("in", "network", (), 0.0, 2e6) == plain
    assert link("in", "network", (), 1e6, 0.0) == plain


@pytest.mark.parametrize(
    ("size_bytes", "rounds"), [(0, 0), (1, 0), (14480, 0), (14481, 1), (43440, 1), (43441, 2), (1 << 20, 6)]
)
def test_slow_start_doubles_what_is_on_its_way(size_bytes, rounds):
    assert acknowledged_rounds(size_bytes) == rounds
