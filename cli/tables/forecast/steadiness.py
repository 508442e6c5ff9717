"""Sentences on runs that are too short to settle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from cli.words import seconds
from sim.replication.steadiness import Unsettled, needed

_REMEDY = {True: "; --steady leaves out the start", False: ""}


def unsettled_lines(
    found: Sequence[Unsettled],
    ends: Mapping[str, float],
    longer: int = 1,
    *,
    window_s: float | None = None,
    can_leave_out: bool = True,
) -> list[str]:
    """Warn in one line that runs have not settled, why, and how long they should be; nothing if they have.

    Args:
        found: why they are too short.
        ends: `operations` and `duration` of the workload, as far as it has them.
        longer: factor by which the runs were longer than the workload says.
        window_s: length of the runs if it is the option --window.
        can_leave_out: whether the command has the option --steady.
    """
    if not found:
        return []
    causes = list({each.cause: _why(each) for each in reversed(found)}.items())[::-1]
    is_start = any(cause in ("start", "correlation") for cause, _ in causes)
    runs = "the run" if longer == 1 else f"the run, even {longer} times as long,"
    head = f"{runs} has not settled" if is_start else f"{runs} is short"
    why = "; ".join(text for _, text in causes)
    remedy = _REMEDY[is_start and can_leave_out]
    return [f"warning: {head}: {why}. Simulate {_needed(found, ends, longer, window_s)}{remedy}."]


def _why(each: Unsettled) -> str:
    if each.cause == "start":
        return f"at its start, {each.op} {each.figure} {_is(each)} {each.ratio or 0:.0%} of the later value"
    if each.cause == "correlation":
        return (
            f"{each.op} {each.figure} rises and falls so slowly that the run has only about "
            f"{each.independent or 0:,.0f} independent parts"
        )
    if each.cause == "clients":
        return f"each client has only {each.independent or 0:,.0f} requests"
    if each.cause == "responses":
        return f"requests arrive for only {each.independent or 0:.1f} times as long as a {each.op} takes"
    if each.cause == "cycle":
        return f"it has few cycles of {each.work}, one in {seconds(each.period_s)}"
    return f"p99 of {each.op} rests on about {each.independent or 0:,.0f} independent slow requests"


def _is(each: Unsettled) -> str:
    return "are" if (each.figure or "").startswith("requests") else "is"


def _needed(found: Sequence[Unsettled], ends: Mapping[str, float], longer: int, window_s: float | None) -> str:
    factor = longer * max(each.longer for each in found)
    if window_s is not None:
        return f"with --window {needed({'window': window_s}, factor)['window']:g}s at least"
    if not ends:
        return f"at least {math.ceil(factor):,} times as long"
    written = {
        name: f"{value:,}" if name == "operations" else f"{value:g} s" for name, value in needed(ends, factor).items()
    }
    return " and ".join(f"workload.{name} of at least {value}" for name, value in written.items())


def points_lines(
    found: Sequence[tuple[str, Sequence[Unsettled]]],
    *,
    window_s: float | None = None,
    can_leave_out: bool = True,
    points: str = "points",
) -> list[str]:
    """Warn in one line of the points of a sweep that have not settled.

    Args:
        found: name of each point, and why its runs are too short.
        window_s, can_leave_out: as for `unsettled_lines`.
        points: what they are.
    """
    short = [(name, why) for name, why in found if why]
    if not short:
        return []
    name, why = max(short, key=lambda each: max(one.longer for one in each[1]))
    (line,) = unsettled_lines(why, {}, window_s=window_s, can_leave_out=can_leave_out)
    return [f"{line} {len(short)} of {len(found)} {points} are too short, {name} the most."]
