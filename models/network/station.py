"""Stations, and the ways in which a visit names one: by its index, by the key, or as a group's choice at run time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from enum import IntEnum
from functools import cached_property, lru_cache
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from models.network.discipline import Discipline
from traces.random_streams import stream_id

Indices = tuple[int | str, ...]

UNBOUNDED = 2**40
"""A queue limit or number of polls that means no limit."""


@dataclass(frozen=True)
class Caches:
    """CPU cache warm-up: servers lose their caches while idle, and refill them while busy.

    *Warmth* is the mean over a station's servers of the fraction of the caches that is not lost, 1 at the start. While
    a fraction s of the servers is idle, it decreases at the rate s / `decay_s`, exponentially. Work w that begins at a
    warmth below 1 takes longer by the fraction 1 - exp(-w / `warm_up_s`) of `cold_penalty_s` (1 - warmth), and restores
    the same fraction of its server's loss (`sim/engine/cpu_caches.py`).

    Attributes:
        cold_penalty_s: total additional time of work until cold caches are warm.
        warm_up_s: time constant of warming up, in work.
        decay_s: time constant of cooling down, in idle time.
    """

    cold_penalty_s: float
    warm_up_s: float
    decay_s: float

    def __post_init__(self) -> None:
        if not (self.cold_penalty_s > 0 and self.warm_up_s > 0 and self.decay_s > 0):
            raise ValueError("caches: cold_penalty_s, warm_up_s and decay_s must be above 0")


@dataclass(frozen=True)
class Station:
    """One service centre.

    Attributes:
        name: unique in the network; for display only.
        role: its function, the same for all stations of a kind (``drive``, ``host cpu``).
        servers: number of servers, cores or tokens; ignored by infinite servers.
        indices: which one of those with its role it is, such as the numbers of its host and drive, or the direction of
            a link. They stay the same when others are added, as its random choices depend on them.
        batch_item_s: batches: time added by each member after the first.
        flush_s: batches: time added once if the visit of a member `flushes`.
        setup_s: setup time: additional service time of a job that finds its server idle; if the discipline `sets_up`.
        caches: CPU cache warm-up of its servers; if the discipline `sets_up`.
        age_bias: SIRO: fraction of its choices at which a server draws two of the waiting jobs and takes the one that
            has waited longer.
        weights: weight of each class, if the discipline is weighted.
        queue_limit: pools: maximum number of waiting jobs.
        queue_s, queued_each_s: shared servers: a job that arrives first waits for the work in a queue before the
            server, at most `queue_s`, and at most `queued_each_s` for each job there, as at a full link. Processor
            sharing if `queue_s` is 0, FIFO if both are infinite.
        shares_server: whether it uses the server of the station before it: one job or batch of both is served at a
            time, in the order of arrival. Both are FIFO or batch servers, with one server, and no setup or caches.
        parts: batches at a shared server: parts of a service, after each of which those that wait at the other station
            are served first, like the accesses of a commit. A flush is one part more.
        poll_s, poll_limit: gates: polling interval of a waiting job, and maximum number of polls; 0 s: jobs pass as
            soon as the gate opens.
        period_s: gates: time between two moments at which waiting jobs pass; 0 s: the scenario opens it.
        phase_s: gates: the first of these moments, less than `period_s`; `Network.at_phases` draws it.
        repeat_s, repeat_limit: counters of commits: unit of the pauses before a transaction that conflicts is repeated,
            and maximum number of repetitions.
    """

    name: str
    role: str
    discipline: Discipline
    servers: int = 1
    indices: Indices = ()
    batch_item_s: float = 0.0
    flush_s: float = 0.0
    setup_s: float = 0.0
    caches: Caches | None = None
    age_bias: float = 0.0
    weights: tuple[float, ...] = ()
    queue_limit: int = UNBOUNDED
    queue_s: float = 0.0
    queued_each_s: float = math.inf
    shares_server: bool = False
    parts: int = 1
    poll_s: float = 0.0
    poll_limit: int = UNBOUNDED
    period_s: float = 0.0
    phase_s: float = 0.0
    repeat_s: float = 0.0
    repeat_limit: int = UNBOUNDED

    def __post_init__(self) -> None:
        if self.servers < 1 or not self.batch_item_s >= 0 or not self.flush_s >= 0:
            raise ValueError(f"station {self.name!r}: servers must be at least 1, batch_item_s and flush_s at least 0")
        if self.discipline.has_one_server and self.servers != 1:
            raise ValueError(f"station {self.name!r}: a {self.discipline.name} has one server")
        if not self.setup_s >= 0 or (self.setup_s and not self.discipline.sets_up):
            raise ValueError(f"station {self.name!r}: setup_s is {self.setup_s}; a {self.discipline.name} must have 0")
        if self.caches and not self.discipline.sets_up:
            raise ValueError(f"station {self.name!r}: a {self.discipline.name} may have no caches")
        if not 0 <= self.age_bias <= 1 or (self.age_bias and not self.discipline.draws):
            raise ValueError(f"station {self.name!r}: age_bias must be from 0 to 1, and requires SIRO")
        if self.parts < 1 or (self.parts > 1 and not (self.shares_server and self.discipline.batches)):
            raise ValueError(f"station {self.name!r}: parts must be 1, or that of batches at a shared server")
        if not self.queue_s >= 0 or not self.queued_each_s >= 0 or (self.queue_s and not self.discipline.shares):
            raise ValueError(f"station {self.name!r}: queue_s must be at least 0, and requires a shared server")
        if not all(weight > 0 for weight in self.weights):
            raise ValueError(f"station {self.name!r}: weights must be above 0")
        if self.queue_limit < 0 or not self.poll_s >= 0 or self.poll_limit < 1:
            raise ValueError(f"station {self.name!r}: queue_limit and poll_s must be at least 0, poll_limit at least 1")
        if not self.period_s >= 0 or (self.period_s and (not self.discipline.is_gate or self.poll_s)):
            raise ValueError(f"station {self.name!r}: period_s must be at least 0, and is that of a gate without polls")
        if not 0 <= self.phase_s <= self.period_s:
            raise ValueError(f"station {self.name!r}: phase_s must be from 0 to period_s")
        if self.repeat_limit < 0 or not self.repeat_s >= 0 or (self.repeat_s and not self.discipline.counts_commits):
            raise ValueError(f"station {self.name!r}: repeat_s must be at least 0, and is that of a counter of commits")

    @cached_property
    def identity(self) -> int:
        """A hash of role and indices: the number of the random stream of its choices."""
        return stream_id("station", self.role, *self.indices)

    @cached_property
    def service(self) -> tuple[object, ...]:
        """Its attributes but name and indices, and those of a shared server, `shares_server` and `parts`."""
        found: tuple[object, ...] = _service(self)
        return found

    @property
    def may_pair(self) -> bool:
        """Whether its server may be that of another station, too."""
        simple = self.servers == 1 and not self.setup_s and not self.caches
        return simple and self.discipline in (Discipline.FIFO, Discipline.GROUP_COMMIT)


_service = attrgetter(*(f.name for f in fields(Station) if f.name not in {"name", "indices", "shares_server", "parts"}))

station_of = lru_cache(maxsize=2**16, typed=True)(Station)
"""The station with these arguments, always the same object: variants of a large cluster check and hash theirs once."""

NOWHERE = Station("nowhere", "nowhere", Discipline.GATE)
"""An always open gate, which stands for a part that a visit does not have: visits there take no time."""


class StationList:
    """Stations, numbered in the order in which they are added.

    Attributes:
        all: the stations; the first is `NOWHERE`.
        nowhere: its index.
    """

    def __init__(self) -> None:
        self.all: list[Station] = []
        self.nowhere = self.add(NOWHERE)

    def add(self, station: Station) -> int:
        """Add a station, and return its index."""
        self.all.append(station)
        return len(self.all) - 1


@dataclass(frozen=True)
class Member:
    """A station that depends on the request's key: column `position` of the key's row in placement table `table`.

    Attributes:
        part: the name of this place, which is the same in all variants of a model, by which visits have their random
            numbers; empty: that of the station in the first row.
    """

    table: int
    position: int
    part: Indices = field(default=(), compare=False)


class Choice(IntEnum):
    """How a group picks a member when a request comes to it."""

    HASH = 0
    """By the hash of the key, among the members present."""
    ROUND_ROBIN = 1
    RANDOM = 2
    LEAST_OUTSTANDING = 3
    """The one with the fewest attempts in progress; among equals the first."""
    POWER_OF_TWO = 4
    """Of two random members, the one with fewer attempts in progress (Mitzenmacher 2001)."""
    CLIENT = 5
    """By the number of the request's client, or of the request in an open loop: all attempts choose the same member.

    The scenario does not change such a group.
    """


@dataclass(frozen=True)
class Group:
    """Alternatives bound at run time: an attempt chooses a member at its first visit and stays with it.

    A further attempt of the same request chooses another member if there is one.

    Attributes:
        role, indices: as those of a station.
        members: station indices, shape (members, positions): each member is a row of stations (its cores, its NIC).
            With `table`, columns of that placement table instead: the members are stations of the key's row, such as
            the replicas of a placement group. Such a member is identified by the station of its first column, whose
            attempts in progress are counted, and which the scenario names. If that table is joined, the members are its
            coordinators, `JoinedTable.coordinators`, and a position is a column of the joined table.
        table: index of a placement table, or None.
    """

    choice: Choice
    members: NDArray[np.int32]
    table: int | None = None
    role: str = "group"
    indices: Indices = ()

    @cached_property
    def identity(self) -> int:
        """A hash of role and indices: the number of the random stream of its choices."""
        return stream_id("group", self.role, *self.indices)


@dataclass(frozen=True)
class Bound:
    """The station at column `position` of the member that the request is bound to in group `group`.

    Attributes:
        part: as that of a `Member`; empty: that of the first member's station.
    """

    group: int
    position: int = 0
    part: Indices = field(default=(), compare=False)
