"""Bisection for the limit of a condition, and minimisation of a function, over one number: calls are expensive.

Whole numbers are bisected to neighbours; others, which are above 0, on a logarithmic scale to a relative tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from traces.errors import InputError

DOUBLINGS = 20
"""Maximum number of times that a bracket is widened by a factor of 2: to a million times its first value."""

_DIGITS = 5  # significant digits of the values tried, so that they are readable
_GOLDEN = (math.sqrt(5) - 1) / 2

Holds = Callable[[float], bool]


@dataclass(frozen=True)
class Scale:
    """The allowed values, and the tolerance of a search.

    Attributes:
        whole: whole numbers from 0; else real numbers above 0.
        tolerance: for numbers that are not whole, relative to the greater.

    Raises:
        InputError: the tolerance is out of range.
    """

    whole: bool
    tolerance: float = 0.01

    def __post_init__(self) -> None:
        if not 0.001 <= self.tolerance < 1:
            raise InputError(f"tolerance is {self.tolerance!r}; it must be 0.001 to 1, for example 0.01 for 1 %")

    def near(self, a: float, b: float) -> bool:
        """Whether two values are within the tolerance."""
        return abs(a - b) <= 1 if self.whole else abs(a - b) <= self.tolerance * max(a, b)

    def value(self, x: float) -> float:
        """Return the allowed value nearest to a number."""
        return round(x) if self.whole else float(f"{x:.{_DIGITS}g}")

    def middle(self, a: float, b: float) -> float:
        """Return a value between two that are not `near`: their arithmetic or, if not whole, geometric mean."""
        return (int(a) + int(b)) // 2 if self.whole else self.value(math.sqrt(a * b))

    def step(self, value: float, upward: bool) -> float | None:
        """Return twice the value, or half of it; None: there is none."""
        if self.whole:
            return max(2 * int(value), 1) if upward else (int(value) // 2 if value else None)
        return self.value(2 * value if upward else value / 2)


def bracket(holds: Holds, scale: Scale, start: float, upward: bool) -> tuple[float | None, float | None]:
    """Find a value where the condition holds, and one beyond it where it does not, by doubling or halving.

    Args:
        holds: the condition, which holds up to some value (`upward`), or down to one.
        start: the first value to try.
        upward: whether the condition ceases to hold upward.

    Returns:
        either is None if it was not found in `DOUBLINGS` steps, or among all values.
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
    """Narrow a bracket until its ends are near; the condition holds at `inside`, not at `outside`."""
    while not scale.near(inside, outside):
        middle = scale.middle(inside, outside)
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside, outside


def probes(scale: Scale, tried: Collection[float], inside: float, outside: float) -> list[float]:
    """Return a value on each side of a bracket, midway to the farthest value tried there.

    Bisection does not try these again, so only they can show that the condition is not monotonic.
    """
    found = []
    for end, other in ((inside, outside), (outside, inside)):
        farthest = max((v for v in tried if (v < end) == (end < other) or v == end), key=lambda v: abs(v - end))
        if not scale.near(end, farthest):
            found.append(scale.middle(end, farthest))
    return found


def reversals(results: dict[float, bool], upward: bool) -> list[tuple[float, float]]:
    """Return pairs of neighbouring values where the condition holds again after it had ceased to hold.

    Args:
        results: whether the condition holds, by value.
        upward: whether it should cease to hold upward.
    """
    order = sorted(results, reverse=not upward)
    return [(a, b) for a, b in pairwise(order) if results[b] and not results[a]]


def least(cost: Callable[[float], Any], scale: Scale, low: float, high: float, scan: int = 7) -> float:
    """Minimise a cost between two bounds: a scan by equal ratios, then golden-section search around the best value.

    The scan finds the lowest of several minima if these are wider than its steps; golden-section search (Kiefer,
    "Sequential minimax search for a maximum", Proceedings of the AMS 4, 1953) requires a single one between its ends.

    Args:
        cost: returns anything that can be compared.
        low, high: both above 0, ascending.
        scan: number of values of the scan.
    """
    known: dict[float, Any] = {}

    def evaluated(x: float) -> Any:
        value = scale.value(math.exp(x))
        if value not in known:
            known[value] = cost(value)
        return known[value]

    step = math.log(high / low) / (scan - 1)
    grid = [math.log(low) + i * step for i in range(scan)]
    at = min(range(scan), key=lambda i: evaluated(grid[i]))
    a, b = grid[max(at - 1, 0)], grid[min(at + 1, scan - 1)]
    while not _narrow(scale, math.exp(a), math.exp(b)):
        c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        if evaluated(c) <= evaluated(d):
            b = d
        else:
            a = c
    best = min(known, key=lambda value: known[value])
    while scale.whole:
        further = min((v for v in (best - 1, best + 1) if low <= v <= high), key=lambda v: evaluated(math.log(v)))
        if known[further] >= known[best]:
            break
        best = further
    return best


def _narrow(scale: Scale, low: float, high: float) -> bool:
    return high - low <= 3 if scale.whole else scale.near(low, high)
