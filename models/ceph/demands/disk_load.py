"""What a Trace means to the head of a hard disk: how often it comes back to the writes, and how many accesses wait."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from models.ceph.mechanisms.filestore import distinct
from models.ceph.mechanisms.redundancy import RGW_OBJECT_BYTES
from models.ceph.placement_rows import PARALLEL_STREAMS
from models.ceph.spec import CephSpec
from models.devices.devices import Device
from models.devices.waiting import waiting_accesses
from models.network.placement import key_hashes
from traces.operations import GET, PUT
from traces.trace import Trace


@dataclass(frozen=True)
class DiskLoad:
    """The accesses of a workload to the data of an OSD.

    Attributes:
        write_fraction: fraction of writes among reads and writes of data.
        waiting: mean number of accesses at a drive that is busy, of which it can choose; infinite: many.
        written_objects: number of objects that writes choose from; infinite: each write is of another one.
        covered: fraction of these that the workload writes at all; the less, the more of its writes are the first one.
    """

    write_fraction: float = 1.0
    waiting: float = math.inf
    written_objects: float = math.inf
    covered: float = 0.0

    def random_fraction(self, without_reads: float) -> float:
        """Return the fraction of a disk's writes that require a seek.

        New space is allocated sequentially, but a write needs no seek only if the access before it was a write, too: a
        read has moved the head elsewhere. The access before is one of the workload's, independent of this one.

        Args:
            without_reads: the same fraction of a workload that only writes.
        """
        return 1 - (1 - without_reads) * self.write_fraction

    def depth(self, limit: int) -> float:
        """Return from how many accesses on average a disk takes the one that it reaches first, 1 to `limit`."""
        return max(1.0, min(self.waiting, limit))


def disk_load(spec: CephSpec, trace: Trace, device: Device) -> DiskLoad:
    """Return the load of the drives by a Trace.

    Args:
        device: the data device; seeks over all of a hard disk, one access at a time.
    """
    writes, reads = trace.op == PUT, trace.op == GET
    parallel = _parallel(spec, trace)
    # A read of a replica or a chunk, a write of each of them.
    accesses = np.where(writes, spec.pools.data.width, np.where(reads, spec.pools.data.data_shards, 0.0)) * parallel
    accesses = np.where(reads, (1 - spec.stored.warm) * accesses, accesses)
    total, drives = float(accesses.sum()), spec.hosts.count * spec.hosts.drives
    if not total:
        return DiskLoad()
    fraction = float(accesses[writes].sum()) / total
    chosen = _chosen(trace) if spec.osd.backend == "filestore" else (math.inf, 0.0)
    access_s = _access_s(spec, trace, device, fraction)
    return DiskLoad(fraction, waiting_accesses(trace, accesses, drives, access_s), *chosen)


def _chosen(trace: Trace) -> tuple[float, float]:
    """Return from how many objects uniform choices would be as many different ones as a Trace writes, and their part.

    The part is the fraction of these objects that it writes.
    """
    writes = np.flatnonzero(trace.op == PUT)
    different = len(np.unique(key_hashes(trace)[writes]))
    if different == len(writes):
        return math.inf, 0.0
    low, high = float(different), float(different) * len(writes)
    objects = float(scipy.optimize.brentq(lambda count: distinct(count, len(writes)) - different, low, high))
    return objects, different / objects


def _parallel(spec: CephSpec, trace: Trace) -> NDArray[np.float64]:
    """Return the number of RADOS objects that a request accesses at the same time."""
    objects = np.ceil(trace.transfer_bytes / RGW_OBJECT_BYTES)
    return np.clip(objects, 1, PARALLEL_STREAMS) if spec.access.cuts else np.ones(len(trace))


def _access_s(spec: CephSpec, trace: Trace, device: Device, write_fraction: float) -> float:
    """Return the mean time of an access to a chunk of mean size."""
    mean_bytes = float(trace.transfer_bytes.mean())
    chunk = spec.pools.data.chunk_bytes(round(min(mean_bytes, RGW_OBJECT_BYTES) if spec.access.cuts else mean_bytes))
    read_s, write_s = (demand.constant + demand.per_byte * chunk for demand in (device.read, device.write))
    return write_fraction * write_s + (1 - write_fraction) * read_s
