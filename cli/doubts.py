"""Notes on stderr before an answer: what is doubtful, assumed or without cost in its spec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cli.common import say
from cli.parse.spec import Described
from cli.tables.origins import doubt_text, implausible_text, too_slow_text
from models.assumptions import assumptions, free_demands, require_demands
from models.doubts import doubts
from models.plausibility import implausible
from models.store import Spec
from sim.analysis.overload import slow_parts
from traces.trace import Trace


def say_implausible(specs: Iterable[Spec], data: Mapping[str, Any] | None = None) -> None:
    """Name the implausible values of specs, and what is probably not meant in them, each once.

    Args:
        specs: valid specs.
        data: the mapping that they were made from, apart from what differs between them; None: how values are written
            is not checked.
    """
    checked = list(specs)
    for text in dict.fromkeys(implausible_text(found) for spec in checked for found in implausible(spec)):
        say(f"warning: {text}")
    for text in dict.fromkeys(doubt_text(found) for spec in checked for found in doubts(spec, data)):
        say(f"note: {text}")


def waiting_note(trace: Trace) -> str:
    """Return what to say of a trace whose requests waited for each other but are issued by time; "" of others."""
    waited = None if trace.origin is None else trace.origin.waiting_clients
    if waited is None or trace.pacing.loop != "open":
        return ""
    return (
        f"the requests of the trace waited for each other (a closed loop of {waited:,} client{'s' * (waited > 1)}), "
        "but are issued at the times of the log, with the pauses of its store; tailcast trace fit gives the closed loop"
    )


def say_doubts(read: Described, path: Path) -> None:
    """Name implausible values, what is probably not meant, parts that are too slow, demands of 0 and presets.

    Assumed values are counted.

    Raises:
        InputError: the spec lacks a demand, or cannot be compiled.
    """
    if read.trace is None:  # the requests that will be generated; of a trace, when it is compiled
        require_demands(read.spec)
    for found in implausible(read.spec):
        say(f"warning: {implausible_text(found)}")
    for doubt in doubts(read.spec, read.whole, read.origins, read.trace):
        say(f"note: {doubt_text(doubt)}")
    if read.trace is not None and (note := waiting_note(read.trace)):
        say(f"note: {note}")
    for part in slow_parts(read.spec, read.trace):
        say(f"warning: {too_slow_text(part)}")
    count, free = len(assumptions(read.spec, read.origins)), free_demands(read.spec)
    presets = dict.fromkeys(origin.source for origin in read.origins if origin.kind == "preset")
    rests_on = [f"{count} assumed value{'s' if count > 1 else ''}"] if count else []
    rests_on += [f"the preset{'s' if len(presets) > 1 else ''} {', '.join(presets)}"] if presets else []
    notes = [f"rests on {' and '.join(rests_on)}"] if rests_on else []
    notes += [f"costs nothing: {', '.join(free)}"] if free else []
    if notes:
        say("; ".join([*notes, f"see: tailcast check {path}"]))
