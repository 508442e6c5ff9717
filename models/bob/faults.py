"""Faults of a Bob cluster: nodes that are killed or silent, slow drives, a noisy neighbour.

Calls to a killed node fail at once. A silent one is waited for until `operation_timeout`, unless others suffice, and
until the next check of the nodes has found it unreachable.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field

from models.hosts.faults import HostEpoch, HostOutage, HostSilence, host_epochs
from models.shared.faults import SLOW_PARTS, FaultKind, HostNeighbour, SlowDrive
from traces.spec.field_notes import Basis
from traces.spec.units import Seconds

_CHECK = "Bob's example configuration: a check every 5 s, with a timeout of 3 s"


class HostDown(HostOutage):
    """The nodes of a host are killed: their clients' requests and other nodes' calls are refused."""

    kind: Literal["host_down"] = Field(description="Host failure: its nodes are killed and refuse connections.")


class LinkDown(HostSilence):
    """The link of a host is cut, so that its nodes are silent."""

    kind: Literal["link_down"] = Field(description="Link failure: the nodes of a host are silent.")
    detected_after: Annotated[Seconds, Basis(_CHECK, 0.1, 600)] = Field(
        8.0, description="Time until the other nodes know that its nodes are unreachable."
    )


Fault = Annotated[HostDown | LinkDown | SlowDrive | HostNeighbour, Field(discriminator="kind")]
"""An entry of the section `faults`."""


def epochs_of(faults: Collection[Fault]) -> tuple[HostEpoch, ...]:
    """Return the epochs that faults divide a run into."""
    return host_epochs(
        [fault for fault in faults if isinstance(fault, HostDown)],
        [fault for fault in faults if isinstance(fault, LinkDown)],
    )


FAULTS = {
    "host": FaultKind("host_down", "outage", "host", refuses=True),
    "link": FaultKind("link_down", "outage", "host", refuses=True, settled={"detected_after": 0.0}),
    **SLOW_PARTS,
}
"""The failures of the command `failures`, by name."""
