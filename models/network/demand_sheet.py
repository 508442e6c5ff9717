"""The Sheet: station and service demand of every visit of a chunk of requests, as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.network.background import Background
from models.network.joined_table import take
from models.network.network import Network
from models.network.phase import random_phase
from models.network.placement import key_hashes
from models.network.route import Chance, Route
from models.network.station import Bound, Member
from models.network.streams import Streams
from traces.random_streams import uniforms
from traces.trace import Pacing, Trace
from traces.workload.generate import group_seed

_HALFWAY = 0.5


@dataclass(frozen=True)
class Cycle:
    """Periodic work that requests begin: whenever what they add up to is a whole number of cycles.

    Attributes:
        name: of the work; it selects the phase.
        each: fraction of a cycle that each request adds, shape (n,).
        plain: index of each request's route if it begins no such work, shape (n,).
        offset: what is added to the index if it does.
    """

    name: str
    each: NDArray[np.float64]
    plain: NDArray[np.int32]
    offset: int

    def route(self, phase: float = _HALFWAY) -> NDArray[np.int32]:
        """Return the index of each request's route at a phase in (0, 1), shape (n,)."""
        begun = np.diff(np.floor(phase + np.cumsum(self.each)), prepend=0.0) > 0
        return self.plain + (self.offset * begun).astype(np.int32)


@dataclass(frozen=True)
class Requests:
    """The workload of a Network: the n requests of a Trace, their pacing, and the background load.

    Attributes:
        route: index of each request's route, shape (n,).
        size_bytes: bytes that each request moves, shape (n,).
        key_hash: selects the row of a placement table, shape (n,).
        arrival_s, think_s, phase: as in the Trace, shape (n,).
        pacing: when requests are issued.
        background: background load during the run.
        group: group of clients of each request as an index into `groups`, -1: none, shape (n,); None: no groups.
        groups: their names.
        cycle: periodic work that requests begin; `route` is that of phase 0.5; None: there is none.
    """

    route: NDArray[np.int32]
    size_bytes: NDArray[np.int64]
    key_hash: NDArray[np.uint64]
    arrival_s: NDArray[np.float64]
    think_s: NDArray[np.float64]
    phase: NDArray[np.int32]
    pacing: Pacing = field(default=Pacing())
    background: tuple[Background, ...] = ()
    group: NDArray[np.int32] | None = None
    groups: tuple[str, ...] = ()
    cycle: Cycle | None = None

    def __post_init__(self) -> None:
        if len({load.name for load in self.background}) < len(self.background):
            raise ValueError("two background loads have the same name, which selects their random numbers")

    @property
    def repeat(self) -> bool:
        """Whether the rows are repeated from the first one until the end of the pacing's duration."""
        return self.pacing.repeat

    @staticmethod
    def of(trace: Trace, route: NDArray[np.int32]) -> Requests:
        """Return the requests of a Trace, given the index of the route of each of its rows, shape (rows,)."""
        issued, groups = slice(trace.issued), trace.groups if trace.pacing.loop != "closed" else ()
        return Requests(
            route[issued], trace.transfer_bytes[issued], key_hashes(trace)[issued], trace.arrival_s[issued],
            trace.think_s[issued], trace.phase[issued], trace.pacing,
            group=trace.group[issued] if groups else None, groups=groups,
        )  # fmt: skip

    def at_phases(self, seed: int) -> Requests:
        """Return the requests with the phase of their periodic work for a seed; the same if they begin none."""
        if self.cycle is None:
            return self
        drawn = self.cycle.route(random_phase(seed, self.cycle.name))
        # A store in front may have given some requests routes of its own.
        return replace(self, route=np.where(self.route == self.cycle.route(), drawn, self.route))

    @cached_property
    def of_groups(self) -> dict[int, tuple[NDArray[np.int64], Requests]]:
        """The rows of each group, and its requests as an open loop."""
        assert self.group is not None
        rows = {number: np.flatnonzero(self.group == number) for number in np.unique(self.group).tolist()}
        return {number: (mine, self.select(mine, Pacing())) for number, mine in rows.items()}

    def select(self, rows: NDArray[np.int64], pacing: Pacing) -> Requests:
        """Return the requests of some rows with another pacing, without groups and background load."""
        return Requests(
            self.route[rows], self.size_bytes[rows], self.key_hash[rows], self.arrival_s[rows], self.think_s[rows],
            self.phase[rows], pacing,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.route)

    def rows(self, first: int, count: int) -> NDArray[np.int64]:
        """Return the row of each of the requests `first` … `first + count - 1`; fewer at the end of the rows."""
        if self.repeat:
            return np.arange(first, first + count) % len(self)
        return np.arange(first, min(first + count, len(self)))


@dataclass(frozen=True)
class Sheet:
    """A chunk of requests, ready to be executed.

    Attributes:
        first: index of its first request.
        route, arrival_s, think_s, phase: shape (n,). Phases never decrease, also when rows repeat.
        key_hash: selects the member of groups with choice by hash, shape (n,).
        first_visit: index of each request's first visit, shape (n,); visits are in the order of `Route.visits`, once
            for each attempt that its policy allows.
        station: shape (visits,); below 0: bound at run time, see `bound_code`.
        demand_s: shape (visits,); `PASSES_BY`: the request passes by.
    """

    first: int
    route: NDArray[np.int32]
    arrival_s: NDArray[np.float64]
    think_s: NDArray[np.float64]
    phase: NDArray[np.int32]
    key_hash: NDArray[np.uint64]
    first_visit: NDArray[np.int64]
    station: NDArray[np.int32]
    demand_s: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.route)


@dataclass(frozen=True)
class Source:
    """Requests that are issued in one order: those of an open loop, or of the clients of a closed loop.

    Attributes:
        name: of a group with a closed loop; otherwise empty.
        pacing: open or closed loop.
        rows: their rows among all requests, in order, shape (rows,).
        requests: the same as the workload of a network.
    """

    name: str
    pacing: Pacing
    rows: NDArray[np.int64]
    requests: Requests


def sources(requests: Requests) -> tuple[Source, ...]:
    """Return the sources of requests: all open loops as one, then each closed loop."""
    if requests.pacing.loop != "mixed":
        return (Source("", requests.pacing, np.arange(len(requests)), requests),)
    assert requests.group is not None
    is_open = np.zeros(len(requests), bool)
    closed = []
    for name, pacing in requests.pacing.groups:
        mine = requests.group == (requests.groups.index(name) if name in requests.groups else -2)
        if pacing.loop == "open":
            is_open |= mine & (requests.arrival_s < (np.inf if pacing.duration_s is None else pacing.duration_s))
        else:
            rows = np.flatnonzero(mine)
            closed.append(Source(name, pacing, rows, requests.select(rows, pacing)))
    rows = np.flatnonzero(is_open)
    opened = replace(requests.select(rows, Pacing()), group=requests.group[rows], groups=requests.groups)
    return (*((Source("", Pacing(), rows, opened),) if len(rows) else ()), *closed)


PASSES_BY = -1.0
"""The demand in a Sheet of a visit that the request does not make."""

POSITIONS = 1 << 16
"""Maximum number of positions of a group's members."""


def bound_code(bound: Bound) -> int:
    """Encode a station that is bound at run time for a Sheet: -1 - (65536 x group + position)."""
    return -1 - (POSITIONS * bound.group + bound.position)


def bound_of(code: int) -> Bound:
    """Decode the result of `bound_code`."""
    return Bound(*divmod(-1 - code, POSITIONS))


def draw_sheet(network: Network, requests: Requests, seed: int, first: int, count: int, load: str = "") -> Sheet:
    """Return the Sheet of requests `first` … `first + count - 1`: a pure function of its arguments.

    The requests of each group have random numbers of their own, so that they do not depend on other groups; likewise
    the operations of the background load named `load`.

    Each visit's demand is draw i of the visit's own stream (`models/network/streams.py`), i the index of the request;
    so it depends neither on the chunks nor on the other visits of a network.
    """
    if requests.groups:
        return _draw_groups(network, requests, seed, first, count)
    rows = requests.rows(first, count)
    route = requests.route[rows]
    size, key_hash = requests.size_bytes[rows], requests.key_hash[rows]
    present = np.bincount(route, minlength=len(network.routes))
    widths = np.array([len(r.visits) * r.policy.attempts for r in network.routes])
    starts = np.concatenate([[0], np.cumsum(present * widths)])
    first_visit = np.empty(len(rows), np.int64)
    station = np.empty(starts[-1], np.int32)
    demand_s = np.empty(starts[-1], np.float64)
    for k in np.flatnonzero(present):
        chosen = None if present[k] == len(rows) else np.flatnonzero(route == k)
        start, width = starts[k], int(widths[k])
        at = slice(start, starts[k + 1])
        selected = slice(None) if chosen is None else chosen
        first_visit[selected] = start + width * np.arange(present[k])
        drawn, streams = network.routes[k], network.streams(int(k), load)
        once = _stations(network, drawn, key_hash[selected])
        station[at].reshape(len(once), -1, len(drawn.visits))[:] = once[:, None, :]
        block = demand_s[at].reshape(-1, width)
        for v, (visit, stream) in enumerate(
            zip(drawn.visits * len(streams.visits), chain(*streams.visits), strict=True)
        ):
            block[:, v] = visit.demand.draw_s(seed, stream, first, len(rows), chosen, size[selected])
            if not visit.is_certain and visit.demand.occasion < 1:
                block[block[:, v] == 0, v] = PASSES_BY
        _pass_by(block, drawn, streams, seed, first, len(rows), selected)
    phase = requests.phase[rows]
    if requests.repeat and len(requests):
        lap = np.arange(first, first + len(rows)) // len(requests)
        last = int(requests.phase[-1])
        phase = (phase + lap * (last + 1 if last else 0)).astype(np.int32)
    arrival_s, think_s = requests.arrival_s[rows], requests.think_s[rows]
    return Sheet(first, route, arrival_s, think_s, phase, key_hash, first_visit, station, demand_s)


def _pass_by(
    block: NDArray[np.float64],
    route: Route,
    streams: Streams,
    seed: int,
    first: int,
    count: int,
    chosen: slice | NDArray[np.int64],
) -> None:
    """Set the demands of visits that requests pass by, shape (requests, visits of all attempts), to `PASSES_BY`.

    Each attempt decides for itself; request i takes draw i of a decision's own stream.
    """
    for attempt, of_attempt in enumerate(streams.chances if route.chances else ()):
        made: dict[Chance, NDArray[np.bool_]] = {}
        for chance, stream in zip(route.chances, of_attempt, strict=True):
            own = uniforms(seed, stream, first, count)[chosen] < chance.probability
            made[chance] = own & made[chance.within] if chance.within else own
        for v, visit in enumerate(route.visits, attempt * len(route.visits)):
            if visit.chance is not None:
                block[~made[visit.chance], v] = PASSES_BY


def _draw_groups(network: Network, requests: Requests, seed: int, first: int, count: int) -> Sheet:
    """Return the Sheet of requests of an open loop, drawn group by group."""
    assert requests.group is not None and not requests.repeat
    rows = requests.rows(first, count)
    columns: dict[str, Any] = {
        name: np.empty(len(rows), dtype) for name, dtype in (
            ("route", np.int32), ("arrival_s", np.float64), ("think_s", np.float64), ("phase", np.int32),
            ("key_hash", np.uint64), ("first_visit", np.int64),
        )
    }  # fmt: skip
    station, demand_s, visits = [np.empty(0, np.int32)], [np.empty(0)], 0
    group = requests.group[rows]
    for number in np.unique(group).tolist():
        mine = np.flatnonzero(group == number)
        all_mine, own = requests.of_groups[number]
        name = requests.groups[number] if number >= 0 else ""
        before = int(np.searchsorted(all_mine, first))
        sheet = draw_sheet(network, own, group_seed(seed, name), before, len(mine))
        for column, values in columns.items():
            values[mine] = getattr(sheet, column)
        columns["first_visit"][mine] += visits
        station.append(sheet.station)
        demand_s.append(sheet.demand_s)
        visits += len(sheet.station)
    return Sheet(first, **columns, station=np.concatenate(station), demand_s=np.concatenate(demand_s))


def draw_background(network: Network, background: Background, seed: int) -> Sheet:
    """Return the Sheet of all operations of a background load for a seed."""
    arrival_s = background.arrival_s(seed)
    count = len(arrival_s)
    requests = Requests(
        np.full(count, background.route, np.int32), np.full(count, background.size_bytes, np.int64),
        background.key_hash(seed, count), arrival_s, np.zeros(count), np.zeros(count, np.int32),
    )  # fmt: skip
    return draw_sheet(network, requests, seed, 0, count, background.name)


def _stations(network: Network, route: Route, key_hash: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the station of each visit, shape (requests, visits)."""
    where = [visit.station for visit in route.visits]
    codes = [0 if isinstance(w, Member) else bound_code(w) if isinstance(w, Bound) else w for w in where]
    result = np.broadcast_to(np.array(codes, np.int32), (len(key_hash), len(where)))
    if not any(isinstance(w, Member) for w in where):
        return result
    result = result.copy()
    for t, table in enumerate(network.placements):
        placed = [(v, w.position) for v, w in enumerate(where) if isinstance(w, Member) and w.table == t]
        if placed:
            columns, positions = zip(*placed, strict=True)
            rows = (key_hash % np.uint64(len(table))).astype(np.int64)
            result[:, columns] = take(table, rows, np.array(positions))
    return result
