"""What a Trace means to the head of a hard disk: how often it comes back to the writes, and how many accesses wait."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from models.ceph.demands.pool_of_requests import pool_of_requests
from models.ceph.mechanisms.filestore import distinct
from models.ceph.mechanisms.redundancy import RGW_OBJECT_BYTES, RGW_WINDOW_OBJECTS
from models.ceph.spec.spec import CephSpec
from models.devices.hdd_scheduling import HddQueue, of_clients
from models.network.placement import key_hashes
from traces.operations import COPY, GET, PUT
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


def disk_queue(spec: CephSpec, trace: Trace) -> HddQueue:
    """Return the queues of the hard disks; deep ones if requests only look objects up."""
    accesses, parts = _accesses(spec, trace).sum(axis=0), list(spec.host_groups.values())
    # Of disks and flash in one pool, accesses wait at the disks.
    disks = [part for part in parts if part.device.rotational] or parts
    drives = sum(part.hosts.count * part.hosts.drives for part in disks)
    waiting = of_clients(trace, accesses, drives) if accesses.any() else math.inf
    return HddQueue(disks[0].device.disk, spec.osd.read_depth, waiting)


def disk_load(spec: CephSpec, trace: Trace, waiting: float) -> DiskLoad:
    """Return the load of the drives by a Trace.

    `waiting`: mean number of accesses at a drive that is busy.
    """
    read, written = _accesses(spec, trace).sum(axis=1).tolist()
    if not read + written:
        return DiskLoad(waiting=waiting)
    chosen = _chosen(trace) if spec.osd.backend == "filestore" else (math.inf, 0.0)
    return DiskLoad(written / (read + written), waiting, *chosen)


def _accesses(spec: CephSpec, trace: Trace) -> NDArray[np.float64]:
    """Return the numbers of reads and writes of each request at the same time, on different drives, shape (2, n).

    A read of a replica or a chunk, a write of each of them; a copy makes both. Of pools on disks and on flash, those on
    disks count.
    """
    pools, pool = spec.data_pools, pool_of_requests(spec, trace)
    has_disks = [_has_disks(each) for each in pools]
    counted = np.array(has_disks if any(has_disks) else [True] * len(pools))
    shards, width = (
        np.where(counted, numbers, 0)[pool]
        for numbers in zip(*((each.pools.data.data_shards, each.pools.data.width) for each in pools), strict=True)
    )
    reads = np.where(np.isin(trace.op, (GET, COPY)), (1 - spec.osd.cache.hit_ratio) * shards, 0.0)
    writes = np.where(np.isin(trace.op, (PUT, COPY)), width, 0.0)
    return np.stack([reads, writes]) * _parallel(spec, trace)


def _has_disks(pool: CephSpec) -> bool:
    """Whether OSDs of a data pool are on hard disks."""
    weights = pool.layout.weights
    parts = pool.host_groups.values()
    return any(part.device.rotational and (not weights or weights[k] > 0) for k, part in enumerate(parts))


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
    if not spec.access.cuts:
        return np.ones(len(trace))
    objects = np.maximum(np.ceil(trace.handled_bytes / RGW_OBJECT_BYTES), 1)
    return np.minimum(objects, RGW_WINDOW_OBJECTS) if spec.access.via_gateways else objects
