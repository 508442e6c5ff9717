"""The spec of a Bob cluster: hosts with nodes, drives, virtual disks, quorum, and the clients."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.bob.faults import Fault
from models.bob.sections import Blobs, Drives, Hosts, Stored, VirtualDisks
from models.hosts.spec import HostsSpec
from models.shared.background import BackgroundWork
from models.shared.protection import Protection
from models.shared.store_spec import FAULTS
from traces.spec.field_notes import Basis
from traces.spec.units import Seconds

MOST_NODES = 64


class BobSpec(HostsSpec):
    """A Bob cluster, its clients and their workload."""

    refusing = ("host_down", "link_down")
    without_multipart = "Bob"

    store: Literal["bob"] = Field(description="Selects the model of Bob.")
    hosts: Hosts = Field(
        Hosts(), description="Hosts of Bob: number, nodes on each, cores, network interfaces, CPU times."
    )
    drives: Drives = Field(Drives(), description="Drives of each host behind its page cache: service times.")
    vdisks: VirtualDisks = Field(VirtualDisks(), description="Virtual disks: number, and copies of each.")
    quorum: Annotated[int, Basis("Bob's example configuration", 1, 16)] = Field(
        1, ge=1, le=16, description="Number of copies that a PUT waits for; of other nodes' as many, if there are."
    )
    operation_timeout: Annotated[Seconds, Field(gt=0), Basis("Bob's example configuration", 0.01, 600)] = Field(
        3.0, description="Time limit of a call to another node."
    )
    balance: Annotated[Literal["round_robin", "single"], Basis("assumed: clients use the nodes in turn")] = Field(
        "round_robin", description="At which node a request arrives: in turn, or always at the first one."
    )
    blobs: Blobs = Field(Blobs(), description="Blobs: size and number of records at which one is closed.")
    stored: Stored = Field(Stored(), description="Objects that the store holds before the run.")
    background: BackgroundWork = Field(BackgroundWork(), description="Background work, such as an index dump.")
    faults: tuple[Fault, ...] = Field((), description=FAULTS)

    @property
    def total_nodes(self) -> int:
        """Number of nodes of all hosts."""
        return self.hosts.count * self.hosts.processes

    @property
    def protection(self) -> Protection:
        """The copies of an object; a PUT waits for a quorum of them."""
        return Protection.replicas(self.vdisks.replicas, self.quorum)

    @model_validator(mode="after")
    def _parts_fit(self) -> BobSpec:
        """Check that there are nodes for all replicas."""
        nodes = self.total_nodes
        if nodes > MOST_NODES:
            raise ValueError(
                f"hosts.count: there are {nodes} nodes (hosts.count x hosts.processes); at most {MOST_NODES}"
            )
        if self.vdisks.replicas > nodes:
            raise ValueError(f"vdisks.replicas is {self.vdisks.replicas}; there are {nodes} nodes")
        if self.quorum > self.vdisks.replicas:
            raise ValueError(f"quorum is {self.quorum}; at most vdisks.replicas, {self.vdisks.replicas}")
        return self
