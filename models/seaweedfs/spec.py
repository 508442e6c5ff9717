"""The spec of a SeaweedFS cluster: master, volume servers, filers, gateways, volumes, and the clients.

As in SeaweedFS's source at cc8364a0 (4.44, 2026-08-22).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from models.devices.processors import Cores
from models.hosts.sections import BALANCE, Balance, StoredObjects
from models.network.service_demand import NOTHING, ServiceDemand
from models.seaweedfs.faults import Fault
from models.seaweedfs.sections import Drives, Filer, Gateways, Master, SeaweedPrices, VolumeHosts, Volumes
from models.shared.background import BackgroundWork
from models.shared.clients import ClientMachines, refuse_storage_hosts
from models.shared.faults import refuse_unfit_faults
from models.shared.multipart import refuse_multipart
from models.shared.protection import Protection
from models.shared.store_spec import FAULTS, PRICES, StoreSpec
from traces.operations import Op

MOST_ROWS = 100_000
"""Rows of the placement table: of gateways, volumes and drives."""


class SeaweedSpec(StoreSpec):
    """A SeaweedFS cluster, its clients and their workload."""

    store: Literal["seaweedfs"] = Field(description="Selects the model of SeaweedFS.")
    client: ClientMachines = Field(
        ClientMachines(), description="Client machines: number, cores, NICs, CPU times, policies."
    )
    master: Master = Field(Master(), description="Master: cores, CPU time of an assignment.")
    gateways: Gateways = Field(
        Gateways(), description="S3 gateways, with a filer each: number, cores, NICs, CPU times."
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
    prices: SeaweedPrices | None = Field(None, description=PRICES)

    @property
    def priced(self) -> dict[str, float]:
        """The amount of each part in `prices`."""
        own = 0 if self.gateways.collocated else self.gateways.count
        return {"gateway": own, "host": self.hosts.count, "drive": self.total_drives}

    @property
    def total_drives(self) -> int:
        """Number of drives of all hosts."""
        return self.hosts.count * self.drives.count

    @property
    def bytes_per_byte(self) -> float:
        """Bytes on drives for each byte of objects: of copies, and of shards."""
        erasure = self.volumes.erasure
        return (1 - erasure.fraction) * self.volumes.copies + erasure.fraction * erasure.width / erasure.data

    @property
    def gateway_count(self) -> int:
        """Number of gateways."""
        return self.hosts.count if self.gateways.collocated else self.gateways.count

    @property
    def gateway_cores(self) -> Cores:
        """The cores that a gateway and its filer use."""
        return self.hosts.cores if self.gateways.collocated else self.gateways.cores

    @property
    def gateway_nic(self) -> float:
        """Bandwidth in B/s of a gateway's network interface; 0: no limit."""
        return self.hosts.nic if self.gateways.collocated else self.gateways.nic

    @property
    def protection(self) -> Protection:
        """The copies of a volume, all of which are written."""
        return Protection.replicas(self.volumes.copies)

    def gateway_cpu(self, op: Op) -> ServiceDemand:
        """Return the CPU demand of a gateway for a request."""
        return self.gateway_cores.at_speed(self.gateways.cpu.get(op, NOTHING))

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
        refuse_storage_hosts(self.client)
        refuse_multipart(self.client.multipart, "SeaweedFS")
        return self

    @model_validator(mode="after")
    def _events_fit(self) -> SeaweedSpec:
        """Check that all parts named by faults exist, and that failed requests of a closed loop take time."""
        most = {"drive": self.total_drives, "host": self.hosts.count}
        refuse_unfit_faults(self, most, self.hosts.nic, ("host_down", "host_hung"))
        return self
