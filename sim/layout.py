"""A Network's structure as flat arrays, the form that the compiled engine walks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from models.network import Network, Route
from sim.compiled_state import Floats, Ints, Records, record


class Layout(NamedTuple):
    """Stations, routes, stages, branches and positions, each numbered through the whole network.

    A *position* is a visit's place in its route.
    """

    stations: Records  # STATION
    station_weight: Floats  # shape (stations, classes)
    routes: Records  # ROUTE
    route_first_stage: Ints  # one element more than routes
    route_first_position: Ints  # one element more than routes
    stages: Records  # STAGE
    stage_first_branch: Ints  # one element more than stages
    branch_first_position: Ints  # within its route
    positions: Records  # POSITION
    groups: Records  # GROUP
    member_station: Ints  # or column, shape (groups, members at most, positions at most)
    placement_station: Ints  # all placement tables that groups use, row after row
    actions: Records  # ACTION
    counted_action: Ints  # those that wait for a count, in its order
    counted_at: Ints


# refill_s: 0 where there are no caches
STATION = record(
    "discipline role servers batch_limit queue_limit poll_limit",
    "batch_item_s poll_s setup_s fairness refill_s warming_s cooling_s",
)
# second_s: when a second attempt starts; infinity: never, or by a quantile
ROUTE = record(
    "priority attempts retries cancels tied",
    "timeout_s backoff_s backoff_max_s jitter retry_share hedge_share second_s quantile",
)
STAGE = record("need delivers")
POSITION = record("is_last stage releases ties")
# rows, columns, first: of the placement table that its members are columns of; no rows: they are stations
GROUP = record("choice members rows columns first")
ACTION = record("kind target member", "value")


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)


def _records(dtype: np.dtype[np.void], rows: Sequence[tuple[float, ...]]) -> Records:
    return np.array(list(rows), dtype)


def layout_of(network: Network) -> Layout:
    """The flat arrays of a Network."""
    agenda = network.agenda
    counted = sorted((a.after_ended, i) for i, a in enumerate(agenda) if a.after_ended is not None)
    stations = [
        (
            s.discipline,
            network.roles.index(s.role),
            s.servers,
            s.batch_limit,
            s.queue_limit,
            s.poll_limit,
            s.batch_item_s,
            s.poll_s,
            s.setup_s,
            s.fairness,
            *((s.caches.refill_s, s.caches.warming_s, s.caches.cooling_s) if s.caches else (0.0, 1.0, 1.0)),
        )
        for s in network.stations
    ]
    return Layout(
        stations=_records(STATION, stations),
        station_weight=_weights(network),
        routes=_records(ROUTE, [_policy(route) for route in network.routes]),
        member_station=_members(network),
        **_groups(network),
        actions=_records(ACTION, [(a.kind, a.target, a.member, a.value) for a in agenda]),
        counted_action=_ints([i for _, i in counted]),
        counted_at=_ints([at for at, _ in counted]),
        **_structure(network),
    )


def _policy(route: Route) -> tuple[float, ...]:
    p = route.policy
    second_s = min(p.hedge_after_s, p.tied_after_s)
    return (
        route.priority, p.attempts, p.retries, p.cancels, p.tied_after_s < math.inf, p.timeout_s, p.backoff_s,
        p.backoff_max_s, p.jitter, p.retry_share, p.hedge_share, second_s, p.hedge_quantile,
    )  # fmt: skip


def class_count(network: Network) -> int:
    """Classes of priority that the routes have."""
    return 1 + max((route.priority for route in network.routes), default=0)


def _structure(network: Network) -> dict[str, Any]:
    """Routes, stages, branches and positions."""
    first_stage, first_position, first_branch = [0], [0], [0]
    stages: list[tuple[int, bool]] = []
    branch_first: list[int] = []
    positions: list[tuple[bool, int, bool, bool]] = []
    for route in network.routes:
        for visit, (i, (stage_of, last)) in zip(route.visits, enumerate(route.places), strict=True):
            positions.append((i == last, len(stages) + stage_of, visit.releases, visit.ties))
        for stage, firsts in zip(route.stages, route.forks, strict=True):
            branch_first += firsts
            stages.append((stage.need, stage.delivers))
            first_branch.append(len(branch_first))
        first_stage.append(len(stages))
        first_position.append(len(positions))
    return {
        "route_first_stage": _ints(first_stage),
        "route_first_position": _ints(first_position),
        "stages": _records(STAGE, stages),
        "stage_first_branch": _ints(first_branch),
        "branch_first_position": _ints(branch_first),
        "positions": _records(POSITION, positions),
    }


def _weights(network: Network) -> Floats:
    weights = np.ones((len(network.stations), class_count(network)))
    for row, station in zip(weights, network.stations, strict=True):
        given = station.weights[: len(row)]
        row[: len(given)] = given
    return weights


def _groups(network: Network) -> dict[str, Any]:
    """Groups, and the placement tables that they use."""
    groups: list[tuple[float, ...]] = []
    placements: list[Ints] = [np.empty(0, np.int64)]
    first = 0
    for group in network.groups:
        rows, columns = (0, 0) if group.table is None else network.placements[group.table].shape
        groups.append((group.choice, len(group.members), rows, columns, first))
        if group.table is not None:
            placements.append(network.placements[group.table].ravel().astype(np.int64))
            first += rows * columns
    return {"groups": _records(GROUP, groups), "placement_station": np.concatenate(placements)}


def _members(network: Network) -> Ints:
    """Station, or column, of each position of each member of each group; -1 where there is none."""
    shapes = [group.members.shape for group in network.groups] or [(0, 0)]
    table = np.full((len(network.groups), max(m for m, _ in shapes), max(p for _, p in shapes)), -1, np.int64)
    for g, group in enumerate(network.groups):
        table[g, : group.members.shape[0], : group.members.shape[1]] = group.members
    return table
