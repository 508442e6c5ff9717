"""The spec of an OpenIO cluster: gateways, hosts with drives and directory, storage policy, and the clients."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from models.devices.processors import Cores
from models.network.service_demand import NOTHING, ServiceDemand
from models.openio.faults import Fault
from models.openio.sections import Chunks, Directory, Drives, Gateways, Hosts, OpenioPrices, Stored
from models.shared.background import BackgroundWork
from models.shared.clients import ClientMachines, refuse_storage_hosts
from models.shared.faults import refuse_unfit_faults
from models.shared.multipart import refuse_multipart
from models.shared.protection import Protection
from models.shared.store_spec import FAULTS, PRICES, StoreSpec
from traces.operations import Op


class OpenioSpec(StoreSpec):
    """An OpenIO SDS cluster, its clients and their workload."""

    store: Literal["openio"] = Field(description="Selects the model of OpenIO SDS.")
    client: ClientMachines = Field(
        ClientMachines(), description="Client machines: number, cores, NICs, CPU times, policies."
    )
    gateways: Gateways = Field(Gateways(), description="S3 gateways: number, cores, NICs, CPU times.")
    hosts: Hosts = Field(Hosts(), description="Hosts: number, cores, NICs, CPU times of rawx services.")
    drives: Drives = Field(Drives(), description="Drives of each host, with a rawx service each: service times.")
    chunks: Chunks = Field(Chunks(), description="Storage policy: size of chunks, replicas or erasure code, timeouts.")
    directory: Directory = Field(Directory(), description="Directory: containers, copies of their bases, CPU times.")
    stored: Stored = Field(Stored(), description="Objects that the store holds before the run.")
    background: BackgroundWork = Field(
        BackgroundWork(), description="Background work, such as that of crawlers, rebuilders and movers."
    )
    faults: tuple[Fault, ...] = Field((), description=FAULTS)
    prices: OpenioPrices | None = Field(None, description=PRICES)

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
    def gateway_count(self) -> int:
        """Number of gateways."""
        return self.hosts.count if self.gateways.collocated else self.gateways.count

    @property
    def gateway_cores(self) -> Cores:
        """The cores that a gateway uses."""
        return self.hosts.cores if self.gateways.collocated else self.gateways.cores

    @property
    def gateway_nic(self) -> float:
        """Bandwidth in B/s of a gateway's network interface; 0: no limit."""
        return self.hosts.nic if self.gateways.collocated else self.gateways.nic

    @property
    def remote(self) -> float:
        """Fraction of the chunks that leave or reach a gateway by the network."""
        return 1 - 1 / self.hosts.count if self.gateways.collocated else 1.0

    @property
    def protection(self) -> Protection:
        """Replicas, of which a write needs (n + 1) // 2, or k + m chunks, of which it needs k + 1.

        oio/common/storage_method.py; Reed-Solomon codes of liberasurecode need one parity fragment at least.
        """
        erasure, replicas = self.chunks.erasure, self.chunks.replicas
        if erasure is None:
            return Protection.replicas(replicas, (replicas + 1) // 2)
        return Protection.erasure(erasure.data, erasure.parity, erasure.data + 1)

    @property
    def metachunk_bytes(self) -> int:
        """Bytes of an object in its first metachunk at most: a chunk, or all data chunks of an erasure code."""
        return self.chunks.size * self.protection.data

    @property
    def directory_quorum(self) -> int:
        """Copies of a base that an update needs: a majority (`group_to_quorum` in sqliterepo/replication.c)."""
        return self.directory.replicas // 2 + 1

    def gateway_cpu(self, op: Op) -> ServiceDemand:
        """Return the CPU demand of a gateway for a request, without erasure coding."""
        return self.gateway_cores.at_speed(self.gateways.cpu.get(op, NOTHING))

    @model_validator(mode="after")
    def _parts_fit(self) -> OpenioSpec:
        """Check that there are drives for all chunks, and hosts for all copies of a base."""
        if self.protection.width > self.total_drives:
            what = "chunks.replicas" if self.chunks.erasure is None else "chunks.erasure"
            raise ValueError(
                f"{what}: {self.protection.width} chunks of an object need as many drives; there are "
                f"{self.total_drives} (hosts.count x drives.count)"
            )
        if self.directory.replicas > self.hosts.count:
            raise ValueError(f"directory.replicas is {self.directory.replicas}; there are {self.hosts.count} hosts")
        refuse_storage_hosts(self.client)
        refuse_multipart(self.client.multipart, "OpenIO")
        return self

    @model_validator(mode="after")
    def _events_fit(self) -> OpenioSpec:
        """Check that all parts named by faults exist, and that failed requests of a closed loop take time."""
        most = {"drive": self.total_drives, "host": self.hosts.count, "gateway": self.gateway_count}
        refusing = ("rawx_down", "rawx_hung", "host_down", "meta2_down", "gateway_down")
        refuse_unfit_faults(self, most, self.hosts.nic, refusing)
        return self
