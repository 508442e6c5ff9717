"""The Network: stations and routes as data, the language between the store models and the engines."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.demand import ServiceDemand
from traces.streams import stream_id
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
    FIFO's, its spread is wider.
    """


@dataclass(frozen=True)
class Station:
    """One service centre.

    Attributes:
        name: unique in the network.
        role: what it stands for, the same for all of its kind (``drive``, ``host cpu``).
        servers: servers or cores; has no meaning for DELAY, is 1 for GROUP_COMMIT.
        batch_limit: GROUP_COMMIT: members of a batch at most; 0: no limit.
        batch_item_s: GROUP_COMMIT: time added by each member after the first.
    """

    name: str
    role: str
    discipline: Discipline
    servers: int = 1
    batch_limit: int = 0
    batch_item_s: float = 0.0

    def __post_init__(self) -> None:
        if self.servers < 1 or self.batch_limit < 0 or not self.batch_item_s >= 0:
            raise ValueError(f"station {self.name!r}: servers must be at least 1, batch values at least 0")
        if self.discipline is Discipline.GROUP_COMMIT and self.servers != 1:
            raise ValueError(f"station {self.name!r}: a group commit has one server")


@dataclass(frozen=True)
class Member:
    """A station that depends on the request's key: column `position` of the key's row in placement table `table`."""

    table: int
    position: int


@dataclass(frozen=True)
class Visit:
    """One stay at a station: where, and for how long it needs service."""

    station: int | Member
    demand: ServiceDemand


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
    """The stages that one kind of request passes, one after the other."""

    name: str
    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        if not self.stages:
            raise ValueError(f"route {self.name!r} has no stage")

    @cached_property
    def visits(self) -> tuple[Visit, ...]:
        """All visits in order: stage by stage, branch by branch."""
        return tuple(visit for stage in self.stages for branch in stage.branches for visit in branch)

    @cached_property
    def streams(self) -> tuple[int, ...]:
        """The random stream of each visit: the same whatever other routes, stages or branches come after it."""
        return tuple(
            stream_id(f"demand/{self.name}/{s}/{b}/{v}")
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
    """

    stations: tuple[Station, ...]
    routes: tuple[Route, ...]
    placements: tuple[NDArray[np.int32], ...] = ()
    pacing: Pacing = field(default=Pacing())

    def __post_init__(self) -> None:
        names = [s.name for s in self.stations]
        if len(set(names)) < len(names):
            raise ValueError("two stations have the same name")
        for table in self.placements:
            if table.size == 0 or table.min() < 0 or table.max() >= len(names):
                raise ValueError("a placement table names a station that does not exist")
        for route in self.routes:
            for visit in route.visits:
                self._check(visit.station)

    def _check(self, station: int | Member) -> None:
        if isinstance(station, Member):
            if not (0 <= station.table < len(self.placements)) or not (
                0 <= station.position < self.placements[station.table].shape[1]
            ):
                raise ValueError(f"{station} is in no placement table")
        elif not 0 <= station < len(self.stations):
            raise ValueError(f"station {station} does not exist")
