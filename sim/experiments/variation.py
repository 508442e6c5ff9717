"""What a sweep varies: paths of a spec with their values, and the points that these make, on a grid or sampled.

Values stay as they are written, so that ``path=value`` takes them: ``4KiB``, ``10ms``, ``p95``, ``null``.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from traces.errors import InputError
from traces.units import binary_size, parse_bandwidth, parse_bytes, parse_rate, parse_seconds

MOST_POINTS = 100_000
"""Points of a sweep, and values of one path, at most."""

Assignments = dict[str, str]
"""A point: the value of each path that is varied."""

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})([^\d\s.:]*)\.\.({_NUMBER})([^\d\s.:]*?)(?:([:/])({_NUMBER})([^\d\s.:/]*))?")
_PARSERS: tuple[Callable[[object], float], ...] = (parse_bytes, parse_seconds, parse_rate, parse_bandwidth)


@dataclass(frozen=True)
class Range:
    """All values from one to another: whole numbers (`whole`), or numbers of a unit."""

    low: float
    high: float
    unit: str = ""
    whole: bool = False

    def at(self, share: float) -> str:
        """The value at a share of the way, from 0 to 1."""
        return self.text(self.low + share * (self.high - self.low))

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

    def at(self, share: float) -> str:
        """The value at a share of the way from the first to the last, 0 <= share < 1."""
        return self.range.at(share) if self.range else self.values[int(share * len(self.values))]


def parse_variation(text: str) -> Variation:
    """The path and the values of ``PATH=A..B``, ``A..B:STEP``, ``A..B/COUNT`` or ``PATH=VALUE,VALUE``.

    ``A..B`` of whole numbers are all of them; of others it is a range to sample from. ``none`` is ``null``.

    Raises:
        InputError: no value, one that is there twice, or a range that cannot be.
    """
    path, equals, written = (part.strip() for part in text.partition("="))
    if not equals or not path or not written:
        raise InputError(f"--vary {text}: write it like gateways.count=1..14, or client.hedge.after=none,p90,p95")
    match = _RANGE.fullmatch(written)
    if match is None:
        values = tuple("null" if value.lower() == "none" else value for value in _separated(written))
        between = None
    else:
        values, between = _expanded(text, match)
    if not all(values):
        raise InputError(f"--vary {text}: a value is empty; write null for none")
    repeated = next((value for value in values if values.count(value) > 1), None)
    if repeated is not None:
        raise InputError(f"--vary {text}: {repeated} is there twice")
    return Variation(path, values, between)


def grid(variations: Sequence[Variation]) -> list[Assignments]:
    """All combinations of all values; the last path varies fastest.

    Raises:
        InputError: a range has no steps, or the points are too many.
    """
    for variation in variations:
        if variation.range is not None:
            raise InputError(
                f"--vary {variation.path}: say which values, as in A..B:STEP or A..B/COUNT; or take --samples"
            )
    count = math.prod(len(variation.values) for variation in variations)
    if count > MOST_POINTS:
        raise InputError(f"--vary: {count:,} points; at most {MOST_POINTS:,} are allowed, and --samples takes some")
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
        raise InputError(f"--samples is {samples}; 1 to {MOST_POINTS:,} are allowed")
    shares = scipy.stats.qmc.LatinHypercube(len(variations), rng=np.random.default_rng(seed)).random(samples)
    points = [{v.path: v.at(share) for v, share in zip(variations, row, strict=True)} for row in shares.tolist()]
    return list({tuple(point.items()): point for point in points}.values())


def _expanded(text: str, match: re.Match[str]) -> tuple[tuple[str, ...], Range | None]:
    low, low_unit, high, high_unit, kind, by, by_unit = match.groups()
    between = _range(text, low, low_unit or high_unit, high, high_unit or low_unit)
    between = Range(between.low, between.high, between.unit, whole=_are_whole(match))
    if kind is None:
        if not between.whole:
            return (), between
        step = 1.0
    elif kind == ":":
        step = _in_unit(text, by, by_unit or between.unit, between.unit)
    else:
        return _evenly(text, between, by, by_unit), None
    if not step > 0:
        raise InputError(f"--vary {text}: the step is {step:g}; it must be above 0")
    count = math.floor((between.high - between.low) / step * (1 + 1e-12)) + 1
    _check_count(text, count)
    return tuple(between.text(between.low + i * step) for i in range(count)), None


def _are_whole(match: re.Match[str]) -> bool:
    """Whether ends and step are whole numbers without units."""
    low, low_unit, high, high_unit, kind, by, by_unit = match.groups()
    numbers = [low, high, *([by] if kind == ":" else [])]
    return not (low_unit or high_unit or by_unit) and all(re.fullmatch(r"[+-]?\d+", number) for number in numbers)


def _range(text: str, low: str, low_unit: str, high: str, high_unit: str) -> Range:
    between = Range(float(low), _in_unit(text, high, high_unit, low_unit), low_unit)
    if not -math.inf < between.low < between.high < math.inf:
        raise InputError(f"--vary {text}: the first number must be below the second")
    return between


def _in_unit(text: str, number: str, unit: str, wanted: str) -> float:
    """A number of one unit in another of the same kind."""
    if unit == wanted:
        return float(number)
    for parse in _PARSERS:
        try:
            return float(number) * parse(f"1{unit}") / parse(f"1{wanted}")
        except ValueError:
            continue
    raise InputError(f"--vary {text}: {unit or 'no unit'} and {wanted or 'no unit'} do not go together")


def _evenly(text: str, between: Range, count: str, unit: str) -> tuple[str, ...]:
    if unit or not count.isdecimal() or int(count) < 2:
        raise InputError(f"--vary {text}: the count of values is {count}{unit}; a whole number from 2 on is needed")
    _check_count(text, int(count))
    if between.whole and int(count) > between.high - between.low + 1:
        raise InputError(f"--vary {text}: there are not {count} whole numbers; for fractions write 1.0 instead of 1")
    return tuple(between.text(value) for value in np.linspace(between.low, between.high, int(count)).tolist())


def _check_count(text: str, count: int) -> None:
    if count > MOST_POINTS:
        raise InputError(f"--vary {text}: {count:,} values; at most {MOST_POINTS:,} are allowed")


def _separated(text: str) -> list[str]:
    """The parts between commas that are in no brackets and no quotes."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character in "[{") - (character in "]}")
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
