"""Named columns of placement tables, and their blocks for epochs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.network.demand_sheet import Requests, draw_sheet
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Member, Station
from models.shared.placement_table import PlacementTable, epoch_changes, epoch_names, numbered
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine

COLUMNS = [("cpu",), *numbered("drive", 2, ("read", "write"))]


def block(rows: int, first: int = 0) -> np.ndarray:
    return np.arange(first, first + rows * len(COLUMNS), dtype=np.int32).reshape(rows, -1)


def test_a_column_is_named_by_its_part():
    table = PlacementTable(3, COLUMNS, [block(2)])
    assert table.at("cpu") == Member(3, 0) and table.at("cpu").part == ("cpu",)
    assert table.at("drive", 1, "read") == Member(3, 3) and table.at("drive", 1, "read").part == ("drive", 1, "read")
    assert not table.groups and (table.stations == block(2)).all()


@given(st.integers(1, 5), st.integers(2, 4), st.integers(0, 3))
def test_each_epoch_has_a_block_with_all_columns(rows, epochs, group):
    blocks = [block(rows, 100 * epoch) for epoch in range(epochs)]
    table = PlacementTable(0, COLUMNS, blocks, list(range(1000, 1000 + epochs)), group)
    (bound,) = table.groups
    for epoch, of_epoch in enumerate(blocks):
        members = bound.members[epoch]
        assert (table.stations[:, members[0]] == 1000 + epoch).all()
        for number, name in enumerate(COLUMNS):
            place = table.at(*name)
            assert isinstance(place, Bound) and place.group == group
            assert (table.stations[:, members[place.position]] == of_epoch[:, number]).all()


def test_names_and_blocks_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="same name"):
        PlacementTable(0, [("cpu",), ("cpu",)], [np.zeros((1, 2), np.int32)])
    with pytest.raises(ValueError, match="a name for each column"):
        PlacementTable(0, [("cpu",)], [block(1)])
    with pytest.raises(ValueError, match="a block for each epoch"):
        PlacementTable(0, COLUMNS, [block(1)], [7, 8])
    with pytest.raises(KeyError):
        PlacementTable(0, COLUMNS, [block(1)]).at("drive", 2, "read")


@pytest.mark.parametrize("engine", [compiled_engine, simpy_engine])
def test_attempts_take_the_stations_of_the_epoch_in_which_they_begin(engine):
    stations = [Station(f"drive {k}", "drive", Discipline.FIFO, indices=(k,)) for k in range(3)]

    def add(station: Station) -> int:
        stations.append(station)
        return len(stations) - 1

    names, times_s = epoch_names(add, 3), [0.0, 10.0, 20.0]
    table = PlacementTable(0, [("drive",)], [np.full((1, 1), k, np.int32) for k in range(3)], names)
    route = Route("GET", (single(Visit(table.at("drive"), ServiceDemand(constant=1e-3))),))
    scenario = tuple(epoch_changes(0, names, times_s))
    network = Network(tuple(stations), (route,), (table.stations,), table.groups, scenario)
    count, hashes = 30, np.zeros(30, np.uint64)
    requests = Requests(
        np.zeros(count, np.int32), np.zeros(count, np.int64), hashes, np.arange(count) + 0.5, np.zeros(count),
        np.zeros(count, np.int32),
    )  # fmt: skip
    outcome = engine.run(Program.of(network, requests, 0))
    assert outcome.visits[:3].tolist() == [10, 10, 10]
    assert (draw_sheet(network, requests, 0, 0, count).station < 0).all()
