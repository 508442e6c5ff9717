"""Cost functions of a Ceph cluster: service demands derived from its spec, its devices and its state."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.ceph.cluster.placement_rows import PlacementRows
from models.ceph.cpu import scaled
from models.ceph.demands.disk_load import DiskLoad
from models.ceph.demands.state import ClusterState, StateInputs, state_at
from models.ceph.faults.osd_map import Epoch
from models.ceph.mechanisms.bluestore import (
    METADATA_BYTES,
    BlueStoreSettings,
    WritePlan,
    deferred_write_s,
)
from models.ceph.mechanisms.bucket_index import entries_per_shard
from models.ceph.mechanisms.compaction import bursts
from models.ceph.mechanisms.crush import NO_OSD
from models.ceph.mechanisms.encryption import SECURE_S_PER_BYTE, gateway_work
from models.ceph.mechanisms.fragmentation import mean_extents
from models.ceph.mechanisms.redundancy import stripes
from models.ceph.mechanisms.rocksdb import Placement, RocksDbOptions, memtable_factor, place
from models.ceph.spec.host_groups import Layout
from models.ceph.spec.spec import CephSpec
from models.devices.device import Device
from models.network.service_demand import NOTHING, ServiceDemand
from traces.operations import Op
from traces.workload.distributions import Lognormal
from traces.workload.object_names import PAGE

_COMPACTION_BYTES = 2 << 20
"""compaction_readahead_size of bluestore_rocksdb_options: bytes that a compaction reads or writes at once."""
_LEAST_FRACTION = 1e-3  # accesses cover at least this fraction of a device


@dataclass(frozen=True)
class DeviceAccess:
    """One access to a device.

    Attributes:
        overlapping: its latency that overlaps with other accesses.
        exclusive: the time for which the device is busy.
        fraction: of the requests that need the access; a cache serves the others, which pass by.
        on: the data device of the OSD, or the device of its block.db.
    """

    overlapping: ServiceDemand
    exclusive: ServiceDemand
    fraction: float = 1.0
    on: Literal["drive", "db"] = "drive"


def pgs_of_osds(placed: NDArray[np.int32], layout: Layout) -> NDArray[np.int64]:
    """Return the number of placement groups on each OSD with data, shape (data_osds,).

    `placed`: OSDs of placement groups, of any shape.
    """
    return np.bincount(placed[placed != NO_OSD], minlength=layout.data_osds)[: layout.data_osds]


def most_over_mean(placed: NDArray[np.int32], layout: Layout) -> list[float]:
    """Return the placement groups of the fullest OSD of each group of hosts over those of its mean OSD; at least 1.

    `placed`: OSDs of placement groups, of any shape.
    """
    of_osd, group = pgs_of_osds(placed, layout), layout.group_of_osd[: layout.data_osds]
    each = [of_osd[group == number] for number in range(len(layout.groups))]
    return [float(counts.max() / counts.mean()) if counts.any() else 1.0 for counts in each]


def _osds_of_groups(placed: NDArray[np.int32], layout: Layout) -> list[float]:
    """Return the number of OSDs such as those of each group that would have all; infinite: they have nothing.

    `placed`: OSDs of placement groups or index shards, of any shape.
    """
    of_osd = np.bincount(placed[placed != NO_OSD], minlength=layout.data_osds)
    of_each = np.bincount(layout.group_of_osd[: len(of_osd)], weights=of_osd, minlength=len(layout.groups))
    means = [float(n) / (layout.hosts[k] * layout.osds[k]) for k, n in enumerate(of_each)]
    return [placed.size / mean if mean else math.inf for mean in means]


class CostFunctions:
    """Derives the demands; `object_bytes` is the mean size of written and stored objects.

    The load of hard disks by a Trace is `load`; the default is one of many writes and no reads. If hosts differ, the
    demands of OSDs are those of their groups, and the state is that of the fullest one.

    Attributes:
        osds: number of OSDs such as these that would have all data.
        index_osds: number of OSDs such as these that would have all bucket indexes and nothing else; 0: there are none.
        group: name of the group of hosts that the OSDs are on; empty: of all.
        fraction: fraction of the cluster's objects that the data pool has.
        is_of_index: whether the OSDs have only bucket indexes.
    """

    def __init__(
        self,
        spec: CephSpec,
        object_bytes: float,
        load: DiskLoad = DiskLoad(),  # noqa: B008  # immutable
        *,
        osds: float | None = None,
        index_osds: float | None = None,
        imbalance: float | None = None,
        group: str = "",
        fraction: float = 1.0,
        is_of_index: bool = False,
    ):
        self.spec, self.object_bytes, self.load, self.group = spec, object_bytes, load, group
        self.osds = spec.osds if osds is None else osds
        self._imbalance, self.fraction = imbalance, fraction
        if index_osds is None:
            index_osds = sum(part.hosts.count * part.index_osds_per_host for part in spec.host_groups.values())
        self.index_osds, self.is_of_index = index_osds, is_of_index
        self.is_filestore = spec.osd.backend == "filestore"

    @cached_property
    def of_groups(self) -> tuple[CostFunctions, ...]:
        """Those of the OSDs of each group of hosts; itself, if hosts are equal."""
        spec = self.spec
        if not spec.hosts.groups:
            return (self,)
        if spec.pools.second is not None:
            of_each = zip(*(pool.of_groups for pool in self.of_pools), strict=True)
            return tuple(next((each for each in own if math.isfinite(each.osds)), own[0]) for own in of_each)
        rows = PlacementRows(spec)
        most = most_over_mean(rows.data(), spec.layout)
        osds, index_osds = _osds_of_groups(rows.data(), spec.layout), [float(self.index_osds)] * len(spec.host_groups)
        if spec.has_index_hosts and spec.access.via_gateways:
            # OSDs with data have the entries of their objects, and others alone those of all objects.
            with_data, index = set(np.isfinite(osds).nonzero()[0].tolist()), rows.index(Epoch())
            index_osds = [0.0 if k in with_data else n for k, n in enumerate(_osds_of_groups(index, spec.layout))]
        return tuple(
            CostFunctions(
                scaled(part, spec.hosts.cores.speed / part.hosts.cores.speed), self.object_bytes, self.load,
                osds=osds[number], index_osds=index_osds[number], imbalance=most[number], group=name,
                fraction=self.fraction,
            )
            for number, (name, part) in enumerate(spec.host_groups.items())
        )  # fmt: skip

    @cached_property
    def of_pools(self) -> tuple[CostFunctions, ...]:
        """Those of each data pool alone; itself if there is one. Pools have no OSDs in common."""
        second = self.spec.pools.second
        if second is None:
            return (self,)
        sizes = self.object_bytes, float(second.object_size or self.object_bytes)
        pools = zip(self.spec.data_pools, sizes, self.spec.pools.fractions, strict=True)
        return tuple(
            CostFunctions(pool, size, self.load, index_osds=self.index_osds, fraction=fraction)
            for pool, size, fraction in pools
        )

    @cached_property
    def fullest(self) -> CostFunctions:
        """Those of the group whose OSDs are the fullest; itself, if hosts are equal."""
        return max(self.of_groups, key=lambda costs: costs.state.fill_fraction)

    @property
    def imbalance(self) -> float:
        """Placement groups, and so bytes, of the fullest of these OSDs over those of their mean."""
        if self._imbalance is None:
            return most_over_mean(PlacementRows(self.spec).data(), self.spec.layout)[0]
        return self._imbalance

    @property
    def fullest_fraction(self) -> float:
        """Fraction of its data device that the fullest OSD uses, at whose limit the cluster refuses writes."""
        return max(each.state.fill_fraction * each.imbalance for each in self.of_groups)

    @cached_property
    def bluestore(self) -> BlueStoreSettings:
        """BlueStore's settings with the release's defaults."""
        return self.spec.bluestore.resolved(self.spec.release, self.spec.defaults_of_hdd)

    @cached_property
    def rocksdb(self) -> RocksDbOptions:
        """RocksDB's options with the release's defaults."""
        return self.spec.rocksdb.options(self.spec.release)

    @cached_property
    def state_inputs(self) -> StateInputs:
        """The inputs of the state."""
        spec = self.spec
        chunks = self._chunks
        allocated = sum(n * self.bluestore.write_plan(chunk).allocated_bytes for chunk, n in chunks.items())
        return StateInputs(
            object_bytes=self.object_bytes * self.fraction,
            shards_per_object=float(chunks.total() * spec.pools.data.width) * self.fraction,
            allocated_bytes_per_shard=allocated / chunks.total(),
            alloc_unit_bytes=self.bluestore.min_alloc_bytes,
            osds=self.osds,
            device_bytes=spec.device.capacity / spec.hosts.osds_per_drive,
            db_bytes=float(spec.db.size) if spec.db else 0.0,
            rocks=self.rocksdb,
            memory_target_bytes=float(spec.osd.memory_target),
            buckets=spec.workload.total_buckets,
            shards_per_bucket=spec.buckets.shards,
            working_set_objects=spec.stored.working_set,
        )

    @property
    def _chunks(self) -> Counter[int]:
        """Number of RADOS objects of an object by the bytes of a replica or chunk."""
        size, chunks = round(self.object_bytes), Counter[int]()
        for part, count in (stripes(size) if self.spec.access.cuts else Counter([size])).items():
            chunks[self.spec.pools.data.chunk_bytes(part)] += count
        return chunks

    @cached_property
    def state(self) -> ClusterState:
        """The state of the cluster with the objects that it holds."""
        if self.spec.hosts.groups:
            return self.fullest.state
        return state_at(self.state_inputs, self.spec.stored.objects)

    @cached_property
    def drive(self) -> Device:
        """The data device at its fill level; a hard disk reorders waiting accesses.

        Accesses cover the objects that are read, and writes follow the newest objects. Those that were written to freed
        space are anywhere on the drive: allocators go on from where they were last (AvlAllocator::_pick_block_after),
        and come to freed space at the end of the drive.
        """
        fill = min(max(self.state.fill_fraction, _LEAST_FRACTION), 1.0)
        fill += self.spec.stored.churn * (1 - fill) if self.spec.device.rotational else 0.0
        stored, requested = self.spec.stored.objects, self.spec.stored.working_set
        newest = min(1.0, max(requested / stored, _LEAST_FRACTION)) if requested and stored else 1.0
        return self.spec.device.filled(fill, newest).at_depth(self.load.depth(self.spec.osd.read_depth))

    @property
    def log_device(self) -> Device:
        """The device that has RocksDB's log."""
        return self.spec.db.device if self.spec.db and self.logs_on_db else self.spec.device

    @cached_property
    def logs_on_db(self) -> bool:
        """Whether RocksDB's log, or FileStore's journal, is on a device of its own: a block.db that is not full."""
        if self.spec.db is None or self.is_filestore:
            return self.spec.db is not None
        return not place(self.rocksdb, self.state.metadata_bytes, self.state_inputs.db_bytes).is_full

    # Reads

    def read_accesses(self, chunk_bytes: int) -> tuple[DeviceAccess, ...]:
        """Return the accesses to the data device for reading a chunk: lookups, and its bytes as stored."""
        cold = 1 - self.spec.osd.cache.hit_ratio
        stored, extents = self._stored(chunk_bytes), self.extents(chunk_bytes)
        data = DeviceAccess(
            _bytes(self.drive.read_latency, stored), _often(_bytes(self.drive.read, stored), extents), cold
        )
        return (*self.metadata_accesses, *((data,) if cold else ()))

    @cached_property
    def metadata_accesses(self) -> tuple[DeviceAccess, ...]:
        """Accesses to block.db and the data device for finding an object."""
        if self.is_filestore:
            return self._lookups(self._file_lookups)
        missed, state = 1 - self.state.onode_hit_fraction, self.state
        return self._lookups(missed * state.slow_reads_per_lookup, missed * state.fast_reads_per_lookup)

    @property
    def target_accesses(self) -> tuple[DeviceAccess, ...]:
        """Accesses to the data device for looking up the target of a write: an existing object, or a new one."""
        return self.metadata_accesses if self.spec.access.overwrites else self.absent_accesses

    @cached_property
    def absent_accesses(self) -> tuple[DeviceAccess, ...]:
        """Accesses to the data device for looking up a new object, which does not exist yet."""
        return self._lookups(self._file_lookups) if self.is_filestore else self.entry_accesses

    @cached_property
    def entry_accesses(self) -> tuple[DeviceAccess, ...]:
        """Accesses for looking up a new index entry; FileStore's are assumed to be in memory."""
        if self.is_filestore:
            return ()
        return self._lookups(self.state.slow_reads_per_absent_lookup, self.state.fast_reads_per_absent_lookup)

    @property
    def _file_lookups(self) -> float:
        groups = max(1, int(self.spec.pools.pg_num * self.spec.pools.data.width // self.osds))
        return self.spec.filestore.metadata_reads_per_open(self.state.shard_objects, groups)

    def _lookups(self, slow: float, fast: float = 0.0) -> tuple[DeviceAccess, ...]:
        """Return small reads, on average `fast` of the device of block.db, then `slow` of the data device."""
        of_db = _reads(self.spec.db.device, fast, "db") if self.spec.db else ()
        return (*of_db, *_reads(self.drive, slow, "drive"))

    # Writes

    def plan(self, chunk_bytes: int) -> WritePlan:
        """Return BlueStore's plan for writing a chunk."""
        store = self.bluestore
        if self.spec.access.overwrites:
            return store.overwrite_plan(chunk_bytes, self._keeps_old)
        return store.write_plan(chunk_bytes)

    @property
    def _keeps_old(self) -> bool:
        """Whether an overwrite keeps the old data until all chunks are committed."""
        return self.spec.access.overwrites and self.spec.pools.data.is_ec

    def is_deferred(self, chunk_bytes: int) -> bool:
        """Return whether the write of a chunk is acknowledged before its bytes are written to their place."""
        return self.is_filestore or self.plan(chunk_bytes).deferred_bytes > 0

    def write_access(self, chunk_bytes: int) -> DeviceAccess:
        """Return the access for writing a chunk, as stored, to its place on the data device.

        New space is allocated sequentially, so on a hard disk only some writes need a seek and a rotation: more of them
        if reads come between.
        """
        stored = self._stored(chunk_bytes)
        write = _bytes(self.drive.write, stored)
        seeks = self.extents(chunk_bytes)
        if self.drive.rotational:
            seeks += self.load.random_fraction(self._random_fraction) - 1
        return DeviceAccess(_bytes(self.drive.write_latency, stored), _often(write, seeks))

    @property
    def _random_fraction(self) -> float:
        """Fraction of a hard disk's writes of new space that need a seek: all of those to space that deletes freed."""
        in_a_row = 1 - self.spec.osd.random_write_fraction
        return 1 - in_a_row * (1 - self.spec.stored.churn)

    def extents(self, chunk_bytes: int) -> float:
        """Return the mean number of accesses of a chunk to the data device, each to an extent and of limited size."""
        stored, inputs = self.spec.stored, self.state_inputs
        size = chunk_bytes * self._stored(chunk_bytes)
        least = float(self.drive.accesses(size))
        if self.is_filestore or not stored.churn:
            return least
        free = float(stored.free_extent or inputs.allocated_bytes_per_shard)
        return max(least, mean_extents(size, free, inputs.alloc_unit_bytes, stored.churn))

    def _stored(self, chunk_bytes: int) -> float:
        """Return the bytes on the data device for each byte of a chunk: compressed, and padded to blocks."""
        if self.is_filestore or not chunk_bytes:
            return 1.0
        plan = self.plan(chunk_bytes)
        return (plan.data_bytes_before_commit + plan.deferred_bytes) / chunk_bytes

    def log_bytes(self, chunk_bytes: int) -> float:
        """Return the log bytes of the write of a chunk; with 0 bytes those of the metadata."""
        if self.is_filestore:
            return float(self.spec.filestore.write_plan(chunk_bytes).journal_bytes)
        return self.plan(chunk_bytes).wal_bytes if chunk_bytes else float(METADATA_BYTES * (1 + self._keeps_old))

    @property
    def commit(self) -> ServiceDemand:
        """The kv_sync thread's demand for the first transaction of a batch; each further one takes `commit_member_s`.

        The log's bytes load its device (`log_write`), which the OSDs of a host may share.
        """
        device, osd = self.log_device, self.spec.osd
        on_device_s = device.write.constant + device.write_latency.constant + device.flush
        return ServiceDemand(
            constant=on_device_s + osd.commit + self.commit_member_s, distribution=Lognormal(cv=osd.commit_cv)
        )

    @property
    def commit_member_s(self) -> float:
        """Time in s of the kv_sync thread for each transaction of a batch, which it inserts into memtables."""
        return self.spec.osd.commit_member * memtable_factor(self.rocksdb.memtable_bytes)

    def log_write(self, chunk_bytes: int) -> ServiceDemand:
        """Return the demand of log bytes on the log's device: batches save accesses, not bytes."""
        write = self.spec.db.device.write if self.spec.db and self.logs_on_db else self.drive.write
        return ServiceDemand(constant=self.log_bytes(chunk_bytes) * write.per_byte)

    @property
    def deferred_limit(self) -> int:
        """Number of deferred writes of an OSD in progress at the same time: one batch.

        More of them may accumulate (bluestore_throttle_deferred_bytes), which only delays the time from which the
        drive limits throughput; a window of a long run is after that.
        """
        return self.spec.filestore.flusher_ios if self.is_filestore else self.bluestore.deferred_batch_ops

    def deferred_write(self, chunk_bytes: int) -> ServiceDemand:
        """Return the demand of writing a chunk to its place after it was acknowledged, in a batch with others.

        New space is allocated sequentially, so only some writes of a batch need a seek and a rotation of their own;
        the others are sequential, with one seek for all and a rotation for the flush.
        """
        disk = self.drive.disk
        late = chunk_bytes if self.is_filestore else self.plan(chunk_bytes).deferred_bytes
        if disk is None:
            return of_size(_often(self.drive.write, self.drive.accesses(late)), late)
        seek = disk.write_seek
        curve = seek.track, seek.root, seek.linear
        per_byte_s = 1 / float(disk.rate(np.array([disk.at]))[0])
        extents = self.extents(chunk_bytes)
        apart_s = extents * deferred_write_s(
            self.deferred_limit, late / extents, curve, disk.span, disk.turn_s, per_byte_s
        )
        batch_s = deferred_write_s(1, 0, curve, disk.span, disk.turn_s, per_byte_s) + disk.turn_s
        in_a_row_s = batch_s / self.deferred_limit + max(late, self.bluestore.min_alloc_bytes) * per_byte_s
        # Overwrites go to where the data were.
        random_fraction = 1.0 if self.spec.access.overwrites else self._random_fraction
        mean_s = random_fraction * apart_s + (1 - random_fraction) * in_a_row_s
        if self.is_filestore:
            block_s = deferred_write_s(self.deferred_limit, 4096, curve, disk.span, disk.turn_s, per_byte_s)
            each = self.spec.pools.data.width / self.osds
            files, existing = self.load.written_objects * each, self.load.covered
            mean_s = self.spec.filestore.flushed(mean_s, block_s, files, existing)
        return ServiceDemand(constant=mean_s, distribution=Lognormal(cv=0.5))  # spread assumed

    @cached_property
    def compaction_accesses(self) -> tuple[DeviceAccess, ...]:
        """Accesses by RocksDB's flushes and compactions, per write of metadata, to block.db and the data device."""
        if self.is_filestore:
            return ()
        placed = place(self.rocksdb, self.state.metadata_bytes, self.state_inputs.db_bytes)
        of_devices = [self._compaction(self.drive, placed, "drive")]
        if self.spec.db:
            of_devices.insert(0, self._compaction(self.spec.db.device, placed, "db"))
        return tuple(access for access in of_devices if access.fraction > 0)

    def _compaction(self, device: Device, placed: Placement, on: Literal["drive", "db"]) -> DeviceAccess:
        rate = 1.0  # bytes a second: only the ratio counts
        made = [burst for burst in bursts(self.rocksdb, placed, rate) if burst.on_slow == (on == "drive")]
        moved = sum((burst.read_bytes + burst.write_bytes) / burst.every_s for burst in made)
        fraction = moved * self.rocksdb.metadata_bytes_per_object / self.rocksdb.compression_ratio / _COMPACTION_BYTES
        return DeviceAccess(NOTHING, of_size(device.write, _COMPACTION_BYTES), min(fraction, 1.0), on)

    # CPU and network

    def gateway_cpu(self, op: Op) -> ServiceDemand:
        """Return the CPU demand of an operation on a gateway."""
        cpu = self.spec.gateways.cpu
        demand = cpu.get("PUT" if op == "COPY" else op, NOTHING)
        if op == "COPY":  # of what is read, too
            read = cpu.get("GET", NOTHING)
            more = {"constant": demand.constant + read.constant, "per_byte": demand.per_byte + read.per_byte}
            demand = demand.model_copy(update=more)
        elif op == "LIST":
            buckets = self.spec.buckets
            shards_s = buckets.shards * (buckets.gateway_query + self._listed_entries * buckets.gateway_entry)
            demand = demand.model_copy(update={"constant": demand.constant + shards_s})
        gateways = self.spec.gateways
        work = gateway_work(op, tls=gateways.tls, sse=gateways.sse, secure=self.spec.network.secure)
        return demand.model_copy(
            update={"constant": demand.constant + work.constant_s, "per_byte": demand.per_byte + work.per_byte_s}
        )

    def messages(self, count: int) -> ServiceDemand:
        """Return the CPU demand of an OSD for messages that it receives and sends."""
        return ServiceDemand(constant=count * self.spec.osd.message, distribution=self.spec.osd.read.distribution)

    def compress_s(self, chunk_bytes: int) -> float:
        """Return the CPU time in s per byte of an OSD for compressing a chunk."""
        return 0.0 if self.is_filestore or not chunk_bytes else self.plan(chunk_bytes).compress_s / chunk_bytes

    def decompress_s(self, chunk_bytes: int) -> float:
        """Return the CPU time in s per byte of an OSD for decompressing a chunk."""
        return 0.0 if self.is_filestore or not chunk_bytes else self.plan(chunk_bytes).decompress_s / chunk_bytes

    @property
    def secure_s(self) -> float:
        """CPU time in s per byte at each end of a transfer between daemons for its encryption."""
        return SECURE_S_PER_BYTE if self.spec.network.secure else 0.0

    def nic(self, per_s: float) -> ServiceDemand:
        """Return the demand of bytes on a NIC of `per_s` bytes per second, at the rate of one connection."""
        network = self.spec.network
        return ServiceDemand(per_byte=network.connections(per_s) / network.payload_rate(per_s))

    @property
    def dma(self) -> ServiceDemand:
        """Demand of bytes that a host's devices move to or from its memory."""
        rate = self.spec.hosts.dma_bandwidth
        return ServiceDemand(per_byte=1 / rate) if rate else NOTHING

    @property
    def listed(self) -> ServiceDemand:
        """CPU demand of an OSD for an index shard's part of a LIST."""
        buckets = self.spec.buckets
        mean_s = buckets.shard_query + self._listed_entries * buckets.listed_entry
        return ServiceDemand(constant=mean_s, distribution=self.spec.osd.read.distribution)

    @property
    def _listed_entries(self) -> int:
        """Number of entries that a LIST reads from each shard."""
        return entries_per_shard(PAGE + 1, self.spec.buckets.shards, self.spec.release)


def _reads(device: Device, count: float, on: Literal["drive", "db"]) -> tuple[DeviceAccess, ...]:
    """Return `count` small reads of a device, on average."""
    whole = DeviceAccess(of_size(device.read_latency, 4096), of_size(device.read, 4096), on=on)
    part = count - int(count)
    return (*(whole,) * int(count), *((replace(whole, fraction=part),) if part > 1e-6 else ()))


def _bytes(demand: ServiceDemand, fraction: float) -> ServiceDemand:
    """Return the demand of accesses that move this fraction of the bytes."""
    return demand.model_copy(update={"per_byte": demand.per_byte * fraction})


def _often(demand: ServiceDemand, times: float) -> ServiceDemand:
    """Return the demand of `times` accesses that move its bytes."""
    return demand.model_copy(update={"constant": demand.constant * times})


def of_size(demand: ServiceDemand, size_bytes: float) -> ServiceDemand:
    """Return the demand of accesses of a fixed size, independent of the request's."""
    return demand.without_bytes.model_copy(update={"constant": demand.constant + demand.per_byte * size_bytes})
