"""Hard disks under load: of the reads that wait, a disk takes the one that its head reaches first."""

from __future__ import annotations

import numpy as np

from models.bob.spec import BobSpec
from models.devices.waiting import DiskQueue, of_clients
from traces.operations import GET
from traces.trace import Trace


def disk_queue(spec: BobSpec, trace: Trace) -> DiskQueue:
    """Return the queues of the hard disks: clients wait for reads only."""
    drives = spec.drives
    accesses = np.where(trace.op == GET, 1 - spec.hosts.page_cache.hit_ratio, 0.0)
    return DiskQueue(drives.disk, drives.deepest, of_clients(trace, accesses, spec.hosts.count * drives.count))


def with_waiting(spec: BobSpec, waiting: float) -> BobSpec:
    """Return the spec with the times of hard disks at which `waiting` accesses wait on average, at least 1."""
    return spec.model_copy(update={"drives": spec.drives.at_depth(waiting)})
