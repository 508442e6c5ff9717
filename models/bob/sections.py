"""The sections of a Bob spec: hosts with their nodes, drives with the page cache, virtual disks, blobs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from models.bob import presets
from models.devices.drive_times import HostDrives
from models.devices.presets import PRESETS_OF, listed
from models.hosts.sections import ServerHosts
from models.network.service_demand import DRIVE_BANDWIDTH, NOTHING, Demand
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import MOST_COUNT, Bytes, Fraction
from traces.workload.distributions import Strict

_CODE = "Bob's default: bob-common/src/configs/node.rs"


class Hosts(ServerHosts):
    """The machines that Bob runs on, which are identical; a call by gRPC has the whole object."""

    processes: Annotated[int, Basis("assumed: one node on each host", 1, 100)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of Bob's nodes on each machine, which share its cores and drives."
    )


class Drives(HostDrives):
    """The drives of each host behind its page cache, which receives what nodes write."""

    read: Annotated[Demand, DRIVE_BANDWIDTH] | None = Field(
        None, description="Service time of reading a record that the page cache does not have."
    )
    write: Annotated[Demand, DRIVE_BANDWIDTH] | None = Field(
        None, description="Service time of writing records back from the page cache, for which no client waits."
    )
    append: Demand = Field(NOTHING, description="Time for which a record locks its blob: a copy to the page cache.")
    index: Demand = Field(NOTHING, description="Time of a look-up in the index file of a closed blob; 0: cached.")
    dirty_limit: Annotated[Bytes, Basis("assumed: no limit; Linux's default is 20 % of the memory")] = Field(
        0, description="Bytes in a host's page cache that are not written back; further writes wait. 0: no limit."
    )


class VirtualDisks(Strict):
    """Virtual disks: a key belongs to one of them, which is on as many nodes as there are replicas."""

    count: Annotated[int, Basis("assumed: 64", 1, 4096)] = Field(
        64, ge=1, le=4096, description="Number of virtual disks, to which keys belong by their remainder."
    )
    replicas: Annotated[int, Basis("assumed: one copy", 1, 16)] = Field(
        1, ge=1, le=16, description="Number of nodes with a copy of each virtual disk."
    )


class Blobs(Strict):
    """Blobs: files to which records are appended until they are full, and then closed."""

    max_size: Annotated[Bytes, Field(gt=0), Basis(f"{_CODE}, 1 GB", 1 << 20, 1 << 40)] = Field(
        1_000_000_000, description="Size at which a blob is closed."
    )
    max_records: Annotated[int, Basis(_CODE, 100, 10**9)] = Field(
        1_000_000, ge=1, description="Number of records at which a blob is closed."
    )


class Stored(Strict):
    """The objects that the store holds before the run."""

    objects: Annotated[float, Unit("", "1e9"), Basis("assumed: an empty store", 1, 1e12)] = Field(
        0.0, ge=0, description="Number of objects before the run, over all virtual disks."
    )
    closed: Annotated[Fraction, Basis("derived from the number of objects")] | None = Field(
        None,
        description="Fraction of reads whose object is in a closed blob, with an index on the drive; absent: by the "
        "number of objects.",
    )


PRESETS_OF[Hosts] = listed(presets.HOST)
PRESETS_OF[Drives] = presets.drives
