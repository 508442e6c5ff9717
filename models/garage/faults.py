"""Faults of a Garage cluster: nodes that are killed or hang, slow drives, a noisy neighbour.

A killed node refuses at once, and the next one is read from. One that hangs keeps its place in the order of reads until
its pings have failed five times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from models.shared import epochs
from models.shared.epochs import NO_PARTS, Parts, Span
from models.shared.faults import FaultKind, HostNeighbour, Outage, SlowDrive
from traces.spec.field_notes import Basis
from traces.spec.units import Seconds

_PINGS = (
    "ping every 15 s, timeout 10 s, dropped after more than 4 failures (garage_net/peering.rs): 75 to 90 s, 82 seen"
)


class HostDown(Outage):
    """The node of a host is killed: requests and calls to it are refused."""

    kind: Literal["host_down"] = Field(description="Host failure: its node is killed and refuses connections.")
    host: int = Field(0, ge=0, description="Number of the host that fails, from 0.")


class HostHung(Outage):
    """The node of a host stops responding, but keeps its connections."""

    kind: Literal["host_hung"] = Field(description="Hung host: its node does not respond, and keeps its connections.")
    host: int = Field(0, ge=0, description="Number of the host that hangs, from 0.")
    detected_after: Annotated[Seconds, Basis(_PINGS, 75, 90)] = Field(
        82.0, description="Time until the other nodes drop their connections to it."
    )


Fault = Annotated[HostDown | HostHung | SlowDrive | HostNeighbour, Field(discriminator="kind")]
"""An entry of the section `faults`."""


@dataclass(frozen=True)
class Epoch(epochs.Epoch):
    """The state of the hosts from a time on.

    Attributes:
        dead: hosts that refuse calls, or that the others know to be unreachable.
        hung: hosts whose calls are waited for.
        cut: hosts whose requests are waited for, as clients do not know of it.
    """

    dead: Parts = NO_PARTS
    hung: Parts = NO_PARTS
    cut: Parts = NO_PARTS


def epochs_of(faults: Iterable[Fault]) -> tuple[Epoch, ...]:
    """Return the epochs that faults divide a run into."""
    return epochs.epochs_of(Epoch, (span for fault in faults for span in _spans(fault)))


def _spans(fault: Fault) -> Iterator[Span]:
    if isinstance(fault, HostDown):
        yield Span(fault.at, fault.back_s, "dead", [fault.host])
    elif isinstance(fault, HostHung):
        found_s = min(fault.at + fault.detected_after, fault.back_s)
        yield Span(fault.at, found_s, "hung", [fault.host])
        yield Span(found_s, fault.back_s, "dead", [fault.host])
        yield Span(fault.at, fault.back_s, "cut", [fault.host])


FAULTS = {
    "host": FaultKind("host_down", "outage", "host", refuses=True),
    "hung-host": FaultKind("host_hung", "outage", "host", settled={"detected_after": 0.0}),
    "slow-drive": FaultKind("slow_drive", "slow", "drive"),
    "noisy-neighbour": FaultKind("noisy_neighbour", "neighbour"),
}
"""The failures of the command `failures`, by name."""
