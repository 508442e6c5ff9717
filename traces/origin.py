"""The Origin of an imported Trace: source files, start time and clock resolution."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from traces.errors import InputError


@dataclass(frozen=True)
class Origin:
    """Metadata that an import adds to a Trace.

    Attributes:
        formats: names of the log formats.
        files: file names without folders; empty if the Trace is anonymised.
        started_at: calendar time of arrival 0, ISO 8601 in UTC; None if the log's times are relative.
        clock_s: resolution of the arrival times, seconds.
        latency_clock_s: resolution of the latencies, seconds; None if the log has no latencies.
        zone: time zone assumed for times without one.
        anonymised: whether names were replaced by keyed hashes.
        spread: whether arrivals were spread uniformly over their clock tick.
        waiting_clients: number of clients, each of which waited for a response before its next request, so that the
            arrivals are those of a closed loop and `think_s` has its pauses; None for an open loop, or if it is
            unknown.
    """

    formats: tuple[str, ...]
    files: tuple[str, ...]
    started_at: str | None
    clock_s: float
    latency_clock_s: float | None = None
    zone: str = "UTC"
    anonymised: bool = False
    spread: bool = False
    waiting_clients: int | None = None

    @staticmethod
    def of(data: Any) -> Origin:
        """Build an Origin from the output of `dataclasses.asdict`, which may have been through JSON.

        Raises:
            InputError: a field is missing, unknown or of the wrong type.
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
        clients = data.get("waiting_clients")
        if clients is not None and (isinstance(clients, bool) or not isinstance(clients, int) or clients < 1):
            raise InputError(f"waiting_clients is {clients!r}; a whole number of at least 1 is needed")
        return Origin(**(data | names))


def _names(field: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise InputError(f"{field} is {value!r}; a list of names is needed")
    return tuple(value)
