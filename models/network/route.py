"""Routes: the visits of one kind of request, in stages that fork and join."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.network.retry_policy import NO_POLICY, Policy
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Member
from models.network.sub_requests import SubRequests


@dataclass(frozen=True, eq=False)
class Chance:
    """A decision whether a request makes some visits, such as those of a cache miss: one for all visits that have it.

    Attributes:
        probability: of making the visits if those of `within` are made; requests decide independently.
        within: the decision that this one belongs to.
    """

    probability: float
    within: Chance | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise ValueError(f"a chance has a probability between 0 and 1, not {self.probability}")

    @property
    def fraction(self) -> float:
        """Fraction of the requests that make the visits."""
        return self.probability * (self.within.fraction if self.within else 1.0)

    def is_within(self, other: Chance | None) -> bool:
        """Whether a request that makes these visits certainly makes those of `other`."""
        return other is None or self is other or (self.within is not None and self.within.is_within(other))


@dataclass(frozen=True)
class Visit:
    """One visit to a station, with its service demand.

    Attributes:
        chance: whether the request makes the visit or passes by; None: all requests make it, unless the demand's
            distribution is `Occasional`.
        releases: at a pool: returns a token instead of taking one.
        flushes: at a batch server with `flush_s`: the batch takes that much longer.
        early: of a visit that releases: the token is returned when the service of the visit before it begins.
        ties: the first of tied attempts to be served here cancels the other.
        timer: the branch goes on after this visit only if its stage still needs it (see `Stage`).
        claims: likewise, and it becomes one of the branches that the stage needs.
        starts: sub-requests that begin when the visit is over; then the branch waits for them.
    """

    station: int | Member | Bound
    demand: ServiceDemand
    releases: bool = False
    ties: bool = False
    timer: bool = False
    claims: bool = False
    chance: Chance | None = None
    early: bool = False
    flushes: bool = False
    starts: SubRequests | None = None

    def __post_init__(self) -> None:
        if self.early and not self.releases:
            raise ValueError("only a visit that releases a token may do so early")
        if self.is_certain and self.chance is not None:
            raise ValueError("a visit that claims its stage, or is a timer, is made by all requests")

    @property
    def is_certain(self) -> bool:
        """Whether no request passes by, because the visit decides what its branch does next."""
        return self.timer or self.claims

    @property
    def fraction(self) -> float:
        """Fraction of the requests that make the visit."""
        if self.is_certain:
            return 1.0
        return self.demand.occasion * (self.chance.fraction if self.chance else 1.0)

    @property
    def demand_if_made(self) -> ServiceDemand:
        """The demand of the requests that make the visit."""
        return self.demand if self.is_certain else self.demand.on_occasion

    def mean_s(self, size_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean demand in s over all requests, 0 for those that pass by; same shape as `size_bytes`."""
        return self.demand.mean_s(size_bytes) * (self.chance.fraction if self.chance else 1.0)


@dataclass(frozen=True)
class Stage:
    """A fork of branches, each a chain of visits, joined when `need` of them are complete.

    The other branches continue to load their stations, except for those that come to a `timer` or a visit that
    `claims`: they stop there if the stage is joined, or if `need` branches have claimed it. So a branch behind a timer
    is a hedged part of the request, and a branch with nothing but a timer limits the wait for the last branches. The
    first byte of the response is sent when a stage that `delivers` is joined, or claimed by `need` branches.
    """

    branches: tuple[tuple[Visit, ...], ...]
    need: int
    delivers: bool = False

    def __post_init__(self) -> None:
        if not self.branches or not all(self.branches):
            raise ValueError("a stage needs at least one branch, and each branch at least one visit")
        if not 1 <= self.need <= len(self.branches):
            raise ValueError(f"a stage of {len(self.branches)} branches cannot need {self.need} of them")
        for branch in self.branches:
            claims = [i for i, visit in enumerate(branch) if visit.claims]
            if claims and any(visit.claims or visit.timer for visit in branch[claims[0] + 1 :]):
                raise ValueError("a branch claims its stage once, and has no timer afterwards")


def single(*visits: Visit, delivers: bool = False) -> Stage:
    """Return a stage with one branch."""
    return Stage((visits,), 1, delivers)


def words(*parts: str) -> str:
    """Return the parts that are not empty, with spaces between them."""
    return " ".join(filter(None, parts))


def kind_of(name: str) -> str:
    """Return the name of a route without the numbers at its end, which only distinguish similar ones."""
    return re.sub(r"( \d+)+$", "", name)


@dataclass(frozen=True)
class Route:
    """The stages that one kind of request passes, one after the other.

    Attributes:
        operation: that of the requests (`traces.operations`), which selects their random numbers; of background work,
            its name.
        variant: what distinguishes the route from others of the operation, in words; empty for the plain one.
        priority: its class, at stations with classes; 0 is the highest priority.
        policy: client policy for late and failed responses.
    """

    operation: str
    stages: tuple[Stage, ...]
    priority: int = 0
    policy: Policy = NO_POLICY
    variant: str = ""

    def __post_init__(self) -> None:
        if not self.stages:
            raise ValueError(f"route {self.name!r} has no stage")
        if self.priority < 0:
            raise ValueError(f"route {self.name!r}: priority must be at least 0")

    @property
    def name(self) -> str:
        """Operation and variant, for display only."""
        return words(self.operation, self.variant)

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
    def starts(self) -> tuple[tuple[int, SubRequests], ...]:
        """The visits that start sub-requests, by index, and what each of them starts."""
        return tuple((i, visit.starts) for i, visit in enumerate(self.visits) if visit.starts is not None)

    @cached_property
    def chances(self) -> tuple[Chance, ...]:
        """Its decisions, each after the one that it belongs to."""
        found: dict[Chance, None] = {}

        def add(chance: Chance | None) -> None:
            if chance is not None and chance not in found:
                add(chance.within)
                found[chance] = None

        for visit in self.visits:
            add(visit.chance)
        return tuple(found)
