"""The faults that were staged during a measured Run, and their use in a spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.store import Spec
from traces.errors import InputError
from traces.run import Run
from traces.spec.spec_file import validated

FaultEvent = Mapping[str, Any]
"""An entry of the section `faults` of a spec."""


def recorded_faults(run: Run, source: str) -> tuple[FaultEvent, ...]:
    """Return the faults that were staged during a Run, with times from its start; empty if there were none.

    Args:
        source: the name of the Run in messages.

    Raises:
        InputError: they are not a list of mappings, or the model of the store has no such fault.
    """
    events = run.info.get("faults") or []
    if not (isinstance(events, list) and all(isinstance(event, dict) for event in events)):
        raise InputError(f"{source}: faults is {events!r}; a list of JSON objects is needed")
    if unknown := run.info.get("unmodelled_faults"):
        raise InputError(f"{source}: the store's model has no such fault: {', '.join(map(str, unknown))}")
    return tuple(events)


def with_faults(spec: Spec, events: Sequence[FaultEvent], source: str) -> Spec:
    """Return the spec with further faults; unchanged if there are none.

    Raises:
        InputError: the spec cannot have them.
    """
    if not events:
        return spec
    return validated(type(spec), dict(spec) | {"faults": [*spec.faults, *events]}, source)


def same_faults(events: Sequence[FaultEvent]) -> list[dict[str, Any]]:
    """Return what repetitions of a Run have in common: their faults, with times to the second."""
    return [
        {name: round(value) if name in ("at", "until", "back_at") else value for name, value in event.items()}
        for event in events
    ]
