"""Hard disks under load: of the accesses that wait, a disk takes the one that its head reaches first."""

from __future__ import annotations

import numpy as np

from models.devices.waiting import DiskQueue, of_clients
from models.minio.spec.spec import MinioSpec
from traces.operations import LIST
from traces.trace import Trace


def disk_queue(spec: MinioSpec, trace: Trace) -> DiskQueue:
    """Return the queues of the hard disks.

    A request waits for the drives of a set, a LIST for all drives. Reads that caches answer are counted, and pools are
    taken to be used like the first one.
    """
    ordered = [drives for _, drives, _ in spec.layouts if drives.deepest > 1]
    if not ordered:
        return DiskQueue(None, 1, None)
    accesses = np.where(trace.op == LIST, spec.total_drives, spec.layout.size).astype(np.float64)
    deepest = max(drives.deepest for drives in ordered)
    return DiskQueue(ordered[0].disk, deepest, of_clients(trace, accesses, spec.total_drives))


def with_waiting(spec: MinioSpec, waiting: float) -> MinioSpec:
    """Return the spec with the times of hard disks at which `waiting` accesses wait on average, at least 1."""
    pools = tuple(pool.model_copy(update={"drives": pool.drives.at_depth(waiting)}) for pool in spec.pools)
    return spec.model_copy(update={"drives": spec.drives.at_depth(waiting), "pools": pools})
