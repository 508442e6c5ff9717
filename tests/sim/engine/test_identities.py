"""Random choices depend on what a station or a visit is, neither on numbers nor on names.

So a network with further stations, other names, or visits to further places has the same results in all else.
"""

from __future__ import annotations

import dataclasses
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.network.background import Background
from models.network.demand_sheet import Requests, draw_background, draw_sheet
from models.network.discipline import Discipline
from models.network.joined_table import JoinedTable, PlacementTable
from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.route import Route, Visit, single
from models.network.scenario import Action, ActionKind
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from models.network.visit_draws import PASSES_BY
from models.store import compile_spec, load_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import JITTER_STREAM, Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.networks import networks, poisson, requests_for
from tests.paths import EXAMPLES
from tests.profiles import random_examples
from traces.workload.distributions import Exponential
from traces.workload.generate import generate


def unsteady(hedge_after: str) -> tuple[str, ...]:
    return (
        "client.timeout=50ms", "client.retry.retries=2", "client.retry.backoff=5ms",
        f"client.hedge.after={hedge_after}",
    )  # fmt: skip


SPECS = {
    "one drive": ("minio.yaml", "workload.duration=1s", *unsteady("8ms")),
    "cluster with faults": (
        "minio/two-pools.yaml", "workload.duration=3s", *unsteady("8ms"), "scanner.speed=default",
        "faults=[{kind: drive_replaced, drive: 3, at: 0s, back_at: 1s}, {kind: decommission, pool: 0, at: 1s}]",
    ),
    "groups of clients": ("minio-two-groups.yaml", "workload.duration=5s", *unsteady("8ms")),
    "gateways": ("ceph/two-groups.yaml", "workload.duration=2s", "gateways.balance=power_of_two", *unsteady("8ms")),
    "gateways with faults": ("ceph/osd-down.yaml", "workload.duration=15s", *unsteady("8ms")),
    "block devices": (
        "ceph/rbd-fio.yaml", "workload.operations=3000", "client.cpu.PUT=50us", *unsteady("1.5ms"),
        "client.hedge.operations=[PUT]",
    ),
    "swift": ("swift/cluster.yaml", "workload.duration=2s", "client.machines=2", "client.cores=1", *unsteady("8ms")),
    "bob": ("bob/cluster.yaml", "workload.duration=1s", "client.nic=25Gbit/s", *unsteady("1ms")),
    "openio": ("openio/cluster.yaml", "workload.duration=3s", "client.nic=25Gbit/s", *unsteady("8ms")),
    "background load": (
        "bob/cluster.yaml", "workload.duration=1s", "background.scheduling=weighted",
        "background.loads=[{name: GET, rate: 900/s, demand: 1ms}, {name: scrub, rate: 90/s, demand: 2ms}]",
        *unsteady("1ms"),
    ),
}  # fmt: skip
"""Examples of every store, with hedged and retried requests."""


def compiled(name: str) -> tuple[Network, Requests]:
    path, *assignments = SPECS[name]
    spec = load_spec(EXAMPLES / path, assignments)
    return compile_spec(spec, generate(spec.workload, 1))


def with_others(network: Network) -> tuple[Network, list[int]]:
    """The network with other names, and unused stations in front, behind and between, but not within a pair.

    Returns it and the new number of each station.
    """
    stations: list[Station] = []
    new: list[int] = []

    def add_unused() -> None:
        stations.append(Station(f"unused {len(stations)}", "unused", Discipline.SIRO, indices=(len(stations),)))

    for station in network.stations:
        if not station.shares_server:
            add_unused()
        new.append(len(stations))
        stations.append(dataclasses.replace(station, name=f"another name {len(stations)}"))
    add_unused()
    number = np.array(new, np.int32)

    def moved(visit: Visit) -> Visit:
        at = visit.station
        return dataclasses.replace(visit, station=new[at]) if isinstance(at, int | np.integer) else visit

    def changed(action: Action) -> Action:
        if action.kind not in (ActionKind.JOIN, ActionKind.LEAVE):
            return dataclasses.replace(action, target=new[action.target])
        named = network.is_named(network.groups[action.target])
        return dataclasses.replace(action, member=new[action.member]) if named else action

    routes = [
        dataclasses.replace(
            route,
            variant=f"{route.variant} by another name",
            stages=tuple(
                dataclasses.replace(stage, branches=tuple(tuple(map(moved, branch)) for branch in stage.branches))
                for stage in route.stages
            ),
        )
        for route in network.routes
    ]
    groups = [
        group if network.is_named(group) else dataclasses.replace(group, members=number[group.members])
        for group in network.groups
    ]
    tables = tuple(_renumbered(table, number) for table in network.placements)
    scenario = tuple(map(changed, network.scenario))
    return Network(tuple(stations), tuple(routes), tables, tuple(groups), scenario), new


def _renumbered(table: PlacementTable, number: np.ndarray) -> PlacementTable:
    if not isinstance(table, JoinedTable):
        return number[table]
    joins = np.where(table.joins >= 0, number[table.joins.clip(0)], table.joins)
    keyed, coordinators = number[table.keyed], number[table.coordinators]
    return dataclasses.replace(table, keyed=keyed, coordinators=coordinators, joins=joins)


def assert_same(before: Outcome, after: Outcome, network: Network, wider: Network, new: list[int]) -> None:
    """All results are equal to the bit; those of roles and stations wherever they are now."""
    roles = [2 * wider.roles.index(role) for role in network.roles]
    columns = [0, *chain(*((1 + at, 2 + at) for at in roles))]
    for field in dataclasses.fields(Outcome):
        a, b = getattr(before, field.name), getattr(after, field.name)
        if field.name in ("visits", "busy_s", "waiting_s", "held", "waiting"):
            b = b[new]
        if field.name == "path_s" and len(a):
            b = b[:, columns]
        assert np.array_equal(a, b, equal_nan=True), field.name


@pytest.mark.parametrize("name", SPECS)
def test_further_stations_and_other_names_change_nothing_else(name):
    network, requests = compiled(name)
    wider, new = with_others(network)
    before, after = (compiled_engine.run(Program.of(each, requests, 7, paths=True)) for each in (network, wider))
    assert_same(before, after, network, wider, new)
    assert (before.attempts > 1).any()


FAULTS = [
    ("minio/nvme-8x8.yaml", "workload.duration=200ms", "{kind: host_down, host: 1, at: 100s, back_at: 101s}"),
    ("ceph/nvme-quincy.yaml", "workload.operations=2000", "{kind: osd_down, osd: 1, at: 100s, back_at: 101s}"),
    ("swift/cluster.yaml", "workload.duration=1s", "{kind: drive_down, drive: 1, at: 100s, back_at: 101s}"),
    ("bob/cluster.yaml", "workload.duration=200ms", "{kind: host_down, host: 1, at: 100s, back_at: 101s}"),
    ("openio/cluster.yaml", "workload.duration=1s", "{kind: host_down, host: 1, at: 100s, back_at: 101s}"),
    ("openio/2019-servers.yaml", "workload.operations=100", "{kind: rawx_hung, drive: 1, at: 100s, back_at: 101s}"),
]


@pytest.mark.parametrize(("path", "workload", "fault"), FAULTS, ids=[path for path, *_ in FAULTS])
def test_a_fault_after_the_end_changes_no_response(path, workload, fault):
    """Although the network has further stations, groups and columns, and other routes."""
    found = []
    for assignments in ([workload], [workload, f"faults=[{fault}]"]):
        spec = load_spec(EXAMPLES / path, assignments)
        network, requests = compile_spec(spec, generate(spec.workload, 1), np.inf)  # the fault is not left out
        found.append(compiled_engine.run(Program.of(network, requests, 7)))
    healthy, later = found
    assert len(healthy.visits) < len(later.visits)
    assert np.array_equal(healthy.start_s, later.start_s)
    assert np.array_equal(healthy.first_byte_s, later.first_byte_s, equal_nan=True)
    assert np.array_equal(healthy.end_s, later.end_s)


@given(networks(), st.data())
@random_examples(50)
def test_further_stations_change_nothing_else_in_random_networks(network, data):
    requests = data.draw(requests_for(network))
    wider, new = with_others(network)
    for engine in (simpy_engine, compiled_engine):
        before, after = (engine.run(Program.of(each, requests, 7, paths=True)) for each in (network, wider))
        assert_same(before, after, network, wider, new)


@given(networks(), st.data())
@random_examples(50)
def test_a_further_visit_leaves_the_demands_of_the_others_as_they_were(network, data):
    requests = data.draw(requests_for(network))
    further = Visit(len(network.stations), ServiceDemand(constant=1.0, distribution=Exponential()))
    stations = (*network.stations, Station("further", "further", Discipline.INFINITE_SERVER))
    changed = data.draw(st.integers(0, len(network.routes) - 1))
    route = network.routes[changed]
    s = data.draw(st.integers(0, len(route.stages) - 1))
    stage = route.stages[s]
    b = data.draw(st.integers(0, len(stage.branches) - 1))
    v = data.draw(st.integers(0, len(stage.branches[b])))
    branch = (*stage.branches[b][:v], further, *stage.branches[b][v:])
    stage = dataclasses.replace(stage, branches=(*stage.branches[:b], branch, *stage.branches[b + 1 :]))
    longer = dataclasses.replace(route, stages=(*route.stages[:s], stage, *route.stages[s + 1 :]))
    routes = (*network.routes[:changed], longer, *network.routes[changed + 1 :])
    more = dataclasses.replace(network, stations=stations, routes=routes)
    added = longer.visits.index(further)
    for before, after, k in zip(*(demands(each, requests) for each in (network, more)), requests.route, strict=True):
        if k == changed:
            after = np.delete(after, added, axis=1)
        assert np.array_equal(before, after)


def demands(network: Network, requests: Requests) -> list[np.ndarray]:
    """Demands of each request, shape (attempts, visits)."""
    sheet = draw_sheet(network, requests, 5, 0, len(requests))
    found = []
    for first, k in zip(sheet.first_visit, sheet.route, strict=True):
        route = network.routes[k]
        attempts = route.policy.attempts
        found.append(sheet.demand_s[first : first + attempts * len(route.visits)].reshape(attempts, -1))
    return found


@pytest.mark.parametrize("name", SPECS)
def test_no_two_streams_of_a_network_are_equal(name):
    network, requests = compiled(name)
    of_loads = {load.route: load.name for load in requests.background}
    by_work: dict[str, set[int]] = {}
    for k, route in enumerate(network.routes):
        found = network.streams(k, of_loads.get(k, ""))
        mine = [*chain(*found.visits), *chain(*found.chances)]
        assert len(mine) == len(set(mine)) == route.policy.attempts * (len(route.visits) + len(route.chances))
        work = f"load {of_loads[k]}" if k in of_loads else route.operation
        by_work.setdefault(work, set()).update(mine)  # a request has one route of its operation
    identities = [part.identity for part in (*network.stations, *network.groups)]
    jitter = [JITTER_STREAM + k for k in range(30)]
    everything = [*identities, *jitter, *chain(*by_work.values())]
    assert len(everything) == len(set(everything))


def test_many_stations_have_different_identities():
    stations = [
        Station("", role, Discipline.FIFO, indices=(host, drive))
        for role in ("drive", "journal", "host network") for host in range(2_000) for drive in range(20)
    ]  # fmt: skip
    identities = np.array([station.identity for station in stations], np.uint64)
    assert len(np.unique(identities)) == 120_000
    bits = (identities[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5 / np.sqrt(len(identities)) / 2


def test_routes_of_an_operation_have_common_random_numbers():
    demand = ServiceDemand(constant=1.0, distribution=Exponential())
    stations = tuple(Station(role, role, Discipline.FIFO) for role in ("cpu", "drive", "cache"))
    miss = Route("GET", (single(Visit(0, demand), Visit(1, demand), Visit(0, demand)),))
    hit = Route("GET", (single(Visit(2, demand), Visit(0, demand)),), variant="cached")
    put = Route("PUT", miss.stages)
    network, requests = Network(stations, (miss, hit, put)), poisson(100, 1.0, 0)
    by_route = [
        np.vstack(demands(network, dataclasses.replace(requests, route=np.full(100, k, np.int32)))) for k in range(3)
    ]
    assert np.array_equal(by_route[0][:, 0], by_route[1][:, 1])
    values = np.concatenate([by_route[0], by_route[1][:, :1], by_route[2]], axis=1)
    assert len(np.unique(values)) == values.size


def test_each_attempt_and_each_load_has_random_numbers_of_its_own():
    demand = ServiceDemand(constant=1.0, distribution=Exponential())
    get = Route("GET", (single(Visit(0, demand)),))
    routes = dataclasses.replace(get, policy=Policy(retries=1, hedge_after_s=1.0, timeout_s=9.0)), get
    network = Network((Station("cpu", "cpu", Discipline.FIFO),), routes)
    loads = [Background(name, 1, 100.0, 0.0, 1.0, poisson=False) for name in ("GET", "scrub")]
    of_requests = demands(network, poisson(100, 1.0, 0))
    values = np.concatenate([np.ravel(of_requests), *(draw_background(network, load, 5).demand_s for load in loads)])
    assert len(values) == (routes[0].policy.attempts + len(loads)) * 100
    assert len(np.unique(values)) == values.size


def test_retries_are_drawn_only_where_an_attempt_may_fail():
    demand = ServiceDemand(constant=1.0, distribution=Exponential())
    stations = (Station("cpu", "cpu", Discipline.FIFO),)

    def drawn(policy: Policy) -> np.ndarray:
        network = Network(stations, (Route("GET", (single(Visit(0, demand)),), policy=policy),))
        return np.stack(demands(network, poisson(100, 1.0, 0)))[:, :, 0]

    never, may_fail = drawn(Policy(retries=2)), drawn(Policy(retries=2, timeout_s=9.0))
    hedged = drawn(Policy(retries=2, hedge_after_s=1.0))
    assert np.array_equal(never[:, 0], may_fail[:, 0])
    assert (never[:, 1:] == PASSES_BY).all()
    assert (may_fail > 0).all()
    assert (hedged[:, :2] > 0).all()
    assert (hedged[:, 2:] == PASSES_BY).all()


def test_loads_of_a_network_have_different_names():
    load = Background("scrub", 0, 100.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="same name"):
        dataclasses.replace(poisson(1, 1.0, 0), background=(load, load))
