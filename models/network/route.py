"""Routes: the visits of one kind of request, in stages that fork and join."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from models.network.retry_policy import NO_POLICY, Policy
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Member
from traces.random_streams import stream_id


@dataclass(frozen=True)
class Visit:
    """One visit to a station, with its service demand.

    Attributes:
        releases: at a pool: returns a token instead of taking one.
        ties: the first of tied attempts to be served here cancels the other.
    """

    station: int | Member | Bound
    demand: ServiceDemand
    releases: bool = False
    ties: bool = False


@dataclass(frozen=True)
class Stage:
    """A fork of branches, each a chain of visits, joined when `need` of them are complete.

    The other branches continue to load their stations. The first byte of the response is sent when a stage that
    `delivers` is joined.
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
    """Return a stage with one branch."""
    return Stage((visits,), 1, delivers)


@dataclass(frozen=True)
class Route:
    """The stages that one kind of request passes, one after the other.

    Attributes:
        priority: its class, at stations with classes; 0 is the highest priority.
        policy: client policy for late and failed responses.
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
        """The random stream of each visit of each attempt, independent of the rest of the network."""
        return tuple(
            stream_id(f"demand/{self.name}/{s}/{b}/{v}" + (f"/{attempt}" if attempt else ""))
            for attempt in range(self.policy.attempts)
            for s, stage in enumerate(self.stages)
            for b, branch in enumerate(stage.branches)
            for v in range(len(branch))
        )
