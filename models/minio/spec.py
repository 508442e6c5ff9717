"""The spec of a MinIO host, its drives in erasure sets, and the clients."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.background import BackgroundWork
from models.faults import NoisyNeighbour, refuse_instant_failures
from models.minio.faults import DriveDown, Fault, MinioHostDown
from models.minio.sections import Client, Drives, Host, MinioPrices, NetworkLink
from models.store_spec import FAULTS, PRICES, StoreSpec
from traces.field_notes import Basis
from traces.units import Bytes

_INLINE = Basis("MinIO's default: ShouldInline, internal/config/storageclass/storage-class.go", high=1 << 20)


class MinioSpec(StoreSpec):
    """A MinIO host, its clients and their workload."""

    store: Literal["minio"] = Field(description="Selects the model of MinIO.")
    client: Client = Field(Client(), description="Client machines: number, cores, NICs, placement, CPU, policies.")
    network: NetworkLink = Field(NetworkLink(), description="Network between clients and store.")
    host: Host = Field(Host(), description="Host of MinIO: cores, CPU times by operation, processes.")
    drives: Drives = Field(Drives(), description="Drives of the host in erasure sets: number, parity, service times.")
    inline_limit: Annotated[Bytes, _INLINE] = Field(
        128 * 1024, description="Largest shard that is stored inside xl.meta instead of in a file of its own."
    )
    background: BackgroundWork = Field(BackgroundWork(), description="Healing, scanning and other background work.")
    faults: tuple[Fault, ...] = Field((), description=FAULTS)
    prices: MinioPrices | None = Field(None, description=PRICES)

    @property
    def priced(self) -> dict[str, float]:
        """The amount of each part in `prices`."""
        return {"host": 1, "core": self.host.cores, "drive": self.drives.count}

    @property
    def data_shards(self) -> int:
        """Number of data shards of an object."""
        return self.drives.set_size - self.drives.parity_shards

    @model_validator(mode="after")
    def _servers_share_sets(self) -> MinioSpec:
        size, servers = self.drives.set_size, self.host.servers
        if size % servers:
            allowed = ", ".join(str(n) for n in range(1, size + 1) if size % n == 0)
            raise ValueError(f"host.servers is {servers}; an erasure set of {size} drives allows {allowed}")
        return self

    @model_validator(mode="after")
    def _events_fit(self) -> MinioSpec:
        """Check that all parts named by faults exist, and that failed requests of a closed loop take time."""
        for number, fault in enumerate(self.faults):
            drive = getattr(fault, "drive", 0)
            if drive >= self.drives.count:
                raise ValueError(
                    f"faults.{number}.drive: there is no drive {drive}; allowed are 0 to {self.drives.count - 1}"
                )
            if isinstance(fault, MinioHostDown) and self.client.on_storage_hosts:
                raise ValueError(
                    f"faults.{number}.kind: host_down also stops the clients, which run on the host; it is allowed "
                    "with client.placement: own"
                )
            if isinstance(fault, NoisyNeighbour) and fault.resource == "network" and not self.network.bandwidth:
                raise ValueError(
                    f"faults.{number}.resource: a network of unlimited bandwidth has no fraction to take; give "
                    "network.bandwidth"
                )
            if isinstance(fault, MinioHostDown | DriveDown):
                refuse_instant_failures(self.workload, self.network.latency, fault.kind)
        return self
