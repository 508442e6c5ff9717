"""The paths and values that a sweep varies, and its points, on a grid or sampled.

Values remain text, as in ``path=value``: ``4KiB``, ``10ms``, ``p95``, ``null``.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from traces.errors import InputError
from traces.spec.units import binary_size, parse_bytes

MOST_POINTS = 100_000
"""Maximum number of points of a sweep, and of values of one path."""

Assignments = dict[str, str]
"""A point: the value of each varied path."""


@dataclass(frozen=True)
class ValueRange:
    """A range of whole numbers (`whole`), or of numbers with a unit."""

    low: float
    high: float
    unit: str = ""
    whole: bool = False

    def at(self, fraction: float) -> str:
        """Return the value at a fraction of the range, from 0 to 1."""
        return self.text(self.low + fraction * (self.high - self.low))

    def text(self, value: float) -> str:
        """Return a value as text; sizes are rounded to whole bytes."""
        if self.whole:
            return f"{round(value)}"
        text = f"{value:.6g}{self.unit}"
        if not self.unit:
            return text
        try:
            one = parse_bytes(f"1{self.unit}")
        except ValueError:
            return text
        return text if (float(f"{value:.6g}") * one).is_integer() else binary_size(round(value * one))


@dataclass(frozen=True)
class Variation:
    """A path and its values, or a `range`, which can only be sampled."""

    path: str
    values: tuple[str, ...]
    range: ValueRange | None = None

    @property
    def counts(self) -> bool:
        """Whether all values are whole numbers, as those of a count."""
        return all(re.fullmatch(r"\d+", value) for value in self.values) and self.range is None

    def at(self, fraction: float) -> str:
        """Return the value at a fraction of the way from the first to the last, 0 <= fraction < 1."""
        return self.range.at(fraction) if self.range else self.values[int(fraction * len(self.values))]


def grid(variations: Sequence[Variation]) -> list[Assignments]:
    """Return all combinations of values; the last path varies fastest.

    Raises:
        InputError: a range has no steps, or there are too many points.
    """
    for variation in variations:
        if variation.range is not None:
            raise InputError(
                f"{variation.path}: a grid needs discrete values, as in A..B:STEP or A..B/COUNT; or sample the range"
            )
    count = math.prod(len(variation.values) for variation in variations)
    if count > MOST_POINTS:
        raise InputError(f"the grid has {count:,} points; at most {MOST_POINTS:,} are allowed; sample it instead")
    paths = [variation.path for variation in variations]
    combinations = itertools.product(*(variation.values for variation in variations))
    return [dict(zip(paths, values, strict=True)) for values in combinations]


def sampled(variations: Sequence[Variation], samples: int, seed: int) -> list[Assignments]:
    """Return a Latin hypercube sample: the values of each path are evenly spread, in an independent random order.

    Duplicate points, which listed values may give, are removed. The method: McKay, Beckman and Conover, "A
    comparison of three methods for selecting values of input variables", Technometrics 21(2), 1979.

    Raises:
        InputError: the number of samples is out of range.
    """
    if not 1 <= samples <= MOST_POINTS:
        raise InputError(f"samples is {samples}; it must be 1 to {MOST_POINTS:,}")
    drawn = scipy.stats.qmc.LatinHypercube(len(variations), rng=np.random.default_rng(seed)).random(samples)
    points = [{v.path: v.at(fraction) for v, fraction in zip(variations, row, strict=True)} for row in drawn.tolist()]
    return list({tuple(point.items()): point for point in points}.values())
