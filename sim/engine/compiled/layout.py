"""Converts a Network to the kernel's arrays: stations, routes, stages, branches and positions, each numbered over the
whole network. A *position* is the index of a visit in its route."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.network.joined_table import JoinedTable
from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.station import Station
from sim.engine.compiled.records import ACTION, GROUP, JOIN, POSITION, ROUTE, STAGE, STATION, SUB_REQUESTS, Record

Ints = NDArray[np.int64]


def arrays_of(network: Network) -> dict[str, NDArray[Any]]:
    """Return the arrays of the `PROGRAM` record that describe a Network, by name."""
    # Tables of groups, which are as large as the network's own, are not kept.
    return {**network.once(_kept), **_groups(network)}


def _kept(network: Network) -> dict[str, NDArray[Any]]:
    arrays = _stations(network) | _structure(network)
    for each in arrays.values():
        each.flags.writeable = False
    return arrays


def _stations(network: Network) -> dict[str, NDArray[Any]]:
    """Return stations, their weights, and the actions on them."""
    roles = {role: i for i, role in enumerate(network.roles)}
    return {
        "stations": _records(STATION, [_station(s, roles[s.role]) for s in network.stations]),
        "weights": _weights(network),
        "actions": _records(ACTION, [(a.kind, a.target, a.member, a.at_s, a.value) for a in network.scenario]),
    }


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)


def _records(record: Record, rows: Sequence[tuple[float, ...]]) -> NDArray[Any]:
    return np.array(list(rows), record.dtype)


def _station(s: Station, role: int) -> tuple[float, ...]:
    if s.discipline.code is None:
        raise ValueError(f"station {s.name!r}: the kernel does not implement discipline {s.discipline.name}")
    caches = (s.caches.cold_penalty_s, s.caches.warm_up_s, s.caches.decay_s) if s.caches else (0.0, 1.0, 1.0)
    return (
        s.discipline.code, role, s.servers, s.queue_limit, s.poll_limit, s.repeat_limit,
        s.shares_server * s.parts, s.batch_item_s, s.flush_s, s.poll_s, s.period_s, s.phase_s,
        s.queue_s, s.queued_each_s, s.setup_s, s.repeat_s,
        s.age_bias, *caches, s.identity,
    )  # fmt: skip


def _weights(network: Network) -> NDArray[np.float64]:
    weights = np.ones((len(network.stations), network.classes))
    for row, station in zip(weights, network.stations, strict=True):
        if station.weights:
            given = station.weights[: len(row)]
            row[: len(given)] = given
    return weights


def _structure(network: Network) -> dict[str, NDArray[Any]]:
    """Return routes, stages, branches and positions."""
    routes: list[tuple[float, ...]] = []
    stages: list[tuple[int, ...]] = []
    branch_first: list[int] = []
    positions: list[tuple[int, ...]] = []
    subs: list[tuple[int, ...]] = []
    kept: list[int] = []
    for route, alike in zip(network.routes, network.first_with_policy, strict=True):
        first_stage, first_position = len(stages), len(positions)
        for visit, (i, (stage_of, last)) in zip(route.visits, enumerate(route.places), strict=True):
            flags = visit.releases + visit.early, visit.ties, visit.timer, visit.claims, visit.flushes
            starts = visit.starts
            positions.append((first_stage + stage_of, i == last, *flags, 0 if starts is None else len(subs) + 1))
            if starts is not None:
                ordinal = sum(position < i for position, _ in route.starts)
                limits = starts.parallel or 0, starts.need or 0, starts.cancels, starts.delivers
                subs.append((ordinal, *limits, len(kept), len(kept) + len(starts.keeps)))
                kept += starts.keeps
        for stage, firsts in zip(route.stages, route.forks, strict=True):
            stages.append((stage.need, stage.delivers, len(branch_first), len(branch_first) + len(firsts)))
            branch_first += firsts
        own = first_stage, len(stages), first_position, len(route.visits), route.priority, alike, len(route.starts)
        routes.append((*own, *_policy(route.policy)))
    return {
        "routes": _records(ROUTE, routes),
        "stages": _records(STAGE, stages),
        "branch_first_position": _ints(branch_first),
        "positions": _records(POSITION, positions),
        "sub_requests": _records(SUB_REQUESTS, subs),
        "kept_groups": _ints(kept),
    }


def _policy(p: Policy) -> tuple[float, ...]:
    return (
        p.attempts, p.retries, p.cancels, p.tied_after_s < math.inf, p.squares, p.timeout_s, p.backoff_s,
        p.backoff_max_s, p.jitter, p.retry_budget, p.retry_tokens, p.hedge_budget, p.hedge_tokens,
        min(p.hedge_after_s, p.tied_after_s), p.hedge_quantile,
    )  # fmt: skip


def _groups(network: Network) -> dict[str, NDArray[Any]]:
    """Return groups, their members, and the placement tables that they use."""
    arrays = _GroupArrays()
    groups: list[tuple[int, ...]] = []
    first_rows: dict[int, int] = {}
    for group in network.groups:
        joined, rows, columns, first_row, join = network.joined(group), 0, 0, 0, -1
        count, positions = group.members.shape
        first_member = arrays.add("member_station", group.members)
        if joined is not None:
            join, positions = arrays.add_join(joined, first_member), joined.shape[1]
        elif group.table is not None:
            table = np.asarray(network.placements[group.table])
            rows, columns = table.shape
            if group.table not in first_rows:
                first_rows[group.table] = arrays.add("placement_station", table)
            first_row = first_rows[group.table]
        placed = rows, columns, first_row, join, group.identity
        groups.append((group.choice, count, positions, first_member, *placed))
    return {"groups": _records(GROUP, groups), "joins": _records(JOIN, arrays.joins), **arrays.joined()}


class _GroupArrays:
    """The arrays of numbers that groups refer to, while they grow.

    Attributes:
        joins: rows of the `JOIN` record.
    """

    def __init__(self) -> None:
        names = ("member_station", "placement_station", "join_of_key", "near_coordinator", "joined_part")
        self._parts: dict[str, list[Ints]] = {name: [_ints([])] for name in names}
        self.joins: list[tuple[int, ...]] = []

    def add(self, name: str, values: NDArray[Any]) -> int:
        """Append values to an array, and return the index of the first."""
        first = sum(map(len, self._parts[name]))
        self._parts[name].append(values.ravel().astype(np.int64))
        return first

    def add_join(self, table: JoinedTable, first_coordinator: int) -> int:
        """Append a joined table, and return the index of its join."""
        self.joins.append((
            *table.keyed.shape, self.add("placement_station", table.keyed),
            *table.coordinators.shape, first_coordinator,
            len(table.first_join), self.add("join_of_key", table.first_join),
            table.near.shape[1], self.add("near_coordinator", table.near),
            len(table.joins), self.add("joined_part", table.joins),
        ))  # fmt: skip
        return len(self.joins) - 1

    def joined(self) -> dict[str, Ints]:
        """Return the arrays by name."""
        return {name: np.concatenate(parts) for name, parts in self._parts.items()}
