"""The scenario of a network: what happens to a network while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Kind(IntEnum):
    """What an action does to its target."""

    SPEED = 0
    """The station serves at `value` times its speed, from its next service on (a shared server at once)."""
    DOWN = 1
    """The station dies: what waits or comes is refused; what is in service is lost when it would have been done."""
    UP = 2
    """The station is back, empty."""
    SHUT = 3
    OPEN = 4
    """All that wait at the gate without polling pass."""
    JOIN = 5
    """`member` takes its place in the group again."""
    LEAVE = 6
    """`member` is not picked any more; who is bound to it stays."""


@dataclass(frozen=True)
class Action:
    """One entry of the scenario.

    Attributes:
        target: index of the station, or of the group (JOIN, LEAVE).
        at_s: when.
        member: JOIN, LEAVE: row of the group.
        value: SPEED: the factor.
    """

    kind: Kind
    target: int
    at_s: float = 0.0
    member: int = 0
    value: float = 1.0

    def __post_init__(self) -> None:
        if not self.at_s >= 0 or not self.value > 0:
            raise ValueError(f"{self}: at_s must be at least 0, value above 0")
