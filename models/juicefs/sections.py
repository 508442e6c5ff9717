"""The sections of a JuiceFS spec: mounts or gateways, the metadata engine, blocks and buffers, the disk cache."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from models.devices.presets import PRESETS_OF, PresetSection
from models.devices.processors import BARE_COUNT, Cores
from models.juicefs import presets
from models.juicefs.metadata import EngineName
from models.network.service_demand import NOTHING, Demand, ServiceDemand
from models.shared.caches import Cache
from models.shared.prices import Price, PriceList
from models.shared.store_spec import Internode
from traces.operations import Op
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import MOST_COUNT, Bytes, Seconds
from traces.workload.distributions import Strict

BLOCK_BYTES = 4 << 20
"""Default size of a block (juicedata/juicefs, cmd/format.go)."""
CHUNK_BYTES = 64 << 20
"""Size of a chunk (pkg/meta/interface.go ChunkSize)."""
TMP_FOLDERS = 4096
"""Folders that a gateway's temporary files are in: three hexadecimal digits (pkg/gateway/gateway.go subDirPrefix)."""

_MEASURED = "measured with JuiceFS 1.4.2 and Redis 7"
_FLAGS = "default of juicefs mount (cmd/flags.go)"


class Mounts(Strict):
    """The processes of JuiceFS, each on a machine of its own: mounts, or S3 gateways."""

    count: Annotated[int, Basis("assumed: one", 1, 10_000)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of mounts or gateways; each client uses one of them."
    )
    cores: Annotated[Cores, BARE_COUNT] = Field(
        Cores(), description="Cores of the machine of a mount or gateway; a bare number is their count."
    )
    cpu: dict[Op, Demand] = Field(
        {},
        description="CPU time of a mount (with that of the kernel) or gateway, by operation; per-byte times pass while "
        "blocks are transferred, and include sending and receiving them.",
    )

    def cpu_demand(self, op: Op) -> ServiceDemand:
        """Return the CPU demand of an operation."""
        return self.cores.at_speed(self.cpu.get(op, NOTHING))


class Metadata(PresetSection, Internode):
    """The metadata engine: a database that all mounts and gateways use."""

    preset: str | None = Field(None, description="Name of an engine, such as redis or postgresql, with its times.")
    engine: Annotated[EngineName, Basis("assumed: Redis, the first in JuiceFS's documentation")] = Field(
        "redis",
        description="Kind of the engine: one serial server, a library with one writer, transactions of SQL statements, "
        "or transactions of TiKV.",
    )
    servers: Annotated[int, Basis("assumed: 8 cores", 1, 1024)] = Field(
        8, ge=1, le=MOST_COUNT, description="Number of statements that an engine of kind sql or tikv serves at a time."
    )
    command: Demand | None = Field(None, description="Time of the server for one command or statement.")
    commit: Demand = Field(
        NOTHING, description="Time to make a transaction durable, in groups with kind sql and tikv; 0: not waited for."
    )
    memory: Annotated[Bytes, Basis("assumed: enough", 1 << 30, 1 << 42)] = Field(
        0, ge=0, description="Memory of a Redis; 0: enough for all files."
    )
    files: Annotated[float, Unit("", "1e9"), Basis("assumed: an empty file system", 1, 1e12)] = Field(
        0.0, ge=0, description="Number of files in the file system before the run."
    )

    slices_per_chunk: Annotated[float, Unit("", "10"), Basis("assumed: files that are written once", 1, 350)] = Field(
        1.0, ge=1, description="Mean number of writes that a chunk consists of; overwrites and appends add one each."
    )
    file_memory: Annotated[Bytes, Basis(f"6,000 empty files, {_MEASURED}", 150, 1000)] = Field(
        260, ge=0, description="Memory of a Redis for the attributes and the entry of a file."
    )
    chunk_memory: Annotated[Bytes, Basis(f"4,000 files of 4 KiB, {_MEASURED}", 150, 500)] = Field(
        195, ge=0, description="Memory of a Redis for the first write of a chunk, with its key."
    )
    slice_memory: Annotated[Bytes, Basis(f"3,200 overwrites of 4 KiB, {_MEASURED}", 20, 100)] = Field(
        26, ge=0, description="Memory of a Redis for each further write of a chunk."
    )

    @property
    def command_demand(self) -> ServiceDemand:
        """The demand of one command; nothing if the spec does not give it."""
        return self.command or NOTHING


class Blocks(Strict):
    """How files are cut into blocks, and how many of these are in progress."""

    size: Annotated[Bytes, Basis("default of juicefs format (cmd/format.go)", 64 << 10, 16 << 20)] = Field(
        BLOCK_BYTES, ge=64 << 10, le=16 << 20, description="Size of a block, an object of the store below."
    )
    uploads: Annotated[int, Basis(_FLAGS, 1, 200)] = Field(
        20, ge=1, le=MOST_COUNT, description="Blocks that a mount or gateway uploads at a time (max-uploads)."
    )
    downloads: Annotated[int, Basis(_FLAGS, 1, 1000)] = Field(
        200, ge=1, le=MOST_COUNT, description="Blocks that a mount or gateway downloads at a time (max-downloads)."
    )
    deletes: Annotated[int, Basis(_FLAGS, 1, 100)] = Field(
        10, ge=1, le=MOST_COUNT, description="Blocks of a removed file that are deleted at a time (max-deletes)."
    )
    buffer: Annotated[Bytes, Basis(_FLAGS, 64 << 20, 16 << 30)] = Field(
        300 << 20, gt=0, description="Memory of a mount for blocks that are not stored yet (buffer-size)."
    )
    read_ahead: Annotated[int, Basis("32 MiB; pkg/vfs/reader.go", 1, 1024)] = Field(
        8, ge=1, le=MOST_COUNT, description="Blocks in progress of a file that is read sequentially (max-readahead)."
    )
    prefetch: Annotated[int, Basis(_FLAGS, 0, 1)] = Field(
        1, ge=0, le=1, description="Whether a read of a part of a block fetches the whole block too (prefetch)."
    )


class DiskCache(Cache):
    """The disk cache of a mount or gateway."""

    size: Annotated[Bytes, Basis(_FLAGS, 1 << 30, 1 << 42)] = Field(
        100 << 30, ge=0, description="Size of the cache of each mount or gateway (cache-size); 0: none."
    )
    read: Demand = Field(NOTHING, description="Service time of the cache's disk for a read; 0: from the page cache.")
    write: Demand = Field(NOTHING, description="Service time of the cache's disk for what `writeback` stores there.")
    writeback: bool = Field(
        False, description="Whether blocks are stored once the cache's disk has them, and uploaded later (writeback)."
    )


class Attributes(Strict):
    """The caches of attributes and entries of a mount or gateway."""

    lifetime: Annotated[Seconds, Basis(_FLAGS, 0, 3600)] = Field(
        1.0, description="Time for which attributes and entries are cached (attr-cache, entry-cache)."
    )


class JuiceFSPrices(PriceList):
    """The prices of the parts of a JuiceFS, without those of the store below."""

    mount: Price = Field(0.0, description="Price of each mount or gateway.")
    metadata: Price = Field(0.0, description="Price of the database that holds the metadata.")


PRESETS_OF[Metadata] = presets.engines
