"""Parse sizes, rates, durations and fractions with units: ``64KiB``, ``25Gbit/s``, ``5ms``, ``15%``."""

from __future__ import annotations

import math
import re
from typing import Annotated

from pydantic import BeforeValidator, Field

from traces.spec.field_notes import Unit

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*$")

_BYTES: dict[str, int] = {"": 1, "B": 1} | {
    f"{prefix}{suffix}": base**power
    for suffix, base in (("B", 1000), ("iB", 1024))
    for power, prefix in enumerate("kMGTP", start=1)
}
_BYTES |= {"KB": 1000, "KiB": 1024}
_BITS = {"bit": 1.0} | {f"{prefix}bit": 1000.0**power for power, prefix in enumerate("kMGT", start=1)} | {"Kbit": 1e3}
# Spellings of data sheets and `ip link`: 100Gb/s, 25Gbps, 25GbE.
_LINK_BITS: dict[str, float] = _BITS | {
    f"{prefix}{suffix}": 1000.0**power for suffix in ("b", "bps", "bE") for power, prefix in enumerate("kMGT", start=1)
}
_SECONDS = {
    "": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9,
    "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip
_PER_SECOND = {"": 1.0, "/s": 1.0, "op/s": 1.0, "ops/s": 1.0, "/min": 1 / 60, "/h": 1 / 3600}


_GREEK_MU, _MICRO = "\u03bc", "\u00b5"  # two characters that look the same


def _split(value: object, kind: str, example: str) -> tuple[float, str]:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not a {kind}; write it like {example}")
    match = _NUMBER.match(str(value).replace(_GREEK_MU, _MICRO))
    if match is None:
        raise ValueError(f"{value!r} is not a {kind}; write it like {example}")
    number = float(match[1])
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a finite {kind}")
    if number < 0:
        raise ValueError(f"{value!r} is negative; a {kind} is at least 0")
    return number, match[2]


def _unit(table: dict[str, float] | dict[str, int], unit: str, value: object, kind: str) -> float:
    if unit not in table:
        raise ValueError(f"{value!r} has the unknown unit {unit!r}; a {kind} takes {', '.join(filter(None, table))}")
    return table[unit]


def parse_bytes(value: object) -> int:
    """Parse a size in bytes from ``4096``, ``"64KiB"`` or ``"1.5MB"`` (KB = 1000 B, KiB = 1024 B).

    Raises:
        ValueError: not a number, negative, not a whole number of bytes, or an unknown unit.
    """
    number, unit = _split(value, "size", "64KiB")
    size = number * _unit(_BYTES, unit, value, "size")
    if abs(size - round(size)) > 1e-6:
        raise ValueError(f"{value!r} is not a whole number of bytes")
    return round(size)


def binary_size(size_bytes: int) -> str:
    """Format a size in the largest binary unit that divides it, else in bytes; `parse_bytes` reads it back."""
    for power, prefix in zip((4, 3, 2, 1), "TGMK", strict=True):
        if size_bytes and size_bytes % 1024**power == 0:
            return f"{size_bytes // 1024**power}{prefix}iB"
    return f"{size_bytes}B"


def parse_seconds(value: object) -> float:
    """Parse a duration in seconds from ``0.005`` or ``"5ms"``.

    Raises:
        ValueError: not a number, negative, or an unknown unit.
    """
    number, unit = _split(value, "duration", "5ms")
    return number * _unit(_SECONDS, unit, value, "duration")


def parse_duration(value: object) -> float:
    """Parse a duration in seconds as `parse_seconds`, but refuse text without a unit: ``30`` may mean 30 ms.

    Raises:
        ValueError: not a number, negative, no unit and not 0, or an unknown unit.
    """
    seconds = parse_seconds(value)
    if seconds and isinstance(value, str) and not _split(value, "duration", "5ms")[1]:
        raise ValueError(f"{value!r} needs a unit, as in {value.strip()}ms or {value.strip()}s")
    return seconds


def parse_rate(value: object) -> float:
    """Parse a rate in events per second from ``200``, ``"200/s"`` or ``"3000/min"``.

    Raises:
        ValueError: not a number, negative, or an unknown unit.
    """
    number, unit = _split(value, "rate", "200/s")
    return number * _unit(_PER_SECOND, unit, value, "rate")


def parse_bandwidth(value: object) -> float:
    """Parse a bandwidth in bytes per second from ``"25Gbit/s"``, ``"150MiB/s"`` or a bare number of bytes per second.

    ``25Gb/s``, ``25Gbps`` and ``25GbE`` are 25 Gbit/s.

    Raises:
        ValueError: not a number, negative, or an unknown unit.
    """
    number, unit = _split(value, "bandwidth", "25Gbit/s")
    name = unit.removesuffix("/s")
    if name in _LINK_BITS:
        return number * _LINK_BITS[name] / 8
    if name not in _BYTES:
        raise ValueError(f"{value!r} has the unknown unit {unit!r}; a bandwidth is written like 25Gbit/s or 150MiB/s")
    return number * _BYTES[name]


def parse_fraction(value: object, most: float = 1.0) -> float:
    """Parse a fraction from ``0.15`` or ``"15%"``.

    Args:
        value: a number or text.
        most: the largest value allowed.

    Raises:
        ValueError: not a number, negative, above `most`, or an unknown unit.
    """
    number, unit = _split(value, "fraction", "15% or 0.15")
    if unit not in ("", "%"):
        raise ValueError(f"{value!r} has the unknown unit {unit!r}; a fraction is written like 15% or 0.15")
    fraction = number / 100 if unit else number
    if fraction > most:
        allowed = f"at most {most * 100:g} % is allowed"
        if unit:
            raise ValueError(f"{number:g} %: {allowed}")
        meant = f"; did you mean {number:g}%?" if number <= 100 * most else ""
        raise ValueError(f"{number:g} is {fraction * 100:g} %; {allowed}{meant}")
    return fraction


def parse_weight(value: object) -> float:
    """Parse a weight, whose scale has no meaning, from ``60`` or ``"60%"``.

    Raises:
        ValueError: not a number, negative, or an unknown unit.
    """
    number, unit = _split(value, "weight", "60 or 60%")
    if unit not in ("", "%"):
        raise ValueError(f"{value!r} has the unknown unit {unit!r}; a weight is written like 60 or 60%")
    return number


MOST_BYTES = 1 << 60
MOST_SECONDS = 1e10
MOST_PER_SECOND = 1e9
MOST_BYTES_PER_SECOND = 1e15
MOST_WEIGHT = 1e9
MOST_COUNT = 100_000
MOST_CV = 1e6
"""The greatest values of fields: 1 EiB, 317 years, 10⁹ requests a second, 1 PB/s, 100,000 clients, machines or parts of
one kind, and a coefficient of variation. None that exists is beyond; there, sums overflow and memory runs out."""

Bytes = Annotated[
    int, Unit("B", "64KiB"), BeforeValidator(parse_bytes, json_schema_input_type=int | str), Field(le=MOST_BYTES)
]
Seconds = Annotated[
    float, Unit("s", "5ms"), BeforeValidator(parse_seconds, json_schema_input_type=float | str), Field(le=MOST_SECONDS)
]
PerSecond = Annotated[
    float,
    Unit("/s", "200/s"),
    BeforeValidator(parse_rate, json_schema_input_type=float | str),
    Field(le=MOST_PER_SECOND),
]
BytesPerSecond = Annotated[
    float,
    Unit("B/s", "25Gbit/s"),
    BeforeValidator(parse_bandwidth, json_schema_input_type=float | str),
    Field(le=MOST_BYTES_PER_SECOND),
]
Fraction = Annotated[float, Unit("", "15%"), BeforeValidator(parse_fraction, json_schema_input_type=float | str)]
WEIGHT = Unit("", "60%")
"""Marks a weight, of which only the ratio to others counts."""
Weight = Annotated[
    float, WEIGHT, BeforeValidator(parse_weight, json_schema_input_type=float | str), Field(le=MOST_WEIGHT)
]


def duration_text(took_s: float) -> str:
    """Return a duration with its unit for a note on a failure, such as ``3.5 h``."""
    for unit, length_s in (("h", 3600.0), ("min", 60.0)):
        if took_s >= 2 * length_s:
            return f"{took_s / length_s:.3g} {unit}"
    return f"{took_s:.3g} s"
