"""Faults of versitygw: gateways that fail, a file server that hangs, slow drives, a noisy neighbour."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from models.hosts.faults import HostOutage
from models.shared.faults import SLOW_PARTS, FaultKind, HostNeighbour, Outage, SlowDrive


class HostDown(HostOutage):
    """A host with a gateway fails: requests to it are refused."""

    kind: Literal["host_down"] = Field(description="Host failure: its gateway refuses requests.")


class FileSystemHung(Outage):
    """The file system does not respond: calls wait until it does, as those of a hard mount of NFS or of CephFS."""

    kind: Literal["file_system_hung"] = Field(description="Hung file system: calls to it wait until it responds.")


Fault = Annotated[HostDown | FileSystemHung | SlowDrive | HostNeighbour, Field(discriminator="kind")]
"""An entry of the section `faults`."""

FAULTS = {
    "host": FaultKind("host_down", "outage", "host", refuses=True),
    "file-system": FaultKind("file_system_hung", "outage"),
    **SLOW_PARTS,
}
"""The failures of the command `failures`, by name."""
