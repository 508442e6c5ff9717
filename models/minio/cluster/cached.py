"""What the page caches of MinIO's hosts have of each request's object.

MinIO reads through the page cache. It writes with direct I/O, which bypasses the cache, unless the cluster has one
drive (`globalIsErasureSD`) or the file is an xl.meta of up to 4 KiB (xlStorage.writeAllInternal). The caches of a
pool's hosts act as one, because hosts have shards of most objects: a request finds all that it reads, or nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.minio.requests.parts import BLOCK_BYTES, METADATA_BYTES, shard_bytes
from models.minio.requests.shard_accesses import blocks_beyond
from models.minio.spec.spec import MinioSpec
from models.shared.caches import Hits, Part, hits
from traces.operations import COPY, DELETE, GET, HEAD, PUT
from traces.trace import Trace

_PAGE_BYTES = 4096


def cached(spec: MinioSpec, trace: Trace, pool: NDArray[np.int64], inline: Hits, overwrites: Hits) -> tuple[Hits, Hits]:
    """Return which requests find the object's metadata in the page cache, and which GETs all that they read after that.

    Args:
        spec: of the cluster.
        trace: the requests.
        pool: number of the pool that each request's object is in, shape (requests,).
        inline: whether an object of the request's size is stored inside xl.meta, same shape.
        overwrites: whether a PUT replaces an object, same shape.
    """
    metadata, data = np.zeros(len(trace), bool), np.zeros(len(trace), bool)
    one_drive = spec.total_drives == 1
    for number, (hosts, _, layout) in enumerate(spec.layouts):
        if not hosts.page_cache.present:
            continue
        shard = shard_bytes(trace.size_bytes, layout.data)
        # The first page of xl.meta has the metadata; the data follow there, or are in a file of their own.
        rest = np.where(inline, _pages(shard + METADATA_BYTES) - _PAGE_BYTES, _pages(_read(trace, shard, layout.data)))
        metadata_bytes = np.full(len(trace), layout.size * _PAGE_BYTES)
        data_bytes = rest * np.where(inline, layout.size, layout.data)
        mine, puts = pool == number, np.isin(trace.op, (PUT, COPY))
        buffered = np.full(len(trace), one_drive) | ~inline | (shard + METADATA_BYTES <= _PAGE_BYTES)
        deletes = trace.op == DELETE
        metadata_reads, data_reads = np.isin(trace.op, (GET, HEAD)), trace.op == GET
        parts = (
            Part(metadata_bytes, mine & (metadata_reads | (puts & buffered)), mine & (deletes | (puts & ~buffered))),
            Part(
                data_bytes, mine & (data_reads | (puts & one_drive)), mine & (deletes | (puts & (not one_drive))), True
            ),
        )
        has_metadata, has_data = hits(hosts.page_cache, trace, parts, hosts.count)
        metadata |= has_metadata
        data |= has_data
    found = data & (trace.op == GET) & (metadata | ~inline)
    # PUTs of new objects find nothing to read, and metadata with data inside is read together with them.
    read_alone = np.isin(trace.op, (HEAD, DELETE)) | ((trace.op == GET) & ~inline) | ((trace.op == PUT) & overwrites)
    return metadata & read_alone, found


def _pages(size_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return sizes in whole pages."""
    return np.asarray(-(-size_bytes // _PAGE_BYTES) * _PAGE_BYTES, np.int64)


def _read(trace: Trace, shard: NDArray[np.int64], data_shards: int) -> NDArray[np.int64]:
    """Return the bytes of a shard's file that a request accesses, shape (requests,): of a range its blocks."""
    beyond = blocks_beyond(trace)
    whole = (-(-trace.transfer_bytes // BLOCK_BYTES) + beyond) * BLOCK_BYTES
    read = np.where(beyond < 0, trace.transfer_bytes, np.minimum(whole, trace.size_bytes))
    return np.where(trace.op == GET, shard_bytes(read, data_shards), shard)
