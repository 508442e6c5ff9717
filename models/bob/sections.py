"""The sections of a Bob spec: hosts with their nodes, drives with the page cache, virtual disks, blobs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from models.bob import presets
from models.devices.drive_times import HostDrives
from models.devices.presets import PRESETS_OF, PresetSection
from models.devices.processors import BARE_COUNT, Cores
from models.network.service_demand import DRIVE_BANDWIDTH, NOTHING, Demand, ServiceDemand
from models.shared.caches import PageCache
from models.shared.links import NicBandwidth
from models.shared.prices import Price, PriceList
from models.shared.store_spec import Internode
from traces.operations import Op, S3Op
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import MOST_COUNT, Bytes, Fraction
from traces.workload.distributions import Strict

_CODE = "Bob's default: bob-common/src/configs/node.rs"


class Calls(Internode):
    """A call from one node to another by gRPC, whose message has the whole object."""

    call: Demand = Field(NOTHING, description="CPU time of a call on each of its two sides; per-byte: of the object.")


class Hosts(PresetSection):
    """The machines that Bob runs on, which are identical."""

    preset: str | None = Field(None, description="Name of a measured host, which supplies its CPU times.")
    count: Annotated[int, Basis("assumed: one host", 1, 1000)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of machines of the cluster."
    )
    processes: Annotated[int, Basis("assumed: one node on each host", 1, 100)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of Bob's nodes on each machine, which share its cores and drives."
    )
    cores: Annotated[Cores, BARE_COUNT] = Field(
        Cores(), description="Cores of a machine, which its nodes use; a bare number is their count."
    )
    nic: NicBandwidth = Field(
        0.0, ge=0, description="Bandwidth of a machine's network interface in each direction; 0: no limit."
    )
    page_cache: PageCache = Field(
        PageCache(), description="Page cache of a machine, which serves a fraction of its reads."
    )
    cpu: dict[S3Op, Demand] = Field({}, description="CPU time of a node for a request of a client, by operation.")
    internode: Calls = Field(Calls(), description="Calls from node to node.")

    def cpu_demand(self, op: Op) -> ServiceDemand:
        """Return the CPU demand of a node for a request of a client."""
        return self.cores.at_speed(self.cpu.get(op, NOTHING))


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


class BobPrices(PriceList):
    """The prices of the parts of a Bob cluster."""

    host: Price = Field(0.0, description="Price of each host without drives.")
    drive: Price = Field(0.0, description="Price of each drive of the hosts.")


PRESETS_OF[Hosts] = presets.hosts
PRESETS_OF[Drives] = presets.drives
