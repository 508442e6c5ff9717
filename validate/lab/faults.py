"""Faults that the lab stages on the drives, links and hosts of a store, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Part = Literal["drive", "link", "host"]

Effect = Literal["slow", "frozen", "errors", "full", "replaced", "cut", "limited", "killed", "paused", "restarted"]

EFFECTS: Mapping[Part, tuple[Effect, ...]] = {
    "drive": ("slow", "frozen", "errors", "full", "replaced"),
    "link": ("cut", "limited"),
    "host": ("killed", "paused", "restarted"),
}
"""What can happen to each part."""


@dataclass(frozen=True)
class LabFault:
    """A fault of one part, with its time.

    Attributes:
        number: of the drive or host (a link is that of its host), from 0.
        factor: slow: by which accesses take longer.
        bytes_per_s: limited: the rate, if not given as a fraction.
        fraction: limited: the fraction of the normal rate.
        at_s: when it begins, from the start of the replay, or from now.
        for_s: how long it lasts; None: until the replay ends, or until it is ended.
    """

    part: Part
    number: int
    effect: Effect
    factor: float | None = None
    bytes_per_s: float | None = None
    fraction: float | None = None
    at_s: float = 0.0
    for_s: float | None = None

    @property
    def what(self) -> str:
        """The fault without its time, as it is written."""
        how: str = self.effect
        if self.factor is not None:
            how = f"x{self.factor:.15g}"
        elif self.fraction is not None:
            how = f"{100 * self.fraction:.15g}%"
        elif self.bytes_per_s is not None:
            how = f"{8 * self.bytes_per_s:.15g}bit/s"
        return f"{self.part} {self.number} {how}"

    @property
    def text(self) -> str:
        """The fault as it is written."""
        at = f" at {self.at_s:.15g}s" if self.at_s else ""
        return self.what + at + (f" for {self.for_s:.15g}s" if self.for_s is not None else "")
