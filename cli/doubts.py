"""Notes on stderr before an answer: what is doubtful, assumed or without cost in its spec."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cli.common import say
from cli.parse.spec import Described
from cli.tables.origins import implausible_text, too_slow_text
from models.assumptions import assumptions, free_demands, require_demands
from models.plausibility import implausible
from models.store import Spec
from sim.analysis.overload import slow_parts


def say_implausible(specs: Iterable[Spec]) -> None:
    """Name the implausible values of specs, each once."""
    for text in dict.fromkeys(implausible_text(found) for spec in specs for found in implausible(spec)):
        say(f"warning: {text}")


def say_doubts(read: Described, path: Path) -> None:
    """Name implausible values, parts slower than the workload needs, demands of 0 and presets; count assumed values.

    Raises:
        InputError: the spec lacks a demand, or cannot be compiled.
    """
    if read.trace is None:  # the requests that will be generated; of a trace, when it is compiled
        require_demands(read.spec)
    say_implausible([read.spec])
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
