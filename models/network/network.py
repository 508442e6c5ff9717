"""The Network: stations and routes as data, the language between the store models and the engines."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.network.retry_policy import NO_POLICY, Policy
from models.network.scenario import Action, Kind
from models.network.service_demand import ServiceDemand
from traces.random_streams import stream_id
from traces.trace import Pacing


class Discipline(IntEnum):
    """How a station serves its jobs."""

    DELAY = 0
    """Infinite server: nobody waits."""
    FIFO = 1
    """`servers` servers, first come first served."""
    PROCESSOR_SHARING = 2
    """`servers` cores shared equally; one job uses at most one core."""
    GROUP_COMMIT = 3
    """One batch server: all that is queued when it turns free is served together.

    A batch takes the demand of its first member plus `batch_item_s` for each further one, as one fsync makes
    durable whatever was written before it.
    """
    RANDOM_ORDER = 4
    """`servers` servers; a free one takes any of the waiting jobs, each with the same probability.

    The choices are a pure function of the run's seed. Run queues of schedulers behave like this: the mean wait is
    FIFO's, its spread is wider. With some `fairness` it is less so.
    """

    PRIORITY = 5
    """`servers` servers; a free one takes the first job of the lowest class that waits (non-preemptive)."""
    WEIGHTED_SHARE = 6
    """`servers` servers; classes share them by `weights` while they all wait (start-time fair queueing)."""
    POOL = 7
    """`servers` tokens. A visit takes one, or waits for it; a visit that `releases` gives it back. Takes no time.

    At most `queue_limit` jobs wait; one more is refused.
    """
    GATE = 8
    """A visit passes while the gate is open, which it is until the agenda shuts it. Takes no time.

    Who comes to a shut gate waits until it opens; with `poll_s` he looks again after each such interval, and is
    refused when it is still shut after `poll_limit` such looks.
    """


_SETS_UP = (Discipline.FIFO, Discipline.RANDOM_ORDER, Discipline.PRIORITY, Discipline.WEIGHTED_SHARE)
_ONE_SERVER = (Discipline.GROUP_COMMIT, Discipline.GATE)
UNBOUNDED = 2**40
"""A queue limit, or a number of polls, that is none."""


@dataclass(frozen=True)
class Caches:
    """Caches that servers lose while they are idle, and fill again as they work.

    *Warmth* is the mean over a station's servers of what is not lost, 1 at the start. While a share s of them is idle,
    s / `cooling_s` of it is lost a second. Work w that begins at a warmth below 1 takes longer by the part
    1 - exp(-w / `warming_s`) of `refill_s` (1 - warmth), and takes the same part of the loss from the server that does
    it (`sim/engine/cpu_caches.py`).

    Attributes:
        refill_s: what work takes longer, in all, until caches that were lost are full again.
        warming_s: work that fills them but for 1 / e.
        cooling_s: idle time that loses all but 1 / e.
    """

    refill_s: float
    warming_s: float
    cooling_s: float

    def __post_init__(self) -> None:
        if not (self.refill_s > 0 and self.warming_s > 0 and self.cooling_s > 0):
            raise ValueError("caches: refill_s, warming_s and cooling_s must be above 0")


@dataclass(frozen=True)
class Station:
    """One service centre.

    Attributes:
        name: unique in the network.
        role: what it stands for, the same for all of its kind (``drive``, ``host cpu``).
        servers: servers, cores or tokens; has no meaning for DELAY, is 1 for GROUP_COMMIT and GATE.
        batch_limit: GROUP_COMMIT: members of a batch at most; 0: no limit.
        batch_item_s: GROUP_COMMIT: time added by each member after the first.
        setup_s: what a job that finds a server idle needs longer, as the server has to wake; not where servers are
            infinite, shared, or serve batches.
        caches: what its servers lose while they are idle; where `setup_s` may be, too.
        fairness: RANDOM_ORDER: at this share of its choices a server draws two of the waiting jobs, and takes the one
            that has waited longer.
        weights: WEIGHTED_SHARE: the share of each class.
        queue_limit: POOL: jobs that wait at most.
        poll_s, poll_limit: GATE: how often who waits looks again, and how many times; 0 s: released at once.
    """

    name: str
    role: str
    discipline: Discipline
    servers: int = 1
    batch_limit: int = 0
    batch_item_s: float = 0.0
    setup_s: float = 0.0
    caches: Caches | None = None
    fairness: float = 0.0
    weights: tuple[float, ...] = ()
    queue_limit: int = UNBOUNDED
    poll_s: float = 0.0
    poll_limit: int = UNBOUNDED

    def __post_init__(self) -> None:
        if self.servers < 1 or self.batch_limit < 0 or not self.batch_item_s >= 0:
            raise ValueError(f"station {self.name!r}: servers must be at least 1, batch values at least 0")
        if self.discipline in _ONE_SERVER and self.servers != 1:
            raise ValueError(f"station {self.name!r}: a {self.discipline.name} has one server")
        if not self.setup_s >= 0 or (self.setup_s and self.discipline not in _SETS_UP):
            raise ValueError(
                f"station {self.name!r}: setup_s is {self.setup_s}; a {self.discipline.name} may have none"
            )
        if self.caches and self.discipline not in _SETS_UP:
            raise ValueError(f"station {self.name!r}: a {self.discipline.name} may have no caches")
        if not 0 <= self.fairness <= 1 or (self.fairness and self.discipline is not Discipline.RANDOM_ORDER):
            raise ValueError(f"station {self.name!r}: fairness must be from 0 to 1, and is of RANDOM_ORDER alone")
        if not all(weight > 0 for weight in self.weights):
            raise ValueError(f"station {self.name!r}: weights must be above 0")
        if self.queue_limit < 0 or not self.poll_s >= 0 or self.poll_limit < 1:
            raise ValueError(f"station {self.name!r}: queue_limit and poll_s must be at least 0, poll_limit at least 1")


@dataclass(frozen=True)
class Member:
    """A station that depends on the request's key: column `position` of the key's row in placement table `table`."""

    table: int
    position: int


class Choice(IntEnum):
    """How a group picks a member when a request comes to it."""

    HASH = 0
    """By the hash of the key, among the members present."""
    ROUND_ROBIN = 1
    RANDOM = 2
    LEAST_OUTSTANDING = 3
    """The one with fewest attempts under way; among equals the first."""
    POWER_OF_TWO = 4
    """The one with fewer attempts under way of two picked at random (Mitzenmacher 2001)."""


@dataclass(frozen=True)
class Group:
    """Alternatives bound at run time: an attempt picks one member at its first visit and stays with it.

    A further attempt of the same request picks another member where there is one.

    Attributes:
        members: station indices, shape (members, positions): each member is a row of stations (its cores, its NIC).
            With `table`, columns of that placement table instead: the members are stations of the key's own row, as
            the replicas of a placement group are. Such a member goes by the station of its first column: that is
            whose attempts under way are counted, and whom the agenda has join or leave.
        table: index of a placement table, or None.
    """

    choice: Choice
    members: NDArray[np.int32]
    table: int | None = None


@dataclass(frozen=True)
class Bound:
    """The station at column `position` of the member that the request is bound to in group `group`."""

    group: int
    position: int = 0


@dataclass(frozen=True)
class Visit:
    """One stay at a station: where, and for how long it needs service.

    Attributes:
        releases: POOL: gives a token back instead of taking one.
        ties: the first of tied attempts to be served here cancels the other.
    """

    station: int | Member | Bound
    demand: ServiceDemand
    releases: bool = False
    ties: bool = False


@dataclass(frozen=True)
class Stage:
    """A fork of branches, each a chain of visits, joined when `need` of them are done.

    The other branches go on loading their stations. A stage that `delivers` has the answer's first byte leave
    when it is joined.
    """

    branches: tuple[tuple[Visit, ...], ...]
    need: int
    delivers: bool = False

    def __post_init__(self) -> None:
        if not self.branches or not all(self.branches):
            raise ValueError("a stage needs at least one branch, and each branch at least one visit")
        if not 1 <= self.need <= len(self.branches):
            raise ValueError(f"a stage of {len(self.branches)} branches cannot need {self.need} of them")


def single(*visits: Visit, delivers: bool = False) -> Stage:
    """A stage of one branch."""
    return Stage((visits,), 1, delivers)


@dataclass(frozen=True)
class Route:
    """The stages that one kind of request passes, one after the other.

    Attributes:
        priority: its class at PRIORITY and WEIGHTED_SHARE stations; 0 goes first.
        policy: what the client does when an answer is late or does not come.
    """

    name: str
    stages: tuple[Stage, ...]
    priority: int = 0
    policy: Policy = NO_POLICY

    def __post_init__(self) -> None:
        if not self.stages:
            raise ValueError(f"route {self.name!r} has no stage")
        if self.priority < 0:
            raise ValueError(f"route {self.name!r}: priority must be at least 0")

    @cached_property
    def visits(self) -> tuple[Visit, ...]:
        """All visits in order: stage by stage, branch by branch."""
        return tuple(visit for stage in self.stages for branch in stage.branches for visit in branch)

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The stage of each visit, and the index of the last visit of its branch."""
        places: list[tuple[int, int]] = []
        for s, stage in enumerate(self.stages):
            for branch in stage.branches:
                places += [(s, len(places) + len(branch) - 1)] * len(branch)
        return tuple(places)

    @cached_property
    def forks(self) -> tuple[tuple[int, ...], ...]:
        """The index of the first visit of each branch, stage by stage."""
        firsts = iter([0, *(last + 1 for i, (_, last) in enumerate(self.places) if i == last)])
        return tuple(tuple(next(firsts) for _ in stage.branches) for stage in self.stages)

    @cached_property
    def streams(self) -> tuple[int, ...]:
        """The random stream of each visit of each attempt: the same whatever comes after it in the network."""
        return tuple(
            stream_id(f"demand/{self.name}/{s}/{b}/{v}" + (f"/{attempt}" if attempt else ""))
            for attempt in range(self.policy.attempts)
            for s, stage in enumerate(self.stages)
            for b, branch in enumerate(stage.branches)
            for v in range(len(branch))
        )


@dataclass(frozen=True)
class Network:
    """All that stays the same during a run.

    Attributes:
        stations, routes: referred to by index.
        placements: tables of station indices, shape (groups, members): placement groups or erasure sets. A key
            belongs to the group of its hash modulo the number of groups.
        pacing: when requests are issued.
        groups: alternatives bound at run time.
        agenda: what happens to the network while it runs.
    """

    stations: tuple[Station, ...]
    routes: tuple[Route, ...]
    placements: tuple[NDArray[np.int32], ...] = ()
    pacing: Pacing = field(default=Pacing())
    groups: tuple[Group, ...] = ()
    agenda: tuple[Action, ...] = ()

    def __post_init__(self) -> None:
        names = [s.name for s in self.stations]
        if len(set(names)) < len(names):
            raise ValueError("two stations have the same name")
        for table in (*self.placements, *(group.members for group in self.groups if group.table is None)):
            if table.size == 0 or table.min() < 0 or table.max() >= len(names):
                raise ValueError("a placement table or a group names a station that does not exist")
        for group in self.groups:
            self._check_keyed(group)
        for route in self.routes:
            for visit in route.visits:
                self._check(visit.station)
        classes = 1 + max((route.priority for route in self.routes), default=0)
        for station in self.stations:
            if station.discipline is Discipline.WEIGHTED_SHARE and len(station.weights) < classes:
                raise ValueError(f"station {station.name!r} needs {classes} weights")
        for action in self.agenda:
            self._check_action(action)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The roles of the stations, each once, in order of appearance."""
        return tuple(dict.fromkeys(station.role for station in self.stations))

    def _check_keyed(self, group: Group) -> None:
        if group.table is None:
            return
        if not 0 <= group.table < len(self.placements):
            raise ValueError(f"placement table {group.table} does not exist")
        columns = self.placements[group.table].shape[1]
        if group.members.size == 0 or group.members.min() < 0 or group.members.max() >= columns:
            raise ValueError(f"a group names a column that placement table {group.table} does not have")

    def _check_action(self, action: Action) -> None:
        if action.kind is Kind.RELEASE:
            return  # its target is a stream of the program
        if action.kind in (Kind.JOIN, Kind.LEAVE):
            if not 0 <= action.target < len(self.groups):
                raise ValueError(f"{action} names a group that does not exist")
            group = self.groups[action.target]
            if not 0 <= action.member < (len(group.members) if group.table is None else len(self.stations)):
                raise ValueError(f"{action} names a member that does not exist")
        elif not 0 <= action.target < len(self.stations):
            raise ValueError(f"{action} names a station that does not exist")
        else:
            discipline = self.stations[action.target].discipline
            is_gate = discipline is Discipline.GATE
            if (action.kind in (Kind.SHUT, Kind.OPEN)) != is_gate or discipline is Discipline.POOL:
                raise ValueError(f"{action}: gates are shut and opened, pools stay as they are, others do neither")

    def _check(self, station: int | Member | Bound) -> None:
        if isinstance(station, Bound):
            if not (0 <= station.group < len(self.groups)) or not (
                0 <= station.position < self.groups[station.group].members.shape[1]
            ):
                raise ValueError(f"{station} is in no group")
        elif isinstance(station, Member):
            if not (0 <= station.table < len(self.placements)) or not (
                0 <= station.position < self.placements[station.table].shape[1]
            ):
                raise ValueError(f"{station} is in no placement table")
        elif not 0 <= station < len(self.stations):
            raise ValueError(f"station {station} does not exist")
