"""Helpers of all conversions: the result, durations and sizes in Go syntax, log-uniform sizes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from traces.errors import InputError

ALWAYS_NEW = {"kind": "sequential", "count": 1_000_000_000}
"""Keys of an operation that names a new object each time: more keys than any workload requests."""

_DURATION = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SIZE = re.compile(r"([\d,]*\.?\d+)\s*([kmgtp]?)(i?)b?$", re.IGNORECASE)


@dataclass(frozen=True)
class Converted:
    """A converted workload, with notes on what was not converted.

    Attributes:
        tool: name of the benchmark tool.
        part: name of the converted test or stage.
        parts: names of all tests or stages.
        fields: the workload as the mapping of a YAML file.
        notes: properties of the definition that were not converted.
    """

    tool: str
    part: str
    parts: tuple[str, ...]
    fields: dict[str, Any]
    notes: tuple[str, ...]


def chosen(parts: Sequence[str], wanted: str | None, source: str) -> int:
    """Return the index of the wanted part (default: the first).

    Raises:
        InputError: there is no part of that name, or no part at all.
    """
    if not parts:
        raise InputError(f"{source}: has no test with requests for objects")
    if wanted is None:
        return 0
    if wanted not in parts:
        raise InputError(f"{source}: has no part {wanted!r}; allowed are {', '.join(parts)}")
    return list(parts).index(wanted)


def others(parts: Sequence[str], taken: int) -> list[str]:
    """Return a note on the parts that were not converted."""
    rest = [repr(name) for i, name in enumerate(parts) if i != taken]
    return [f"the other parts: {', '.join(rest)}; name one of them as the part"] if rest else []


def go_seconds(value: Any, where: str) -> float:
    """Parse a duration in Go syntax, ``1h30m`` or ``60s``, into seconds; a bare number is nanoseconds, as in Go.

    Raises:
        InputError: the value is not a duration.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value * 1e-9
    parts = _DURATION.findall(str(value))
    if not parts or "".join(number + unit for number, unit in parts) != str(value).strip():
        raise InputError(f"{where}: {value!r} is not a duration; write it like 1m30s")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def go_bytes(value: Any, where: str) -> int:
    """Parse a size in the syntax of go-humanize into bytes: ``10MiB`` is 1024-based, ``10MB`` and ``10M`` 1000-based.

    Raises:
        InputError: the value is not a size.
    """
    found = _SIZE.match(str(value).strip())
    if found is None or isinstance(value, bool):
        raise InputError(f"{where}: {value!r} is not a size; write it like 10MiB")
    power = " kmgtp".index(found[2].lower() or " ")
    return int(float(found[1].replace(",", "")) * (1024 if found[3] else 1000) ** power)


def whole(value: Any, where: str, least: int = 1) -> int:
    """Parse a whole number.

    Raises:
        InputError: the value is not a whole number, or is less than `least`.
    """
    try:
        number = int(str(value).strip())
    except ValueError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise InputError(f"{where}: is {value!r}; a whole number of at least {least} is needed")
    return number


def uniform_size(low: int, high: int) -> dict[str, Any] | int:
    """Return a uniform distribution of sizes from `low` to `high`, or a single size."""
    return low if low >= high else {"kind": "histogram", "edges": [low, high], "weights": [1.0]}


def log_uniform_bins(low: float, high: float, steps: int) -> list[int]:
    """Return the edges of `steps` bins of about equal probability for a log-uniform size."""
    edges = (low * (high / low) ** (i / steps) for i in range(steps + 1))
    return sorted({math.ceil(edge) for edge in edges})
