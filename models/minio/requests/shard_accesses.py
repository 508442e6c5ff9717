"""How many accesses of a drive a shard takes, and how many visits stand for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.minio.cluster.stations import Pool, Stations
from models.minio.requests.parts import BLOCK_BYTES, METADATA_BYTES, PartDemand
from models.minio.requests.request import Kind
from models.minio.spec.spec import MinioSpec
from models.network.service_demand import NOTHING, ServiceDemand
from traces.operations import GET, Op
from traces.trace import Trace

_MOST_ACCESSES = 32  # further ones of a shard are simulated in visits of several accesses


def reads(pool: Pool, size_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the reads of a shard: with direct I/O those of one block after the other, each of which is two calls."""
    drives = pool.drives
    if drives.direct:
        return np.asarray(-(-size_bytes // BLOCK_BYTES), np.int64)
    part = PartDemand.of(NOTHING, data_shards=pool.layout.data, access_bytes=drives.read_size)
    return part.accesses(size_bytes)


def blocks_beyond(trace: Trace) -> NDArray[np.int64]:
    """Return how many blocks a GET of a range touches beyond those that have as many bytes, shape (requests,).

    -1: not a range of a larger object. All of a block is read, as its checksum is that of the whole block
    (streamingBitrotReader, cmd/bitrot-streaming.go); an object of up to one block is taken to be read as the range.
    """
    start = np.asarray(trace.table.column("range_start_bytes").fill_null(0).to_numpy(), np.int64)
    moved = np.maximum(trace.transfer_bytes, 1)
    touched = (start + moved - 1) // BLOCK_BYTES - start // BLOCK_BYTES + 1
    ranged = (trace.op == GET) & (trace.transfer_bytes < trace.size_bytes) & (trace.size_bytes > BLOCK_BYTES)
    return np.where(ranged, touched - -(-moved // BLOCK_BYTES), -1)


def writes(pool: Pool, size_bytes: NDArray[np.int64], inline: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the writes of a shard."""
    drives, data = pool.drives, pool.layout.data
    if not drives.direct:
        part = PartDemand.of(NOTHING, data_shards=data, access_bytes=drives.write_size)
        return np.where(inline, 1, part.accesses(size_bytes))
    own, with_metadata = (direct_writes(pool, NOTHING, more) for more in (0, METADATA_BYTES))
    return np.where(inline, with_metadata.accesses(size_bytes), own.accesses(size_bytes))


def direct_writes(pool: Pool, demand: ServiceDemand, more_bytes: int, visits: int = 1) -> PartDemand:
    """Return the demand of the writes of a shard that reach the drive one by one.

    With direct I/O, the end of the file is written by itself. A cluster of one drive has no direct I/O for writes
    (`globalIsErasureSD`): each block with its checksum takes calls of its own, as observed: 1 MiB and 32 B.
    """
    one = pool.layout.size == 1
    return PartDemand.of(
        demand, data_shards=pool.layout.data, more_bytes=more_bytes, access_bytes=pool.drives.largest_write,
        has_tail=not one, by_block=one, visits=visits,
    )  # fmt: skip


def visits_of(accesses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the visits that stand for these accesses: a power of two above 16, so that sizes have few routes."""
    power = 2 ** np.ceil(np.log2(accesses)).astype(np.int64)
    return np.minimum(np.where(accesses <= 16, accesses, power), _MOST_ACCESSES)


def kind_of_size(spec: MinioSpec, stations: Stations, op: Op, pool: int, size_bytes: int) -> Kind:
    """Return the kind of a GET or PUT of an object of this size in a pool."""
    of_pool, size = stations.pools[pool], np.array([size_bytes])
    inline = -(-size // of_pool.layout.data) <= spec.inline_bytes
    accesses = writes(of_pool, size, inline) if op == "PUT" else np.where(inline, 1, reads(of_pool, size))
    limited = any(p.hosts.nic for p in stations.pools)
    large = limited and size_bytes > BLOCK_BYTES and not inline[0]
    return Kind(op, pool, bool(inline[0]), bool(large), int(visits_of(np.maximum(accesses, 1))[0]))
