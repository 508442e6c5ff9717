"""The Sheet: station and service demand of every visit of a chunk of requests, as flat arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.network.background import Background, random_phase
from models.network.descendants import Descendants, draw_descendants, identities
from models.network.network import Network
from models.network.placement import key_hashes
from models.network.visit_draws import Rows, Visits, draw_visits
from traces.random_streams import kept_uniforms, uniforms
from traces.trace import Pacing, Trace
from traces.workload.generate import group_seed

_HALFWAY = 0.5
_FIRST = 16_384  # requests of a run whose random numbers other runs with the same seed take from memory, up to 64 MB


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
        size_bytes: bytes that each request moves or copies, shape (n,).
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
            route[issued], trace.handled_bytes[issued], key_hashes(trace)[issued], trace.arrival_s[issued],
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

    def after(self, first: int) -> Requests:
        """Return the requests from a row on."""
        rows, cycle = slice(first, None), self.cycle
        per_row = ("route", "size_bytes", "key_hash", "arrival_s", "think_s", "phase")
        kept = {name: getattr(self, name)[rows] for name in per_row}
        if cycle is not None:
            each, before = cycle.each[rows].copy(), float(cycle.each[:first].sum())
            each[:1] += before - np.floor(_HALFWAY + before)  # the cycle that is in progress
            cycle = replace(cycle, each=each, plain=cycle.plain[rows])
        return replace(self, **kept, group=None if self.group is None else self.group[rows], cycle=cycle)

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
        station: shape (visits,); below 0: bound at run time, see `bound_code` (`visit_draws.py`).
        demand_s: shape (visits,); `PASSES_BY`: the request passes by.
        descendants: the sub-requests of the requests; None: the network has none.
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
    descendants: Descendants | None = None

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


def draw_sheet(network: Network, requests: Requests, seed: int, first: int, count: int, load: str = "") -> Sheet:
    """Return the Sheet of requests `first` … `first + count - 1`: a pure function of its arguments.

    The requests of each group have random numbers of their own, so that they do not depend on other groups; likewise
    the operations of the background load named `load`.

    Each visit's demand is draw i of the visit's own stream (`models/network/streams.py`), i the index of the request;
    so it depends neither on the chunks nor on the other visits of a network.
    """
    sheet = (_draw_groups if requests.groups else _draw_alike)(network, requests, seed, first, count, load)
    if not network.has_sub_requests:
        return sheet
    size_bytes = requests.size_bytes[requests.rows(first, count)]
    identity = _identities(requests, seed, first, len(sheet), load)
    visits = Visits(sheet.first_visit, sheet.station, sheet.demand_s)
    found = draw_descendants(network, sheet.route, size_bytes, sheet.key_hash, identity, visits, load)
    return replace(sheet, descendants=found)


def _identities(requests: Requests, seed: int, first: int, count: int, load: str) -> NDArray[np.uint64]:
    """Return what the random numbers of the requests' descendants are functions of, shape (count,)."""
    if not requests.groups:
        return identities(seed, load, first, count)
    result = np.empty(count, np.uint64)
    for mine, _, own_seed, before in _groups_of(requests, seed, first, count):
        result[mine] = identities(own_seed, load, before, len(mine))
    return result


def _draw_alike(network: Network, requests: Requests, seed: int, first: int, count: int, load: str) -> Sheet:
    """Return the Sheet of requests without groups, and without descendants."""
    rows = requests.rows(first, count)
    route, size_bytes, key_hash = requests.route[rows], requests.size_bytes[rows], requests.key_hash[rows]

    def uniform(stream: int, chosen: Rows) -> NDArray[np.float64]:
        draw = kept_uniforms if first + len(rows) <= _FIRST else uniforms
        return draw(seed, stream, first, len(rows))[chosen]

    visits = draw_visits(network, route, size_bytes, key_hash, load, uniform)
    phase = requests.phase[rows]
    if requests.repeat and len(requests):
        lap = np.arange(first, first + len(rows)) // len(requests)
        last = int(requests.phase[-1])
        phase = (phase + lap * (last + 1 if last else 0)).astype(np.int32)
    arrival_s, think_s = requests.arrival_s[rows], requests.think_s[rows]
    return Sheet(first, route, arrival_s, think_s, phase, key_hash, visits.first, visits.station, visits.demand_s)


def _groups_of(
    requests: Requests, seed: int, first: int, count: int
) -> Iterator[tuple[NDArray[np.int64], Requests, int, int]]:
    """Yield rows of each group in a Sheet, the group's requests and seed, and the number of those before the Sheet."""
    assert requests.group is not None and not requests.repeat
    group = requests.group[requests.rows(first, count)]
    for number in np.unique(group).tolist():
        all_mine, own = requests.of_groups[number]
        name = requests.groups[number] if number >= 0 else ""
        yield np.flatnonzero(group == number), own, group_seed(seed, name), int(np.searchsorted(all_mine, first))


def _draw_groups(network: Network, requests: Requests, seed: int, first: int, count: int, load: str) -> Sheet:
    """Return the Sheet of requests of an open loop, drawn group by group, without descendants."""
    rows = requests.rows(first, count)
    columns: dict[str, Any] = {
        name: np.empty(len(rows), dtype) for name, dtype in (
            ("route", np.int32), ("arrival_s", np.float64), ("think_s", np.float64), ("phase", np.int32),
            ("key_hash", np.uint64), ("first_visit", np.int64),
        )
    }  # fmt: skip
    station, demand_s, visits = [np.empty(0, np.int32)], [np.empty(0)], 0
    for mine, own, of_group, before in _groups_of(requests, seed, first, count):
        sheet = _draw_alike(network, own, of_group, before, len(mine), load)
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
