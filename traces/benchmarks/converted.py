"""What all conversions share: the result, the Go language's durations and sizes, sizes drawn by logarithm."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from traces.errors import InputError

EVER_NEW = {"kind": "sequential", "count": 1_000_000_000}
"""Keys of an operation that names a new object each time: more than are ever asked for."""

_DURATION = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SIZE = re.compile(r"([\d,]*\.?\d+)\s*([kmgtp]?)(i?)b?$", re.IGNORECASE)


@dataclass(frozen=True)
class Converted:
    """A workload, and what of its definition it does not say.

    Attributes:
        tool: whose definition it is.
        part: the name of the test or stage in it.
        parts: the names of all.
        fields: the workload as a YAML file has it.
        notes: what is not carried over.
    """

    tool: str
    part: str
    parts: tuple[str, ...]
    fields: dict[str, Any]
    notes: tuple[str, ...]


def chosen(parts: Sequence[str], wanted: str | None, source: str) -> int:
    """The index of the wanted part; the first unless told.

    Raises:
        InputError: there is none of that name, or none at all.
    """
    if not parts:
        raise InputError(f"{source}: has no test that asks for objects")
    if wanted is None:
        return 0
    if wanted not in parts:
        raise InputError(f"{source}: has no part {wanted!r}; allowed are {', '.join(parts)}")
    return list(parts).index(wanted)


def others(parts: Sequence[str], taken: int) -> list[str]:
    """A note of the parts that were not taken."""
    rest = [repr(name) for i, name in enumerate(parts) if i != taken]
    return [f"the other parts: {', '.join(rest)}; name one of them as the part"] if rest else []


def go_seconds(value: Any, where: str) -> float:
    """Seconds of a duration as Go writes them: ``1h30m``, ``60s``; a bare number is nanoseconds, as in Go.

    Raises:
        InputError: it is none.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value * 1e-9
    parts = _DURATION.findall(str(value))
    if not parts or "".join(number + unit for number, unit in parts) != str(value).strip():
        raise InputError(f"{where}: {value!r} is not a duration; write it like 1m30s")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def go_bytes(value: Any, where: str) -> int:
    """Bytes of a size as the package go-humanize reads them: ``10MiB`` is 1024-based, ``10MB`` and ``10M`` 1000-based.

    Raises:
        InputError: it is none.
    """
    found = _SIZE.match(str(value).strip())
    if found is None or isinstance(value, bool):
        raise InputError(f"{where}: {value!r} is not a size; write it like 10MiB")
    power = " kmgtp".index(found[2].lower() or " ")
    return int(float(found[1].replace(",", "")) * (1024 if found[3] else 1000) ** power)


def whole(value: Any, where: str, least: int = 1) -> int:
    """A whole number.

    Raises:
        InputError: it is none, or less than `least`.
    """
    try:
        number = int(str(value).strip())
    except ValueError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise InputError(f"{where}: is {value!r}; a whole number of at least {least} is needed")
    return number


def uniform_size(low: int, high: int) -> dict[str, Any] | int:
    """Sizes that are all as likely, both ends among them."""
    return low if low >= high else {"kind": "histogram", "edges": [low, high], "weights": [1.0]}


def log_uniform_bins(low: float, high: float, steps: int) -> list[int]:
    """Edges between which a size whose logarithm is uniform is about as likely."""
    edges = (low * (high / low) ** (i / steps) for i in range(steps + 1))
    return sorted({math.ceil(edge) for edge in edges})
