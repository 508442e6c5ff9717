"""The spec of a SeaweedFS cluster: master, volume servers, filers, gateways, volumes, and the clients.

As in SeaweedFS's source at cc8364a0 (4.44, 2026-08-22).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from models.hosts.sections import BALANCE, Balance, StoredObjects
from models.hosts.spec import GatewaySpec
from models.network.service_demand import NOTHING, ServiceDemand
from models.seaweedfs.faults import Fault
from models.seaweedfs.sections import Drives, Filer, Master, SeaweedGateways, VolumeHosts, Volumes
from models.shared.background import BackgroundWork
from models.shared.protection import Protection
from models.shared.store_spec import FAULTS

MOST_ROWS = 100_000
"""Rows of the placement table: of gateways, volumes and drives."""


class SeaweedSpec(GatewaySpec):
    """A SeaweedFS cluster, its clients and their workload."""

    refusing = ("host_down", "host_hung")
    without_multipart = "SeaweedFS"

    store: Literal["seaweedfs"] = Field(description="Selects the model of SeaweedFS.")
    master: Master = Field(Master(), description="Master: cores, CPU time of an assignment.")
    gateways: SeaweedGateways = Field(
        SeaweedGateways(), description="S3 gateways, with a filer each: number, cores, NICs, CPU times."
    )
    filer: Filer = Field(Filer(), description="Filers: CPU times, and their store.")
    hosts: VolumeHosts = Field(VolumeHosts(), description="Hosts with a volume server each: cores, NICs, CPU times.")
    drives: Drives = Field(Drives(), description="Drives of each host: service times.")
    balance: Balance = Field("round_robin", description=f"{BALANCE} For gateways on hosts.")
    volumes: Volumes = Field(Volumes(), description="Volumes: copies, chunks, syncs, garbage, erasure code.")
    stored: StoredObjects = Field(StoredObjects(), description="Objects that the store holds before the run.")
    background: BackgroundWork = Field(
        BackgroundWork(), description="Background work, such as the encoding of volumes."
    )
    faults: tuple[Fault, ...] = Field((), description=FAULTS)

    @property
    def bytes_per_byte(self) -> float:
        """Bytes on drives for each byte of objects: of copies, and of shards."""
        erasure = self.volumes.erasure
        return (1 - erasure.fraction) * self.volumes.copies + erasure.fraction * erasure.width / erasure.data

    @property
    def protection(self) -> Protection:
        """The copies of a volume, all of which are written."""
        return Protection.replicas(self.volumes.copies)

    def of_filer(self, demand: ServiceDemand | None) -> ServiceDemand:
        """Return a CPU demand of a filer at the speed of its cores."""
        return self.gateway_cores.at_speed(demand or NOTHING)

    @model_validator(mode="after")
    def _parts_fit(self) -> SeaweedSpec:
        """Check that there are hosts for all copies, and that the placement can be laid out."""
        if self.volumes.copies > self.hosts.count:
            raise ValueError(f"volumes.copies is {self.volumes.copies}; there are {self.hosts.count} hosts")
        rows = self.total_drives * self.volumes.per_bucket * self.gateway_count
        if rows > MOST_ROWS:
            raise ValueError(
                f"hosts.count: drives x volumes.writable x gateways are {rows:,}; at most {MOST_ROWS:,} are modelled"
            )
        return self
