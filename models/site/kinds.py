"""Kinds of values that a user gives: how their texts are read, and what a wrong one is refused with."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traces.errors import InputError
from traces.operations import OPS
from traces.spec.spec_file import load_mapping
from traces.spec.suggestions import instead
from traces.spec.units import (
    MOST_COUNT,
    parse_bandwidth,
    parse_bytes,
    parse_duration,
    parse_fraction,
    parse_rate,
    parse_weight,
)


@dataclass(frozen=True)
class Kind:
    """A kind of values.

    Attributes:
        form: how a value is written, such as ``25Gbit/s``.
        parse: returns the value of a text as a spec has it; raises ValueError.
    """

    form: str
    parse: Callable[[str], Any]


def _checked(parse: Callable[[object], float]) -> Callable[[str], str]:
    """Return a function that keeps a quantity as it is written, which must be above 0."""

    def read(text: str) -> str:
        if not parse(text) > 0:
            raise ValueError(f"{text!r} is 0; more is needed")
        return text.strip()

    return read


def _bandwidth(text: str) -> str:
    if re.fullmatch(r"[\d.]+", text.strip()):
        raise ValueError(f"{text!r} needs a unit, as in 25Gbit/s or 3GB/s")
    return _checked(parse_bandwidth)(text)


def _count(most: float) -> Callable[[str], int]:
    def read(text: str) -> int:
        units = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:[eE]\+?\d+)?)([kKMG]?)\s*", text)
        number = float(match[1]) * units.get(match[2], 1) if match else 0.0
        if not 1 <= number <= most or number != int(number):
            raise ValueError(f"{text!r}: a whole number from 1 to {most:,.0f} is allowed, such as 12, 2e8 or 200M")
        return int(number)

    return read


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise ValueError(f"{text!r} is not a number above 0, such as 1.2")
    return number


def _mix(text: str) -> dict[str, float]:
    mix: dict[str, float] = {}
    for part in text.split(","):
        op, found, weight = (each.strip() for each in part.partition("="))
        if op not in OPS:
            raise ValueError(f"{op!r} is not an operation; {instead(op, list(OPS))}")
        if not found or op in mix:
            raise ValueError(f"{text!r}: each operation has one weight, as in GET=70,PUT=30")
        number = parse_weight(weight)
        mix[op] = int(number) if number == int(number) else number
    return mix


def _protection(text: str) -> str:
    """Return a protection as Ceph's specs have it: ``replica 3`` or ``ec 4+2``."""
    if match := re.fullmatch(r"\s*(?:replica\s*)?(\d{1,2})\s*", text):
        return f"replica {int(match[1])}"
    if match := re.fullmatch(r"\s*(?:ec\s*)?(\d{1,2})\s*\+\s*(\d{1,2})\s*", text, re.IGNORECASE):
        return f"ec {int(match[1])}+{int(match[2])}"
    raise ValueError(f"{text!r}: allowed are replicas, such as 'replica 3', and an erasure code, such as 'ec 4+2'")


def shards(protection: str) -> tuple[int, int]:
    """Return the data and the parity shards of a protection; of replicas 1 and the further ones."""
    kind, _, numbers = protection.partition(" ")
    if kind == "ec":
        data, _, parity = numbers.partition("+")
        return int(data), int(parity)
    return 1, int(numbers) - 1


def _drive(text: str) -> str:
    from models.devices.devices import PRESETS  # imports scipy

    if text not in PRESETS:
        alike = [name for name in PRESETS if text.strip() and text.strip().lower() in name]
        allowed = f"of this kind are {', '.join(alike)}" if alike else instead(text, list(PRESETS))
        raise ValueError(f"{text!r} is not a drive; {allowed}")
    return text


def _drive_or_none(text: str) -> str:
    return text if text == "none" else _drive(text)


def _spec(text: str) -> Any:
    try:
        data = load_mapping(Path(text))
    except InputError as error:
        raise ValueError(str(error)) from error
    if not isinstance(data.get("store"), str):
        raise ValueError(f"{text}: names no store; the spec of one is needed")
    return data


def choice(*names: str) -> Kind:
    """Return the kind of values that are one of some names."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"{text!r}: {instead(text, names)}")
        return text

    return Kind("|".join(names), read)


COUNT = Kind("N", _count(MOST_COUNT))
MANY = Kind("N", _count(1e12))
NUMBER = Kind("X", _number)
SIZE = Kind("SIZE", _checked(parse_bytes))
BANDWIDTH = Kind("BANDWIDTH", _bandwidth)
RATE = Kind("N/s", _checked(parse_rate))
TIME = Kind("TIME", _checked(parse_duration))
FRACTION = Kind("FRACTION", _checked(parse_fraction))
MIX = Kind("OP=WEIGHT,...", _mix)
PROTECTION = Kind("'replica N'|'ec K+M'", _protection)
DRIVE = Kind("PRESET", _drive)
DRIVE_OR_NONE = Kind("PRESET|none", _drive_or_none)
SPEC = Kind("SPEC.yaml", _spec)
