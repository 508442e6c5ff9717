"""Bounds without simulation: what is simulated never lies outside them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from models.network.demand_sheet import Requests, Sheet, draw_sheet
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.route import Chance, Route, Stage, Visit, single
from models.network.scenario import Action, ActionKind
from models.network.service_demand import ServiceDemand
from models.network.station import UNBOUNDED, Choice, Member, Station
from models.shared import steps
from models.store import compile_spec, load_spec
from sim.analysis.bounds import bounds
from sim.analysis.bounds_result import Between
from sim.demands.certainty import may_fail
from sim.demands.changed_networks import with_all_visits, with_service_demands
from sim.demands.lineage import Lineage, flattened
from sim.demands.service_demands import Demands, mean_demands
from sim.demands.supported_features import uncounted_feature
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from sim.json_form import to_json
from tests.models.test_store import EXAMPLE
from tests.networks import SHAPES, closed, networks, one_station, poisson, policies, programs, requests_for
from tests.profiles import examples
from tests.sim.analysis.drawn_demands import drawn_demands
from traces.errors import InputError
from traces.trace import Pacing
from traces.workload.distributions import Deterministic, Exponential, Lognormal
from traces.workload.generate import generate

ROUNDING = 1e-9
ROWS = ("route", "size_bytes", "key_hash", "arrival_s", "think_s", "phase")


def constant(seconds: float) -> ServiceDemand:
    return ServiceDemand(constant=seconds)


def simulated(network: Network, requests: Requests, seed: int = 1) -> Outcome:
    return compiled_engine.run(Program.of(network, requests, seed))


def assert_inside(program: Program) -> None:
    """Operational laws hold for the demands that were drawn, to the rounding, but for how a run starts and ends."""
    run = compiled_engine.run(program)
    responded, clock_s = run.winner > 0, run.clock_s
    n = int(responded.sum())
    if not n or not clock_s:
        return
    requested = requested_of(program, responded)
    if program.pacing.loop == "closed" or requested.arrival_s[-1]:
        assert_run_inside(program, run, requested, drawn_demands(program, run.winner))


def assert_run_inside(program: Program, run: Outcome, requested: Requests, demands: Demands) -> None:
    """The requests that a run has answered are `requested`, with these demands."""
    network, responded, clock_s, n = program.network, run.winner > 0, run.clock_s, len(requested)
    found = bounds(network, requested, demands)
    took_s, more, less = (run.end_s - run.start_s)[responded], 1 + ROUNDING, 1 - ROUNDING

    most_ops = found.throughput_ops.high
    assert most_ops is None or n / clock_s <= most_ops * more
    assert took_s.mean() >= float(demands.fraction @ demands.no_contention_s) * less
    for route, no_contention_s in enumerate(demands.no_contention_s):
        mine = requested.route == route
        if mine.any():
            assert took_s[mine].mean() >= no_contention_s * less
    busy_s = np.array([run.busy_s[list(resource.stations)].sum() for resource in demands.resources])
    assert (busy_s >= n * demands.low_s * less - 1e-12).all()
    json.dumps(to_json(found), allow_nan=False)
    if program.background or run.in_flight:  # other work, or requests that wait for one another's tokens
        return
    rows = {row.name: row for row in found.stations}
    for resource, busy in zip(demands.resources, busy_s, strict=True):
        most = rows[resource.name].utilization.high if resource.name in rows else None
        assert most is None or busy / clock_s / (rows[resource.name].servers or 1) <= most * more + 1e-12
    if not any(may_fail(network, network.routes[k]) for k in np.unique(requested.route)):
        assert (busy_s <= n * demands.high_s * more + 1e-12).all()
        if program.pacing.loop == "closed":
            assert_closed_inside(network, program.pacing, requested, run, found, program.draw(0, n))


def requested_of(program: Program, chosen: np.ndarray) -> Requests:
    """The chosen ones of a program's requests; their sizes matter no more once their demands are drawn."""
    sheet = program.draw(0, len(chosen))
    columns = {name: getattr(sheet, name)[chosen] for name in ("route", "key_hash", "arrival_s", "think_s", "phase")}
    return Requests(size_bytes=np.zeros(chosen.sum(), np.int64), pacing=program.pacing, **columns)


def assert_closed_inside(
    network: Network, pacing: Pacing, requested: Requests, run: Outcome, found: dict, sheet: Sheet
) -> None:
    # Clients start one after the other, and stop one after the other: then fewer than all of them think, or are at
    # infinite servers, while no server works.
    n, clients, phases = len(run.end_s), pacing.clients, len(np.unique(sheet.phase))
    flat = flattened(sheet)
    order = np.argsort(flat.first_visit)
    each_s = np.empty(len(order))
    each_s[order] = np.add.reduceat(np.maximum(flat.demand_s, 0), flat.first_visit[order])
    longest_s = np.bincount(Lineage.of(network, sheet).root, each_s).max()
    edge_s = phases * ((clients - 1) * pacing.stagger_s + requested.think_s.max() + 2 * longest_s)
    most_s, response_s = found.response_s.high, float((run.end_s - run.start_s).mean())
    if most_s is not None:
        assert run.clock_s <= (n * (requested.think_s.mean() + most_s) / clients + edge_s) * (1 + ROUNDING)
        assert response_s <= (most_s + clients * edge_s / n) * (1 + ROUNDING)
    idle_s = clients * run.clock_s - (requested.think_s + run.end_s - run.start_s).sum()
    assert response_s + idle_s / n >= found.response_s.low * (1 - ROUNDING) - 1e-12


@examples(50)
@given(st.data(), st.integers(0, 2**32))
def test_random_networks_stay_inside(data, seed):
    network = data.draw(networks(plain=True))
    requests = data.draw(requests_for(network))
    assume(requests.pacing.loop == "closed" or requests.arrival_s[-1] > 0)
    assert_inside(Program.of(network, requests, seed))


def undisturbed(program: Program, tokens: bool) -> Program:
    """The program without background work, agenda and failures; without `tokens`, pools are servers."""
    network = program.network
    stations = tuple(
        replace(station, queue_limit=UNBOUNDED, repeat_limit=UNBOUNDED)
        if tokens or station.discipline is not Discipline.POOL
        else replace(station, discipline=Discipline.FIFO)
        for station in network.stations
    )
    routes = tuple(replace(route, policy=replace(route.policy, timeout_s=math.inf)) for route in network.routes)
    return replace(program, network=replace(network, stations=stations, routes=routes, scenario=()), background=())


@examples(50)
@given(programs())
def test_random_programs_stay_inside(program):
    assert_inside(program)


@examples(50)
@given(programs(), st.booleans())
def test_undisturbed_programs_stay_inside(program, tokens):
    assert_inside(undisturbed(program, tokens))


def with_sure_sub_requests(network: Network) -> Network:
    """Return the network with sub-requests whose route and key do not depend on the seed.

    They take the first of their routes, not one at random, and keep the keys of their parents' objects.
    """

    def sure(visit: Visit) -> Visit:
        if visit.starts is None:
            return visit
        return replace(visit, starts=replace(visit.starts, route=visit.starts.routes[0], new_keys=False))

    return replace(network, routes=tuple(replace(r, stages=steps.revised(r.stages, sure)) for r in network.routes))


def without_conflicts(network: Network) -> Network:
    """Return the network with infinite servers for counters of commits: which transactions conflict is chance."""
    counts = [station.discipline is Discipline.OPTIMISTIC for station in network.stations]
    stations = tuple(
        Station(station.name, "server", Discipline.INFINITE_SERVER, 1, station.indices) if is_counter else station
        for station, is_counter in zip(network.stations, counts, strict=True)
    )
    return replace(network, stations=stations)


@examples(50)
@given(st.data(), st.integers(0, 2**32), st.booleans())
def test_expected_demands_bound_what_leaves_nothing_to_chance(data, seed, tokens):
    drawn = without_conflicts(with_sure_sub_requests(with_all_visits(data.draw(networks()))))
    requests = data.draw(requests_for(drawn))
    certain = with_service_demands(drawn, lambda law: law.model_copy(update={"distribution": Deterministic()}))
    groups = tuple(
        replace(g, choice=max(g.choice, Choice.LEAST_OUTSTANDING) if g.choice else g.choice) for g in drawn.groups
    )
    program = undisturbed(Program.of(replace(certain, groups=groups, scenario=()), requests, seed), tokens)
    run = compiled_engine.run(program)
    rows = requests.rows(0, len(run.end_s))
    requested = Requests(**{name: getattr(requests, name)[rows] for name in ROWS}, pacing=requests.pacing)
    if (
        len(rows)
        and run.clock_s
        and not run.in_flight
        and (requested.pacing.loop == "closed" or requested.arrival_s[-1])
    ):
        assert_run_inside(program, run, requested, mean_demands(program.network, requested))


@st.composite
def token_programs(draw) -> Program:
    """Requests on forks that take and give back tokens of two pools, some by key, with little else."""
    stations = (
        Station("a", "pool", Discipline.POOL, draw(st.integers(1, 4))),
        Station("b", "pool", Discipline.POOL, 4, ("b",)),
        Station("wire", "network", Discipline.INFINITE_SERVER), Station("drive", "drive", Discipline.FIFO, 2),
    )  # fmt: skip
    demand = st.builds(ServiceDemand, constant=st.sampled_from([0.5, 2.0]), distribution=st.sampled_from(SHAPES))
    pool = st.sampled_from([0, 0, 1, Member(0, 0)])
    chances = draw(st.sampled_from([[None], [None, Chance(0.5)], [Chance(0.5)]]))
    visit = st.one_of(
        st.builds(Visit, st.sampled_from([2, 2, 2, 3]), demand),
        st.builds(Visit, pool, st.just(ServiceDemand()), st.booleans(), chance=st.sampled_from(chances)),
    )
    branch = st.lists(visit, min_size=1, max_size=5).map(tuple)

    @st.composite
    def stages(draw):
        branches = tuple(draw(st.lists(branch, min_size=1, max_size=2)))
        return Stage(branches, draw(st.integers(1, len(branches))))

    route = Route("r", tuple(draw(st.lists(stages(), min_size=1, max_size=3))), policy=draw(policies()))
    network = Network(stations, (route,), (np.array([[0], [1]], np.int32),))
    requests = poisson(draw(st.integers(1, 6)), 0.1, seed=draw(st.integers(0, 99)))
    requests.key_hash[:] = np.arange(len(requests))
    return Program.of(network, requests, draw(st.integers(0, 99)))


@examples(75)
@given(token_programs())
def test_random_tokens_stay_inside(program):
    assert_inside(program)


@pytest.mark.parametrize("seed", range(12))
def test_tokens_that_only_a_hedge_takes_are_held_for_an_unknown_time(seed):
    pool, wire = Station("a", "pool", Discipline.POOL, 4), Station("wire", "network", Discipline.INFINITE_SERVER)
    visits = single(Visit(0, ServiceDemand(), chance=Chance(0.5)), Visit(1, constant(1.0)))
    network = Network((pool, wire), (Route("GET", (visits,), policy=Policy(hedge_after_s=0.5)),))
    assert_inside(Program.of(network, poisson(1, 0.1, seed=1), seed))


@pytest.mark.parametrize("clients", [1, 8, 64])
@pytest.mark.parametrize("drives", [1, 4])
def test_minio_stays_inside(clients, drives):
    overrides = [f"workload.clients={clients}", f"drives.count={drives}", "workload.duration=null"]
    spec = load_spec(EXAMPLE, [*overrides, "workload.operations=4000"])
    network, requests = compile_spec(spec, generate(spec.workload, seed=2))
    assert_inside(Program.of(network, requests, 2))


exponential = ServiceDemand(constant=1.0, distribution=Exponential())
TAKE, GIVE_BACK = Visit(0, ServiceDemand()), Visit(0, ServiceDemand(), releases=True)


def forked() -> Network:
    """PUTs go to both members of the key's group, one of which has to answer; GETs to one; all pass the core."""
    stations = (
        Station("core", "cpu", Discipline.FIFO, 2),
        *(Station(f"drive {i}", "drive", Discipline.FIFO, indices=(i,)) for i in (1, 2, 3)),
        Station("wire", "network", Discipline.INFINITE_SERVER),
    )
    write, read = ServiceDemand(constant=3.0, per_byte=0.5), ServiceDemand(constant=1.0, distribution=Exponential())
    put = Route(
        "PUT",
        (
            single(Visit(0, constant(2.0)), Visit(4, constant(7.0))),
            Stage(((Visit(Member(0, 0), write),), (Visit(Member(0, 1), constant(6.0)), Visit(0, constant(0.5)))), 1),
        ),
    )
    get = Route("GET", (Stage(((Visit(Member(0, 0), read),), (Visit(0, constant(0.25)), Visit(0, read))), 2),))
    return Network(stations, (put, get, Route("HEAD", get.stages)), (np.array([[1, 2], [3, 2]], np.int32),))


def four_requests() -> Requests:
    requests = poisson(4, 1.0, seed=1)
    requests.route[:] = [0, 0, 0, 1]
    requests.size_bytes[:] = [0, 4, 8, 8]
    requests.key_hash[:] = [0, 1, 2, 3]
    requests.arrival_s[:] = [2.0, 20.0, 40.0, 80.0]
    return requests


def test_demands_are_those_written_down():
    demands = mean_demands(forked(), four_requests())
    assert demands.fraction.tolist() == [0.75, 0.25, 0.0]
    # Core, drives 1, 2, 3 by key, wire: all branches count, whether the stage needs them or not.
    assert demands.mean_s[0] == pytest.approx([2.5, (3 + 7) / 3, 6, 5 / 3, 7])
    assert demands.mean_s[1] == pytest.approx([1.25, 0, 0, 1, 0])
    assert demands.visits[:2].tolist() == pytest.approx(np.array([[2, 2 / 3, 1, 1 / 3, 1], [2, 0, 0, 1, 0]]))
    assert demands.low_s == pytest.approx([8.75 / 4, 10 / 4, 18 / 4, 6 / 4, 21 / 4])
    assert demands.low_s.tolist() == demands.high_s.tolist()
    # A PUT is answered by the sooner of its branches, 3, 5 or 6.5 s; a GET no sooner than the mean of its later one.
    assert demands.no_contention_s == pytest.approx([9 + (3 + 5 + 6.5) / 3, 1.25, 0])


def test_random_laws_do_not_bound_who_comes_first():
    first = Stage(((Visit(0, ServiceDemand(constant=1.0, distribution=Exponential())),),) * 2, 1)
    network = Network((Station("s", "s", Discipline.INFINITE_SERVER),), (Route("r", (first,)),))
    requests = poisson(20_000, 1.0, seed=1)
    assert mean_demands(network, requests).no_contention_s.tolist() == [0.0]
    drawn = drawn_demands(Program.of(network, requests, 1), np.ones(20_000, np.int16))
    assert drawn.no_contention_s[0] == pytest.approx(0.5, rel=0.03)


def test_drawn_demands_have_the_mean_of_their_laws():
    network, requests = forked(), four_requests()
    many = Requests(**{
        name: np.tile(getattr(requests, name), 5000) for name in ROWS
    })  # fmt: skip
    drawn, mean = drawn_demands(Program.of(network, many, 7), np.ones(20_000, np.int16)), mean_demands(network, many)
    assert drawn.mean_s == pytest.approx(mean.mean_s, rel=0.03)
    assert drawn.visits == pytest.approx(mean.visits)
    assert (drawn.no_contention_s >= mean.no_contention_s - 1e-9).all()


def test_open_loop_by_hand():
    found = bounds(forked(), four_requests())
    assert found.load.loop == "open"
    assert found.load.offered_ops == 4 / 80
    assert found.bottleneck == "drive 2"
    assert found.max_throughput_ops == pytest.approx(4 / 18)
    assert found.throughput_ops == Between(0.05, 0.05)
    assert found.response_s.high is None
    assert [row.name for row in found.stations] == ["drive 2", "drive 1", "drive 3", "core", "wire"]
    assert found.stations[3].utilization == Between(
        pytest.approx(0.05 * 8.75 / 4 / 2), pytest.approx(0.05 * 8.75 / 4 / 2)
    )
    assert found.stations[4].servers is None
    assert [row.name for row in found.routes] == ["PUT", "GET"]
    assert next(iter(found.routes[0].demand_s.items())) == ("drive", pytest.approx(11.0))
    assert "fork" in found.exact.reason
    json.dumps(to_json(found), allow_nan=False)


def test_open_loop_beyond_saturation():
    network = one_station(Station("s", "s", Discipline.FIFO), ServiceDemand(constant=1.0, distribution=Lognormal(cv=1)))
    requests = poisson(20_000, 3.0, seed=1)
    found = bounds(network, requests)
    assert found.throughput_ops == Between(1.0, 1.0)
    assert found.stations[0].utilization == Between(1.0, 1.0)
    run = simulated(network, requests)
    assert 20_000 / run.clock_s == pytest.approx(1.0, rel=0.03)


@pytest.mark.parametrize("clients", [1, 3, 30])
def test_closed_loop_by_hand(clients):
    stations = (Station("a", "cpu", Discipline.FIFO, 2), Station("b", "drive", Discipline.FIFO))
    route = Route("r", (single(Visit(0, constant(3.0)), Visit(1, constant(1.0))),))
    network = Network(stations, (route,))
    requests = closed(3000, 0.0, seed=1, clients=clients)
    requests.think_s[:] = 2.0
    found = bounds(network, requests)
    assert found.bottleneck == "a"
    low, high = clients / (2 + 4 * clients), min(2 / 3, clients / 6)
    assert found.throughput_ops == Between(pytest.approx(low), pytest.approx(high))
    least_s = max(4, clients * 1.5 - 2)
    assert found.response_s == Between(pytest.approx(least_s), pytest.approx(4 * clients))
    run = simulated(network, requests)
    assert low * 0.99 <= 3000 / run.clock_s <= high
    assert least_s * 0.99 <= (run.end_s - run.start_s).mean() <= 4 * clients


def test_members_of_a_batch_bound_throughput():
    commit = Station("journal", "journal", Discipline.GROUP_COMMIT, batch_item_s=0.1)
    network = one_station(commit, constant(1.0))
    requests = closed(3000, 0.0, seed=1, clients=12)
    found = bounds(network, requests)
    assert found.stations[0].demand_s == Between(pytest.approx(0.1), pytest.approx(1.0))
    assert found.max_throughput_ops == pytest.approx(10.0)
    # Two batches of six alternate: 1 s for the first, 0.1 s for each of five more.
    assert 3000 / simulated(network, requests).clock_s == pytest.approx(6 / 1.5, rel=0.01)
    assert "GROUP_COMMIT" in found.exact.reason


def test_batches_do_not_saturate():
    commit = Station("journal", "journal", Discipline.GROUP_COMMIT)
    network = one_station(commit, constant(1.0))
    found = bounds(network, closed(10, 0.0, seed=1, clients=12))
    assert found.bottleneck is None
    assert found.max_throughput_ops is None
    assert found.throughput_ops == Between(pytest.approx(1.0), pytest.approx(12.0))
    assert found.response_s == Between(pytest.approx(1.0), pytest.approx(12.0))


def test_commits_of_other_requests_may_be_shorter():
    # The second request may join a batch whose first member takes 1 s, though its own would take 5 s.
    commit = Station("journal", "journal", Discipline.GROUP_COMMIT, batch_item_s=0.5)
    routes = tuple(Route(f"r{s}", (single(Visit(0, constant(s))),)) for s in (1.0, 5.0))
    network = Network((commit,), routes)
    requests = poisson(4, 1.0, seed=1)
    requests.route[:] = [0, 1, 0, 1]
    demands = mean_demands(network, requests)
    assert demands.no_contention_s.tolist() == [1.0, 1.5]
    assert demands.low_s.tolist() == [0.5]  # all may be members of one batch
    assert demands.high_s.tolist() == [3.0]


def test_hedges_keep_the_capacity_an_upper_bound():
    station = Station("drive", "drive", Discipline.FIFO, 2)
    route = Route("GET", (single(Visit(0, exponential)),), policy=Policy(hedge_after_s=1.5, cancels=False))
    network = Network((station,), (route,))
    found = bounds(network, closed(20_000, 0.0, seed=1, clients=6))
    assert found.stations[0].demand_s == Between(1.0, 2.0)
    assert found.throughput_ops == Between(0.5, 2.0)
    assert 0.5 <= 20_000 / simulated(network, closed(20_000, 0.0, seed=1, clients=6)).clock_s <= 2.0


def test_what_fails_is_no_bound_of_what_is_answered():
    """Clients whose requests are refused come again at once: neither throughput nor response limits the other."""
    stations = (
        Station("tokens", "pool", Discipline.POOL, 1, queue_limit=0),
        Station("drive", "drive", Discipline.FIFO),
    )
    route = Route("GET", (single(TAKE, Visit(1, exponential), GIVE_BACK),))
    network = Network(stations, (route,))
    requests = closed(2000, 0.0, seed=1, clients=5)
    requests.think_s[:] = 0.1
    found = bounds(network, requests)
    assert found.throughput_ops == Between(0.0, pytest.approx(1.0))
    assert found.response_s == Between(0.0, None)
    assert [row.utilization.high for row in found.stations] == [1.0, 1.0]
    assert any("may be refused" in note for note in found.notes)
    run = simulated(network, requests)
    assert (run.failure > 0).mean() > 0.5
    assert (run.winner > 0).sum() / run.clock_s <= run.visits[1] / run.busy_s[1]  # 1 on average


def test_the_agenda_may_only_take_away():
    scenario = (Action(ActionKind.SPEED, 0, at_s=2.0, value=4.0), Action(ActionKind.SPEED, 0, at_s=50.0, value=0.5))
    network = one_station(Station("drive", "drive", Discipline.FIFO), constant(1.0))
    found = bounds(replace(network, scenario=scenario), closed(10, 0.0, seed=1, clients=3))
    assert found.throughput_ops == Between(0.0, 4.0)
    assert found.stations[0].demand_s == Between(0.25, 2.0)
    assert "greatest speed" in found.notes[1]
    assert "scenario" in found.exact.reason


def test_background_commits_may_begin_a_batch():
    commit = Station("journal", "journal", Discipline.GROUP_COMMIT, batch_item_s=0.1)
    quick, slow = (Route(name, (single(Visit(0, constant(s))),)) for name, s in (("quick", 0.2), ("slow", 5.0)))
    network = Network((commit,), (slow, quick))
    requests, others = poisson(4, 1.0, seed=1), poisson(4, 1.0, seed=1)
    requests.arrival_s[:], others.route[:] = [1.1, 10.1, 20.1, 30.1], 1
    others.arrival_s[:] = [1.0, 10.0, 20.0, 30.0]
    background = (draw_sheet(network, others, 1, 0, 4),)
    program = replace(Program.of(network, requests, 1), background=background)
    run = compiled_engine.run(program)
    assert (run.end_s - run.start_s)[0] > 1.0  # each begins a batch of its own
    requests.arrival_s[:] = [1.0, 10.0, 20.0, 30.0]  # these join the next one
    demands = drawn_demands(program, run.winner)
    assert (demands.low_s[0], demands.no_contention_s[0]) == (pytest.approx(0.1), pytest.approx(0.1))
    assert drawn_demands(Program.of(network, requests, 1), run.winner).no_contention_s[0] == pytest.approx(5.0)


@dataclass(frozen=True)
class Ageing(Station):
    """A station with a feature that is unknown."""

    age_s: float = 0.0


def test_features_that_demands_do_not_count_are_named():
    assert uncounted_feature(one_station(Ageing("s", "s", Discipline.FIFO), constant(1.0))) is None
    network = one_station(Ageing("s", "s", Discipline.FIFO, age_s=3.0), constant(1.0))
    with pytest.raises(InputError, match="age_s of s"):
        bounds(network, closed(5, 0.0, seed=1))


def test_nothing_asked_and_all_at_once_are_refused():
    network = one_station(Station("s", "s", Discipline.FIFO), constant(1.0))
    with pytest.raises(InputError, match="no requests"):
        bounds(network, poisson(0, 1.0, seed=1))
    requests = poisson(3, 1.0, seed=1)
    requests.arrival_s[:] = 0.0
    with pytest.raises(InputError, match="at once"):
        bounds(network, requests)
