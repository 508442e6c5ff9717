"""Fields to vary and their values, as text: ``PATH=A..B``, ``A..B:STEP``, ``A..B/COUNT`` or a list."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from sim.experiments.sensitivity import NumberRange
from sim.experiments.variation import MOST_POINTS, ValueRange, Variation
from traces.errors import InputError
from traces.spec.units import parse_bandwidth, parse_bytes, parse_rate, parse_seconds

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})([^\d\s.:]*)\.\.({_NUMBER})([^\d\s.:]*?)(?:([:/])({_NUMBER})([^\d\s.:/]*))?")
_DASHED = re.compile(r"(\d+\.?\d*[^\W\d]*)-(\d+\.?\d*[^\W\d]*)(?<![eE]-\d)")
_PARSERS: tuple[Callable[[object], float], ...] = (parse_bytes, parse_seconds, parse_rate, parse_bandwidth)


def parse_variation(text: str) -> Variation:
    """Parse ``PATH=A..B``, ``PATH=A..B:STEP``, ``PATH=A..B/COUNT`` or ``PATH=VALUE,VALUE``.

    ``A..B`` with whole numbers means all of them, and otherwise a range to sample from. ``none`` means ``null``.

    Raises:
        InputError: a value is missing or repeated, or the range is not valid.
    """
    path, equals, written = (part.strip() for part in text.partition("="))
    if not equals or not path or not written:
        raise InputError(f"--vary {text}: write it like gateways.count=1..14, or client.hedge.after=none,p90,p95")
    match = _RANGE.fullmatch(written)
    if match is None:
        refuse_dash(f"--vary {text}", written)
        values = tuple("null" if value.lower() == "none" else value for value in _separated(written))
        between = None
    else:
        values, between = _expanded(text, match)
    if not all(values):
        raise InputError(f"--vary {text}: a value is empty; write null for none")
    repeated = next((value for value in values if values.count(value) > 1), None)
    if repeated is not None:
        raise InputError(f"--vary {text}: {repeated} is given twice")
    return Variation(path, values, between)


def refuse_dash(where: str, text: str) -> None:
    """Refuse a range that is written with a dash.

    Raises:
        InputError: it is; the message begins with `where`.
    """
    if match := _DASHED.fullmatch(text):
        raise InputError(f"{where}: ranges are written {match[1]}..{match[2]}")


def parse_range(text: str) -> NumberRange:
    """Parse a range of a sensitivity analysis: ``PATH=LOW..HIGH``.

    Raises:
        InputError: the text has another form.
    """
    path, equals, between = text.partition("=")
    low, dots, high = between.partition("..")
    refuse_dash(f"--vary {text}", between.strip())
    if not (equals and dots and path.strip() and low.strip() and high.strip()):
        raise InputError(f"--vary {text}: write it like drives.commit.constant=0.2ms..0.8ms")
    return NumberRange(path.strip(), low.strip(), high.strip())


def parse_base(texts: Sequence[str]) -> dict[str, str]:
    """Parse the values of the base point, each written ``PATH=VALUE``.

    Raises:
        InputError: one of them has another form.
    """
    values = {}
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise InputError(f"--base {text}: write it like gateways.count=7, one of the values of --vary")
        values[path.strip()] = value
    return values


def _expanded(text: str, match: re.Match[str]) -> tuple[tuple[str, ...], ValueRange | None]:
    low, low_unit, high, high_unit, kind, by, by_unit = match.groups()
    between = _range(text, low, low_unit or high_unit, high, high_unit or low_unit)
    between = ValueRange(between.low, between.high, between.unit, whole=_are_whole(match))
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
    """Whether both ends and the step are whole numbers without units."""
    low, low_unit, high, high_unit, kind, by, by_unit = match.groups()
    numbers = [low, high, *([by] if kind == ":" else [])]
    return not (low_unit or high_unit or by_unit) and all(re.fullmatch(r"[+-]?\d+", number) for number in numbers)


def _range(text: str, low: str, low_unit: str, high: str, high_unit: str) -> ValueRange:
    between = ValueRange(float(low), _in_unit(text, high, high_unit, low_unit), low_unit)
    if not -math.inf < between.low < between.high < math.inf:
        raise InputError(f"--vary {text}: the first number must be below the second")
    return between


def _in_unit(text: str, number: str, unit: str, wanted: str) -> float:
    """Convert a number to another unit of the same kind."""
    if unit == wanted:
        return float(number)
    for parse in _PARSERS:
        try:
            return float(number) * parse(f"1{unit}") / parse(f"1{wanted}")
        except ValueError:
            continue
    raise InputError(f"--vary {text}: {unit or 'no unit'} and {wanted or 'no unit'} cannot be combined")


def _evenly(text: str, between: ValueRange, count: str, unit: str) -> tuple[str, ...]:
    if unit or not count.isdecimal() or int(count) < 2:
        raise InputError(
            f"--vary {text}: the count of values is {count}{unit}; it must be a whole number of at least 2"
        )
    _check_count(text, int(count))
    if between.whole and int(count) > between.high - between.low + 1:
        raise InputError(f"--vary {text}: there are not {count} whole numbers; for fractions write 1.0 instead of 1")
    return tuple(between.text(value) for value in np.linspace(between.low, between.high, int(count)).tolist())


def _check_count(text: str, count: int) -> None:
    if count > MOST_POINTS:
        raise InputError(f"--vary {text}: {count:,} values; at most {MOST_POINTS:,} are allowed")


def _separated(text: str) -> list[str]:
    """Split at commas outside brackets and quotes."""
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
