"""Tables joined from rows of keys and of coordinators: equal to those with a row for each pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.network.demand_sheet import Requests, draw_sheet
from models.network.discipline import Discipline
from models.network.joined_table import JoinedTable, counts, take
from models.network.network import Network
from models.network.route import Route, Visit, single
from models.network.scenario import Action, ActionKind
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Member, Station
from sim.demands.visit_places import stations_by_visits, stations_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.networks import joined_tables
from tests.sim.engine.test_engines import assert_identical

STATIONS = 7


tables = st.integers(1, 3).flatmap(lambda columns: joined_tables(STATIONS, columns))


def whole(table: JoinedTable) -> np.ndarray:
    """The same table with a row for each pair, by its definition."""
    rows = []
    for coordinator in range(len(table.coordinators)):
        epoch, number = divmod(coordinator, table.per_epoch)
        for key in range(len(table.keyed)):
            near = table.near[key].tolist()
            join = table.first_join[epoch, key] + (1 + near.index(number) if number in near else 0)
            parts = [*table.keyed[key], *table.coordinators[coordinator]]
            rows.append([part if part >= 0 else parts[-1 - part] for part in table.joins[join].tolist()])
    return np.array(rows, np.int32)


@given(tables, st.data())
def test_rows_and_counts_are_those_of_the_whole_table(table, data):
    expected = whole(table)
    assert len(table) == len(expected) and table.shape == expected.shape
    rows = np.array(data.draw(st.lists(st.integers(0, len(table) - 1), max_size=9)), np.int64)
    columns = np.array(data.draw(st.lists(st.integers(0, table.shape[1] - 1), max_size=5)), np.int64)
    assert np.array_equal(take(table, rows, columns), take(expected, rows, columns))
    present = np.array(data.draw(st.lists(st.booleans(), min_size=(n := len(table.coordinators)), max_size=n)))
    for column in range(table.shape[1]):
        assert np.array_equal(counts(table, column, STATIONS), counts(expected, column, STATIONS))
        of_present = expected[np.repeat(present, len(table.keyed)), column]
        assert np.array_equal(table.counts(column, STATIONS, present), np.bincount(of_present, minlength=STATIONS))
        for row, station in enumerate(expected[:, column].tolist()):
            coordinator, key = divmod(row, len(table.keyed))
            assert table.station(key, coordinator, column) == station


def _network(table: JoinedTable, place: Member | Bound, groups=(), scenario=()) -> Network:
    stations = tuple(Station(f"s{k}", "server", Discipline.FIFO, indices=(k,)) for k in range(STATIONS))
    visits = [Visit(replace(place, position=k, part=(k,)), ServiceDemand(constant=0.3)) for k in range(table.shape[1])]
    return Network(stations, (Route("GET", (single(*visits),)),), (table,), groups, scenario)


def _requests(count: int) -> Requests:
    hashes = np.random.default_rng(1).integers(0, 2**63, count).astype(np.uint64)
    return Requests(
        np.zeros(count, np.int32), np.zeros(count, np.int64), hashes, np.arange(count) / 4, np.zeros(count),
        np.zeros(count, np.int32),
    )  # fmt: skip


@given(tables)
def test_a_sheet_has_the_stations_of_the_whole_table(table):
    joined, requests = _network(table, Member(0, 0)), _requests(20)
    plain = replace(joined, placements=(whole(table),))
    assert np.array_equal(draw_sheet(joined, requests, 0, 0, 20).station, draw_sheet(plain, requests, 0, 0, 20).station)
    assert joined.first_station(Member(0, 0)) == plain.first_station(Member(0, 0))


@given(tables, st.sampled_from(Choice), st.data())
def test_both_engines_bind_attempts_to_the_same_coordinators(table, choice, data):
    """The plain network has the same members as groups of stations for a single key, so its results are the same."""
    group = Group(choice, table.coordinators, 0, "coordinators")
    member = st.integers(0, len(table.coordinators) - 1)
    actions = st.builds(
        Action,
        st.sampled_from([ActionKind.JOIN, ActionKind.LEAVE]),
        st.just(0),
        st.sampled_from([0.0, 1.0, 2.5]),
        member,
    )
    scenario = tuple(data.draw(st.lists(actions, max_size=3))) if choice is not Choice.CLIENT else ()
    network = _network(table, Bound(0, 0), (group,), scenario)
    outcome = compiled_engine.run(Program.of(network, _requests(20), 3))
    assert_identical(simpy_engine.run(Program.of(network, _requests(20), 3)), outcome)
    one = replace(_requests(20), key_hash=np.full(20, 5, np.uint64))
    key = 5 % len(table.keyed)
    members = whole(table).reshape(len(table.coordinators), len(table.keyed), -1)[:, key]
    plain = replace(network, placements=(), groups=(replace(group, members=members, table=None),))
    assert_identical(compiled_engine.run(Program.of(plain, one, 3)), compiled_engine.run(Program.of(network, one, 3)))
    if len(table.keyed) == 1:
        assert stations_of(plain, Bound(0, 0)) == stations_of(network, Bound(0, 0))
        assert np.array_equal(stations_by_visits(plain, Bound(0, 0)), stations_by_visits(network, Bound(0, 0)))


def test_tables_that_do_not_fit_together_are_refused():
    zeros = np.zeros((2, 1), np.int32)
    good = JoinedTable(zeros, zeros, zeros - 1, np.zeros((1, 2), np.int32), zeros)
    for change, text in [
        ({"coordinators": zeros[:0]}, "as many coordinators"),
        ({"near": zeros[:1]}, "near coordinators, for each key"),
        ({"first_join": np.ones((1, 2), np.int32)}, "a join that does not exist"),
        ({"joins": zeros - 3}, "a part that does not exist"),
    ]:
        with pytest.raises(ValueError, match=text):
            replace(good, **change)
    with pytest.raises(ValueError, match="a station that does not exist"):
        _network(replace(good, keyed=zeros + STATIONS), Member(0, 0))
    with pytest.raises(ValueError, match="are its coordinators"):
        _network(good, Bound(0, 0), (Group(Choice.HASH, zeros + 1, 0),))
    with pytest.raises(ValueError, match="in no group"):
        _network(good, Bound(0, 0), (Group(Choice.HASH, zeros, 0),))._check(Bound(0, 1))
