"""Hard disks under load: of the accesses that wait, a disk takes the one that its head reaches first."""

from __future__ import annotations

import numpy as np

from models.minio.parts import shard_bytes
from models.minio.sections import NOTHING, Drives
from models.minio.spec import MinioSpec
from traces.operations import LIST, PUT
from traces.trace import Trace


def with_disk_order(spec: MinioSpec, trace: Trace) -> MinioSpec:
    """Return the spec with the times of its hard disks at the load of a Trace.

    A request waits for the drives of a set, a LIST for all drives. Reads that caches answer are counted, and pools are
    taken to be used like the first one.
    """
    if not len(trace) or all(drives.disk is None for _, drives, _ in spec.layouts):
        return spec
    accesses = np.where(trace.op == LIST, spec.total_drives, spec.layout.size).astype(np.float64)
    shard = shard_bytes(trace.transfer_bytes, spec.layout.data)

    def at_load(drives: Drives) -> Drives:
        read, write, commit = (demand or NOTHING for demand in (drives.read, drives.write, drives.commit))
        reading_s = read.constant + read.per_byte * shard
        writing_s = write.constant + write.per_byte * shard + commit.constant
        access_s = float(np.where(trace.op == PUT, writing_s, reading_s).mean())
        return drives.at_load(trace, accesses, spec.total_drives, access_s)

    pools = tuple(pool.model_copy(update={"drives": at_load(pool.drives)}) for pool in spec.pools)
    return spec.model_copy(update={"drives": at_load(spec.drives), "pools": pools})
