"""What may happen to a MinIO host as it runs: drives that die or turn slow, its own death, a noisy neighbour."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from models.faults import FaultKind, NoisyNeighbour, Outage, Slowdown, Spell, speeds
from models.network.scenario import Action, Kind
from traces.units import Seconds


class DriveDown(Outage):
    """A drive dies: the others of its erasure set do its work while they are a quorum.

    When it is back it serves at once, and has nothing to catch up on.
    """

    kind: Literal["drive_down"]
    drive: int = Field(ge=0, description="numbered set by set")
    noticed_after: Seconds = Field(
        0.0,
        description="0: its accesses fail at once; else it hangs, and requests that need it wait so long "
        "(MINIO_DRIVE_MAX_TIMEOUT, 30 s unless told: internal/config/drive/drive.go)",
    )

    @property
    def gone_s(self) -> float:
        """When the others begin to do without it, unless it is back before."""
        return min(self.at + self.noticed_after, self.back_s)


class MinioHostDown(Outage):
    """The host dies: requests are refused at once, and what was under way is lost."""

    kind: Literal["host_down"]


class MinioSlowDrive(Spell):
    """A drive turns slow: its accesses, and the commits of its journal if that is its own."""

    kind: Literal["slow_drive"]
    drive: int = Field(ge=0, description="numbered set by set")
    speed: float = Field(gt=0, le=1, description="share of its speed that is left")


Event = Annotated[DriveDown | MinioHostDown | MinioSlowDrive | NoisyNeighbour, Field(discriminator="kind")]
"""One entry of the section `events`."""

FAULTS = {
    "drive": FaultKind("drive_down", "outage", "drive"),
    "host": FaultKind("host_down", "outage", refuses=True),
    "slow-drive": FaultKind("slow_drive", "slow", "drive"),
    "noisy-neighbour": FaultKind("noisy_neighbour", "neighbour"),
}
"""What can fail."""


def changes(
    events: Iterable[Event], *, cpu: int, links: Sequence[int], drives: Sequence[int], journals: Sequence[int]
) -> list[Action]:
    """What the events do to the stations themselves; a dead drive is left out by those that ask it.

    Args:
        cpu, links, drives, journals: indices of the host's stations; one journal may be that of all drives.
    """
    slow: list[Slowdown] = []
    shared: dict[str, list[Slowdown]] = {"cpu": [], "drives": [], "network": []}
    actions: list[Action] = []
    for event in events:
        if isinstance(event, MinioHostDown):
            parts = (cpu, *links, *drives, *journals)
            actions += [Action(Kind.DOWN, station, event.at) for station in parts]
            if event.back_s < math.inf:
                actions += [Action(Kind.UP, station, event.back_s) for station in parts]
        elif isinstance(event, MinioSlowDrive):
            slow.append((event.drive, event.at, event.end_s, event.speed))
        elif isinstance(event, NoisyNeighbour):
            shared[event.takes].append((0, event.at, event.end_s, 1 - event.share))

    def of_all(stations: Sequence[int], spells: list[Slowdown]) -> list[Slowdown]:
        return [(i, *spell[1:]) for i in range(len(stations)) for spell in spells]

    own_journals = slow if len(journals) == len(drives) else []
    return [
        *actions,
        *speeds(shared["cpu"], [cpu]),
        *speeds(of_all(links, shared["network"]), links),
        *speeds(slow + of_all(drives, shared["drives"]), drives),
        *speeds(own_journals + of_all(journals, shared["drives"]), journals),
    ]
