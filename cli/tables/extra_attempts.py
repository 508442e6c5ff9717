"""The sentence on what retries and hedges cost."""

from __future__ import annotations

from cli.words import number
from sim.analysis.extra_attempts import ExtraAttempts


def extra_attempts_line(extra: ExtraAttempts) -> str:
    """State what they add per request, and to the station that saturates first: ``hedges add 0.034 attempts …``."""
    who = " and ".join(name for name, has in (("retries", extra.retries), ("hedges", extra.hedges)) if has)
    said = f"{who} add {number(extra.per_request)} attempts per request, of {number(extra.allowed)} that are allowed"
    if extra.station is None or extra.utilization is None:
        return f"{said}."
    busy = f"{extra.station.partition(', ')[0]} is {extra.utilization:.1%} busy"
    if extra.expected_utilization is None:
        return f"{said}; {busy}."
    return f"{said}; {busy}, {extra.expected_utilization:.1%} would be expected without them."
