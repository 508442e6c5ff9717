"""A Network's structure as flat arrays, the form both engines walk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.network import Network

Ints = NDArray[np.int64]


class Layout(NamedTuple):
    """Stations, routes, stages, branches and positions, each numbered through the whole network.

    A *position* is a visit's place in its route. The arrays are indexed by what their name begins with.
    """

    station_discipline: Ints
    station_servers: Ints
    station_batch_limit: Ints
    station_batch_item_s: NDArray[np.float64]
    route_first_stage: Ints  # one element more than routes
    route_first_position: Ints  # one element more than routes
    stage_first_branch: Ints  # one element more than stages
    stage_need: Ints
    stage_delivers: Ints
    branch_first_position: Ints  # within its route
    position_is_last: Ints  # of its branch
    position_stage: Ints


def layout_of(network: Network) -> Layout:
    """The flat arrays of a Network."""
    route_first_stage, route_first_position, stage_first_branch = [0], [0], [0]
    stage_need: list[int] = []
    stage_delivers: list[bool] = []
    branch_first_position: list[int] = []
    position_is_last: list[bool] = []
    position_stage: list[int] = []
    for route in network.routes:
        position = 0
        for stage in route.stages:
            for branch in stage.branches:
                branch_first_position.append(position)
                position += len(branch)
                position_is_last += [False] * (len(branch) - 1) + [True]
                position_stage += [len(stage_need)] * len(branch)
            stage_need.append(stage.need)
            stage_delivers.append(stage.delivers)
            stage_first_branch.append(len(branch_first_position))
        route_first_stage.append(len(stage_need))
        route_first_position.append(route_first_position[-1] + position)

    def ints(values: Sequence[int]) -> Ints:
        return np.array(values, np.int64)

    return Layout(
        station_discipline=ints([s.discipline for s in network.stations]),
        station_servers=ints([s.servers for s in network.stations]),
        station_batch_limit=ints([s.batch_limit for s in network.stations]),
        station_batch_item_s=np.array([s.batch_item_s for s in network.stations], np.float64),
        route_first_stage=ints(route_first_stage),
        route_first_position=ints(route_first_position),
        stage_first_branch=ints(stage_first_branch),
        stage_need=ints(stage_need),
        stage_delivers=ints(stage_delivers),
        branch_first_position=ints(branch_first_position),
        position_is_last=ints(position_is_last),
        position_stage=ints(position_stage),
    )
