"""Tables of bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cli.tables.forecast.bounds import bounds_grids
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.analysis.bounds import bounds
from tests.networks import poisson


def test_similar_routes_are_a_row_with_their_mean_demands() -> None:
    """Three quarters of the reads take 1 ms and a quarter 5 ms; without queues they have exact means."""
    demands = {"mount 1 1": 0.001, "mount 1 2": 0.005, "copy": 0.002}
    routes = tuple(
        Route("READ", (single(Visit(0, ServiceDemand(constant=each_s))),), variant=variant)
        for variant, each_s in demands.items()
    )
    network = Network((Station("drive", "drive", Discipline.INFINITE_SERVER),), routes)
    requests = replace(poisson(8, 10.0, seed=1), route=np.array([0, 0, 0, 1, 2, 2, 2, 2]))
    (table,) = [grid for grid in bounds_grids(bounds(network, requests)) if grid.columns[0] == "request"]
    assert table.rows == [
        ["READ mount (2 routes)", "50.0%", "drive 2.00 ms", "1.00 ms", "2.00 ms"],
        ["READ copy", "50.0%", "drive 2.00 ms", "2.00 ms", "2.00 ms"],
    ]


def test_stations_of_which_nothing_is_known_are_counted_and_not_shown() -> None:
    """Such as those of a fault, which requests may need never or all the time: a row of them says nothing."""
    network = Network(
        (Station("drive", "drive", Discipline.FIFO),),
        (Route("READ", (single(Visit(0, ServiceDemand(constant=0.001))),)),),
    )
    found = bounds(network, poisson(8, 10.0, seed=1))
    unknown = replace(
        found.stations[0], name="nowhere", max_throughput_ops=None, utilization=replace(found.response_s, low=0, high=1)
    )
    grids = bounds_grids(replace(found, stations=[*found.stations, unknown]))
    (table,) = [grid for grid in grids if grid.columns[0] == "station"]
    assert [row[0] for row in table.rows] == ["drive"]
    assert any("not shown: 1;" in line for grid in grids for row in grid.rows for line in row[:1])
