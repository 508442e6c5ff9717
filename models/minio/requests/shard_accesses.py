"""How many accesses of a drive a shard takes, and how many visits stand for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.minio.cluster.stations import Pool, Stations
from models.minio.requests.parts import BLOCK_BYTES, METADATA_BYTES, PartDemand
from models.minio.requests.request import Kind
from models.minio.spec.spec import MinioSpec
from models.network.service_demand import NOTHING
from traces.operations import Op

_MOST_ACCESSES = 32  # further ones of a shard are simulated in visits of several accesses


def reads(pool: Pool, size_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the reads of a shard: with direct I/O those of one block after the other, each of which is two calls."""
    drives = pool.drives
    if drives.direct:
        return np.asarray(-(-size_bytes // BLOCK_BYTES), np.int64)
    part = PartDemand.of(NOTHING, data_shards=pool.layout.data, access_bytes=drives.read_size)
    return part.accesses(size_bytes)


def writes(pool: Pool, size_bytes: NDArray[np.int64], inline: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the writes of a shard."""
    drives, data = pool.drives, pool.layout.data
    if not drives.direct:
        part = PartDemand.of(NOTHING, data_shards=data, access_bytes=drives.write_size)
        return np.where(inline, 1, part.accesses(size_bytes))
    sizes = {"data_shards": data, "access_bytes": drives.largest_write, "has_tail": True}
    own, with_metadata = (PartDemand.of(NOTHING, **sizes, more_bytes=more) for more in (0, METADATA_BYTES))
    return np.where(inline, with_metadata.accesses(size_bytes), own.accesses(size_bytes))


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
