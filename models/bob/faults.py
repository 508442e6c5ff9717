"""Faults of a Bob cluster: nodes that are killed or silent, slow drives, a noisy neighbour.

Calls to a killed node fail at once. A silent one is waited for until `operation_timeout`, unless others suffice, and
until the next check of the nodes has found it unreachable.
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

_CHECK = "Bob's example configuration: a check every 5 s, with a timeout of 3 s"


class HostDown(Outage):
    """The nodes of a host are killed: their clients' requests and other nodes' calls are refused."""

    kind: Literal["host_down"] = Field(description="Host failure: its nodes are killed and refuse connections.")
    host: int = Field(0, ge=0, description="Number of the host that is affected, from 0.")


class LinkDown(Outage):
    """The link of a host is cut, so that its nodes are silent."""

    kind: Literal["link_down"] = Field(description="Link failure: the nodes of a host are silent.")
    host: int = Field(0, ge=0, description="Number of the host that is affected, from 0.")
    detected_after: Annotated[Seconds, Basis(_CHECK, 0.1, 600)] = Field(
        8.0, description="Time until the other nodes know that its nodes are unreachable."
    )


Fault = Annotated[HostDown | LinkDown | SlowDrive | HostNeighbour, Field(discriminator="kind")]
"""An entry of the section `faults`."""


@dataclass(frozen=True)
class Epoch(epochs.Epoch):
    """The state of the hosts from a time on.

    Attributes:
        dead: hosts whose nodes are known to be unreachable.
        silent: hosts whose nodes do not respond.
        cut: hosts that no client reaches.
    """

    dead: Parts = NO_PARTS
    silent: Parts = NO_PARTS
    cut: Parts = NO_PARTS


def epochs_of(faults: Iterable[Fault]) -> tuple[Epoch, ...]:
    """Return the epochs that faults divide a run into."""
    return epochs.epochs_of(Epoch, (span for fault in faults for span in _spans(fault)))


def _spans(fault: Fault) -> Iterator[Span]:
    if isinstance(fault, HostDown):
        yield Span(fault.at, fault.back_s, "dead", [fault.host])
    elif isinstance(fault, LinkDown):
        found_s = min(fault.at + fault.detected_after, fault.back_s)
        yield Span(fault.at, found_s, "silent", [fault.host])
        yield Span(found_s, fault.back_s, "dead", [fault.host])
        yield Span(fault.at, fault.back_s, "cut", [fault.host])


FAULTS = {
    "host": FaultKind("host_down", "outage", "host", refuses=True),
    "link": FaultKind("link_down", "outage", "host", refuses=True, settled={"detected_after": 0.0}),
    "slow-drive": FaultKind("slow_drive", "slow", "drive"),
    "noisy-neighbour": FaultKind("noisy_neighbour", "neighbour"),
}
"""The failures of the command `failures`, by name."""
