"""Where the time of a request goes, on both engines."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.route import Route, Stage, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Station
from models.store import load_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program, RequestOutcomes
from sim.engine.reference import engine as simpy_engine
from sim.run_tables import CriticalPaths
from sim.simulate import simulate
from tests.networks import one_station, poisson
from traces.run import EARLIER_ATTEMPTS

ENGINES = pytest.mark.parametrize("engine", [simpy_engine, compiled_engine])


def at(*arrival_s: float, key_hash: int = 0) -> Requests:
    """Requests of the first route at these times."""
    n, zeros = len(arrival_s), np.zeros(len(arrival_s))
    keys = np.full(n, key_hash, np.uint64)
    return Requests(zeros.astype(np.int32), zeros.astype(np.int64), keys, np.array(arrival_s), zeros,
                    zeros.astype(np.int32))  # fmt: skip


def fixed(seconds: float) -> ServiceDemand:
    return ServiceDemand(constant=seconds)


def paths(engine, network: Network, requests: Requests) -> list[dict[str, tuple[float, float]]]:
    """Waiting and service by role of each request, where there is any."""
    path_s = engine.run(Program.of(network, requests, 1, paths=True)).path_s
    found = []
    for row in path_s:
        parts = {role: (row[1 + 2 * i], row[2 + 2 * i]) for i, role in enumerate(network.roles)}
        parts[EARLIER_ATTEMPTS] = (row[0], 0.0)
        found.append({role: times for role, times in parts.items() if any(times)})
    return found


@ENGINES
@pytest.mark.parametrize(
    ("need", "path"),
    [(1, {"cpu": (0.0, 1.0), "drive": (0.0, 2.0)}), (2, {"cpu": (0.0, 1.0), "network": (0.0, 5.0)})],
)
def test_the_branch_that_ends_a_stage_is_the_path(engine, need, path):
    stations = tuple(Station(role, role, Discipline.FIFO) for role in ("cpu", "drive", "network"))
    fork = Stage(((Visit(1, fixed(2.0)),), (Visit(2, fixed(5.0)),)), need)
    network = Network(stations, (Route("job", (single(Visit(0, fixed(1.0))), fork)),))
    assert paths(engine, network, at(0.0)) == [path]


@ENGINES
@pytest.mark.parametrize(
    ("discipline", "first", "second"),
    [
        (Discipline.INFINITE_SERVER, (0.0, 1.0), (0.0, 1.0)),
        (Discipline.FIFO, (0.0, 1.0), (1.0, 1.0)),
        (Discipline.PROCESSOR_SHARING, (1.0, 1.0), (1.0, 1.0)),
        (Discipline.GROUP_COMMIT, (0.0, 1.0), (1.0, 1.0)),
    ],
)
def test_waiting_and_service_of_two_at_once(engine, discipline, first, second):
    network = one_station(Station("s", "server", discipline), fixed(1.0))
    assert paths(engine, network, at(0.0, 0.0)) == [{"server": first}, {"server": second}]


@ENGINES
def test_a_pool_is_waited_for(engine):
    stations = (Station("threads", "threads", Discipline.POOL), Station("cpu", "cpu", Discipline.INFINITE_SERVER))
    route = Route("job", (single(Visit(0, fixed(0.0)), Visit(1, fixed(3.0)), Visit(0, fixed(0.0), releases=True)),))
    assert paths(engine, Network(stations, (route,)), at(0.0, 1.0)) == [
        {"cpu": (0.0, 3.0)},
        {"threads": (2.0, 0.0), "cpu": (0.0, 3.0)},
    ]


@ENGINES
def test_a_hedge_goes_to_another_replica_of_the_key(engine):
    # A scrub holds drive 0 for ten seconds. The key's replicas are on drives 0 and 1; no replica is on drive 2.
    drives = tuple(Station(f"drive {i}", "drive", Discipline.FIFO, indices=(i,)) for i in range(3))
    replicas = Group(Choice.ROUND_ROBIN, np.array([[0], [1]], np.int32), table=0)
    read, scrub = single(Visit(Bound(0), fixed(2.0))), single(Visit(0, fixed(10.0)))
    routes = (Route("GET", (read,), policy=Policy(hedge_after_s=1.0, cancels=True)), Route("scrub", (scrub,)))
    network = Network(drives, routes, (np.array([[2, 1], [0, 1]], np.int32),), groups=(replicas,))
    requests = dataclasses.replace(at(0.0, 0.5, key_hash=1), route=np.array([1, 0], np.int32))
    outcome = engine.run(Program.of(network, requests, 1, paths=True))
    assert outcome.attempts.tolist() == [1, 2] and outcome.winner.tolist() == [1, 2]
    assert outcome.visits.tolist() == [2, 1, 0]
    assert paths(engine, network, requests)[1] == {EARLIER_ATTEMPTS: (1.0, 0.0), "drive": (0.0, 2.0)}


@ENGINES
def test_a_failed_request_has_no_path(engine):
    network = one_station(Station("s", "server", Discipline.FIFO), fixed(1.0))
    route = dataclasses.replace(network.routes[0], policy=Policy(timeout_s=0.5))
    outcome = engine.run(Program.of(dataclasses.replace(network, routes=(route,)), at(0.0), 1, paths=True))
    assert np.isnan(outcome.path_s).all()


@ENGINES
def test_waiting_on_the_paths_is_the_stations_waiting(engine):
    network = one_station(Station("s", "server", Discipline.FIFO), ServiceDemand(constant=0.8))
    outcome = engine.run(Program.of(network, poisson(2000, 1.0, seed=3), 3, paths=True))
    assert np.isclose(outcome.path_s[:, 1].sum(), outcome.waiting_s[0])
    assert np.isclose(outcome.path_s[:, 2].sum(), outcome.busy_s[0])


def test_without_the_wish_there_are_no_paths():
    network = one_station(Station("s", "server", Discipline.FIFO), fixed(1.0))
    for engine in (simpy_engine, compiled_engine):
        assert engine.run(Program.of(network, at(0.0), 1)).path_s.size == 0


def test_the_critical_path_of_a_run_adds_up_to_its_latencies(pytestconfig):
    spec = load_spec(pytestconfig.rootpath / "examples" / "minio.yaml", ["workload.duration=500ms"])
    run = simulate(spec, seed=4, critical_path=True)
    path = run.critical_path
    assert path is not None and len(run) > 100
    spent_s = path.column("waiting_s").to_numpy() + path.column("service_s").to_numpy()
    total_s = np.bincount(path.column("request").to_numpy(), spent_s, minlength=len(run))
    assert np.allclose(total_s, run.column("end_s") - run.column("start_s"))
    assert {"host cpu", "journal"} <= set(path.column("role").to_pylist())
    assert simulate(spec, seed=4).critical_path is None


def test_rows_are_the_same_however_results_come():
    network = one_station(Station("s", "server", Discipline.FIFO), ServiceDemand(constant=0.8))
    route = dataclasses.replace(network.routes[0], policy=Policy(timeout_s=2.0))
    network = dataclasses.replace(network, routes=(route,))
    outcome = compiled_engine.run(Program.of(network, poisson(300, 1.0, seed=3), 3, paths=True))
    whole, parts = CriticalPaths(network), CriticalPaths(network)
    whole(outcome)
    columns = [each.name for each in dataclasses.fields(RequestOutcomes)]
    for rows in np.split(np.arange(300), [1, 100, 100, 290]):
        parts(RequestOutcomes(**{name: getattr(outcome, name)[rows] for name in columns}))
    assert 0 < (outcome.failure != 0).sum() < 300
    assert parts.table().equals(whole.table()) and whole.table().num_rows > 100
    kept = parts.kept.outcomes()
    assert all(
        np.array_equal(getattr(kept, name), getattr(outcome, name), equal_nan=name == "first_byte_s")
        for name in columns
        if name != "path_s"
    )
