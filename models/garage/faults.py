"""Faults of a Garage cluster: nodes that are killed or hang, slow drives, a noisy neighbour.

A killed node refuses at once, and the next one is read from. One that hangs keeps its place in the order of reads until
its pings have failed five times.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field

from models.hosts.faults import HostEpoch, HostOutage, HostSilence, host_epochs
from models.shared.faults import OTHER_HOSTS, SLOW_PARTS, FaultKind, HostNeighbour, SlowDrive
from traces.spec.field_notes import Basis
from traces.spec.units import Seconds

_PINGS = (
    "ping every 15 s, timeout 10 s, dropped after more than 4 failures (garage_net/peering.rs): 75 to 90 s, 82 seen"
)


class HostDown(HostOutage):
    """The node of a host is killed: requests and calls to it are refused."""

    kind: Literal["host_down"] = Field(description="Host failure: its node is killed and refuses connections.")


class HostHung(HostSilence):
    """The node of a host stops responding, but keeps its connections."""

    kind: Literal["host_hung"] = Field(description="Hung host: its node does not respond, and keeps its connections.")
    detected_after: Annotated[Seconds, Basis(_PINGS, 75, 90)] = Field(
        82.0, description="Time until the other nodes drop their connections to it."
    )


Fault = Annotated[HostDown | HostHung | SlowDrive | HostNeighbour, Field(discriminator="kind")]
"""An entry of the section `faults`."""


def epochs_of(faults: Collection[Fault]) -> tuple[HostEpoch, ...]:
    """Return the epochs that faults divide a run into."""
    return host_epochs(
        [fault for fault in faults if isinstance(fault, HostDown)],
        [fault for fault in faults if isinstance(fault, HostHung)],
    )


FAULTS = {
    "host": FaultKind("host_down", "outage", "host", refuses=True, helps=OTHER_HOSTS),
    "hung-host": FaultKind("host_hung", "outage", "host", settled={"detected_after": 0.0}, helps=OTHER_HOSTS),
    **SLOW_PARTS,
}
"""The failures of the command `failures`, by name."""
