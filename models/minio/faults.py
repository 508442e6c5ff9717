"""Faults of a MinIO host: failed or slow drives, failure of the host, a noisy neighbour."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from models.faults import Degradation, FaultKind, NoisyNeighbour, Outage, Slowdown, speeds
from models.network.scenario import Action, Kind
from traces.field_notes import Basis
from traces.units import Fraction, Seconds


class DriveDown(Outage):
    """A drive fails; the others of its erasure set take over its work as long as they are a quorum.

    When it is back it serves immediately, and has nothing to catch up on.
    """

    kind: Literal["drive_down"] = Field(description="Drive failure: one drive stops serving accesses.")
    drive: int = Field(ge=0, description="Number of the drive, counted set by set from 0.")
    detected_after: Annotated[Seconds, Basis("assumed: the drive returns errors at once", 0, 120)] = Field(
        0.0,
        description="Time until the failure is detected. 0: accesses fail immediately; otherwise the drive hangs, and "
        "requests that need it wait until then (MINIO_DRIVE_MAX_TIMEOUT, by default 30 s: "
        "internal/config/drive/drive.go).",
    )

    @property
    def gone_s(self) -> float:
        """Time from which requests avoid the drive, or when it is back if that is earlier."""
        return min(self.at + self.detected_after, self.back_s)


class MinioHostDown(Outage):
    """The host fails: requests are refused immediately, and those in progress are lost."""

    kind: Literal["host_down"] = Field(description="Host failure: the host stops, and refuses requests.")


class MinioSlowDrive(Degradation):
    """A drive becomes slow: its accesses, and the commits of its journal if it has its own."""

    kind: Literal["slow_drive"] = Field(description="Slow drive: one drive loses speed but returns no errors.")
    drive: int = Field(ge=0, description="Number of the drive, counted set by set from 0.")
    speed: Fraction = Field(gt=0, le=1, description="Remaining speed as a fraction of the normal one.")


Fault = Annotated[DriveDown | MinioHostDown | MinioSlowDrive | NoisyNeighbour, Field(discriminator="kind")]
"""An entry of the section `faults`."""

FAULTS = {
    "drive": FaultKind("drive_down", "outage", "drive"),
    "host": FaultKind("host_down", "outage", refuses=True),
    "slow-drive": FaultKind("slow_drive", "slow", "drive"),
    "noisy-neighbour": FaultKind("noisy_neighbour", "neighbour"),
}
"""The failures of the command `failures`, by name."""


def changes(
    faults: Iterable[Fault], *, cpu: int, links: Sequence[int], drives: Sequence[int], journals: Sequence[int]
) -> list[Action]:
    """Return the effects of the faults on stations, except for failed drives, which requests avoid (`degraded`).

    Args:
        faults: in any order.
        cpu, links, drives, journals: indices of the host's stations; all drives may have one journal.
    """
    slow: list[Slowdown] = []
    shared: dict[str, list[Slowdown]] = {"cpu": [], "drives": [], "network": []}
    actions: list[Action] = []
    for fault in faults:
        if isinstance(fault, MinioHostDown):
            parts = (cpu, *links, *drives, *journals)
            actions += [Action(Kind.DOWN, station, fault.at) for station in parts]
            if fault.back_s < math.inf:
                actions += [Action(Kind.UP, station, fault.back_s) for station in parts]
        elif isinstance(fault, MinioSlowDrive):
            slow.append((fault.drive, fault.at, fault.end_s, fault.speed))
        elif isinstance(fault, NoisyNeighbour):
            shared[fault.resource].append((0, fault.at, fault.end_s, 1 - fault.fraction))

    def of_all(stations: Sequence[int], degradations: list[Slowdown]) -> list[Slowdown]:
        return [(i, *degradation[1:]) for i in range(len(stations)) for degradation in degradations]

    own_journals = slow if len(journals) == len(drives) else []
    return [
        *actions,
        *speeds(shared["cpu"], [cpu]),
        *speeds(of_all(links, shared["network"]), links),
        *speeds(slow + of_all(drives, shared["drives"]), drives),
        *speeds(own_journals + of_all(journals, shared["drives"]), journals),
    ]
