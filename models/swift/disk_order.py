"""Hard disks under load: of the accesses that wait, a disk takes the one that its head reaches first."""

from __future__ import annotations

import numpy as np

from models.swift.sections import NOTHING
from models.swift.spec import SwiftSpec
from traces.operations import GET, LIST, rows_that
from traces.trace import Trace


def with_disk_order(spec: SwiftSpec, trace: Trace) -> SwiftSpec:
    """Return the spec with the times of its hard disks at the load of a Trace.

    A PUT or DELETE waits for the drives of all pieces, a GET for those that it reads, a HEAD for one. Background work
    is left out.
    """
    drives, writes = spec.drives, rows_that(trace.op, "changes")
    if drives.disk is None or not len(trace):
        return spec
    accesses = np.where(writes, spec.pieces, np.where(trace.op == GET, spec.data_pieces, 1.0))
    accesses[trace.op == LIST] = 0
    piece = trace.transfer_bytes / spec.data_pieces
    read, write, sync = (demand or NOTHING for demand in (drives.read, drives.write, drives.sync))
    reading_s = drives.lookup.constant + read.constant + read.per_byte * piece
    writing_s = write.constant + write.per_byte * piece + sync.constant
    access_s = float(np.where(writes, writing_s, reading_s).mean())
    return spec.model_copy(update={"drives": drives.at_load(trace, accesses, spec.total_drives, access_s)})
