"""Cost functions of a Ceph cluster: service demands derived from its spec, its devices and its state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from models.ceph.demands.state import ClusterState, StateInputs, state_at
from models.ceph.mechanisms.bluestore import (
    METADATA_BYTES,
    BlueStoreSettings,
    WritePlan,
    deferred_write_s,
    kv_commit_demand,
)
from models.ceph.mechanisms.bucket_index import entries_per_shard
from models.ceph.mechanisms.compaction import bursts
from models.ceph.mechanisms.redundancy import stripes
from models.ceph.mechanisms.rocksdb import RocksDbOptions, place
from models.ceph.spec import CephSpec
from models.devices.devices import Device
from models.network.service_demand import ServiceDemand
from traces.workload.distributions import (
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Hyperexponential,
    Lognormal,
    Occasional,
)
from traces.workload.generate import PAGE
from traces.workload.workload import Op

NOTHING = ServiceDemand()

Way = Literal["up", "down"]
"""Direction of a transfer: sent by a machine, or received."""

TLS_FACTOR: dict[Op, float] = {"GET": 1.40, "PUT": 1.71}
"""CPU time of a gateway with TLS over that without, at 4 MiB (IBM Storage Ceph, published)."""

_COMPACTION_BYTES = 2 << 20
"""compaction_readahead_size of bluestore_rocksdb_options: bytes that a compaction reads or writes at once."""
_LEAST_FRACTION = 1e-3  # accesses cover at least this fraction of a device


@dataclass(frozen=True)
class Access:
    """One access to a device: the latency that overlaps with other accesses, and the exclusive time."""

    overlapping: ServiceDemand
    exclusive: ServiceDemand


class CostFunctions:
    """Derives the demands; `object_bytes` is the mean size of written and stored objects."""

    def __init__(self, spec: CephSpec, object_bytes: float):
        self.spec, self.object_bytes = spec, object_bytes
        self.is_filestore = spec.osd.backend == "filestore"

    @cached_property
    def bluestore(self) -> BlueStoreSettings:
        """BlueStore's settings with the release's defaults."""
        return self.spec.bluestore.resolved(self.spec.release, self.spec.device.rotational)

    @cached_property
    def rocksdb(self) -> RocksDbOptions:
        """RocksDB's options with the release's defaults."""
        return self.spec.rocksdb.options(self.spec.release)

    @cached_property
    def state_inputs(self) -> StateInputs:
        """The inputs of the state."""
        spec = self.spec
        chunks = self._chunks
        allocated = sum(self.bluestore.write_plan(chunk).allocated_bytes for chunk in chunks) / len(chunks)
        return StateInputs(
            object_bytes=self.object_bytes,
            shards_per_object=float(len(chunks) * spec.pools.data.width),
            allocated_bytes_per_shard=allocated,
            alloc_unit_bytes=self.bluestore.min_alloc_bytes,
            osds=spec.osds,
            device_bytes=float(spec.device.capacity),
            db_bytes=float(spec.db.size) if spec.db else 0.0,
            rocks=self.rocksdb,
            memory_target_bytes=float(spec.osd.memory_target),
            buckets=spec.workload.total_buckets,
            shards_per_bucket=spec.buckets.shards,
            churn=spec.stored.churn,
            working_set_objects=spec.stored.working_set,
        )

    @property
    def _chunks(self) -> list[int]:
        """Bytes of a replica or chunk of each RADOS object of an object."""
        size = round(self.object_bytes)
        parts = stripes(size) if self.spec.access.cuts else (size,)
        return [self.spec.pools.data.chunk_bytes(part) for part in parts]

    @cached_property
    def state(self) -> ClusterState:
        """The state of the cluster with the objects that it holds."""
        return state_at(self.state_inputs, self.spec.stored.objects)

    @cached_property
    def drive(self) -> Device:
        """The data device at its fill level; a hard disk reorders waiting accesses.

        Accesses cover the objects that are read, and writes follow the newest objects.
        """
        fill = min(max(self.state.fill_fraction, _LEAST_FRACTION), 1.0)
        stored, requested = self.spec.stored.objects, self.spec.stored.working_set
        newest = min(1.0, max(requested / stored, _LEAST_FRACTION)) if requested and stored else 1.0
        return self.spec.device.filled(fill, newest).at_depth(self.spec.osd.read_depth)

    @property
    def log_device(self) -> Device:
        """The device that has RocksDB's log."""
        return self.spec.db.device if self.spec.db else self.spec.device

    # Reads

    def read_accesses(self, chunk_bytes: int) -> tuple[Access, ...]:
        """Return the accesses to the data device for reading a chunk: lookups, and its bytes as stored."""
        cold = 1 - self.spec.stored.warm
        stored = self._stored(chunk_bytes)
        data = Access(
            fraction_of(_bytes(self.drive.read_latency, stored), cold),
            fraction_of(_bytes(self.drive.read, stored), cold),
        )
        return (*self.metadata_accesses, *((data,) if cold else ()))

    @cached_property
    def metadata_accesses(self) -> tuple[Access, ...]:
        """Accesses to the data device for finding an object."""
        if self.is_filestore:
            return self._lookups(self._file_lookups)
        return self._lookups((1 - self.state.onode_hit_fraction) * self.state.slow_reads_per_lookup)

    @property
    def target_accesses(self) -> tuple[Access, ...]:
        """Accesses to the data device for looking up the target of a write: an existing object, or a new one."""
        return self.metadata_accesses if self.spec.access.overwrites else self.absent_accesses

    @cached_property
    def absent_accesses(self) -> tuple[Access, ...]:
        """Accesses to the data device for looking up a new object, which does not exist yet."""
        return self._lookups(self._file_lookups) if self.is_filestore else self.entry_accesses

    @cached_property
    def entry_accesses(self) -> tuple[Access, ...]:
        """Accesses to the data device for looking up a new index entry; FileStore's are assumed to be in memory."""
        return () if self.is_filestore else self._lookups(self.state.slow_reads_per_absent_lookup)

    @property
    def _file_lookups(self) -> float:
        groups = max(1, self.spec.pools.pg_num * self.spec.pools.data.width // self.spec.osds)
        return self.spec.filestore.metadata_reads_per_open(self.state.shard_objects, groups)

    def _lookups(self, count: float) -> tuple[Access, ...]:
        """Return `count` small reads of the data device, on average."""
        exclusive = of_size(self.drive.read, 4096)
        overlapping = of_size(self.drive.read_latency, 4096)
        whole = [Access(overlapping, exclusive)] * int(count)
        part = count - int(count)
        if part <= 1e-6:
            return tuple(whole)
        return (*whole, Access(fraction_of(overlapping, part), fraction_of(exclusive, part)))

    # Writes

    def plan(self, chunk_bytes: int) -> WritePlan:
        """Return BlueStore's plan for writing a chunk."""
        store = self.bluestore
        return store.overwrite_plan(chunk_bytes) if self.spec.access.overwrites else store.write_plan(chunk_bytes)

    def is_deferred(self, chunk_bytes: int) -> bool:
        """Return whether the write of a chunk is acknowledged before its bytes are written to their place."""
        return self.is_filestore or self.plan(chunk_bytes).deferred_bytes > 0

    def write_access(self, chunk_bytes: int) -> Access:
        """Return the access for writing a chunk, as stored, to its place on the data device.

        New space is allocated sequentially, so on a hard disk only some writes need a seek and a rotation.
        """
        stored = self._stored(chunk_bytes)
        write = _bytes(self.drive.write, stored)
        if self.drive.rotational:
            write = write.model_copy(update={"constant": write.constant * self.spec.osd.random_write_fraction})
        return Access(_bytes(self.drive.write_latency, stored), write)

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
        return self.plan(chunk_bytes).wal_bytes if chunk_bytes else float(METADATA_BYTES)

    def commit(self, chunk_bytes: int) -> ServiceDemand:
        """Return the kv_sync thread's demand for the first chunk of a batch."""
        first_s, _ = self._commit_s(self.log_bytes(chunk_bytes))
        return ServiceDemand(constant=first_s, distribution=Lognormal(cv=0.3))  # spread assumed

    @cached_property
    def commit_item_s(self) -> float:
        """Time in s that each further transaction adds to a batch, averaged over a PUT's: data, and index entry twice.

        Of overwrites only the metadata count: only parts of an allocation unit go through the log.
        """
        pools, access = self.spec.pools, self.spec.access
        chunks = [0] if access.overwrites else self._chunks
        data, index = len(chunks) * pools.data.width, 2 * pools.index_replicas * access.via_gateways
        data_bytes = pools.data.width * sum(self.log_bytes(chunk) for chunk in chunks)
        return self._commit_s((data_bytes + index * self.log_bytes(0)) / (data + index))[1]

    def _commit_s(self, log_bytes: float) -> tuple[float, float]:
        device, osd = self.log_device, self.spec.osd
        write = device.write.model_copy(update={"constant": device.write.constant + device.write_latency.constant})
        wal_bytes = log_bytes if self.spec.db else 0.0
        return kv_commit_demand(write, device.flush, wal_bytes, osd.commit, osd.commit_member)

    def log_write(self, chunk_bytes: int) -> ServiceDemand:
        """Return the demand of log bytes on the data device, if the log is there: batches save accesses, not bytes."""
        if self.spec.db:
            return NOTHING
        return ServiceDemand(constant=self.log_bytes(chunk_bytes) * self.drive.write.per_byte)

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
            return of_size(self.drive.write, late)
        seek = disk.write_seek
        curve = seek.track, seek.root, seek.linear
        per_byte_s = 1 / float(disk.rate(np.array([disk.at]))[0])
        apart_s = deferred_write_s(self.deferred_limit, late, curve, disk.span, disk.turn_s, per_byte_s)
        batch_s = deferred_write_s(1, 0, curve, disk.span, disk.turn_s, per_byte_s) + disk.turn_s
        in_a_row_s = batch_s / self.deferred_limit + max(late, self.bluestore.min_alloc_bytes) * per_byte_s
        # Overwrites go to where the data were.
        random_fraction = 1.0 if self.spec.access.overwrites else self.spec.osd.random_write_fraction
        mean_s = random_fraction * apart_s + (1 - random_fraction) * in_a_row_s
        if self.is_filestore:
            block_s = deferred_write_s(self.deferred_limit, 4096, curve, disk.span, disk.turn_s, per_byte_s)
            mean_s += self.spec.filestore.metadata_writes * block_s
        return ServiceDemand(constant=mean_s, distribution=Lognormal(cv=0.5))  # spread assumed

    @cached_property
    def compaction_accesses(self) -> tuple[Access, ...]:
        """Accesses to the data device by RocksDB's flushes and compactions, per write of metadata."""
        if self.is_filestore:
            return ()
        placed = place(self.rocksdb, self.state.metadata_bytes, self.state_inputs.db_bytes)
        rate = 1.0  # bytes a second: only the ratio counts
        moved = sum((b.read_bytes + b.write_bytes) / b.every_s for b in bursts(self.rocksdb, placed, rate) if b.on_slow)
        fraction = moved * self.rocksdb.metadata_bytes_per_object / self.rocksdb.compression_ratio / _COMPACTION_BYTES
        if fraction <= 0:
            return ()
        return (Access(NOTHING, fraction_of(of_size(self.drive.write, _COMPACTION_BYTES), min(fraction, 1.0))),)

    # CPU and network

    def gateway_cpu(self, op: Op) -> ServiceDemand:
        """Return the CPU demand of an operation on a gateway."""
        demand = self.spec.gateways.cpu.get(op, NOTHING)
        return demand.scaled(TLS_FACTOR.get(op, 1.0)) if self.spec.gateways.tls else demand

    def compress_s(self, chunk_bytes: int) -> float:
        """Return the CPU time in s per byte of an OSD for compressing a chunk."""
        return 0.0 if self.is_filestore or not chunk_bytes else self.plan(chunk_bytes).compress_s / chunk_bytes

    def decompress_s(self, chunk_bytes: int) -> float:
        """Return the CPU time in s per byte of an OSD for decompressing a chunk."""
        return 0.0 if self.is_filestore or not chunk_bytes else self.plan(chunk_bytes).decompress_s / chunk_bytes

    def nic(self, per_s: float, way: Way) -> ServiceDemand:
        """Return the demand of bytes on a NIC of `per_s` bytes per second."""
        network = self.spec.network
        return ServiceDemand(per_byte=1 / (per_s * (network.sent if way == "up" else network.received)))

    @property
    def listed(self) -> ServiceDemand:
        """CPU demand of an index shard for its part of a LIST."""
        entries = entries_per_shard(PAGE + 1, self.spec.buckets.shards)
        return ServiceDemand(constant=entries * self.spec.buckets.listed_entry)


def _bytes(demand: ServiceDemand, fraction: float) -> ServiceDemand:
    """Return the demand of accesses that move this fraction of the bytes."""
    return demand.model_copy(update={"per_byte": demand.per_byte * fraction})


def of_size(demand: ServiceDemand, size_bytes: float) -> ServiceDemand:
    """Return the demand of accesses of a fixed size, independent of the request's."""
    return demand.without_bytes.model_copy(update={"constant": demand.constant + demand.per_byte * size_bytes})


def fraction_of(demand: ServiceDemand, fraction: float) -> ServiceDemand:
    """Return the demand if only a fraction of the visits need the access."""
    if fraction >= 1 or not demand.takes_time:
        return demand
    if fraction <= 0:
        return NOTHING
    shape = demand.distribution
    simple = (Deterministic, Exponential, Hyperexponential, Lognormal, Gamma, Empirical)
    of = shape if isinstance(shape, simple) else Lognormal(cv=shape.scv**0.5)
    return demand.scaled(fraction).model_copy(update={"distribution": Occasional(probability=fraction, of=of)})
