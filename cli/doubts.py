"""Notes on stderr before a simulation: what is doubtful in its spec, and that it rests on assumed values."""

from __future__ import annotations

from pathlib import Path

from cli.common import say
from cli.parse.spec import Described
from cli.tables.origins import implausible_text, too_slow_text
from models.assumptions import assumptions, require_demands
from models.plausibility import implausible
from sim.analysis.overload import slow_parts


def say_doubts(read: Described, path: Path) -> None:
    """Name implausible values, and parts that are slower than the workload needs; count assumed values.

    Raises:
        InputError: the spec lacks a demand, or cannot be compiled.
    """
    if read.trace is None:  # the requests that will be generated; of a trace, when it is compiled
        require_demands(read.spec)
    for text in (
        *map(implausible_text, implausible(read.spec)),
        *map(too_slow_text, slow_parts(read.spec, read.trace)),
    ):
        say(f"warning: {text}")
    count = len(assumptions(read.spec, read.origins))
    if count:
        say(f"rests on {count} assumed value{'s' if count > 1 else ''}; see: tailcast check {path}")
