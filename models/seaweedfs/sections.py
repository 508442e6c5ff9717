"""The sections of a SeaweedFS spec: master, volume servers, filers with their store, gateways, volumes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from models.devices.presets import PRESETS_OF, PresetSection, listed
from models.devices.processors import BARE_COUNT, Cores
from models.hosts.sections import DirectDrives, Gateways, ServerHosts, buffered_drive_presets
from models.network.service_demand import NOTHING, Demand, ServiceDemand
from models.seaweedfs import presets
from traces.spec.field_notes import Basis
from traces.spec.units import Bytes, Fraction, Seconds
from traces.workload.distributions import Strict

WRITABLE = {1: 7, 2: 6, 3: 3}
"""Volumes that a collection gets at a time, by their copies (copy_1, copy_2, copy_3 of master.toml); more copies: 1."""
_ASSIGN = "measured: 0.33 ms of the master's CPU on loopback with two cores"


class Master(Strict):
    """The master that leads, which hands out ids of chunks."""

    cores: Annotated[Cores, BARE_COUNT] = Field(
        Cores(), description="Cores of the master; a bare number is their count."
    )
    assign: Annotated[Demand, Basis(_ASSIGN, 1e-4, 1e-3)] = Field(
        ServiceDemand(constant=0.33e-3), description="CPU time of an assignment: an id, and the volume of a chunk."
    )


class VolumeHosts(ServerHosts):
    """The hosts, with a volume server each."""


class Drives(DirectDrives):
    """The drives of each host, with volumes."""


class SeaweedGateways(Gateways):
    """The S3 gateways, which take requests in turn, with a filer on each machine."""

    collocated: bool = Field(
        True,
        description="Whether there is a gateway on each host, with its cores and NIC; then `count`, `cores` and `nic` "
        "have no effect.",
    )


class FilerStore(Strict):
    """The store of a filer's entries."""

    servers: Annotated[int, Basis("leveldb2 has eight databases (weed/filer/leveldb2); Redis: 1", 1, 64)] = Field(
        8, ge=1, le=1024, description="Number of operations that it executes at the same time."
    )
    read: Annotated[Demand, Basis("assumed: a look-up that memory answers", 1e-6, 1e-3)] = Field(
        ServiceDemand(constant=20e-6), description="Time of reading an entry."
    )
    write: Annotated[Demand, Basis("assumed: leveldb's log is not synced", 1e-6, 1e-2)] = Field(
        ServiceDemand(constant=50e-6), description="Time of writing an entry."
    )
    latency: Annotated[Seconds, Basis("assumed: embedded in the filer", 2e-5, 5e-3)] = Field(
        0.0, ge=0, description="One-way latency from the filer to a store that is a server, such as Redis."
    )
    shared: bool = Field(False, description="Whether all filers have one store, such as Redis, instead of one each.")
    copies: Annotated[int, Basis("leveldb2 has one; a database with a synchronous copy: 2", 1, 5)] = Field(
        1, ge=1, le=10, description="Number of machines that have an entry when its write is complete."
    )
    synced: Annotated[bool, Basis("assumed: leveldb's log is not synced")] = Field(
        False,
        description="Whether these have synced it by then, which takes the time of a drive's sync, as those that wait "
        "are synced together.",
    )


class Filer(PresetSection):
    """The filers, one on each machine with a gateway, which uses it."""

    preset: str | None = Field(None, description="Name of a filer, which supplies its CPU times.")
    read: Demand | None = Field(None, description="CPU time of looking an entry up.")
    write: Demand | None = Field(None, description="CPU time of creating or deleting an entry.")
    list: Demand | None = Field(None, description="CPU time of a page of a listing.")
    assign: Demand | None = Field(None, description="CPU time of passing an assignment on to the master.")
    store: FilerStore = Field(FilerStore(), description="Store of the entries: times, latency.")


class ErasureVolumes(Strict):
    """Volumes that were erasure coded when they were full and quiet."""

    data: Annotated[int, Basis("SeaweedFS's 10+4", 1, 32)] = Field(
        10, ge=1, le=32, description="Number of shards that have the bytes of a volume."
    )
    parity: Annotated[int, Basis("SeaweedFS's 10+4", 1, 16)] = Field(
        4, ge=1, le=16, description="Number of further shards, of which as many may be lost."
    )
    fraction: Annotated[Fraction, Basis("assumed: none", 0, 1)] = Field(
        0.0, ge=0, le=1, description="Fraction of the objects that are read from such volumes; writes never go there."
    )
    index: Demand = Field(
        NOTHING, description="Time of the binary search in the index file (.ecx) on a drive; 0: cached."
    )

    @property
    def width(self) -> int:
        """Number of all shards."""
        return self.data + self.parity


class Volumes(Strict):
    """The volumes: files to which chunks are appended."""

    copies: Annotated[int, Basis("SeaweedFS's default, replication 000", 1, 10)] = Field(
        1, ge=1, le=10, description="Number of copies of a volume, on different hosts; all of them are written."
    )
    writable: Annotated[int, Basis("SeaweedFS's defaults: copy_1 7, copy_2 6, copy_3 3", 1, 1000)] | None = Field(
        None,
        ge=1,
        le=1000,
        description="Number of volumes that a bucket's chunks are appended to; absent: by the copies.",
    )
    chunk_size: Annotated[Bytes, Field(gt=0), Basis("the filer's default, -maxMB 4", 1 << 20, 1 << 26)] = Field(
        4 << 20, description="Largest chunk; larger objects have several, of which four are in progress."
    )
    append: Annotated[Demand, Basis("assumed: two writes to the page cache", 1e-6, 1e-3)] = Field(
        ServiceDemand(constant=20e-6, per_byte=0.2e-9), description="Time for which a chunk locks its volume."
    )
    fsync: bool = Field(False, description="Whether chunks are synced; those that wait are synced together.")
    garbage_threshold: Annotated[Fraction, Basis("SeaweedFS's default of the master, 0.3", 0.05, 0.9)] = Field(
        0.3, gt=0, lt=1, description="Fraction of deleted bytes from which a volume is copied without them (vacuum)."
    )
    erasure: ErasureVolumes = Field(ErasureVolumes(), description="Erasure-coded volumes, which are read only.")

    @property
    def per_bucket(self) -> int:
        """Number of volumes that a bucket's chunks are appended to."""
        return WRITABLE.get(self.copies, 1) if self.writable is None else self.writable


PRESETS_OF[VolumeHosts] = listed(presets.HOST)
PRESETS_OF[SeaweedGateways] = listed(presets.GATEWAY)
PRESETS_OF[Filer] = listed(presets.FILER)
PRESETS_OF[Drives] = buffered_drive_presets
