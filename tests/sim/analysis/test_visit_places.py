"""Groups without simulation: what their members have to do is known, spread evenly, or known of all together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import NO_POLICY, Policy
from models.network.route import Route, Stage, Visit, single
from models.network.station import Bound, Choice, Group, Station
from sim.analysis.bounds import bounds
from sim.demands.service_demands import mean_demands
from sim.demands.visit_places import Places, visits_together
from tests.networks import closed, poisson
from tests.sim.analysis.test_bounds import constant, simulated


def balanced(choice: Choice, policy: Policy = NO_POLICY) -> Network:
    """A wire, then one of two cores of a machine and its disk; the second machine has three cores."""
    stations = (
        Station("cpu 0", "cpu", Discipline.FIFO, 1, (0,)), Station("cpu 1", "cpu", Discipline.FIFO, 3, (1,)),
        Station("disk 0", "disk", Discipline.FIFO, 1, (0,)), Station("disk 1", "disk", Discipline.FIFO, 1, (1,)),
    )  # fmt: skip
    visits = Visit(Bound(0, 0), constant(1.0)), Visit(Bound(0, 1), constant(0.1))
    group = Group(choice, np.array([[0, 2], [1, 3]], np.int32))
    return Network(stations, (Route("GET", (single(*visits),), policy=policy),), (), (group,))


def test_a_group_by_hash_is_as_its_keys():
    network, requests = balanced(Choice.HASH), closed(4000, 0.0, seed=1, clients=20)
    requests.key_hash[:] = np.arange(4000) % 4 // 3  # three of four to the first
    found = bounds(network, requests)
    rows = {row.name: row for row in found.stations}
    assert [rows[name].visits for name in network_names(network)] == [0.75, 0.25, 0.75, 0.25]
    assert found.bottleneck == "cpu 0"
    assert found.max_throughput_ops == pytest.approx(1 / 0.75)
    assert found.notes == [
        "GET: bound to one of cpu 0 … disk 1 by the hash of its key; demands are exact for the requested keys."
    ]
    assert 4000 / simulated(network, requests).clock_s == pytest.approx(1 / 0.75, rel=0.01)


def test_places_meet_where_they_have_a_station_in_common():
    places = Places(balanced(Choice.LEAST_OUTSTANDING), [0], expected=True)
    cpus, disks = 4, 5  # after the stations, the groups' columns
    assert [places.members(place) for place in (2, cpus, disks)] == [[2], [0, 1], [2, 3]]
    found = places.meet(np.arange(6)[:, None], np.arange(6))
    assert {tuple(pair) for pair in np.argwhere(found).tolist()} == {
        pair for station, column in ((0, cpus), (1, cpus), (2, disks), (3, disks))
        for pair in ((station, column), (column, station))
    }  # fmt: skip


@given(arrays(np.int64, st.tuples(st.integers(0, 6), st.integers(0, 10)), elements=st.integers(0, 3)))
def test_visits_together_are_all_visits_of_a_request_to_a_place(place):
    found = [(i, tuple(visits)) for mine, visits in visits_together(place) for i in mine]
    each = [(i, tuple(np.flatnonzero(row == k))) for i, row in enumerate(place) for k in np.unique(row)]
    assert sorted(found) == sorted(each)


def network_names(network: Network) -> list[str]:
    return [station.name for station in network.stations]


@pytest.mark.parametrize("choice", [Choice.ROUND_ROBIN, Choice.RANDOM])
def test_a_group_that_spreads_evenly_waits_for_its_slowest(choice):
    network, requests = balanced(choice), closed(8000, 0.0, seed=1, clients=20)
    found = bounds(network, requests)
    assert (found.bottleneck, found.max_throughput_ops) == ("cpu 0", 2.0)
    run = simulated(network, requests)
    assert 8000 / run.clock_s == pytest.approx(2.0, rel=0.03)
    assert run.visits[:2] == pytest.approx([4000, 4000], rel=0.05)


@pytest.mark.parametrize("choice", [Choice.LEAST_OUTSTANDING, Choice.POWER_OF_TWO])
def test_a_group_by_load_counts_as_one(choice):
    network, requests = balanced(choice), closed(8000, 0.0, seed=1, clients=60)
    found = bounds(network, requests)
    assert [(row.name, row.kind, row.servers) for row in found.stations] == [
        ("cpu 0, cpu 1", "group", 4), ("disk 0, disk 1", "group", 2),
    ]  # fmt: skip
    assert (found.bottleneck, found.max_throughput_ops) == ("cpu 0, cpu 1", 4.0)
    assert "treated as one station" in found.notes[0]
    throughput_ops = 8000 / simulated(network, requests).clock_s
    assert 3.0 < throughput_ops <= 4.0  # evenly, it would be 2


def test_hedges_to_other_members_pool_what_keys_bind():
    """All keys go to the first member, but their second attempts do not."""
    policy = Policy(tied_after_s=0.0)
    requests = closed(4000, 0.0, seed=1, clients=60)
    assert bounds(balanced(Choice.HASH), requests).max_throughput_ops == pytest.approx(1.0)
    network = balanced(Choice.HASH, policy)
    assert bounds(network, requests).max_throughput_ops == pytest.approx(4.0)
    assert 4000 / simulated(network, requests).clock_s > 1.5


def test_a_group_of_replicas_counts_as_one_or_by_key():
    stations = tuple(Station(f"drive {i}", "drive", Discipline.FIFO, indices=(i,)) for i in range(4))
    table = np.array([[0, 1], [2, 3]], np.int32)
    requests = poisson(6, 1.0, seed=1)
    requests.key_hash[:] = [0, 0, 0, 0, 1, 2]
    route = Route("GET", (single(Visit(Bound(0), constant(1.0))),))
    columns = np.array([[0], [1]], np.int32)
    keyed = Network(stations, (route,), (table,), groups=(Group(Choice.HASH, columns, 0),))
    assert mean_demands(keyed, requests).low_s == pytest.approx(np.array([5, 0, 0, 1]) / 6)
    assert simulated(keyed, requests).busy_s.tolist() == [5.0, 0.0, 0.0, 1.0]
    free = Network(stations, (route,), (table,), groups=(Group(Choice.RANDOM, columns, 0),))
    assert mean_demands(free, requests).low_s.tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]


def later_writes(token: Discipline, held_over: tuple[Visit, ...] = ()) -> Network:
    """A short answer, and behind it a long write that takes a token first."""
    stations = (
        Station("cpu", "cpu", Discipline.FIFO), Station("disk", "disk", Discipline.FIFO),
        Station("tokens", "tokens", token, 2 if token is Discipline.POOL else 1),
        Station("other tokens", "tokens", Discipline.POOL, 2, ("other",)),
    )  # fmt: skip
    responded, write = (Visit(0, constant(0.1)),), Visit(1, constant(1.0))
    release = (Visit(2, constant(0.0), releases=True),) if token is Discipline.POOL else ()
    later = (Visit(2, constant(0.0)), *held_over, write, *release)
    turn = single(Visit(2, constant(0.0)), *release)
    return Network(stations, (Route("PUT", (turn, Stage((responded, later), 1))),))


OTHER_TOKEN = Visit(3, constant(0.0)), Visit(3, constant(0.0), releases=True)


@pytest.mark.parametrize("held_over", [(), OTHER_TOKEN])
def test_work_behind_a_pool_that_gives_its_tokens_back_counts(held_over):
    network, requests = later_writes(Discipline.POOL, held_over), closed(4000, 0.0, seed=1, clients=8)
    found = bounds(network, requests)
    assert (found.bottleneck, found.max_throughput_ops) == ("disk", 1.0)
    assert 4000 / simulated(network, requests).clock_s == pytest.approx(1.0, rel=0.01)


def test_work_behind_a_pool_that_may_be_held_for_ever_does_not_count():
    kept = OTHER_TOKEN[:1]
    assert bounds(later_writes(Discipline.POOL, kept), closed(400, 0.0, seed=1, clients=8)).bottleneck == "cpu"
