"""What a sweep varies: paths of a spec with their values, and the points that these make, on a grid or sampled.

Values stay as they are written, so that ``path=value`` takes them: ``4KiB``, ``10ms``, ``p95``, ``null``.
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
from traces.units import binary_size, parse_bytes

MOST_POINTS = 100_000
"""Points of a sweep, and values of one path, at most."""

Assignments = dict[str, str]
"""A point: the value of each path that is varied."""


@dataclass(frozen=True)
class Range:
    """All values from one to another: whole numbers (`whole`), or numbers of a unit."""

    low: float
    high: float
    unit: str = ""
    whole: bool = False

    def at(self, fraction: float) -> str:
        """The value at a share of the way, from 0 to 1."""
        return self.text(self.low + fraction * (self.high - self.low))

    def text(self, value: float) -> str:
        """A value as it is written; one in a unit of size is of whole bytes."""
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
    """A path and its values; or a `range` of which only samples can be taken."""

    path: str
    values: tuple[str, ...]
    range: Range | None = None

    @property
    def counts(self) -> bool:
        """Whether all values are whole numbers, so that they may be a count."""
        return all(re.fullmatch(r"\d+", value) for value in self.values) and self.range is None

    def at(self, fraction: float) -> str:
        """The value at a share of the way from the first to the last, 0 <= share < 1."""
        return self.range.at(fraction) if self.range else self.values[int(fraction * len(self.values))]


def grid(variations: Sequence[Variation]) -> list[Assignments]:
    """All combinations of all values; the last path varies fastest.

    Raises:
        InputError: a range has no steps, or the points are too many.
    """
    for variation in variations:
        if variation.range is not None:
            raise InputError(
                f"{variation.path}: a grid needs single values, as in A..B:STEP or A..B/COUNT; a range can be sampled"
            )
    count = math.prod(len(variation.values) for variation in variations)
    if count > MOST_POINTS:
        raise InputError(f"the grid has {count:,} points; at most {MOST_POINTS:,} are allowed; take samples of it")
    paths = [variation.path for variation in variations]
    combinations = itertools.product(*(variation.values for variation in variations))
    return [dict(zip(paths, values, strict=True)) for values in combinations]


def sampled(variations: Sequence[Variation], samples: int, seed: int) -> list[Assignments]:
    """A Latin hypercube: each path's values are spread evenly, in an order of their own.

    Points that come out alike, as they may of listed values, are one. The method: McKay, Beckman and Conover, "A
    comparison of three methods for selecting values of input variables", Technometrics 21(2), 1979.

    Raises:
        InputError: no samples, or too many.
    """
    if not 1 <= samples <= MOST_POINTS:
        raise InputError(f"samples is {samples}; 1 to {MOST_POINTS:,} are allowed")
    shares = scipy.stats.qmc.LatinHypercube(len(variations), rng=np.random.default_rng(seed)).random(samples)
    points = [{v.path: v.at(fraction) for v, fraction in zip(variations, row, strict=True)} for row in shares.tolist()]
    return list({tuple(point.items()): point for point in points}.values())
