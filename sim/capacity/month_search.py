"""The search for the first month in which something holds, if it does from then on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class MonthSearch:
    """A search for the first month in which a condition holds: after `low`, at most `high`.

    From a month near which it is expected, steps are twice as long each time, until the first month is between two of
    them. Without such a month, and then, intervals are halved.

    Attributes:
        near: the next month of such steps; None: none is expected.
        step: in months.
    """

    low: int
    high: int
    near: int | None = None
    step: int = 1

    @property
    def is_done(self) -> bool:
        """Whether the month is found: it is `high`."""
        return self.high - self.low <= 1

    @property
    def following(self) -> int:
        """The month to look at next."""
        if self.near is not None and self.low < self.near < self.high:
            return self.near
        return (self.low + self.high) // 2

    def narrow(self, month: int, holds: bool) -> None:
        """Take note of whether the condition holds in the month to look at next."""
        self.low, self.high = (self.low, month) if holds else (month, self.high)
        if self.near is not None:
            self.near, self.step = month - self.step if holds else month + self.step, 2 * self.step
