"""The spec of an OpenIO cluster: gateways, hosts with drives and directory, storage policy, and the clients."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from models.hosts.sections import StoredObjects
from models.hosts.spec import GatewaySpec
from models.openio.faults import Fault
from models.openio.sections import Chunks, CodingGateways, Directory, Drives, Hosts
from models.shared.background import BackgroundWork
from models.shared.protection import Protection
from models.shared.store_spec import FAULTS


class OpenioSpec(GatewaySpec):
    """An OpenIO SDS cluster, its clients and their workload."""

    refusing = ("rawx_down", "rawx_hung", "host_down", "meta2_down", "gateway_down")
    without_multipart = "OpenIO"

    store: Literal["openio"] = Field(description="Selects the model of OpenIO SDS.")
    gateways: CodingGateways = Field(CodingGateways(), description="S3 gateways: number, cores, NICs, CPU times.")
    hosts: Hosts = Field(Hosts(), description="Hosts: number, cores, NICs, CPU times of rawx services.")
    drives: Drives = Field(Drives(), description="Drives of each host, with a rawx service each: service times.")
    chunks: Chunks = Field(Chunks(), description="Storage policy: size of chunks, replicas or erasure code, timeouts.")
    directory: Directory = Field(Directory(), description="Directory: containers, copies of their bases, CPU times.")
    stored: StoredObjects = Field(StoredObjects(), description="Objects that the store holds before the run.")
    background: BackgroundWork = Field(
        BackgroundWork(), description="Background work, such as that of crawlers, rebuilders and movers."
    )
    faults: tuple[Fault, ...] = Field((), description=FAULTS)

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
        return self
