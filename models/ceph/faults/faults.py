"""Faults of a Ceph cluster: reshards, failures of OSDs, hosts and gateways, slow drives, noisy neighbours."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from models.shared.faults import Degradation, HostNeighbour, Outage
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import MOST_COUNT, Fraction, PerSecond, Seconds
from traces.workload.distributions import Strict

_MEASURED = "measured on Ceph 16.2.15"
_HAPROXY = "HAProxy's defaults: a health check every 2 s, fall 3, rise 2"


class ReshardEvent(Strict):
    """A bucket index is resharded as set in `buckets.resharding`; the load of the copy on OSDs is not modelled."""

    kind: Literal["reshard"] = Field(description="Resharding of the index of one bucket.")
    at: Seconds = Field(description="Time at which the copy of the index starts, from the start of the run.")
    bucket: int = Field(0, ge=0, le=MOST_COUNT, description="Number of the bucket that is resharded, from 0.")
    shards: Annotated[int, Field(ge=1, le=65521)] | None = Field(
        None, description="Number of shards afterwards; absent: the one that dynamic resharding would choose."
    )
    entries: Annotated[float, Unit("", "1e7"), Field(ge=0)] | None = Field(
        None,
        description="Number of entries in the index; absent: `stored.objects` divided by the number of buckets.",
    )
    growth: PerSecond = Field(
        0.0,
        description="Rate of index writes during the copy; resharding in two phases replays them while writes wait.",
    )


class _OsdsDown(Outage):
    """Failure of OSDs.

    Measured on Ceph 16.2.15: after kill -9 of an OSD writes stopped for 1.70 s and reads for 1.60 s; an OSD that hung
    was marked down after 8.0 s with a grace of 6 s. Peering is up to a second to the map of the failure, if monitors
    have just committed something else, a second to the next map (as in `rejoin_s`), and commits. With a grace of 20 s
    a host whose link was cut was marked down after 28.2 s, an OSD whose drive hung after 40.7 s: its heartbeats go on
    until an operation lasts for osd_op_thread_timeout.
    """

    detected_by: Literal["refused", "heartbeat", "stalled"] = Field(
        "refused",
        description="How the failure is detected. refused: its process has ended, so connections fail immediately; "
        "heartbeat: it is silent; stalled: its drive hangs, so that it misses heartbeats 15 s later.",
    )
    grace: Annotated[Seconds, Basis("Ceph's default: osd_heartbeat_grace", 1, 600)] = Field(
        20.0, description="Time without heartbeats until an OSD that hangs is reported (osd_heartbeat_grace)."
    )
    peering: Annotated[Seconds, Basis(f"{_MEASURED}: reads stopped for 1.60 s after kill -9", 0.1, 60)] = Field(
        1.6, description="Time from detection until other OSDs serve its data."
    )
    rejoin: (
        Annotated[Seconds, Basis("derived from the source of Ceph: models/ceph/mechanisms/peering.py", 0.1, 600)] | None
    ) = Field(
        None,
        description="Time for which its placement groups stop when it is back; absent: a second between two maps of "
        "the monitors (paxos_propose_interval), and three commits.",
    )
    out_after: Annotated[Seconds, Basis("Ceph's default: mon_osd_down_out_interval", 0, 604_800)] = Field(
        600.0, description="Time from detection until its data are rebuilt elsewhere (mon_osd_down_out_interval)."
    )
    missed_writes: Annotated[float, Unit("", "1e6"), Field(ge=0)] | None = Field(
        None,
        description="Number of objects that are written or removed while it is down; those in its placement groups are "
        "recovered when it is back; absent: those of an open loop in that time, and none of a closed loop.",
    )


class OsdDown(_OsdsDown):
    """Failure of one OSD."""

    kind: Literal["osd_down"] = Field(description="OSD failure: one OSD stops or hangs.")
    osd: int = Field(ge=0, description="Number of the OSD that fails, counted host by host from 0.")


class HostDown(_OsdsDown):
    """Failure of a host with its OSDs and the gateways on it."""

    kind: Literal["host_down"] = Field(description="Host failure: its OSDs stop, and so do the gateways on it.")
    host: int = Field(ge=0, description="Number of the OSD host that fails, from 0.")
    gateways_detected_after: Annotated[Seconds, Basis(_HAPROXY, 0.1, 120)] = Field(
        6.0, description="Time until the load balancer detects the failure of the gateways on the host."
    )


class GatewayDown(Outage):
    """Failure of a gateway, which the load balancer detects by health checks (HAProxy: every 2 s, fall 3, rise 2)."""

    kind: Literal["gateway_down"] = Field(description="Gateway failure: one gateway stops.")
    gateway: int = Field(ge=0, description="Number of the gateway that fails, from 0.")
    detected_after: Annotated[Seconds, Basis(_HAPROXY, 0.1, 120)] = Field(
        6.0, description="Time until the load balancer detects the failure; until then requests sent to it fail."
    )
    readmitted_after: Annotated[Seconds, Basis(_HAPROXY, 0.1, 120)] = Field(
        4.0, description="Time from the restart until the load balancer sends requests to it again."
    )


class SlowDrive(Degradation):
    """A drive becomes slow."""

    kind: Literal["slow_drive"] = Field(description="Slow drive: the drive of one OSD loses speed.")
    osd: int = Field(ge=0, description="Number of the drive's OSD, counted host by host from 0.")
    speed: Fraction = Field(gt=0, le=1, description="Remaining speed as a fraction of the normal one.")


Fault = Annotated[
    ReshardEvent | OsdDown | HostDown | GatewayDown | SlowDrive | HostNeighbour, Field(discriminator="kind")
]
"""An entry of the section `faults`."""
