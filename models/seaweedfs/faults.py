"""Faults of SeaweedFS: volume servers that are killed or hang, gateways, slow drives, a noisy neighbour.

The master gives up the volumes of a server whose connection breaks, at the latest after three missing heartbeats of
5 s; of one that is silent on an open connection, it goes on handing them out. Until then, writes to these volumes fail
at once, and begin again on other volumes, or hang; reads go to another copy after an error, or after 30 s.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from models.hosts.faults import HostSilence
from models.shared import epochs
from models.shared.epochs import NO_PARTS, Parts, Span
from models.shared.faults import OTHER_HOSTS, SLOW_PARTS, FaultKind, HostNeighbour, SlowDrive
from traces.spec.field_notes import Basis
from traces.spec.units import Seconds

_DEAD = Basis("SeaweedFS's defaults: heartbeats each 5 s, dead after three (weed/topology)", 5, 60)
_SILENT = Basis("measured in a box (4.48): volumes of a stopped server were handed out for all of 40 s", 40, 3600)


class HostDown(HostSilence):
    """The volume server of a host is killed, and what else runs there."""

    kind: Literal["host_down"] = Field(description="Host failure: its services are killed and refuse connections.")
    detected_after: Annotated[Seconds, _DEAD] = Field(15.0, description="Time until the master gives its volumes up.")


class HostHung(HostSilence):
    """The volume server of a host stops responding."""

    kind: Literal["host_hung"] = Field(description="Hung host: its volume server accepts connections, but is silent.")
    detected_after: Annotated[Seconds, _SILENT] = Field(
        900.0, description="Time until the master gives its volumes up."
    )


Fault = Annotated[HostDown | HostHung | SlowDrive | HostNeighbour, Field(discriminator="kind")]
"""An entry of the section `faults`."""


@dataclass(frozen=True)
class Epoch(epochs.Epoch):
    """The state of the hosts from a time on.

    Attributes:
        dead: hosts whose services are killed.
        hung: hosts whose volume server does not respond.
        unnoticed: those of both that the master still has volumes of.
    """

    dead: Parts = NO_PARTS
    hung: Parts = NO_PARTS
    unnoticed: Parts = NO_PARTS


def epochs_of(faults: Iterable[Fault]) -> tuple[Epoch, ...]:
    """Return the epochs that faults divide a run into."""
    return epochs.epochs_of(Epoch, (span for fault in faults for span in _spans(fault)))


def _spans(fault: Fault) -> Iterator[Span]:
    if isinstance(fault, HostDown | HostHung):
        yield Span(fault.at, fault.back_s, "dead" if isinstance(fault, HostDown) else "hung", [fault.host])
        yield Span(fault.at, min(fault.at + fault.detected_after, fault.back_s), "unnoticed", [fault.host])


_DETECTED = {"detected_after": 0.0}

FAULTS = {
    "host": FaultKind("host_down", "outage", "host", refuses=True, settled=_DETECTED, helps=OTHER_HOSTS),
    "hung-host": FaultKind("host_hung", "outage", "host", settled=_DETECTED, helps=OTHER_HOSTS),
    **SLOW_PARTS,
}
"""The failures of the command `failures`, by name."""
