"""BlueStore: what a write of one chunk puts where and when, and what a commit costs.

A chunk smaller than a limit is *deferred*: it goes into RocksDB's write-ahead log with its metadata, the commit of
which acknowledges it, and is written to its place later, many together. A larger one is written to its place first, and
only its metadata go through the log. One thread (kv_sync) commits all transactions that wait, together.

Sources: options bluestore_* (src/common/options/global.yaml.in; before Quincy src/common/options.cc), and
src/os/bluestore/BlueStore.cc.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pydantic import Field

from models.ceph.mechanisms.compression import Compression
from models.ceph.mechanisms.redundancy import Protection, round_up, stripes
from models.ceph.mechanisms.releases import Release, since
from models.network.service_demand import ServiceDemand
from traces.units import Bytes
from traces.workload.distributions import Strict

BLOCK_BYTES = 4096
"""bdev_block_size: writes to the device are padded to it."""
METADATA_BYTES = 2000
"""What the transaction of one chunk adds to the log: onode, extents, PG log (assumed: what it leaves in RocksDB)."""


@dataclass(frozen=True)
class WritePlan:
    """What a write of one chunk does on its OSD.

    Attributes:
        data_bytes_before_commit: written to the data device, before the transaction may commit.
        wal_bytes: written to the log by the commit.
        deferred_bytes: written to the data device after it.
        allocated_bytes: space taken.
        compress_s, decompress_s: CPU time of compressing it, and of every whole read later.
    """

    data_bytes_before_commit: float
    wal_bytes: float
    deferred_bytes: float
    allocated_bytes: float
    compress_s: float
    decompress_s: float


@dataclass(frozen=True)
class BlueStoreSettings:
    """A `BlueStore` section with the defaults of a release and a class of devices filled in."""

    release: Release
    min_alloc_bytes: int
    prefer_deferred_bytes: int
    deferred_batch_ops: int
    max_blob_bytes: int
    compression: Compression
    compression_blob_bytes: int

    def allocated_bytes(self, chunk_bytes: int) -> int:
        """Space that a chunk takes, uncompressed."""
        return round_up(chunk_bytes, self.min_alloc_bytes)

    def is_deferred(self, chunk_bytes: float) -> bool:
        """Whether a new object's chunk is acknowledged before it is at its place.

        The limit itself counts as small up to Octopus (ceph PR 27789), no more since (ceph PRs 42725, 48490). Older
        releases decide by blob, so of a long chunk they defer the last blob where that is small; not modelled.
        """
        padded = round_up(chunk_bytes, BLOCK_BYTES)
        if since(self.release, "pacific"):
            return padded < self.prefer_deferred_bytes
        return padded <= self.prefer_deferred_bytes

    def write_plan(self, chunk_bytes: int, metadata_bytes: int = METADATA_BYTES) -> WritePlan:
        """What writing a new chunk does."""
        stored = self.compression.write(chunk_bytes, self.compression_blob_bytes, self.min_alloc_bytes, BLOCK_BYTES)
        written = stored.written_bytes
        late = written if self.is_deferred(written) else 0.0
        return WritePlan(
            data_bytes_before_commit=written - late,
            wal_bytes=metadata_bytes + late,
            deferred_bytes=late,
            allocated_bytes=stored.allocated_bytes,
            compress_s=self.compression.compress_s(stored),
            decompress_s=self.compression.decompress_s(stored),
        )

    def overwrite_plan(self, chunk_bytes: int) -> WritePlan:
        """What writing over a part of an object does, where the part begins at an allocation unit or within one.

        Less than a unit is written in place, after the commit whatever the device (BlueStore.cc, _do_write_small);
        else units are written anew. Reading the rest of a block that is written in part is not counted, nor is the
        part of a unit behind whole ones told apart.
        """
        if chunk_bytes >= self.min_alloc_bytes:
            return self.write_plan(chunk_bytes)
        late = float(round_up(chunk_bytes, BLOCK_BYTES))
        return WritePlan(0.0, METADATA_BYTES + late, late, 0.0, 0.0, 0.0)

    def space_amplification(self, size_bytes: int, protection: Protection) -> float:
        """Raw space over size of an S3 object, without compression."""
        raw = sum(
            protection.chunks_written(part, self.release) * self.allocated_bytes(protection.chunk_bytes(part))
            for part in stripes(size_bytes)
        )
        return raw / size_bytes


class BlueStore(Strict):
    """BlueStore's settings; those absent are the release's for the class of devices."""

    min_alloc_size: Bytes | None = Field(None, gt=0, description="allocation unit, fixed when the OSD is made")
    prefer_deferred_size: Bytes | None = Field(None, description="smaller writes are deferred; 0: none")
    deferred_batch_ops: int | None = Field(None, ge=1, description="deferred writes that are written together")
    compression: Compression = Compression()

    def resolved(self, release: Release, rotational: bool) -> BlueStoreSettings:
        """With the defaults of the release; Jewel, which has no BlueStore, counts as Luminous.

        min_alloc_size: HDD 64 KiB, 4 KiB since Pacific; SSD 16 KiB, 4 KiB since Octopus. prefer_deferred_size: HDD 32
        KiB, 64 KiB since Pacific; SSD 0. max_blob_size of an HDD: 512 KiB, 64 KiB since Pacific (assumed, with ceph PR
        39691).
        """
        new = since(release, "pacific")
        if rotational:
            alloc, defer = (4 << 10, 64 << 10) if new else (64 << 10, 32 << 10)
        else:
            alloc, defer = (4 << 10 if since(release, "octopus") else 16 << 10), 0
        min_alloc = self.min_alloc_size or alloc
        max_blob = 512 << 10 if rotational and not new else 64 << 10
        return BlueStoreSettings(
            release=release,
            min_alloc_bytes=min_alloc,
            prefer_deferred_bytes=defer if self.prefer_deferred_size is None else self.prefer_deferred_size,
            deferred_batch_ops=self.deferred_batch_ops or (64 if rotational else 16),
            max_blob_bytes=max_blob,
            compression=self.compression,
            compression_blob_bytes=self.compression.blob_bytes(release, rotational, min_alloc, max_blob),
        )


def deferred_write_s(
    batch: int, write_bytes: float, seek_s: tuple[float, float, float], span: float, turn_s: float, per_byte_s: float
) -> float:
    """Mean time that an HDD needs for one of `batch` deferred writes, which it makes in the order of their places.

    The head and the writes' places are batch + 1 uniform points of the span, so a seek goes over a distance d of law
    Beta(1, batch + 1): mean 1 / (batch + 2) of the span, as between two random points if the batch is 1.

    Args:
        batch: deferred writes made together, at least 1.
        write_bytes: of each.
        seek_s: (a, b, c) of the seek curve a + b sqrt(d) + c d, d as a share of the full stroke.
        span: share of the stroke that data lie on.
        turn_s: a turn of the disk; half of it is waited for.
        per_byte_s: of the transfer.
    """
    points = batch + 1
    mean = span / (points + 1)
    # E sqrt(d) of Beta(1, n) is n B(3/2, n).
    root = math.sqrt(span) * points * math.exp(math.lgamma(1.5) + math.lgamma(points) - math.lgamma(points + 1.5))
    a, b, c = seek_s
    return a + b * root + c * mean + turn_s / 2 + write_bytes * per_byte_s


def kv_commit_demand(
    write: ServiceDemand, flush_s: float, wal_bytes: float, fixed_s: float, member_s: float
) -> tuple[float, float]:
    """Service of a kv_sync thread (a GROUP_COMMIT station): seconds of a batch's first member, and of each further one.

    Args:
        write: of the device that has the log: its constant is paid once a batch, its bytes by each member.
        flush_s: making the log durable.
        wal_bytes: of one transaction.
        fixed_s: CPU time of a batch.
        member_s: CPU time of each transaction.
    """
    member = wal_bytes * write.per_byte + member_s
    return write.constant + flush_s + fixed_s + member, member
