"""Faults of a MinIO cluster: failed or slow drives, hosts, racks and links, a noisy neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from models.hosts.speed_groups import first_hosts
from models.network.scenario import Action
from models.shared.faults import (
    OTHER_HOSTS,
    Degradation,
    FaultKind,
    HostNeighbour,
    Outage,
    Slowdown,
    SlowDrive,
    SlowParts,
    slow_parts,
    speeds,
)
from traces.spec.field_notes import Basis
from traces.spec.units import Fraction, Seconds

SILENT_S = 25.0
"""Time until a host that does not respond is found: 20 to 30 s (ping every 10 s, internal/grid/connection.go)."""
LOCK_TIMEOUT_S = 1.0
"""How long a lock waits for a server that does not respond (internal/dsync/drwmutex.go)."""
CALL_TIMEOUT_S = 30.0
"""How long a call to a drive that does not respond lasts (MINIO_DRIVE_MAX_TIMEOUT)."""
DIAL_TIMEOUT_S = 10.0
"""How long a read of data tries to connect to a host that does not respond (rest.DefaultTimeout)."""
_OFFLINE_AFTER_S, _PROBE_S = 20.0, 2.5
"""Longest time until a drive with errors is taken offline, and mean time until the probe of one that is finds it back:
every 5 s (monitorDiskWritable and monitorDiskStatus, cmd/xl-storage-disk-id-check.go)."""


class DriveDown(Outage):
    """A drive fails; the others of its erasure set take over its work as long as they are a quorum.

    When it is back after more than 20 s, it is used again 2.5 s later, as a probe has to find it.
    """

    kind: Literal["drive_down"] = Field(description="Drive failure: one drive stops serving accesses.")
    drive: int = Field(ge=0, description="Number of the drive, counted host by host from 0.")
    detected_after: Annotated[Seconds, Basis("assumed: the drive returns errors at once", 0, 120)] = Field(
        0.0,
        description="Time until the failure is detected. 0: accesses fail immediately; otherwise the drive hangs, and "
        "until then each call to it takes 30 s (MINIO_DRIVE_MAX_TIMEOUT). MinIO's probe of a drive that hangs takes 35 "
        "to 51 s (monitorDiskWritable, cmd/xl-storage-disk-id-check.go).",
    )

    @property
    def gone_s(self) -> float:
        """Time from which requests avoid the drive, or when it is back if that is earlier."""
        return min(self.at + self.detected_after, self.back_s)

    @property
    def used_s(self) -> float:
        """Time from which requests use the drive again."""
        return self.back_s + (_PROBE_S if self.back_s - self.at - self.detected_after > _OFFLINE_AFTER_S else 0.0)


_FOUND = (
    "MinIO connects drives every 15 s and looks for empty ones every 10 s (defaultMonitorConnectEndpointInterval, "
    "defaultMonitorNewDiskInterval); 18.6 s measured once"
)


class DriveReplaced(Outage):
    """A drive fails, and an empty one takes its place, which MinIO heals from the other drives of the set."""

    kind: Literal["drive_replaced"] = Field(
        description="Replaced drive: one drive fails at once, and an empty one takes its place later and is healed."
    )
    drive: int = Field(ge=0, description="Number of the drive, counted host by host from 0.")
    found_after: Annotated[Seconds, Basis(_FOUND, 0, 25)] = Field(
        12.5,
        ge=0,
        description="Time from `back_at`, when the empty drive is there, until MinIO formats, uses and heals it.",
    )

    @property
    def used_s(self) -> float:
        """Time in s at which writes use the drive, and its healing begins."""
        return self.back_s + self.found_after


class Decommission(Degradation):
    """A pool is emptied: its objects move to the other pools, which take all new ones."""

    kind: Literal["decommission"] = Field(
        description="Decommission: all objects of a pool move to the others (mc admin decommission)."
    )
    pool: int = Field(0, ge=0, description="Number of the pool that is emptied, from 0.")

    @property
    def moved_fraction(self) -> float:
        """Fraction of the objects of the pool that move."""
        return 1.0


class Rebalance(Degradation):
    """A pool gives objects to pools with more free space; new ones go to these until it is done."""

    kind: Literal["rebalance"] = Field(
        description="Rebalance: objects of a pool move to pools with more free space (mc admin rebalance)."
    )
    pool: int = Field(0, ge=0, description="Number of the pool that has the least free space, from 0.")
    moved: Annotated[Fraction, Basis("assumed: half, as after a pool of the same size was added", 0.01, 1)] = Field(
        0.5,
        gt=0,
        le=1,
        description="Fraction of its objects that move. MinIO stops when the free fraction of the pool is within 5 % "
        "of that of the cluster (checkIfRebalanceDone, cmd/erasure-server-pool-rebalance.go).",
    )

    @property
    def moved_fraction(self) -> float:
        """Fraction of the objects of the pool that move."""
        return self.moved


class MinioHostDown(Outage):
    """A host fails: it refuses requests, and those in progress there are lost; other hosts do without its drives."""

    kind: Literal["host_down"] = Field(
        description="Host failure: the process is killed, and the host refuses requests."
    )
    host: int = Field(0, ge=0, description="Which host, counted pool by pool from 0.")


class RackDown(Outage):
    """All hosts of a rack fail together."""

    kind: Literal["rack_down"] = Field(description="Rack failure: all of its hosts fail together.")
    rack: int = Field(0, ge=0, description="Which rack, from 0; racks have consecutive hosts.")


class LinkDown(Outage):
    """The link of a host is cut, so that it does not respond, and only timeouts end the wait for it."""

    kind: Literal["link_down"] = Field(
        description="Link failure: a host is silent, and only timeouts end a wait for it."
    )
    host: int = Field(0, ge=0, description="Which host, counted pool by pool from 0.")
    detected_after: Annotated[
        Seconds, Basis("ping every 10 s, dropped when the last pong is 20 s old: internal/grid/connection.go", 20, 30)
    ] = Field(
        SILENT_S,
        description="Time until the other hosts do without the silent one. Until then each lock takes 1 s, and "
        "operations wait, except that a GET waits for one connection, also afterwards: 10 s each.",
    )
    refused_after: Annotated[Seconds, Basis("connect timeout of obstore; boto3 has 60 s", 1, 120)] = Field(
        5.0, description="Connect timeout of clients, after which their requests to the silent host fail."
    )
    accepts: bool = Field(
        False,
        description="Whether the silent host still accepts connections, as a process that is stopped does: then a GET "
        "waits 30 s, and requests to the host wait until it is back.",
    )

    @property
    def gone_s(self) -> float:
        """Time from which requests avoid the host, or when it is back if that is earlier."""
        return min(self.at + self.detected_after, self.back_s)


class SlowLink(Degradation):
    """The link of a host becomes slow, in both directions."""

    kind: Literal["slow_link"] = Field(description="Slow link: the network interface of a host loses speed.")
    host: int = Field(0, ge=0, description="Which host, counted pool by pool from 0.")
    speed: Fraction = Field(gt=0, le=1, description="Remaining speed as a fraction of the normal one.")


Fault = Annotated[
    DriveDown
    | DriveReplaced
    | Decommission
    | Rebalance
    | MinioHostDown
    | RackDown
    | LinkDown
    | SlowLink
    | SlowDrive
    | HostNeighbour,
    Field(discriminator="kind"),
]
"""An entry of the section `faults`."""


def _first_hosts(spec: Any) -> dict[str, int]:
    """Return the first host of each group, of the first pool that has a group of that name."""
    return first_hosts([name for hosts, _, _ in spec.layouts for name in hosts.group_of])


def _first_drives(spec: Any) -> dict[str, int]:
    """Return the first drive of each group of hosts."""
    per_host = [drives.count for hosts, drives, _ in spec.layouts for _ in range(hosts.count)]
    return {name: sum(per_host[:host]) for name, host in _first_hosts(spec).items()}


FAULTS = {
    "drive": FaultKind("drive_down", "outage", "drive", groups=_first_drives),
    "host": FaultKind("host_down", "outage", "host", refuses=True, helps=OTHER_HOSTS, groups=_first_hosts),
    "rack": FaultKind("rack_down", "outage", "rack", refuses=True, helps=OTHER_HOSTS),
    "link": FaultKind(
        "link_down", "outage", "host", settled={"detected_after": 0.0}, helps=OTHER_HOSTS, groups=_first_hosts
    ),
    "slow-drive": FaultKind("slow_drive", "slow", "drive", groups=_first_drives),
    "slow-link": FaultKind("slow_link", "slow", "host", groups=_first_hosts),
    "noisy-neighbour": FaultKind("noisy_neighbour", "neighbour"),
}
"""The failures of the command `failures`, by name."""


def slowdowns(
    faults: Sequence[Fault],
    *,
    cpu: Sequence[int],
    links: Sequence[int],
    ins: Sequence[int],
    outs: Sequence[int],
    drives: Sequence[int],
    journals: Sequence[int],
    per_host: int,
    always: SlowParts,
) -> list[Action]:
    """Return the effects of slow parts and of neighbours on stations.

    Args:
        faults: in any order.
        cpu, ins, outs: of each host; links have no limit if `ins` has one station for all.
        links: of the clients' network, which a neighbour takes if hosts have no limit of their own.
        drives, journals: of each drive, host by host; drives of a host may have one journal, or none of their own.
        per_host: number of drives of a host.
        always: parts that differ in speed all the time; slowdowns multiply with these.
    """
    slow = slow_parts(faults, range(0, len(drives) + 1, per_host))
    slow.cores.extend(always.cores)
    slow.links.extend(always.links)
    slow.shared_drives.extend(always.drives)
    own_links = [(fault.host, fault.at, fault.end_s, fault.speed) for fault in faults if isinstance(fault, SlowLink)]
    shared_links: list[Slowdown] = []
    limited = len(set(ins)) == len(ins) and ins[0] != outs[0]
    (own_links if limited else shared_links).extend(slow.links)
    by_journal: dict[int, list[Slowdown]] = {}
    if set(journals).isdisjoint(drives):
        own = len(set(journals)) == len(drives)
        for which, start, end, speed in [*(slow.drives if own else ()), *slow.shared_drives]:
            by_journal.setdefault(journals[which], []).append((0, start, end, speed))
    actions = [*speeds(slow.cores, cpu), *speeds(slow.drives + slow.shared_drives, drives)]
    for journal, of_one in by_journal.items():
        actions += speeds(dict.fromkeys(of_one), [journal])
    for way in (ins, outs):
        actions += speeds(own_links, way)
    for link in links:
        actions += speeds([(0, *each[1:]) for each in shared_links], [link])
    return actions


def hosts_down(fault: Fault, hosts: int, racks: int) -> range:
    """Return the hosts that a fault takes down at once; none if it has no such effect."""
    if isinstance(fault, MinioHostDown):
        return range(fault.host, fault.host + 1)
    if isinstance(fault, RackDown):
        return range(fault.rack * hosts // racks, (fault.rack + 1) * hosts // racks)
    return range(0)
