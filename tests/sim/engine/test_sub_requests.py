"""Sub-requests in both engines: their order, their ends, and their random numbers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from models.network.demand_sheet import Requests, Sheet
from models.network.descendants import by_route
from models.network.discipline import Discipline
from models.network.joined_table import JoinedTable
from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.route import Chance, Route, Stage, Visit, single
from models.network.scenario import Action, ActionKind
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Member, Station
from models.network.sub_requests import RouteChoice, SubRequests
from sim.demands.service_demands import mean_demands
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import CHUNK, Failure, Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.networks import closed, poisson
from tests.sim.engine.test_engines import assert_identical
from traces.workload.distributions import Exponential

CLIENT, SERVER, DELAY, TOKENS = range(4)
STATIONS = (
    Station("client", "client", Discipline.INFINITE_SERVER),
    Station("server", "server", Discipline.FIFO),
    Station("delay", "delay", Discipline.INFINITE_SERVER),
    Station("tokens", "tokens", Discipline.POOL),
)
NOTHING = ServiceDemand()


def at(*times_s: float, size_bytes: int = 0) -> Requests:
    """Requests of the first route at these times."""
    requests = poisson(len(times_s), 1.0, seed=1)
    return dataclasses.replace(
        requests, arrival_s=np.array(times_s), size_bytes=np.full(len(times_s), size_bytes, np.int64)
    )


def takes(time_s: float, station: int = DELAY, **more) -> Visit:
    return Visit(station, ServiceDemand(constant=time_s), **more)


def starting(sub: SubRequests, *after: Visit) -> Stage:
    """A stage of a visit that starts sub-requests at once, and further visits."""
    return single(Visit(CLIENT, NOTHING, starts=sub), *after)


def run(
    *routes: Route, requests: Requests | None = None, paths: bool = False, stations=STATIONS, groups=(), placements=(),
    scenario=(), seed: int = 1,
) -> Outcome:  # fmt: skip
    """The outcome of these routes, which is the same in both engines; one request at 0 s by default."""
    network = Network(stations, routes, placements, groups, scenario)
    program = Program.of(network, at(0.0) if requests is None else requests, seed, paths)
    outcome = simpy_engine.run(program)
    assert_identical(outcome, compiled_engine.run(program))
    return outcome


CHILD = Route("part", (single(takes(2.0)),))


@pytest.mark.parametrize(
    ("parallel", "need", "end_s", "visits"),
    [
        (None, None, 3.0, 5),
        (1, None, 11.0, 5),
        (2, None, 7.0, 5),
        (1, 2, 5.0, 2),
        (2, 3, 5.0, 4),
        (None, 1, 3.0, 5),
        (None, 9, 3.0, 5),
    ],
)
def test_a_visit_waits_for_as_many_as_it_needs(parallel, need, end_s, visits):
    sub = SubRequests(1, count=5, parallel=parallel, need=need)
    outcome = run(Route("all", (starting(sub, takes(1.0, SERVER)),)), CHILD)
    assert outcome.end_s.tolist() == [end_s]
    assert outcome.visits.tolist() == [1, 1, visits, 0]


def test_serial_sub_requests_take_the_sum_of_their_times():
    # The same visits as a chain, at a server that others use too.
    chain = Route("chain", (single(*[takes(0.5, SERVER)] * 6),))
    part = Route("part", (single(takes(0.5, SERVER), takes(0.5, SERVER)),))
    parent = Route("chain", (starting(SubRequests(1, count=3, parallel=1)),))
    requests = poisson(200, 0.25, seed=3)
    assert np.array_equal(run(chain, requests=requests).end_s, run(parent, part, requests=requests).end_s)


def test_chunks_have_the_bytes_of_the_request():
    part = Route("part", (single(Visit(DELAY, ServiceDemand(per_byte=1.0))),))
    parent = Route("all", (starting(SubRequests(1, chunk_bytes=4, parallel=1)),))
    for size_bytes, visits in ((0, 1), (4, 1), (5, 2), (12, 3)):
        outcome = run(parent, part, requests=at(0.0, size_bytes=size_bytes))
        assert (outcome.end_s[0], outcome.visits[DELAY]) == (size_bytes, visits)
    given = Route("all", (starting(SubRequests(1, count=2, size_bytes=7, parallel=1)),))
    assert run(given, part, requests=at(0.0, size_bytes=100)).end_s.tolist() == [14.0]


@pytest.mark.parametrize(("delivers", "first_byte_s"), [(True, 1.0), (False, 9.0)])
def test_the_first_one_may_deliver_the_first_byte(delivers, first_byte_s):
    # Of nine in series, each of which sends its first byte after 1 s, in families of three.
    part = Route("part", (single(takes(1.0), delivers=True),))
    of_three = SubRequests(2, count=3, parallel=1, delivers=delivers)
    middle = Route("middle", (starting(of_three),))
    end = single(takes(0.0), delivers=True)
    whole = Route("all", (starting(dataclasses.replace(of_three, route=1)), end))
    outcome = run(whole, middle, part)
    assert (outcome.first_byte_s.tolist(), outcome.end_s.tolist()) == ([first_byte_s], [9.0])


def test_a_late_sub_request_does_not_deliver():
    # The second attempt of the visit's only child is served first; the first one is slower, and sends nothing.
    slow = Route("part", (single(takes(5.0), delivers=True), single(takes(5.0))))
    sub = SubRequests(1, count=2, need=1, delivers=True)
    quick = Stage(((Visit(CLIENT, NOTHING, starts=sub),), (takes(2.0),)), 1)
    outcome = run(Route("all", (quick, single(takes(1.0)))), slow)
    assert np.isnan(outcome.first_byte_s[0])
    assert outcome.end_s.tolist() == [3.0]


def test_keys_are_those_of_the_request_or_their_own():
    stations = (*STATIONS, *(Station(f"drive {d}", "drive", Discipline.INFINITE_SERVER, 1, (d,)) for d in range(50)))
    table = np.arange(4, 54, dtype=np.int32)[:, None]
    part = Route("part", (single(Visit(Member(0, 0), ServiceDemand(constant=1.0))),))

    def used(own_keys: bool, operation: str = "all") -> list[int]:
        parent = Route(operation, (starting(SubRequests(1, count=20, own_keys=own_keys)),))
        outcome = run(parent, part, stations=stations, placements=(table,), seed=len(operation))
        return np.flatnonzero(outcome.visits[4:]).tolist()

    assert used(False) == [0]
    assert len(used(True)) > 10
    assert used(True) == used(True, "another")  # which finds the parts where the other has put them


def test_sub_requests_of_sub_requests():
    leaf = Route("leaf", (single(takes(1.0)),))
    middle = Route("middle", (starting(SubRequests(2, count=3, parallel=1)),))
    parent = Route("all", (starting(SubRequests(1, count=4, parallel=2)),))
    outcome = run(parent, middle, leaf)
    assert (outcome.end_s[0], outcome.visits[DELAY]) == (6.0, 12)


def test_routes_follow_from_sizes_and_chance():
    """Chunks of 4 B take the last route, the rest of 1 B one of two, the second in three of four cases."""
    first, second, whole = (Route(name, (single(takes(time_s)),)) for name, time_s in (("a", 1), ("b", 2), ("c", 16)))
    choice = RouteChoice((3, 4), (((1, 0.25), (2, 0.75)), ((3, 1.0),)))
    parent = Route("all", (starting(SubRequests(choice, chunk_bytes=4, parallel=1)),))
    count = 400
    outcome = run(parent, first, second, whole, requests=at(*np.arange(count) * 100.0, size_bytes=9))
    took_s, counts = np.unique((outcome.end_s - np.arange(count) * 100).round(9), return_counts=True)
    assert took_s.tolist() == [33.0, 34.0]
    assert counts[1] / count == pytest.approx(0.75, abs=0.06)
    network = Network(STATIONS, (parent, first, second, whole))
    assert network.with_sub_requests([0]) == (0, 1, 2, 3)
    expected_s = sum(
        fraction * float(network.routes[k].visits[0].mean_s(sizes).sum())
        for k, sizes, fraction in by_route(network, 0, np.array([9]))
    )
    assert expected_s == pytest.approx(32 + 0.25 * 1 + 0.75 * 2)
    demands = mean_demands(network, at(*np.arange(count) * 100.0, size_bytes=9))
    assert demands.no_contention_s[0] == pytest.approx((outcome.end_s - np.arange(count) * 100).mean(), abs=0.05)


@pytest.mark.parametrize(
    ("largest_bytes", "routes"),
    [((1, 2), (((0, 1.0),),)), ((2, 2), (((0, 1.0),),) * 2), ((1,), (((0, 0.5),),)), ((1,), (((0, 0.0), (1, 1.0)),))],
)
def test_choices_without_sense_are_refused(largest_bytes, routes):
    with pytest.raises(ValueError, match="RouteChoice"):
        RouteChoice(largest_bytes, routes)


def test_a_visit_that_is_passed_by_starts_none():
    parent = Route("all", (single(Visit(CLIENT, NOTHING, chance=Chance(0.0), starts=SubRequests(1)), takes(1.0)),))
    outcome = run(parent, CHILD)
    assert (outcome.end_s[0], outcome.visits[DELAY]) == (1.0, 1)


def test_sub_requests_have_no_rows_and_do_not_hold_up_clients():
    outcome = run(
        Route("all", (starting(SubRequests(1, count=5, need=1), takes(1.0)),)),
        CHILD,
        requests=closed(20, 0.0, seed=1, clients=2),
    )
    assert len(outcome.end_s) == 20 and outcome.in_flight == 0
    assert (outcome.end_s - outcome.start_s).tolist() == [3.0] * 20
    assert outcome.visits[DELAY] == 20 * 6


def failing(**more) -> Route:
    """A sub-request that fails after 2 s."""
    return Route("part", (single(takes(3.0)),), policy=Policy(timeout_s=2.0, **more))


def test_a_visit_fails_when_too_few_are_left():
    outcome = run(Route("all", (starting(SubRequests(1, count=3, parallel=1, need=2)),)), failing())
    assert outcome.failure.tolist() == [Failure.TIMEOUT]
    assert (outcome.end_s[0], outcome.visits[DELAY]) == (4.0, 2)  # the third is dropped


def test_a_failed_visit_is_a_failed_branch():
    stage = Stage(((Visit(CLIENT, NOTHING, starts=SubRequests(1)),), (takes(5.0),)), 1)
    outcome = run(Route("all", (stage,)), failing())
    assert (outcome.end_s[0], outcome.failure[0]) == (5.0, Failure.NONE)


def test_sub_requests_are_retried_by_the_policy_of_their_route():
    part = failing(retries=2, backoff_s=1.0)
    outcome = run(Route("all", (starting(SubRequests(1)),)), part)
    assert (outcome.failure[0], outcome.visits[DELAY]) == (Failure.TIMEOUT, 3)
    assert outcome.end_s.tolist() == [2.0 + 1.0 + 2.0 + 2.0 + 2.0]
    assert outcome.attempts.tolist() == [1]


def test_pauses_before_retries_differ_between_sub_requests():
    part = dataclasses.replace(
        failing(retries=1, backoff_s=1.0, jitter=1.0), stages=(single(takes(3.0), takes(0.0, SERVER)),)
    )
    outcome = run(Route("all", (starting(SubRequests(1, count=2, need=2)),)), part, paths=True)
    assert outcome.failure[0] == Failure.TIMEOUT
    assert 4.0 < outcome.end_s[0] < 5.0


@pytest.mark.parametrize(("cancels", "begun", "clock_s"), [(False, 2, 6.0), (True, 2, 6.0)])
def test_after_a_timeout_those_that_have_not_begun_are_dropped(cancels, begun, clock_s):
    sub = SubRequests(1, count=5, parallel=1, cancels=cancels)
    part = Route("part", (single(takes(3.0)),))
    outcome = run(Route("all", (starting(sub),), policy=Policy(timeout_s=4.0)), part)
    assert (outcome.failure[0], outcome.end_s[0]) == (Failure.TIMEOUT, 4.0)
    assert (outcome.visits[DELAY], outcome.clock_s) == (begun, clock_s)


@pytest.mark.parametrize(("cancels", "served"), [(False, 3), (True, 1)])
def test_those_begun_finish_or_leave_their_queues(cancels, served):
    # All three wait for one server; the attempt times out in the first's service.
    part = Route("part", (single(takes(3.0, SERVER), takes(1.0)),))
    sub = SubRequests(1, count=3, cancels=cancels)
    outcome = run(Route("all", (starting(sub),), policy=Policy(timeout_s=1.0)), part)
    assert outcome.busy_s[SERVER] == 3.0 * served
    assert outcome.visits[DELAY] == (0 if cancels else 3)


def test_those_that_are_not_needed_are_cancelled_where_the_visit_says_so():
    part = Route("part", (single(takes(3.0, SERVER)),))
    for cancels, busy_s in ((False, 9.0), (True, 6.0)):  # the second is in service when the first ends
        outcome = run(Route("all", (starting(SubRequests(1, count=3, need=1, cancels=cancels)),)), part)
        assert (outcome.end_s[0], outcome.busy_s[SERVER]) == (3.0, busy_s)


def test_a_cancelled_attempt_holds_its_token_until_its_last_sub_request_has_ended():
    taking = single(Visit(TOKENS, NOTHING, starts=SubRequests(1)))
    part = Route("part", (single(takes(3.0)),))
    outcome = run(
        Route("all", (taking,), policy=Policy(timeout_s=1.0)), part, requests=at(0.0, 1.5), paths=True
    )  # the second takes the token at 3 s, after its timeout
    assert outcome.failure.tolist() == [Failure.TIMEOUT] * 2
    assert (outcome.busy_s[TOKENS], outcome.visits[DELAY]) == (3.0, 1)


def test_each_attempt_has_sub_requests_of_its_own():
    part = Route("part", (single(Visit(DELAY, ServiceDemand(constant=1.0, distribution=Exponential()))),))
    hedged = Route("all", (starting(SubRequests(1)),), policy=Policy(hedge_after_s=0.0))
    network = Network(STATIONS, (hedged, part))
    sheet = Program.of(network, at(0.0, 9.0), 1).draw(0, 2)
    assert sheet.descendants is not None
    assert len(np.unique(sheet.descendants.visits.demand_s)) == 4
    outcome = run(hedged, part, requests=at(0.0, 9.0))
    first = sheet.descendants.visits.demand_s.reshape(2, 2).min(axis=1)
    assert outcome.end_s - outcome.start_s == pytest.approx(first)


def test_random_numbers_do_not_depend_on_limits_or_other_requests():
    part = Route("part", (single(Visit(DELAY, ServiceDemand(constant=1.0, distribution=Exponential()))),))

    def demands(sub: SubRequests, requests: Requests, *more: Visit) -> list[float]:
        network = Network(STATIONS, (Route("all", (starting(sub, *more),)), part))
        found = Program.of(network, requests, 5).draw(0, len(requests)).descendants
        assert found is not None
        return found.visits.demand_s[found.visits.first].tolist()

    few = demands(SubRequests(1, count=3), at(0.0, 1.0))
    assert demands(SubRequests(1, count=3, parallel=1, need=1), at(0.0, 1.0), takes(1.0)) == few
    assert demands(SubRequests(1, count=5), at(0.0, 1.0))[:3] == few[:3]
    assert demands(SubRequests(1, count=3), at(0.0, 1.0, 2.0))[:6] == few
    assert len(set(few)) == 6


def test_sub_requests_keep_the_members_of_their_parents():
    nodes = tuple(Station(f"node {n}", "node", Discipline.INFINITE_SERVER, 1, (n,)) for n in range(4))
    group = Group(Choice.ROUND_ROBIN, np.arange(4, 8, dtype=np.int32)[:, None])
    part = Route("part", (single(Visit(Bound(0), ServiceDemand(constant=1.0))),))

    def visits(keeps: tuple[int, ...]) -> list[int]:
        begins = Visit(Bound(0), NOTHING, starts=SubRequests(1, count=4, keeps=keeps))
        outcome = run(
            Route("all", (single(begins),)), part, stations=(*STATIONS, *nodes), groups=(group,), requests=at(0.0)
        )
        return outcome.visits[4:].tolist()

    assert visits((0,)) == [5, 0, 0, 0]
    assert visits(()) == [2, 1, 1, 1]


def test_a_further_attempt_goes_to_another_member_than_that_of_the_parent():
    """Node 0 has died when the parts begin: each of them is refused there, and succeeds at node 1 or 2."""
    nodes = tuple(Station(f"node {n}", "node", Discipline.INFINITE_SERVER, 1, (n,)) for n in range(3))
    group = Group(Choice.ROUND_ROBIN, np.arange(4, 7, dtype=np.int32)[:, None])
    part = Route("part", (single(Visit(Bound(0), ServiceDemand(constant=1.0))),), policy=Policy(retries=1))
    begins = single(Visit(Bound(0), NOTHING), takes(1.0, starts=SubRequests(1, count=4, keeps=(0,))))
    outcome = run(
        Route("all", (begins,)), part, stations=(*STATIONS, *nodes), groups=(group,),
        scenario=(Action(ActionKind.DOWN, 4, 0.5),), requests=at(0.0),
    )  # fmt: skip
    assert not outcome.failure.any() and sorted(outcome.visits[5:7].tolist()) == [2, 2]


def test_sub_requests_keep_coordinators_and_have_rows_in_turn():
    """Two nodes, and keys of two drives: sub-requests go to the parent's node, and to the drives in turn."""
    names = ("node 0", "node 1", "drive 0", "drive 1")
    nodes = tuple(Station(name, name, Discipline.INFINITE_SERVER) for name in names)
    table = JoinedTable(
        np.array([[6], [7]], np.int32), np.array([[4], [5]], np.int32), np.array([[-2, -1]], np.int32),
        np.zeros((1, 2), np.int32), np.empty((2, 0), np.int64),
    )  # fmt: skip
    group = Group(Choice.ROUND_ROBIN, table.coordinators, 0)
    part = Route("part", (single(*(Visit(Bound(0, n), ServiceDemand(constant=1.0)) for n in (0, 1))),))

    def visits(sub: SubRequests) -> list[int]:
        parent = Route("all", (single(Visit(Bound(0), NOTHING, starts=sub)),))
        requests = dataclasses.replace(at(0.0), key_hash=np.zeros(1, np.uint64))
        outcome = run(
            parent, part, stations=(*STATIONS, *nodes), groups=(group,), placements=(table,), requests=requests
        )
        return outcome.visits[4:].tolist()

    step = {"count": 4, "own_keys": False}
    assert visits(SubRequests(1, keeps=(0,), **step)) == [5, 0, 4, 0]
    assert visits(SubRequests(1, keeps=(0,), key_step=1, **step)) == [5, 0, 2, 2]
    assert visits(SubRequests(1, **step)) == [3, 2, 4, 0]


def test_critical_paths_go_through_the_sub_request_that_was_waited_for_last():
    # Two at a time at one server. The last one began when the second ended, at 2.25 s, and both had to wait.
    part = Route("part", (single(takes(1.0, SERVER), takes(0.25)),))
    outcome = run(Route("all", (starting(SubRequests(1, count=4, parallel=2), takes(0.5, CLIENT)),)), part, paths=True)
    assert outcome.end_s.tolist() == [4.75]
    client, server, delay, tokens = outcome.path_s[0, 1:].reshape(-1, 2).tolist()
    assert outcome.path_s[0, 0] == 0.0
    assert (client, server, delay, tokens) == ([0.0, 0.5], [1.75, 2.0], [0.0, 0.5], [0.0, 0.0])


def test_time_lost_to_failed_attempts_of_sub_requests_is_the_time_before_winning_attempts():
    part = Route("part", (single(takes(1.0)),), policy=Policy(timeout_s=2.0, retries=1, backoff_s=0.5))
    down = Action(ActionKind.DOWN, DELAY, 0.5), Action(ActionKind.UP, DELAY, 0.75)
    outcome = run(Route("all", (starting(SubRequests(1)),)), part, paths=True, scenario=down)
    assert outcome.end_s.tolist() == [1.0 + 0.5 + 1.0]  # lost at 1 s, again at 1.5 s
    assert outcome.path_s[0, 0] == 1.5
    assert outcome.path_s[0, 1:].sum() == 1.0


def test_impossible_sub_requests_are_refused():
    for sub, said in (
        (SubRequests(2), "does not exist"),
        (SubRequests(0), "without end"),
        (SubRequests(1, keeps=(0,)), "keeps the member"),
    ):
        with pytest.raises(ValueError, match=said):
            Network(STATIONS, (Route("all", (starting(sub),)), CHILD))
    for wrong in (
        {"count": 0},
        {"parallel": 0},
        {"chunk_bytes": 4, "count": 2},
        {"size_bytes": -1},
        {"need": 0},
        {"key_step": 1},
    ):
        with pytest.raises(ValueError, match=r"must be at least|give chunk_bytes|own keys"):
            SubRequests(1, **wrong)


def test_thousands_in_progress_at_a_queue():
    part = Route("part", (single(*exponential(SERVER, 0.001).visits, *exponential(DELAY).visits),))
    sub = SubRequests(1, count=4000, need=3900, cancels=True)
    outcome = run(Route("all", (starting(sub),)), part, requests=at(0.0, 0.5, 0.5), paths=True)
    assert (outcome.winner == 1).all()


def test_a_million_in_progress():
    network = Network(STATIONS, (Route("all", (starting(SubRequests(1, count=1_000_000)),)), CHILD))
    outcome = compiled_engine.run(Program.of(network, at(0.0), 1))
    assert (outcome.end_s[0], outcome.visits[DELAY], outcome.busy_s[DELAY]) == (2.0, 1_000_000, 2_000_000.0)


def test_requests_with_many_sub_requests_are_drawn_in_smaller_chunks():
    parent = Route("all", (starting(SubRequests(1, count=100, parallel=1)),))
    network = Network(STATIONS, (parent, CHILD))
    program = Program.of(network, poisson(3000, 1.0, 1), 1)
    assert 100 < program.chunk < 1000
    assert Program.of(Network(STATIONS, (CHILD,)), poisson(3000, 1.0, 1), 1).chunk == CHUNK
    whole = compiled_engine.run(dataclasses.replace(program, chunk=CHUNK))
    assert_identical(whole, compiled_engine.run(program))


# The boundary.


@pytest.mark.parametrize(
    ("column", "row", "value"),
    [
        ("first", 1, 2),
        ("first", 2, 99),
        ("route", 3, 2),
        ("route", 3, -1),
        ("first_family", 0, -1),
        ("first_family", 1, 9),
        ("first_child", 1, 99),
        ("first_child", 0, -1),
        ("first_child", 2, 1),
        ("visits.first", 0, 99),
        ("visits.first", 0, -1),
        ("visits.station", 2, 99),
        ("visits.demand_s", 2, math.nan),
    ],
)
def test_sub_requests_out_of_range_are_refused(column, row, value):
    parent = Route("all", (starting(SubRequests(1, count=3)),))
    program = Program.of(Network(STATIONS, (parent, CHILD)), at(0.0, 1.0), 1)

    def draw(first: int, count: int) -> Sheet:
        sheet = program.draw(first, count)
        found = sheet.descendants
        assert found is not None
        of, _, name = column.rpartition(".")
        changed = getattr(found.visits if of else found, name).copy()
        if len(changed):
            changed[row] = value
        visits = dataclasses.replace(found.visits, **{name: changed}) if of else found.visits
        changes = {"visits": visits} if of else {name: changed}
        return dataclasses.replace(sheet, descendants=dataclasses.replace(found, **changes) if len(sheet) else found)

    with pytest.raises(ValueError, match=r"request \d has sub-requests that do not exist, or that are out of range"):
        compiled_engine.run(dataclasses.replace(program, draw=draw))


def test_a_sheet_without_sub_requests_is_refused():
    program = Program.of(Network(STATIONS, (Route("all", (starting(SubRequests(1)),)), CHILD)), at(0.0), 1)

    def draw(first: int, count: int) -> Sheet:
        return dataclasses.replace(program.draw(first, count), descendants=None)

    with pytest.raises(ValueError, match="differ in length"):
        compiled_engine.run(dataclasses.replace(program, draw=draw))


# Theory.


def exponential(station: int, mean_s: float = 1.0) -> Route:
    return Route("part", (single(Visit(station, ServiceDemand(constant=mean_s, distribution=Exponential()))),))


def harmonic(n: int) -> float:
    return sum(1 / i for i in range(1, n + 1))


def latency_s(outcome: Outcome) -> np.ndarray:
    return outcome.end_s - outcome.start_s


@pytest.mark.parametrize("need", [1, 3, 5])
def test_order_statistics_of_exponential_sub_requests(need):
    outcome = run(
        Route("all", (starting(SubRequests(1, count=5, need=need)),)),
        exponential(DELAY),
        requests=poisson(4000, 1.0, 7),
    )
    assert latency_s(outcome).mean() == pytest.approx(harmonic(5) - harmonic(5 - need), rel=0.04)


def test_batches_of_exponential_sub_requests():
    # With p of k in progress, ends have the rate p until the last p begin, and then p, p - 1, …, 1.
    parent = Route("all", (starting(SubRequests(1, count=10, parallel=3)),))
    outcome = run(parent, exponential(DELAY), requests=poisson(4000, 1.0, 7))
    assert latency_s(outcome).mean() == pytest.approx(7 / 3 + harmonic(3), rel=0.03)


def test_fork_join_of_two_queues():
    # Two M/M/1 queues with the same arrivals: Nelson and Tantawi, IEEE Transactions on Computers 37(6), 1988, eq. 3.
    nodes = tuple(Station(f"node {n}", "node", Discipline.FIFO, 1, (n,)) for n in range(2))
    group = Group(Choice.ROUND_ROBIN, np.arange(4, 6, dtype=np.int32)[:, None])
    part = Route("part", (single(Visit(Bound(0), ServiceDemand(constant=1.0, distribution=Exponential()))),))
    outcome = run(
        Route("all", (starting(SubRequests(1, count=2)),)), part, stations=(*STATIONS, *nodes), groups=(group,),
        requests=poisson(60_000, 0.5, 7),
    )  # fmt: skip
    assert outcome.visits[4] == outcome.visits[5]
    assert latency_s(outcome).mean() == pytest.approx((12 - 0.5) / 8 * 1 / (1 - 0.5), rel=0.03)


def test_a_closed_batch_is_a_closed_network_of_as_many_customers():
    # Mean value analysis of a server and a delay, both of mean 1 s, with 3 customers: X(1) = 1/2, X(2) = 4/5.
    part = Route("part", (single(*exponential(SERVER).visits, *exponential(DELAY).visits),))
    count = 40_000
    outcome = run(Route("all", (starting(SubRequests(1, count=count, parallel=3)),)), part)
    queue, throughput = 0.0, 0.0
    for customers in range(1, 4):
        residence_s = 1.0 + queue
        throughput = customers / (residence_s + 1.0)
        queue = throughput * residence_s
    assert count / outcome.end_s[0] == pytest.approx(throughput, rel=0.02)
