"""Notes on stderr before an answer: what is doubtful, assumed or without cost in its spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from cli.common import say
from cli.parse.spec import Described
from cli.tables.forecast.uncertainty import range_text
from cli.tables.spec.origins import doubt_text, implausible_text, rests_on, too_slow_text
from models.basis.assumptions import require_demands
from models.basis.described import DescribedSpec
from models.basis.doubts import doubts, without_effect
from models.basis.promises import breaches
from models.spec.plausibility import implausible
from sim.analysis.main_assumptions import main_unknowns
from sim.analysis.overload import slow_parts
from traces.trace import Trace


def waiting_note(trace: Trace) -> str:
    """Return what to say of a trace whose requests waited for each other but are issued by time; "" of others."""
    waited = None if trace.origin is None else trace.origin.waiting_clients
    if waited is None or trace.pacing.loop != "open":
        return ""
    return (
        f"the requests of the trace waited for each other (a closed loop of {waited:,} client{'s' * (waited > 1)}), "
        "but are issued at the times of the log, with the pauses of its store; tailcast trace fit gives the closed loop"
    )


def say_doubts(read: Described, path: Path, said: Callable[[str], None] = say) -> None:
    """Call `said` with implausible values, what is probably not meant, parts that are too slow, and what it rests on.

    Raises:
        InputError: the spec lacks a demand, or cannot be compiled.
    """
    if read.trace is None:  # the requests that will be generated; of a trace, when it is compiled
        require_demands(read.spec)
    for found in implausible(read.spec):
        said(f"warning: {implausible_text(found)}")
    for clause, breach in breaches(read.spec):
        said(f"warning: {clause}: {breach.text}")
    for doubt in doubts(read.spec, read.whole, read.origins, read.trace):
        said(f"note: {doubt_text(doubt)}")
    if read.trace is not None and (note := waiting_note(read.trace)):
        said(f"note: {note}")
    for part in slow_parts(read.spec, read.trace):
        said(f"warning: {too_slow_text(part)}")
    _say_basis(read, path, said=said)


def say_implausible(variants: Iterable[DescribedSpec], said: Callable[[str], None] = say) -> None:
    """Name implausible values of variants, and what is probably not meant in them, each once.

    A value without effect is named if it has none in any variant.
    """
    read = list(variants)
    for text in dict.fromkeys(implausible_text(found) for each in read for found in implausible(each.spec)):
        said(f"warning: {text}")
    broken = [f"{path}: {breach.text}" for each in read for path, breach in breaches(each.spec)]
    for text in dict.fromkeys(broken):
        said(f"warning: {text}")
    notes = [doubt_text(found) for each in read for found in doubts(each.spec, each.whole)]
    idle = [{doubt_text(found) for found in without_effect(each.spec, each.origins)} for each in read]
    for text in dict.fromkeys([*notes, *sorted(set.intersection(*idle) if idle else ())]):
        said(f"note: {text}")


def say_basis(read: DescribedSpec, path: Path, said: Callable[[str], None] = say) -> None:
    """Say what a search or comparison rests on: presets, assumed values, the main ones by name, and what is free."""
    named = [f"{each.path} ({range_text(each)})" for each in main_unknowns(read.uncertain)]
    _say_basis(read, path, f", mainly {', '.join(named)}" if named else "", said)


def _say_basis(read: DescribedSpec, path: Path, main: str = "", said: Callable[[str], None] = say) -> None:
    if notes := rests_on(read, main):
        said("; ".join([*notes, f"see: tailcast check {path}"]))
