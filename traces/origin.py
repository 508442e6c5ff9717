"""The Origin: where an imported Trace comes from, and how fine its clock is."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from traces.errors import InputError


@dataclass(frozen=True)
class Origin:
    """What an import knows of a Trace beyond its rows.

    Attributes:
        formats: of the files, by name.
        files: their names, without folders; none where the Trace is anonymised.
        started_at: calendar time of arrival 0, ISO 8601 in UTC; None: the log counts from a zero of its own.
        clock_s: the tick of the clock that arrivals were noted by.
        latency_clock_s: that of the latencies; None: the log has none.
        zone: by which times that name no zone were read.
        anonymised: whether names are keyed hashes.
        spread: whether arrivals were spread over their tick.
    """

    formats: tuple[str, ...]
    files: tuple[str, ...]
    started_at: str | None
    clock_s: float
    latency_clock_s: float | None = None
    zone: str = "UTC"
    anonymised: bool = False
    spread: bool = False

    @staticmethod
    def of(data: Any) -> Origin:
        """From what `dataclasses.asdict` made of one, by way of JSON.

        Raises:
            InputError: a field is missing, unknown or of another type.
        """
        if not isinstance(data, dict):
            raise InputError(f"origin is {data!r}; a JSON object is needed")
        known = [f.name for f in fields(Origin)]
        for name in data:
            if name not in known:
                raise InputError(f"origin has the unknown field {name!r}; allowed are {', '.join(known)}")
        for name in ("formats", "files", "started_at", "clock_s"):
            if name not in data:
                raise InputError(f"origin has no {name}")
        names = {name: _names(name, data[name]) for name in ("formats", "files")}
        clock_s = data["clock_s"]
        if isinstance(clock_s, bool) or not isinstance(clock_s, int | float) or not 0 < clock_s < math.inf:
            raise InputError(f"clock_s is {clock_s!r}; a number above 0 is needed")
        return Origin(**(data | names))


def _names(field: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise InputError(f"{field} is {value!r}; a list of names is needed")
    return tuple(value)
