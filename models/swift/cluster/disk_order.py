"""Hard disks under load: of the accesses that wait, a disk takes the one that its head reaches first."""

from __future__ import annotations

import numpy as np

from models.devices.waiting import DiskQueue, of_clients
from models.swift.spec.spec import SwiftSpec
from traces.operations import GET, LIST, rows_that
from traces.trace import Trace


def disk_queue(spec: SwiftSpec, trace: Trace) -> DiskQueue:
    """Return the queues of the hard disks.

    A PUT or DELETE waits for the drives of all pieces, a GET for those that it reads, a HEAD for one. Background work
    is left out.
    """
    writes = rows_that(trace.op, "changes")
    accesses = np.where(writes, spec.pieces, np.where(trace.op == GET, spec.data_pieces, 1.0))
    accesses[trace.op == LIST] = 0
    return DiskQueue(spec.drives.disk, spec.drives.deepest, of_clients(trace, accesses, spec.total_drives))


def with_waiting(spec: SwiftSpec, waiting: float) -> SwiftSpec:
    """Return the spec with the times of hard disks at which `waiting` accesses wait on average, at least 1."""
    return spec.model_copy(update={"drives": spec.drives.at_depth(waiting)})
