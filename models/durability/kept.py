"""Whether a spec keeps its promise, and what it does not survive in any case, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.durability.durability import Durability
from models.durability.promise import EVENTS, Event, Promise
from traces.spec.units import duration_text

_NAMES: dict[Event, str] = {
    "drive": "the loss of a drive",
    "host": "the loss of a host",
    "rack": "the loss of a rack",
    "host_power": "loss of power of a host",
    "power": "loss of power of all hosts at once",
}


@dataclass(frozen=True)
class Breach:
    """A clause of a promise that a spec does not keep.

    Attributes:
        clause: the field of the promise, and for an event its name, such as ``survives.power``.
        text: what is not kept, and why.
    """

    clause: str
    text: str


@dataclass(frozen=True)
class Kept:
    """What a spec keeps.

    Attributes:
        settings: its protection in the store's words.
        loses: events that lose objects, however long ago they were written.
        loses_newest: events that lose objects acknowledged just before; without those of `loses`.
        rebuild_s: time in s from the failure of a drive until all is rebuilt; None: not known.
        annual_loss: probability of data loss within a year; None: not known.
        breaches: of the promise; empty if there is none.
        reason, source: of what is acknowledged when.
        caveat: what may be lost nevertheless; empty: nothing.
        rebuilt_by: what the time of a rebuild follows from.
    """

    settings: str
    loses: tuple[Event, ...]
    loses_newest: tuple[Event, ...]
    rebuild_s: float | None
    annual_loss: float | None
    breaches: tuple[Breach, ...]
    reason: str
    source: str
    caveat: str
    rebuilt_by: str

    @property
    def lines(self) -> list[str]:
        """What does not survive, in one or two sentences without full stops."""
        found = []
        if self.loses:
            found.append(f"with {self.settings}, objects do not survive {named(self.loses)}")
        if self.loses_newest:
            found.append(
                f"with {self.settings}, objects acknowledged just before may not survive {named(self.loses_newest)}: "
                f"{self.reason} ({self.source})"
            )
        if self.caveat:
            found.append(self.caveat)
        return found

    @property
    def figures(self) -> str:
        """How long a rebuild takes and how probable data loss is, in words; empty: not known."""
        if self.rebuild_s is None or self.annual_loss is None:
            return ""
        rebuilt = f"after a drive fails, all is whole again in {duration_text(self.rebuild_s)} ({self.rebuilt_by})"
        if "drive" in self.loses:
            rebuilt = "what a drive loses that fails is not rebuilt"
        loss = f"{self.annual_loss:.1e}" if self.annual_loss < 0.001 else f"{self.annual_loss:.1%}"
        return f"{rebuilt}; failures of drives lose data with probability {loss} within a year"


def kept(durability: Durability, promise: Promise | None) -> Kept:
    """Return what a spec keeps, and what of a promise it does not; without one, with the defaults of its figures."""
    figures = promise or Promise()
    known = [event for event in EVENTS if event != "rack" or durability.on_rack is not None]
    loses = tuple(event for event in known if not _survives(durability, event, False))
    newest = tuple(event for event in known if event not in loses and not _survives(durability, event, True))
    rebuild_s, loss = durability.rebuild.total_s(figures), durability.annual_loss(figures)
    breaches = () if promise is None else tuple(_breaches(durability, promise, rebuild_s, loss))
    return Kept(
        durability.settings, loses, newest, rebuild_s, loss, breaches, durability.reason, durability.source,
        durability.caveat, durability.rebuild.source,
    )  # fmt: skip


def named(events: Sequence[Event]) -> str:
    """Return events in words."""
    *first, last = [_NAMES[event] for event in events]
    return f"{', '.join(first)} or {last}" if first else last


def _survives(durability: Durability, event: Event, newest: bool) -> bool:
    weaker = durability.weaker
    return durability.survives(event, newest) and (weaker is None or weaker.survives(event, newest))


def _breaches(durability: Durability, promise: Promise, rebuild_s: float | None, loss: float | None) -> list[Breach]:
    newest = promise.acknowledged == "synced"
    found = [
        Breach(f"survives.{event}", _why(durability, event))
        for event in promise.survives
        if not _survives(durability, event, False) or (newest and not _survives(durability, event, True))
    ]
    if promise.rebuild is not None:
        if rebuild_s is None:
            text = "how long a drive is rebuilt is not known: give stored.objects, or the capacity of drives"
            found.append(Breach("rebuild", text))
        elif rebuild_s > promise.rebuild:
            text = (
                f"a drive is rebuilt in {duration_text(rebuild_s)}, and {duration_text(promise.rebuild)} are promised"
            )
            found.append(Breach("rebuild", f"{text} ({durability.rebuild.source})"))
    if promise.annual_loss is not None:
        if loss is None:
            found.append(Breach("annual_loss", "is not known: give stored.objects, or the capacity of drives"))
        elif loss > promise.annual_loss:
            text = f"data are lost with probability {loss:.1e} within a year, and {promise.annual_loss:.1e} is promised"
            found.append(Breach("annual_loss", text))
    return found


def _why(durability: Durability, event: Event) -> str:
    """Say why an event loses objects."""
    lost, weaker = durability.lost_parts(event), durability.weaker
    opening = f"{durability.settings} may lose objects to {_NAMES[event]}"
    if weaker is not None and durability.survives(event, True) and not weaker.survives(event, True):
        state = "synced" if weaker.synced else "not synced"
        copies = "one copy" if weaker.acknowledged == 1 else f"{weaker.acknowledged} copies"
        return f"{opening}: {weaker.name} have {copies}, {state}, when a PUT is acknowledged"
    if not durability.survives(event, False):
        has = f"an object can lose {durability.parity} of {durability.width} parts"
        if event == "rack" and durability.on_rack is None:
            return f"{opening}: the spec has no racks"
        return f"{opening}: {has}, and {lost} may be there"
    return f"{opening} that were just acknowledged: {durability.reason} ({durability.source})"
