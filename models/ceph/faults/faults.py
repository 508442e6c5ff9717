"""What may happen to a cluster while it runs: reshards, failures of OSDs, hosts and gateways, slow drives, sharing."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from models.faults import Degradation, NoisyNeighbour, Outage
from traces.units import PerSecond, Seconds
from traces.workload.distributions import Strict


class ReshardEvent(Strict):
    """A bucket index is resharded; how, `buckets.resharding` says. What the copy asks of the OSDs is not counted."""

    kind: Literal["reshard"]
    at: Seconds = Field(description="when the copy begins")
    bucket: int = Field(0, ge=0, description="which of the buckets")
    shards: Annotated[int, Field(ge=1, le=65521)] | None = Field(
        None, description="shards afterwards; absent: what dynamic resharding would choose"
    )
    entries: Annotated[float, Field(ge=0)] | None = Field(
        None, description="entries of the bucket's index; absent: stored.objects, spread over the buckets"
    )
    growth: PerSecond = Field(
        0.0, description="index writes a second during the copy, which two phases replay while writes wait"
    )


class _OsdsDown(Outage):
    """OSDs that die.

    Measured on Ceph 16.2.15: after kill -9 of an OSD writes stopped for 1.70 s and reads for 1.60 s; one that hung was
    marked down 8.0 s after it with a grace of 6 s, and rejoining stopped its placement groups for 3.04 s.
    """

    detected_by: Literal["refused", "heartbeat"] = Field(
        "refused", description="refused: its process is gone and connections fail at once; heartbeat: it hangs"
    )
    grace: Seconds = Field(20.0, description="osd_heartbeat_grace")
    peering: Seconds = Field(1.6, description="from the moment the failure is known until others serve its data")
    rejoin: Seconds = Field(3.0, description="its placement groups stop for so long when it is back")
    out_after: Seconds = Field(600.0, description="mon_osd_down_out_interval: its data are rebuilt from then on")


class OsdDown(_OsdsDown):
    """One OSD dies."""

    kind: Literal["osd_down"]
    osd: int = Field(ge=0, description="numbered host by host")


class HostDown(_OsdsDown):
    """A host dies, with its OSDs and the gateways on it."""

    kind: Literal["host_down"]
    host: int = Field(ge=0)


class GatewayDown(Outage):
    """A gateway dies; the load balancer finds out by its health checks (HAProxy: every 2 s, fall 3, rise 2)."""

    kind: Literal["gateway_down"]
    gateway: int = Field(ge=0)
    detected_after: Seconds = Field(6.0, description="requests still go to it for so long, and fail")
    readmitted_after: Seconds = Field(4.0, description="requests go to it again so long after it is back")


class SlowDrive(Degradation):
    """A drive turns slow."""

    kind: Literal["slow_drive"]
    osd: int = Field(ge=0, description="numbered host by host")
    speed: float = Field(gt=0, le=1, description="share of its speed that is left")


class NoisyNeighbourOnHost(NoisyNeighbour):
    """Somebody else takes a share of an OSD host, and of the gateways on it."""

    host: int = Field(0, ge=0)


Fault = Annotated[
    ReshardEvent | OsdDown | HostDown | GatewayDown | SlowDrive | NoisyNeighbourOnHost, Field(discriminator="kind")
]
"""One entry of the section `faults`."""
