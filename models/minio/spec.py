"""MinIO: what an engineer writes of a host, its drives in erasure sets, and the clients."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.background import BackgroundWork
from models.faults import NoisyNeighbour, refuse_instant_failures
from models.minio.faults import DriveDown, Fault, MinioHostDown
from models.minio.sections import Client, Drives, Host, MinioPrices, NetworkLink
from models.store_spec import StoreSpec
from traces.units import Bytes


class MinioSpec(StoreSpec):
    """A MinIO host, its clients and what is asked of it."""

    store: Literal["minio"]
    client: Client = Client()
    network: NetworkLink = NetworkLink()
    host: Host = Host()
    drives: Drives = Drives()
    inline_limit: Annotated[Bytes, Field(description="shards up to this size live inside xl.meta")] = 128 * 1024
    background: BackgroundWork = BackgroundWork()
    faults: tuple[Fault, ...] = Field((), description="what happens while the host runs")
    prices: MinioPrices | None = Field(None, description="what its parts cost; absent: nobody asks")

    @property
    def priced(self) -> dict[str, float]:
        """How much there is of what `prices` names."""
        return {"host": 1, "core": self.host.cores, "drive": self.drives.count}

    @property
    def data_shards(self) -> int:
        """Shards of an object that hold its data."""
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
        """Whether everything that the faults name exists, and a closed loop goes on while requests fail."""
        for number, fault in enumerate(self.faults):
            drive = getattr(fault, "drive", 0)
            if drive >= self.drives.count:
                raise ValueError(
                    f"faults.{number}.drive: there is no drive {drive}; allowed are 0 to {self.drives.count - 1}"
                )
            if isinstance(fault, MinioHostDown) and self.client.on_host:
                raise ValueError(
                    f"faults.{number}.kind: host_down takes the clients too, as they are on the host; nobody would "
                    "ask. Allowed with client.on_host: false"
                )
            if isinstance(fault, NoisyNeighbour) and fault.resource == "network" and not self.network.bandwidth:
                raise ValueError(
                    f"faults.{number}.resource: a network without a limit cannot be shared; give network.bandwidth"
                )
            if isinstance(fault, MinioHostDown | DriveDown):
                refuse_instant_failures(self.workload, self.network.latency, fault.kind)
        return self
