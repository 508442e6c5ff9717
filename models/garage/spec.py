"""The spec of a Garage cluster: hosts with a node each, drives, replication, metadata, and the clients.

As in Garage 2.5.0 (crates garage_rpc, garage_table, garage_block, garage_api_s3, garage_db).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.devices.presets import PRESETS_OF, listed
from models.garage import presets
from models.garage.faults import Fault
from models.hosts.sections import (
    BALANCE,
    Balance,
    Calls,
    DirectDrives,
    ServerHosts,
    StoredObjects,
    buffered_drive_presets,
)
from models.hosts.spec import HostsSpec
from models.network.service_demand import Demand, ServiceDemand
from models.shared.background import BackgroundWork
from models.shared.protection import Protection
from models.shared.store_spec import FAULTS, Link
from traces.spec.field_notes import Basis
from traces.spec.units import Bytes, Fraction, Seconds
from traces.workload.distributions import Strict

MOST_HOSTS = 24
_NO_DELAY = "Garage sets TCP_NODELAY nowhere; Linux delays acknowledgements by 40 ms: 44 ms measured"
_STALLED = "measured on loopback: PUTs of 1 KiB took 43 ms with one client, and 13 ms with eight"
_COMMIT = "assumed: five pages of a B-tree and a meta page, to the page cache (LMDB with MDB_NOSYNC)"


class GarageLink(Link):
    """The network between clients and nodes."""

    delayed_ack: Annotated[Seconds, Basis(_NO_DELAY, 0.04, 0.2)] = Field(
        0.04,
        description="Time until a receiver acknowledges the headers of a small response, until when Nagle's algorithm "
        "holds back its body, and likewise between nodes; 0: none.",
    )


class GarageCalls(Calls):
    """Calls from node to node, each over one connection of the pair."""

    stalled: Annotated[Fraction, Basis(_STALLED, 0.2, 1)] = Field(
        0.5,
        ge=0,
        le=1,
        description="Fraction of PUTs whose last bytes to other nodes wait for `network.delayed_ack`: nearly all with "
        "one client, fewer if other messages take the acknowledgements with them.",
    )


class GarageHosts(ServerHosts):
    """The hosts, with a node of Garage on each."""

    internode: GarageCalls = Field(GarageCalls(), description="Calls between nodes.")


class Drives(DirectDrives):
    """The drives of each host: blocks on all of them, metadata on the first."""


class Metadata(Strict):
    """The metadata of each node, in an LMDB environment with one writer."""

    commit: Annotated[Demand, Basis(_COMMIT, 1e-5, 3e-4)] = Field(
        ServiceDemand(constant=0.065e-3),
        description="CPU time of a transaction, for which it is the only writer of its node.",
    )
    read: Annotated[Demand, Basis("assumed: a look-up in a B-tree in memory", 2e-6, 1e-4)] = Field(
        ServiceDemand(constant=0.01e-3), description="CPU time of reading a row."
    )
    fsync: bool = Field(False, description="Whether each transaction is synced (metadata_fsync), by the only writer.")


class GarageSpec(HostsSpec):
    """A Garage cluster, its clients and their workload."""

    refusing = ("host_down", "host_hung")
    without_multipart = "Garage"

    store: Literal["garage"] = Field(description="Selects the model of Garage.")
    network: GarageLink = Field(GarageLink(), description="Network between clients and nodes, without TCP_NODELAY.")
    hosts: GarageHosts = Field(GarageHosts(), description="Hosts: number, cores, NICs, CPU times, calls.")
    drives: Drives = Field(Drives(), description="Drives of each host: service times.")
    replication: Annotated[int, Basis("Garage's documentation recommends 3", 1, 7)] = Field(
        3, ge=1, le=7, description="Number of nodes with each block and each row (replication_factor)."
    )
    balance: Balance = Field("round_robin", description=BALANCE)
    consistency: Annotated[Literal["consistent", "degraded", "dangerous"], Basis("Garage's default")] = Field(
        "consistent",
        description="Quorums: half of the copies for reads, and one more than half for writes; degraded: one copy for "
        "reads; dangerous: one for both.",
    )
    block_size: Annotated[Bytes, Field(gt=0), Basis("Garage's default, 1 MiB", 1 << 16, 1 << 27)] = Field(
        1 << 20, description="Largest block; objects from 3,072 bytes are stored in blocks."
    )
    compressed: Annotated[Fraction, Field(gt=0, le=1), Basis("assumed: objects that zstd does not shrink", 0.3, 1)] = (
        Field(1.0, description="Size of a block after compression with zstd, as a fraction.")
    )
    data_fsync: bool = Field(False, description="Whether blocks are synced, with their directory.")
    metadata: Metadata = Field(Metadata(), description="Metadata: times of transactions and rows, syncs.")
    stored: StoredObjects = Field(StoredObjects(), description="Objects that the store holds before the run.")
    background: BackgroundWork = Field(
        BackgroundWork(), description="Background work, such as scrubs, resyncs and anti-entropy."
    )
    faults: tuple[Fault, ...] = Field((), description=FAULTS)

    @property
    def protection(self) -> Protection:
        """The copies of blocks and rows, with the quorums of rows (garage_rpc/replication_mode.rs)."""
        reads = 1 if self.consistency != "consistent" else (self.replication + 1) // 2
        writes = 1 if self.consistency == "dangerous" else self.replication + 1 - (self.replication + 1) // 2
        return Protection.replicas(self.replication, writes, reads)

    @model_validator(mode="after")
    def _parts_fit(self) -> GarageSpec:
        """Check that there are hosts for all copies."""
        if self.hosts.count > MOST_HOSTS:
            raise ValueError(f"hosts.count is {self.hosts.count}; at most {MOST_HOSTS} nodes are modelled")
        if self.replication > self.hosts.count:
            raise ValueError(f"replication is {self.replication}; there are {self.hosts.count} hosts")
        return self


PRESETS_OF[GarageHosts] = listed(presets.HOST)
PRESETS_OF[Drives] = buffered_drive_presets
