"""The spec of versitygw: gateways, the file system below them with its drives, and the clients.

As in versitygw 1.8.0 (backend/posix/posix.go, with_otmpfile.go).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.devices.drive_times import ArrayTimes
from models.devices.presets import PRESETS_OF, listed
from models.hosts.sections import DirectDrives, ServerHosts, StoredObjects, buffered_drive_presets
from models.hosts.spec import HostsSpec
from models.network.service_demand import NOTHING, Demand, ServiceDemand
from models.shared.background import BackgroundWork
from models.shared.faults import HostNeighbour
from models.shared.links import NicBandwidth
from models.shared.store_spec import FAULTS
from models.versitygw import presets
from models.versitygw.faults import Fault
from traces.spec.field_notes import Basis
from traces.spec.units import MOST_COUNT, Seconds
from traces.workload.distributions import Strict


class GatewayHosts(ServerHosts):
    """The hosts with a gateway each."""

    max_requests: Annotated[
        int, Basis("versitygw's default: defaultConcurrency, backend/posix/posix.go", 1, 100_000)
    ] = Field(
        5000,
        ge=1,
        le=MOST_COUNT,
        description="Number of operations of a gateway in progress; others wait.",
    )
    keep_alive: Annotated[bool, Basis("versitygw's default: it closes a connection after its response")] = Field(
        False,
        description="Whether connections outlast a response; otherwise each request waits for a further round trip, "
        "that of its new connection.",
    )


class Drives(DirectDrives, ArrayTimes):
    """The drives of the file system, or arrays of them, over which it distributes files."""

    write_latency: Demand = Field(
        NOTHING, description="Further latency of a write that a close waits for, which overlaps with other accesses."
    )


class FileSystem(Strict):
    """The file system that holds the objects: files with attributes."""

    kind: Annotated[Literal["local", "remote"], Basis("assumed: a file system of the host")] = Field(
        "local",
        description="Whether it is that of the only host, or one that all hosts mount, such as NFS or CephFS, with the "
        "drives behind it.",
    )
    call: Annotated[Demand, Basis("assumed: a system call that memory answers", 1e-6, 1e-4)] = Field(
        ServiceDemand(constant=5e-6), description="CPU time of a call for a name, attribute or link on the host."
    )
    latency: Annotated[Seconds, Basis("assumed: local; 0.1 to 1 ms for NFS or CephFS", 2e-5, 5e-3)] = Field(
        0.0, ge=0, description="One-way latency to the server of a remote file system, which each call waits for twice."
    )
    nic: NicBandwidth = Field(
        0.0, ge=0, description="Bandwidth of the interface of its server in each direction; 0: no limit."
    )
    synced: Annotated[bool, Basis("assumed: as NFS's close; versitygw itself syncs nothing")] = Field(
        True,
        description="Whether a remote file is on a drive when it is closed, as with NFS; a local one never is.",
    )


class VersitygwSpec(HostsSpec):
    """Gateways on a file system, their clients and their workload."""

    store: Literal["versitygw"] = Field(description="Selects the model of versitygw.")
    hosts: GatewayHosts = Field(
        GatewayHosts(), description="Hosts with a gateway each: number, cores, NICs, CPU times."
    )
    file_system: FileSystem = Field(FileSystem(), description="File system: local or remote, times of its calls.")
    drives: Drives = Field(Drives(), description="Drives of the file system: number, service times.")
    stored: StoredObjects = Field(StoredObjects(), description="Objects that the store holds before the run.")
    background: BackgroundWork = Field(BackgroundWork(), description="Background work, such as a backup.")
    faults: tuple[Fault, ...] = Field((), description=FAULTS)

    @property
    def total_drives(self) -> int:
        """Number of drives of the file system."""
        return self.drives.count

    @property
    def is_remote(self) -> bool:
        """Whether the file system is on another machine."""
        return self.file_system.kind == "remote"

    @model_validator(mode="after")
    def _parts_fit(self) -> VersitygwSpec:
        """Check that several hosts have a file system in common."""
        if self.hosts.count > 1 and not self.is_remote:
            raise ValueError(
                f"hosts.count is {self.hosts.count}; several gateways need a file system in common, so it is allowed "
                "with file_system.kind: remote"
            )
        if self.is_remote and self.drives.direct:
            raise ValueError(
                "drives.direct is true; calls of a remote file system go to its server, so it is allowed with "
                "file_system.kind: local"
            )
        for number, fault in enumerate(self.faults):
            if self.is_remote and isinstance(fault, HostNeighbour) and fault.resource == "drives":
                raise ValueError(
                    f"faults.{number}.resource is drives; hosts have none with file_system.kind: remote, so cpu and "
                    "network are allowed"
                )
        return self


PRESETS_OF[GatewayHosts] = listed(presets.HOST)
PRESETS_OF[Drives] = buffered_drive_presets
