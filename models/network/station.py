"""Stations, and the ways in which a visit names one: by its index, by the key, or as a group's choice at run time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from models.network.discipline import Discipline

UNBOUNDED = 2**40
"""A queue limit, or a number of polls, that is none."""


@dataclass(frozen=True)
class Caches:
    """Caches that servers lose while they are idle, and fill again as they work.

    *Warmth* is the mean over a station's servers of what is not lost, 1 at the start. While a share s of them is idle,
    s / `decay_s` of it is lost a second. Work w that begins at a warmth below 1 takes longer by the part
    1 - exp(-w / `warm_up_s`) of `cold_penalty_s` (1 - warmth), and takes the same part of the loss from the server
    that does it (`sim/engine/cpu_caches.py`).

    Attributes:
        refill_s: what work takes longer, in all, until caches that were lost are full again.
        warming_s: work that fills them but for 1 / e.
        cooling_s: idle time that loses all but 1 / e.
    """

    cold_penalty_s: float
    warm_up_s: float
    decay_s: float

    def __post_init__(self) -> None:
        if not (self.cold_penalty_s > 0 and self.warm_up_s > 0 and self.decay_s > 0):
            raise ValueError("caches: refill_s, warming_s and cooling_s must be above 0")


@dataclass(frozen=True)
class Station:
    """One service centre.

    Attributes:
        name: unique in the network.
        role: what it stands for, the same for all of its kind (``drive``, ``host cpu``).
        servers: servers, cores or tokens; has no meaning where they are infinite.
        batch_item_s: of batches: time added by each member after the first.
        setup_s: what a job that finds a server idle needs longer, as the server has to wake; where the discipline
            `sets_up`.
        caches: what its servers lose while they are idle; where `setup_s` may be, too.
        fairness: of random order: at this share of its choices a server draws two of the waiting jobs, and takes the
            one that has waited longer.
        weights: the share of each class, where classes have one.
        queue_limit: of pools: jobs that wait at most.
        poll_s, poll_limit: of gates: how often a waiting job looks again, and how many times; 0 s: released at once.
    """

    name: str
    role: str
    discipline: Discipline
    servers: int = 1
    batch_item_s: float = 0.0
    setup_s: float = 0.0
    caches: Caches | None = None
    age_bias: float = 0.0
    weights: tuple[float, ...] = ()
    queue_limit: int = UNBOUNDED
    poll_s: float = 0.0
    poll_limit: int = UNBOUNDED

    def __post_init__(self) -> None:
        if self.servers < 1 or not self.batch_item_s >= 0:
            raise ValueError(f"station {self.name!r}: servers must be at least 1, batch_item_s at least 0")
        if self.discipline.has_one_server and self.servers != 1:
            raise ValueError(f"station {self.name!r}: a {self.discipline.name} has one server")
        if not self.setup_s >= 0 or (self.setup_s and not self.discipline.sets_up):
            raise ValueError(
                f"station {self.name!r}: setup_s is {self.setup_s}; a {self.discipline.name} may have none"
            )
        if self.caches and not self.discipline.sets_up:
            raise ValueError(f"station {self.name!r}: a {self.discipline.name} may have no caches")
        if not 0 <= self.age_bias <= 1 or (self.age_bias and not self.discipline.draws):
            raise ValueError(f"station {self.name!r}: fairness must be from 0 to 1, and is of random order alone")
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
    """The one with fewest attempts in progress; among equals the first."""
    POWER_OF_TWO = 4
    """The one with fewer attempts in progress of two picked at random (Mitzenmacher 2001)."""


@dataclass(frozen=True)
class Group:
    """Alternatives bound at run time: an attempt picks one member at its first visit and stays with it.

    A further attempt of the same request picks another member where there is one.

    Attributes:
        members: station indices, shape (members, positions): each member is a row of stations (its cores, its NIC).
            With `table`, columns of that placement table instead: the members are stations of the key's own row, as
            the replicas of a placement group are. Such a member goes by the station of its first column: that is
            whose attempts in progress are counted, and which the scenario has join or leave.
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
