"""Epochs: the time between two changes of a cluster's state, from the spans of its faults.

A store declares the states that its parts can be in as the fields of a class, `down` or `silent`, say, and the spans in
which its faults put parts into them::

    @dataclass(frozen=True)
    class State(Epoch):
        down: Parts = NO_PARTS

    epochs_of(State, [Span(fault.at, fault.back_s, "down", {fault.host}) for fault in spec.faults])
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Parts = frozenset[int]
"""Numbers of drives, hosts or other parts."""

NO_PARTS: Parts = frozenset()


@dataclass(frozen=True)
class Epoch:
    """The state of a cluster from a time on: which parts are in each state, which are the fields of a subclass.

    Attributes:
        at_s: its beginning.
    """

    at_s: float = 0.0


State = TypeVar("State", bound=Epoch)


@dataclass(frozen=True)
class Span:
    """A time in which parts are in a state.

    Attributes:
        from_s, until_s: its beginning and end; infinite if it does not end.
        state: name of the state: a field of the epochs.
        parts: numbers of the parts.
    """

    from_s: float
    until_s: float
    state: str
    parts: Iterable[int]


def epochs_of(epoch: type[State], spans: Iterable[Span]) -> tuple[State, ...]:
    """Return the epochs that spans divide a run into, the first at time 0; one begins whenever a span begins or ends.

    Args:
        epoch: the class of the epochs.
        spans: of the faults; one that does not end before it begins changes no state, but may divide an epoch.

    Raises:
        TypeError: a span has a state that is no field of the epochs.
    """
    found = [(span, frozenset(span.parts)) for span in spans]
    limits = {0.0, *(t for span, _ in found for t in (span.from_s, span.until_s) if t < math.inf)}
    return tuple(epoch(at_s, **_states_at(at_s, found)) for at_s in sorted(limits))


def all_well(epochs: Sequence[Epoch]) -> bool:
    """Return whether no part is in any state during a run; otherwise there may be one epoch all the same."""
    return tuple(epochs) == (type(epochs[0])(),)


def _states_at(at_s: float, spans: Iterable[tuple[Span, Parts]]) -> dict[str, Parts]:
    states: dict[str, Parts] = {}
    for span, parts in spans:
        present = parts if span.from_s <= at_s < span.until_s else NO_PARTS
        states[span.state] = states.get(span.state, NO_PARTS) | present
    return states
