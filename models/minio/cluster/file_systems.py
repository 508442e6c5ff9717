"""The file systems of MinIO's drives: reads of look-ups that memory does not answer, and metadata written back.

An object is an entry of its bucket's folder (all of a drive in one, assumed), with a folder and an xl.meta; data
that are not inline are in a further folder. MinIO makes both in a temporary folder, so XFS puts the inodes of the two
folders into different allocation groups. Before 2020-06-12, the whole folder with xl.json and part.1 was renamed.
"""

from __future__ import annotations

import numpy as np

from models.devices.file_system import ENTRY, LEAF, NO_READS, WRITE_BACK_S, Metadata, Reads, inodes, written_back
from models.minio.background.work import objects_of_set
from models.minio.cluster.stations import Pool
from models.minio.requests.parts import METADATA_BYTES, shard_bytes
from models.minio.spec.release import has_xl_meta
from models.minio.spec.spec import MinioSpec
from traces.operations import Op

_CHANGES_OPS = 10.0
"""Changes a second of a drive whose metadata are written back together (assumed, so that demands have no rate)."""
CACHING = 0.75
"""Fraction of a host's memory that caches files and their metadata (assumed; the rest is MinIO's and the system's)."""


def metadata_of(spec: MinioSpec, pool: Pool) -> Metadata:
    """Return the metadata of a stored object on each drive of its set."""
    assert spec.stored is not None
    shard = int(shard_bytes(np.array([spec.stored.object_size]), pool.layout.data)[0])
    inline = -(-spec.stored.object_size // pool.layout.data) <= spec.inline_bytes
    if inline:
        return Metadata((LEAF, ENTRY), (inodes(), inodes()), 2, shard + METADATA_BYTES)
    if has_xl_meta(spec.release):
        return Metadata((LEAF, ENTRY), (inodes(), inodes(), inodes(2)), 4, shard + METADATA_BYTES)
    return Metadata((LEAF, ENTRY), (inodes(3),), 3, shard + METADATA_BYTES)


def objects_of_drive(spec: MinioSpec, number: int, pool: Pool) -> float:
    """Return the number of stored objects with a shard on each drive of a pool."""
    return objects_of_set(spec, number, len(pool.layout.sets))


def memory_each(spec: MinioSpec, number: int, pool: Pool) -> float:
    """Return the bytes of a host's memory for each object on each of its drives; infinite if it is not given."""
    if spec.stored is None or pool.hosts.memory is None:
        return np.inf
    return CACHING * pool.hosts.memory / (objects_of_drive(spec, number, pool) * pool.drives.count)


def reads_of(spec: MinioSpec, number: int, pool: Pool) -> Reads:
    """Return the reads of look-ups on a drive of a pool; none if all metadata are in memory."""
    each = memory_each(spec, number, pool)
    return metadata_of(spec, pool).reads(each) if each < np.inf else NO_READS


def written_back_of(spec: MinioSpec, number: int, pool: Pool, op: Op) -> float:
    """Return the accesses to a drive of a pool that write the metadata of a request back; 0 without `stored`."""
    created, removed = op in ("PUT", "COPY"), op == "DELETE"
    if spec.stored is None or not (created or removed):
        return 0.0
    changed = (LEAF, *metadata_of(spec, pool).files) if removed else (LEAF,)
    return written_back(objects_of_drive(spec, number, pool), _CHANGES_OPS * WRITE_BACK_S, changed)
