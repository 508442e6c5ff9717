"""Demands, times without contention, bounds and exact means of requests that start sub-requests."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.route import Chance, Route, Stage, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Station
from models.network.sub_requests import SubRequests
from sim.analysis.bounds import bounds
from sim.analysis.bounds_result import Unavailable
from sim.analysis.overload import too_slow
from sim.analysis.product_form import why_not
from sim.demands.service_demands import mean_demands
from sim.demands.visit_places import is_even, is_keyed
from sim.engine.outcome import Program
from sim.engine.reference import engine
from tests.networks import closed, poisson
from tests.sim.analysis.drawn_demands import drawn_demands
from traces.workload.distributions import Exponential

STATIONS = (Station("cpu", "cpu", Discipline.FIFO), Station("drive", "drive", Discipline.FIFO),
            Station("delay", "delay", Discipline.INFINITE_SERVER),
            Station("tokens", "tokens", Discipline.POOL, 2))  # fmt: skip
CPU, DRIVE, DELAY, TOKENS = range(4)


def takes(time_s: float, station: int, **more) -> Visit:
    return Visit(station, ServiceDemand(constant=time_s), **more)


def exponential(time_s: float, station: int) -> Visit:
    return Visit(station, ServiceDemand(constant=time_s, distribution=Exponential()))


def network_of(sub: SubRequests, *part: Visit, policy: Policy | None = None, chance: Chance | None = None) -> Network:
    parent = Route("all", (single(takes(0.5, CPU, starts=sub, chance=chance)),))
    more = {"policy": policy} if policy else {}
    return Network(STATIONS, (parent, Route("part", (single(*part),), **more)))


def requests(*sizes: int):
    found = poisson(len(sizes), 0.001, seed=1)
    return dataclasses.replace(found, size_bytes=np.array(sizes, np.int64))


PART = (takes(2.0, DRIVE), takes(1.0, DELAY))


@pytest.mark.parametrize(
    ("sub", "low_s", "no_contention_s"),
    [
        (SubRequests(1, count=5), 10.0, 0.5 + 3.0),
        (SubRequests(1, count=5, parallel=1), 10.0, 0.5 + 15.0),
        (SubRequests(1, count=5, parallel=2), 10.0, 0.5 + 9.0),
        (SubRequests(1, count=5, need=2), 10.0, 0.5 + 3.0),  # the others also begin
        (SubRequests(1, count=5, need=2, cancels=True), 0.0, 0.5 + 3.0),
        (SubRequests(1, count=5, need=2, parallel=1), 0.0, 0.5 + 6.0),
    ],
)
def test_demands_of_sub_requests_are_those_of_their_requests(sub, low_s, no_contention_s):
    found = mean_demands(network_of(sub, *PART), requests(0, 0))
    assert found.fraction.tolist() == [1.0, 0.0]
    assert found.low_s[[CPU, DRIVE]].tolist() == [0.5, low_s]
    assert found.high_s[[CPU, DRIVE]].tolist() == [0.5, 10.0]
    assert found.requested[[CPU, DRIVE, DELAY]].tolist() == [1.0, 5.0, 5.0]
    assert found.mean_s[0, :3].tolist() == [0.5, 10.0, 5.0]
    assert found.no_contention_s[0] == no_contention_s


def test_a_visit_that_some_make_starts_sub_requests_for_these():
    found = mean_demands(network_of(SubRequests(1, count=4), *PART, chance=Chance(0.25)), requests(0))
    assert found.low_s[[CPU, DRIVE]].tolist() == [0.125, 2.0]
    assert found.no_contention_s[0] == pytest.approx(0.25 * 3.5)


def test_chunks_and_sub_requests_of_sub_requests():
    leaf = Route("leaf", (single(Visit(DRIVE, ServiceDemand(per_byte=1.0))),))
    middle = Route("middle", (single(takes(0.0, CPU, starts=SubRequests(2, chunk_bytes=2, parallel=1))),))
    parent = Route("all", (single(takes(0.0, CPU, starts=SubRequests(1, chunk_bytes=4))),))
    found = mean_demands(Network(STATIONS, (parent, middle, leaf)), requests(4, 9))
    assert found.low_s[DRIVE] == (4 + 9) / 2
    assert found.requested[DRIVE] == (2 + 2 + 2 + 1) / 2
    assert found.no_contention_s[0] == 4.0


def test_a_lone_request_takes_as_long_as_without_contention():
    # Times differ, so the order in which sub-requests begin matters; they wait for no one at infinite servers.
    part = (Visit(DELAY, ServiceDemand(constant=0.1, per_byte=1.0)),)
    for parallel, need in ((2, None), (3, None), (2, 2), (None, 3), (3, 4)):
        sub = SubRequests(1, chunk_bytes=4, parallel=parallel, need=need)
        network, workload = network_of(sub, *part), requests(3, 17, 30)
        run = engine.run(Program.of(network, workload, 1))
        expected = mean_demands(network, workload).no_contention_s[0]
        assert (run.end_s - run.start_s).mean() == pytest.approx(expected, rel=1e-12)
        drawn = drawn_demands(Program.of(network, workload, 1), run.winner)
        assert drawn.no_contention_s[0] == pytest.approx(expected, rel=1e-12)


def test_the_longest_of_random_sub_requests_is_at_least_the_longest_expected():
    network = network_of(SubRequests(1, count=4, parallel=2), exponential(2.0, DELAY))
    assert mean_demands(network, requests(0)).no_contention_s[0] == 0.5 + 4 * 2.0 / 2
    first = network_of(SubRequests(1, count=4, need=1), exponential(2.0, DELAY))
    assert mean_demands(first, requests(0)).no_contention_s[0] == 0.5


def test_another_attempt_of_a_sub_request_may_be_faster():
    slow = ServiceDemand(constant=2.0, distribution=Exponential())
    network = network_of(SubRequests(1), Visit(DELAY, slow), policy=Policy(hedge_after_s=0.25))
    workload = requests(*[0] * 500)
    program = Program.of(network, workload, 1)
    run = engine.run(program)
    took_s = (run.end_s - run.start_s).mean()
    assert 0.5 < drawn_demands(program, run.winner).no_contention_s[0] <= 0.75 < took_s
    assert 0.5 < mean_demands(network, workload).no_contention_s[0] < took_s


def test_tokens_are_held_while_sub_requests_are_in_progress():
    visits = (Visit(TOKENS, ServiceDemand()), takes(0.5, CPU, starts=SubRequests(1, count=3, parallel=1)))
    parent = Route("all", (single(*visits, Visit(TOKENS, ServiceDemand(), releases=True)),))
    found = mean_demands(Network(STATIONS, (parent, Route("part", (single(*PART),)))), requests(0))
    assert found.low_s[TOKENS] == 0.5 + 9.0


def test_sub_requests_that_may_fail_make_their_request_fail():
    network = network_of(SubRequests(1, count=3), *PART, policy=Policy(timeout_s=1.0))
    found = bounds(network, poisson(50, 0.01, seed=1))
    assert any("may time out" in note for note in found.notes)
    assert found.response_s.high is None


def test_sub_requests_that_are_not_needed_are_noted():
    for sub, noted in ((SubRequests(1, count=3), False), (SubRequests(1, count=3, need=2), True)):
        found = bounds(network_of(sub, *PART), poisson(50, 0.01, seed=1))
        assert any(note.startswith("all: sub-requests that are not needed") for note in found.notes) == noted


def test_a_gateway_that_is_kept_is_no_choice_by_the_sub_requests_own_key():
    group = Group(Choice.HASH, np.array([[CPU], [DRIVE]], np.int32))
    at_random = Group(Choice.RANDOM, np.array([[CPU], [DRIVE]], np.int32), indices=(1,))
    for keeps in ((), (0, 1)):
        visits = tuple(Visit(Bound(g), ServiceDemand(), starts=SubRequests(1, keeps=keeps)) for g in (0, 1))
        part = Route("part", (single(*(Visit(Bound(g), ServiceDemand()) for g in (0, 1))),))
        network = Network(STATIONS, (Route("all", (single(*visits),)), part), groups=(group, at_random))
        assert is_keyed(network, network.routes[1], 0) == (keeps == ())
        assert is_even(network, network.routes[1], 1)


def test_sub_requests_one_after_the_other_are_like_visits():
    chain = Network(STATIONS, (Route("all", (single(exponential(0.5, CPU), *[exponential(0.2, DRIVE)] * 3),)),))
    first = dataclasses.replace(exponential(0.5, CPU), starts=SubRequests(1, count=3, parallel=1))
    parent = Route("all", (single(first),))
    serial = Network(STATIONS, (parent, Route("part", (single(exponential(0.2, DRIVE)),))))
    workload = closed(100, 1.0, seed=1, clients=4)
    exact = [bounds(network, workload).exact for network in (chain, serial)]
    assert not isinstance(exact[0], Unavailable) and not isinstance(exact[1], Unavailable)
    assert exact[0].throughput_ops == pytest.approx(exact[1].throughput_ops, rel=1e-12)
    assert exact[0].response_s == pytest.approx(exact[1].response_s, rel=1e-12)


def test_other_sub_requests_have_no_product_form():
    workload = closed(10, 1.0, seed=1)
    for sub, said in (
        (SubRequests(1, count=2), "several sub-requests at a time"),
        (SubRequests(1, chunk_bytes=4, parallel=1, need=1), "does not need all"),
    ):
        reason = why_not(network_of(sub, exponential(1.0, DRIVE)), workload)
        assert reason is not None and said in reason


def test_a_part_that_only_sub_requests_visit_may_be_too_slow():
    network = network_of(SubRequests(1, count=5), *PART)
    found = {part.part: part.max_ops for part in too_slow(network, requests(0), 1.0)}
    assert found["drive"] == pytest.approx(0.1)


def test_sub_requests_after_a_claim_begin_only_if_it_is_not_in_vain():
    late = takes(2.0, DELAY, claims=True, starts=SubRequests(1))
    stage = Stage(((takes(1.0, DELAY, claims=True),), (late,)), 1)
    found = mean_demands(Network(STATIONS, (Route("all", (stage,)), Route("part", (single(*PART),)))), requests(0))
    assert found.low_s[DRIVE] == 0.0 and found.high_s[DRIVE] == 2.0
    assert found.low_s[DELAY] == 3.0


def test_the_first_stage_that_joins_counts_its_family():
    # The branch that waits for sub-requests is not needed: the other is earlier.
    stage = Stage(((takes(0.0, DELAY, starts=SubRequests(1, count=2, parallel=1)),), (takes(1.0, DELAY),)), 1)
    network = Network(STATIONS, (Route("all", (stage,)), Route("part", (single(takes(2.0, DELAY)),))))
    assert mean_demands(network, requests(0)).no_contention_s[0] == 1.0
