"""The sections of an OpenIO spec: gateways, hosts, drives with a rawx service each, directory, data protection."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from models.devices.drive_times import HostDrives
from models.devices.presets import PRESETS_OF, PresetSection, listed
from models.hosts.sections import Gateways, HostMachines
from models.network.service_demand import DRIVE_BANDWIDTH, NOTHING, Demand, ServiceDemand
from models.openio import presets
from models.shared.store_spec import Internode
from traces.operations import S3Op
from traces.spec.field_notes import Basis
from traces.spec.units import MOST_COUNT, Bytes, Seconds
from traces.workload.distributions import Strict

_IO = "OpenIO's default: oio/api/io.py"
_CODING = Basis("assumed: 2 GB/s on a core with vector instructions (liberasurecode with ISA-L)", 0, 0.05)


class CodingGateways(Gateways):
    """The S3 gateways, which are identical: proxies in Python, each with an oio-proxy next to it."""

    coding: Annotated[Demand, _CODING] = Field(
        ServiceDemand(per_byte=0.5e-9),
        description="CPU time of a gateway for encoding or decoding an object, with an erasure code.",
    )


class Hosts(HostMachines):
    """The hosts, which are identical: rawx services of the drives, and a meta2 service of the directory."""

    cpu: dict[S3Op, Demand] = Field(
        {}, description="CPU time of a rawx service for a chunk, by operation; per-byte times apply to the chunk."
    )
    internode: Internode = Field(
        Internode(), description="Network between the services; each request for a chunk opens a connection first."
    )


class Drives(HostDrives):
    """The drives of each host behind its page cache, with a rawx service each, which syncs nothing."""

    read: Annotated[Demand, DRIVE_BANDWIDTH] | None = Field(
        None, description="Service time of reading a chunk that the page cache does not have."
    )
    write: Annotated[Demand, DRIVE_BANDWIDTH] | None = Field(
        None, description="Service time of writing a chunk back from the page cache, for which no client waits."
    )
    dirty_limit: Annotated[Bytes, Basis("assumed: no limit; Linux's default is 20 % of the memory")] = Field(
        0, description="Bytes in a host's page cache that are not written back; further writes wait. 0: no limit."
    )
    capacity: Annotated[Bytes, Field(gt=0), Basis("assumed: 8 TB", 1e11, 4e13)] = Field(
        8 * 10**12, description="Bytes that the chunks on a drive may take."
    )


class Erasure(Strict):
    """An erasure-coded storage policy."""

    data: Annotated[int, Basis("assumed", 1, 32)] = Field(
        ge=1, le=32, description="Number of data chunks that a metachunk is divided into."
    )
    parity: Annotated[int, Basis("assumed", 1, 16)] = Field(
        ge=1, le=16, description="Number of parity chunks that a metachunk gets in addition."
    )


class Chunks(Strict):
    """The storage policy: chunks, their replicas or erasure code, and the timeouts of requests for them."""

    size: Annotated[Bytes, Field(gt=0), Basis("OpenIO's default: ns.chunk_size", 1 << 20, 1 << 30)] = Field(
        10 << 20, description="Largest chunk; larger objects have several metachunks, one written after the other."
    )
    replicas: Annotated[int, Basis("assumed: three replicas", 1, 10)] = Field(
        3, ge=1, le=10, description="Number of replicas of a chunk, if objects are not erasure coded."
    )
    erasure: Erasure | None = Field(None, description="Erasure coding of all objects; absent: replicas.")
    connection_timeout: Annotated[Seconds, Field(gt=0), Basis(_IO, 0.1, 60)] = Field(
        10.0, description="Time limit of opening a connection to a rawx service."
    )
    timeout: Annotated[Seconds, Field(gt=0), Basis(_IO, 1, 600)] = Field(
        60.0, description="Time limit of a rawx service that accepts a connection, but does not respond."
    )


class Directory(PresetSection):
    """The directory: each container is an SQLite base of meta2 services, which serves one request at a time."""

    preset: str | None = Field(None, description="Name of a directory, which supplies its CPU times.")
    replicas: Annotated[int, Basis("OpenIO's usual 3", 1, 7)] = Field(
        3, ge=1, le=7, description="Number of copies of each base, on different hosts; a write needs a majority."
    )
    containers_per_bucket: Annotated[int, Basis("assumed: buckets are not sharded", 1, 10_000)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of containers that the objects of a bucket are distributed over."
    )
    proxy: Demand = Field(NOTHING, description="CPU time of the oio-proxy of a gateway for a request to the directory.")
    read: Demand = Field(NOTHING, description="CPU time for which a look-up of an object keeps its base.")
    write: Demand = Field(NOTHING, description="CPU time of an update on the base's master, which keeps it longer.")
    replicate: Demand = Field(NOTHING, description="CPU time of an update on each other copy; the master waits for it.")
    list: Demand = Field(NOTHING, description="CPU time for which a page of a listing keeps its base.")


PRESETS_OF[CodingGateways] = presets.gateways
PRESETS_OF[Hosts] = listed(presets.HOST)
PRESETS_OF[Directory] = listed(presets.DIRECTORY)
PRESETS_OF[Drives] = presets.drives
