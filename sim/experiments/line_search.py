"""Where a condition ends to hold, and where a function is least, over one number: each call may cost a simulation.

Whole numbers are bisected to neighbours; others, which are above 0, on a scale of ratios, to a relative tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from traces.errors import InputError

DOUBLINGS = 20
"""So often at most a bracket is widened, by a factor of 2 each: to a million times its first value."""

_DIGITS = 5  # of the values tried, so that they can be read
_GOLDEN = (math.sqrt(5) - 1) / 2

Holds = Callable[[float], bool]


@dataclass(frozen=True)
class Scale:
    """What values there are, and how near two of them are near enough.

    Attributes:
        whole: whole numbers from 0 on; else numbers above 0.
        tolerance: of numbers that are not whole, as a share of the greater.

    Raises:
        InputError: the tolerance is out of range.
    """

    whole: bool
    tolerance: float = 0.01

    def __post_init__(self) -> None:
        if not 0.001 <= self.tolerance < 1:
            raise InputError(f"tolerance is {self.tolerance!r}; allowed are 0.001 to 1, such as 0.01 for 1 %")

    def near(self, a: float, b: float) -> bool:
        """Whether there is nothing to look for between two values."""
        return abs(a - b) <= 1 if self.whole else abs(a - b) <= self.tolerance * max(a, b)

    def value(self, x: float) -> float:
        """The value nearest to a number."""
        return round(x) if self.whole else float(f"{x:.{_DIGITS}g}")

    def middle(self, a: float, b: float) -> float:
        """The value between two that are not `near`: half way, of numbers that are not whole by ratio."""
        return (int(a) + int(b)) // 2 if self.whole else self.value(math.sqrt(a * b))

    def step(self, value: float, upward: bool) -> float | None:
        """Twice the value, or half of it; None: there is none."""
        if self.whole:
            return max(2 * int(value), 1) if upward else (int(value) // 2 if value else None)
        return self.value(2 * value if upward else value / 2)


def bracket(holds: Holds, scale: Scale, start: float, upward: bool) -> tuple[float | None, float | None]:
    """A value where the condition holds, and one further on where it does not; by doubling or halving.

    Args:
        holds: holds up to some value (`upward`), or down to one.
        start: the first value tried.
        upward: whether it ceases to hold upward.

    Returns:
        either is None where `DOUBLINGS` steps, or all that there are, have found none.
    """
    first = holds(start)
    here = start
    for _ in range(DOUBLINGS):
        further = scale.step(here, upward == first)
        if further is None:
            break
        if holds(further) != first:
            return (here, further) if first else (further, here)
        here = further
    return (here, None) if first else (None, here)


def bisect(holds: Holds, scale: Scale, inside: float, outside: float) -> tuple[float, float]:
    """A bracket narrowed until its ends are near; the condition holds at `inside` and not at `outside`."""
    while not scale.near(inside, outside):
        middle = scale.middle(inside, outside)
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside, outside


def probes(scale: Scale, tried: Collection[float], inside: float, outside: float) -> list[float]:
    """A value on each side of a bracket, half way to the farthest tried there.

    Bisection never looks there again, so only these can show that the condition does not end where it was found to.
    """
    found = []
    for end, other in ((inside, outside), (outside, inside)):
        farthest = max((v for v in tried if (v < end) == (end < other) or v == end), key=lambda v: abs(v - end))
        if not scale.near(end, farthest):
            found.append(scale.middle(end, farthest))
    return found


def reversals(held: dict[float, bool], upward: bool) -> list[tuple[float, float]]:
    """Pairs of neighbours, of values tried in ascending order, where the condition returns after it had ended.

    Args:
        held: whether it holds, by value.
        upward: whether it is to end upward.
    """
    order = sorted(held, reverse=not upward)
    return [(a, b) for a, b in pairwise(order) if held[b] and not held[a]]


def least(cost: Callable[[float], Any], scale: Scale, low: float, high: float, scan: int = 7) -> float:
    """The value between two bounds whose cost is least: a scan by equal ratios, and golden section where it was least.

    The scan finds which of several valleys is the lowest, if they are wider than its steps; the golden section (Kiefer,
    "Sequential minimax search for a maximum", Proceedings of the AMS 4, 1953) needs that there is one between its ends.

    Args:
        cost: anything that can be compared.
        low, high: both above 0, ascending.
        scan: how many values are looked at first.
    """
    known: dict[float, Any] = {}

    def look(x: float) -> Any:
        value = scale.value(math.exp(x))
        if value not in known:
            known[value] = cost(value)
        return known[value]

    step = math.log(high / low) / (scan - 1)
    grid = [math.log(low) + i * step for i in range(scan)]
    at = min(range(scan), key=lambda i: look(grid[i]))
    a, b = grid[max(at - 1, 0)], grid[min(at + 1, scan - 1)]
    while not _narrow(scale, math.exp(a), math.exp(b)):
        c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        if look(c) <= look(d):
            b = d
        else:
            a = c
    best = min(known, key=lambda value: known[value])
    while scale.whole:
        further = min((v for v in (best - 1, best + 1) if low <= v <= high), key=lambda v: look(math.log(v)))
        if known[further] >= known[best]:
            break
        best = further
    return best


def _narrow(scale: Scale, low: float, high: float) -> bool:
    return high - low <= 3 if scale.whole else scale.near(low, high)
