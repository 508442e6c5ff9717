"""The scenario of a network: actions on its stations and groups during a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class ActionKind(IntEnum):
    """The effect of an action on its target."""

    SPEED = 0
    """The station serves at `value` times its speed, from its next service on (a shared server immediately)."""
    DOWN = 1
    """The station fails: waiting and arriving jobs are refused; jobs in service fail when they would have completed."""
    UP = 2
    """The station is back, empty."""
    SHUT = 3
    """Jobs wait at the gate."""
    OPEN = 4
    """All jobs that wait at the gate without polling pass."""
    JOIN = 5
    """`member` can be chosen again."""
    LEAVE = 6
    """`member` is no longer chosen; requests bound to it stay."""


@dataclass(frozen=True)
class Action:
    """One entry of the scenario.

    Attributes:
        target: index of the station, or of the group (JOIN, LEAVE).
        at_s: time of the action.
        member: JOIN, LEAVE: row of the group, or the station of a group with a placement table.
        value: SPEED: the factor.
    """

    kind: ActionKind
    target: int
    at_s: float = 0.0
    member: int = 0
    value: float = 1.0

    def __post_init__(self) -> None:
        if not self.at_s >= 0 or not self.value > 0:
            raise ValueError(f"{self}: at_s must be at least 0, value above 0")


def first_speeds(scenario: Iterable[Action]) -> dict[int, float]:
    """Return the speeds of stations that a scenario sets at the beginning, before any request, by station."""
    return {each.target: each.value for each in scenario if each.kind is ActionKind.SPEED and each.at_s == 0.0}
