"""The sentence on what retries and hedges cost."""

from __future__ import annotations

from cli.words import number
from sim.verdict.extra_attempts import ExtraAttempts


def extra_attempts_line(extra: ExtraAttempts, load: str | None = None) -> str:
    """State what they add per request, and the load with them: ``hedges add 0.034 attempts per request, …``.

    `load`: the load with and without them, in words; None: only that with them is known.
    """
    who = " and ".join(name for name, has in (("retries", extra.retries), ("hedges", extra.hedges)) if has)
    allowed = f"of {number(extra.allowed)} that budgets allow in the long run"
    said = f"{who} add {number(extra.per_request)} attempts per request, {allowed}"
    if load is None and extra.station is not None and extra.utilization is not None:
        load = f"{extra.station.partition(', ')[0]} is {extra.utilization:.1%} busy with them"
    return f"{said}." if load is None else f"{said}; {load}."
