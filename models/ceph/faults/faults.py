"""Faults of a Ceph cluster: reshards, failures of OSDs, hosts and gateways, slow drives, noisy neighbours."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from models.faults import Degradation, NoisyNeighbour, Outage
from traces.units import PerSecond, Seconds
from traces.workload.distributions import Strict


class ReshardEvent(Strict):
    """A bucket index is resharded as set in `buckets.resharding`; the load of the copy on OSDs is not modelled."""

    kind: Literal["reshard"]
    at: Seconds = Field(description="Start time of the copy.")
    bucket: int = Field(0, ge=0, description="Number of the bucket.")
    shards: Annotated[int, Field(ge=1, le=65521)] | None = Field(
        None, description="Shards afterwards; absent: the number that dynamic resharding would choose."
    )
    entries: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Entries of the bucket's index; absent: `stored.objects` divided by the number of buckets."
    )
    growth: PerSecond = Field(
        0.0, description="Index writes per second during the copy; with two phases they are replayed while writes wait."
    )


class _OsdsDown(Outage):
    """Failure of OSDs.

    Measured on Ceph 16.2.15: after kill -9 of an OSD writes stopped for 1.70 s and reads for 1.60 s; an OSD that hung
    was marked down after 8.0 s with a grace of 6 s, and rejoining stopped its placement groups for 3.04 s.
    """

    detected_by: Literal["refused", "heartbeat"] = Field(
        "refused",
        description="How the failure is detected. refused: its process has ended, so connections fail immediately; "
        "heartbeat: it hangs.",
    )
    grace: Seconds = Field(20.0, description="osd_heartbeat_grace.")
    peering: Seconds = Field(1.6, description="Time from detection until other OSDs serve its data.")
    rejoin: Seconds = Field(3.0, description="Time for which its placement groups stop when it is back.")
    out_after: Seconds = Field(
        600.0, description="mon_osd_down_out_interval: time from detection until its data are rebuilt elsewhere."
    )


class OsdDown(_OsdsDown):
    """Failure of one OSD."""

    kind: Literal["osd_down"]
    osd: int = Field(ge=0, description="Number of the OSD, counted host by host.")


class HostDown(_OsdsDown):
    """Failure of a host with its OSDs and the gateways on it."""

    kind: Literal["host_down"]
    host: int = Field(ge=0, description="Number of the host.")


class GatewayDown(Outage):
    """Failure of a gateway, which the load balancer detects by health checks (HAProxy: every 2 s, fall 3, rise 2)."""

    kind: Literal["gateway_down"]
    gateway: int = Field(ge=0, description="Number of the gateway.")
    detected_after: Seconds = Field(
        6.0, description="Time until the load balancer detects the failure; until then requests sent to it fail."
    )
    readmitted_after: Seconds = Field(
        4.0, description="Time from the restart until the load balancer sends requests to it again."
    )


class SlowDrive(Degradation):
    """A drive becomes slow."""

    kind: Literal["slow_drive"]
    osd: int = Field(ge=0, description="Number of the drive's OSD, counted host by host.")
    speed: float = Field(gt=0, le=1, description="Remaining speed as a fraction of the normal one.")


class NoisyNeighbourOnHost(NoisyNeighbour):
    """Another tenant takes a fraction of an OSD host, also from the gateways on it."""

    host: int = Field(0, ge=0, description="Number of the OSD host.")


Fault = Annotated[
    ReshardEvent | OsdDown | HostDown | GatewayDown | SlowDrive | NoisyNeighbourOnHost, Field(discriminator="kind")
]
"""An entry of the section `faults`."""
