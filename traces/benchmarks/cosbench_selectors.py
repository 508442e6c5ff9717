"""Selectors of COSBench for containers, objects and sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from traces.benchmarks.converted import uniform_size
from traces.errors import InputError
from traces.workload.sizes import SizeDistribution

_SELECTOR = re.compile(r"([curs])\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)$")
_OLD_RANGE = re.compile(r"(\d+)\s*-\s*(\d+)$")
_SIZES = re.compile(r"(.*\))\s*([KMG]?)B$", re.IGNORECASE)
_HISTOGRAM = re.compile(r"h\((.*)\)$")
_MOST = 2**31 - 1  # value of an open end, as in UniformIntGenerator
_UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3}


@dataclass(frozen=True)
class Span:
    """Numbers from `low` to `high`, chosen at random or in turn."""

    low: int
    high: int
    in_turn: bool

    @property
    def count(self) -> int:
        """Number of values."""
        return self.high - self.low + 1

    def meets(self, other: Span) -> bool:
        """Whether the spans have a number in common."""
        return self.low <= other.high and other.low <= self.high

    @staticmethod
    def parse(text: str, where: str) -> Span:
        """Parse ``u(1,10)`` (random), ``r(1,10)``, ``s(1,10)`` or ``1-10`` (in turn), or ``c(7)`` (constant).

        ``c(1,10)`` is the constant 1: COSBench's ConstantIntGenerator ignores all numbers after the first.

        Raises:
            InputError: the text is none of these.
        """
        old, found = _OLD_RANGE.match(text.strip()), _SELECTOR.match(text.strip())
        if old is not None:
            low, high, kind = int(old[1]), int(old[2]), "r"
        elif found is not None:
            kind, low = found[1], int(found[2])
            high = int(found[3]) if found[3] and kind != "c" else (_MOST if kind == "u" else low)
        else:
            raise InputError(f"{where}: is {text!r}; allowed are c(1), u(1,10), r(1,10), s(1,10)")
        if high < low:
            raise InputError(f"{where}: is {text!r}; the end is below the start")
        return Span(low, high, kind in "rs")


def covered(spans: Sequence[Span]) -> int:
    """Return the size of the union of the spans."""
    count, end = 0, 0
    for span in sorted(spans, key=lambda one: one.low):
        count += max(span.high - max(span.low, end + 1) + 1, 0)
        end = max(end, span.high)
    return count


def sizes_of(text: str, where: str) -> Any:
    """Parse ``c(64)KB``, ``u(1,64)MB``, ``r(1,64)KB`` or ``h(1|64|10,64|512|90)KB`` into a size distribution.

    Raises:
        InputError: the text is none of these.
    """
    found = _SIZES.match(text.strip())
    if found is None:
        raise InputError(f"{where}: is {text!r}; write it like c(64)KB, u(1,64)MB or h(1|64|10,64|512|90)KB")
    unit, selector = _UNITS[found[2].upper()], found[1].strip()
    histogram = _HISTOGRAM.match(selector)
    if histogram is not None:
        return _mixture(histogram[1], unit, f"{where}: {text!r}")
    span = Span.parse(selector, where)
    return uniform_size(span.low * unit, span.high * unit)


def _mixture(text: str, unit: int, where: str) -> dict[str, Any]:
    components = []
    for bin_ in text.split(","):
        numbers = bin_.split("|")
        if len(numbers) != 3 or not all(number.strip().isdecimal() for number in numbers):
            raise InputError(f"{where}: {bin_!r} is not a bin; write it like 1|64|10: from, to, weight")
        low, high, weight = map(int, numbers)
        if high < low:
            raise InputError(f"{where}: {bin_!r} ends below its start")
        if weight:
            components.append({"weight": float(weight), "size": uniform_size(low * unit, high * unit)})
    if not components:
        raise InputError(f"{where}: all weights are 0")
    return {"kind": "mixture", "components": components}


def mean_bytes(sizes: Any) -> float:
    """Return the mean of a size distribution, at least 1."""
    distribution: Any = TypeAdapter(SizeDistribution).validate_python(sizes)
    u = (np.arange(4096) + 0.5) / 4096
    return float(max(distribution.quantile(u).mean(), 1.0))
