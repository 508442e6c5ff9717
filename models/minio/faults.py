"""What may happen to a MinIO host as it runs: drives that die or turn slow, its own death, a noisy neighbour."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from models.faults import Degradation, FaultKind, NoisyNeighbour, Outage, Slowdown, speeds
from models.network.scenario import Action, Kind
from traces.units import Seconds


class DriveDown(Outage):
    """A drive dies: the others of its erasure set do its work while they are a quorum.

    When it is back it serves at once, and has nothing to catch up on.
    """

    kind: Literal["drive_down"]
    drive: int = Field(ge=0, description="numbered set by set")
    detected_after: Seconds = Field(
        0.0,
        description="0: its accesses fail at once; else it hangs, and requests that need it wait so long "
        "(MINIO_DRIVE_MAX_TIMEOUT, 30 s unless told: internal/config/drive/drive.go)",
    )

    @property
    def gone_s(self) -> float:
        """When the others begin to do without it, unless it is back before."""
        return min(self.at + self.detected_after, self.back_s)


class MinioHostDown(Outage):
    """The host dies: requests are refused at once, and what was under way is lost."""

    kind: Literal["host_down"]


class MinioSlowDrive(Degradation):
    """A drive turns slow: its accesses, and the commits of its journal if that is its own."""

    kind: Literal["slow_drive"]
    drive: int = Field(ge=0, description="numbered set by set")
    speed: float = Field(gt=0, le=1, description="share of its speed that is left")


Fault = Annotated[DriveDown | MinioHostDown | MinioSlowDrive | NoisyNeighbour, Field(discriminator="kind")]
"""One entry of the section `faults`."""

FAULTS = {
    "drive": FaultKind("drive_down", "outage", "drive"),
    "host": FaultKind("host_down", "outage", refuses=True),
    "slow-drive": FaultKind("slow_drive", "slow", "drive"),
    "noisy-neighbour": FaultKind("noisy_neighbour", "neighbour"),
}
"""What can fail."""


def changes(
    faults: Iterable[Fault], *, cpu: int, links: Sequence[int], drives: Sequence[int], journals: Sequence[int]
) -> list[Action]:
    """What the faults do to the stations themselves; a dead drive is left out by those that ask it.

    Args:
        cpu, links, drives, journals: indices of the host's stations; one journal may be that of all drives.
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
