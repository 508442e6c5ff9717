"""Hard disks under load: of the reads that wait, a disk takes the one that its head reaches first."""

from __future__ import annotations

import numpy as np

from models.bob.spec import BobSpec
from traces.operations import GET
from traces.trace import Trace


def with_disk_order(spec: BobSpec, trace: Trace) -> BobSpec:
    """Return the spec with the times of its hard disks at the load of a Trace: clients wait for reads only."""
    drives = spec.drives
    if drives.disk is None or drives.read is None or not len(trace):
        return spec
    accesses = np.where(trace.op == GET, 1 - drives.cached, 0.0)
    read_s = drives.read.constant + drives.read.per_byte * float(trace.transfer_bytes.mean())
    count = spec.hosts.count * drives.count
    return spec.model_copy(update={"drives": drives.at_load(trace, accesses, count, read_s)})
