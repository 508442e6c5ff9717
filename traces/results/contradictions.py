"""Figures of a closed loop that contradict each other: most often a unit, or a column, is another than was thought."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

_MOST, _LEAST = 1.2, 0.25  # of the clients, that rate x mean may be; assumed
_SAME = 1.001  # rounding


def contradictions(
    *,
    ops_per_s: float | None = None,
    clients: float | None = None,
    mean_s: float | None = None,
    min_s: float | None = None,
    quantiles_s: Mapping[float, float | None] | None = None,
    max_s: float | None = None,
    bytes_per_s: float | None = None,
    size_bytes: float | None = None,
    alone: bool = True,
) -> list[str]:
    """Return what contradicts each other in the figures of one operation, a line each.

    In a closed loop without think times the rate times the mean latency is the number of clients (Little 1961). No
    quantile is above a higher one; p99 is below the mean only if fewer than 1 % of the requests take most of the time.

    Args:
        ops_per_s: requests per second.
        clients: requests that are outstanding at a time; None: unknown, or an open loop.
        mean_s, min_s, max_s: latencies.
        quantiles_s: by percent.
        bytes_per_s: throughput.
        size_bytes: size of an object.
        alone: whether the clients issue no other operations, and do not think.
    """
    found = []
    if ops_per_s and mean_s and clients:
        busy = ops_per_s * mean_s
        if busy > _MOST * clients or (alone and busy < _LEAST * clients):
            found.append(
                f"{clients:,.6g} client{'s' if clients != 1 else ''}, {ops_per_s:,.6g} op/s and a mean of "
                f"{_ms(mean_s)} contradict each other (rate x mean = {busy:,.4g} clients): a unit, the number of "
                "clients or the column is wrong"
            )
    known = {percent: value for percent, value in (quantiles_s or {}).items() if value is not None}
    if mean_s and (p99 := known.get(99.0)) is not None and p99 * _SAME < mean_s:
        found.append(
            f"p99 of {_ms(p99)} is below the mean of {_ms(mean_s)}: a unit or a column is wrong, or the slowest 1 % "
            "take most of the time"
        )
    ordered = [("the minimum", min_s), *((f"p{p:g}", known[p]) for p in sorted(known)), ("the maximum", max_s)]
    present = [(name, value) for name, value in ordered if value is not None]
    for (low, less), (high, more) in pairwise(present):
        if less > more * _SAME:
            found.append(f"{low} of {_ms(less)} is above {high} of {_ms(more)}")
    for name, value, wrong in (("minimum", min_s, 1.0), ("maximum", max_s, -1.0)):
        if mean_s and value and wrong * (value - mean_s) > (_SAME - 1) * mean_s:
            found.append(f"the mean of {_ms(mean_s)} is beyond the {name} of {_ms(value)}")
    if ops_per_s and bytes_per_s and size_bytes and not 0.5 < ops_per_s * size_bytes / bytes_per_s < 2:
        found.append(
            f"{ops_per_s:,.6g} op/s of {size_bytes:,.6g} B are {ops_per_s * size_bytes / 1e6:,.4g} MB/s, not "
            f"{bytes_per_s / 1e6:,.4g} MB/s"
        )
    return found


def _ms(time_s: float) -> str:
    return f"{time_s * 1e3:,.6g} ms"
