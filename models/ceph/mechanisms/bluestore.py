"""BlueStore: where and when the bytes of a chunk are written, and the cost of a commit.

The write of a chunk below a size limit is *deferred*: the chunk is committed with its metadata to RocksDB's write-ahead
log, which acknowledges it, and written to its place later in a batch. A larger chunk is written to its place first, and
only its metadata go through the log. One thread (kv_sync) commits all waiting transactions together.

Sources: options bluestore_* (src/common/options/global.yaml.in; before Quincy src/common/options.cc), and
src/os/bluestore/BlueStore.cc.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from models.ceph.mechanisms.compression import Compression
from models.ceph.mechanisms.redundancy import round_up
from models.ceph.mechanisms.releases import Release, default, since
from traces.spec.field_notes import Basis
from traces.spec.units import Bytes, Seconds
from traces.workload.distributions import Strict

BLOCK_BYTES = 4096
"""bdev_block_size: writes to the device are padded to it."""
METADATA_BYTES = 2000
"""Log bytes of a chunk's transaction: onode, extents, PG log (assumed: as many as it leaves in RocksDB)."""


@dataclass(frozen=True)
class WritePlan:
    """The I/O and CPU time of writing one chunk on its OSD.

    Attributes:
        data_bytes_before_commit: bytes written to the data device before the transaction may commit.
        wal_bytes: bytes written to the log by the commit.
        deferred_bytes: bytes written to the data device after the commit.
        allocated_bytes: space allocated.
        compress_s, decompress_s: CPU time of compressing it, and of each later read of the whole chunk.
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
        """Return the space that an uncompressed chunk takes."""
        return round_up(chunk_bytes, self.min_alloc_bytes)

    def is_deferred(self, chunk_bytes: float) -> bool:
        """Return whether a new object's chunk is acknowledged before it is written to its place.

        A chunk of exactly the limit is deferred up to Octopus (ceph PR 27789), but not since (ceph PRs 42725, 48490).
        Older releases decide by blob and so defer a small last blob of a long chunk, which is not modelled.
        """
        padded = round_up(chunk_bytes, BLOCK_BYTES)
        if since(self.release, "pacific"):
            return padded < self.prefer_deferred_bytes
        return padded <= self.prefer_deferred_bytes

    def write_plan(self, chunk_bytes: int, metadata_bytes: int = METADATA_BYTES) -> WritePlan:
        """Return the plan for writing a new chunk."""
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

    def overwrite_plan(self, chunk_bytes: int, keeps_old: bool = False) -> WritePlan:
        """Return the plan for overwriting a part of an object.

        An erasure code keeps the old data as a second object, to which a chunk can be rolled back until all are
        committed (doc/dev/osd_internals/erasure_coding/ecbackend.rst): its metadata are logged, too; the next write of
        the placement group removes it, without a commit of its own.

        Less than an allocation unit is written in place after the commit, on any device (BlueStore.cc,
        _do_write_small); otherwise new units are written. Not modelled: reads of the rest of partly written blocks,
        and deferring the partial unit after whole ones.
        """
        metadata = METADATA_BYTES * (2 if keeps_old else 1)
        if chunk_bytes >= self.min_alloc_bytes:
            return self.write_plan(chunk_bytes, metadata)
        late = float(round_up(chunk_bytes, BLOCK_BYTES))
        return WritePlan(0.0, metadata + late, late, 0.0, 0.0, 0.0)


_OF_RELEASE = Basis("Ceph's default of the release and drive: bluestore_*, src/common/options/global.yaml.in")


class BlueStore(Strict):
    """BlueStore's settings; absent ones are the release's defaults for the device class."""

    min_alloc_size: Annotated[Bytes, _OF_RELEASE] | None = Field(
        None, gt=0, description="Allocation unit, fixed when the OSD was created; absent: the release's."
    )
    prefer_deferred_size: Annotated[Bytes, _OF_RELEASE] | None = Field(
        None,
        description="Size below which writes are deferred: acknowledged once they are in the log; 0: none; absent: the "
        "release's.",
    )
    deferred_batch_ops: Annotated[int, _OF_RELEASE] | None = Field(
        None, ge=1, description="Number of deferred writes in a batch; absent: the release's."
    )
    defer_interval: Annotated[
        Seconds, Basis("assumed: batches fill at once, as at hundreds of writes per second of an OSD", 0, 60)
    ] = Field(
        0.0,
        description="Longest time that a deferred write waits for its batch (bluestore_max_defer_interval, 3 s in "
        "Ceph); 0: batches fill at once.",
    )
    compression: Compression = Field(Compression(), description="Compression of data before they are written.")

    def resolved(self, release: Release, rotational: bool) -> BlueStoreSettings:
        """Return the settings with the release's defaults; Jewel, which has no BlueStore, counts as Luminous."""

        def of_release(option: str) -> int:
            return int(default(f"bluestore_{option}", release, rotational))

        min_alloc = self.min_alloc_size or of_release("min_alloc_size")
        defer, max_blob = of_release("prefer_deferred_size"), of_release("max_blob_size")
        return BlueStoreSettings(
            release=release,
            min_alloc_bytes=min_alloc,
            prefer_deferred_bytes=defer if self.prefer_deferred_size is None else self.prefer_deferred_size,
            deferred_batch_ops=self.deferred_batch_ops or of_release("deferred_batch_ops"),
            max_blob_bytes=max_blob,
            compression=self.compression,
            compression_blob_bytes=self.compression.blob_bytes(release, rotational, min_alloc, max_blob),
        )


def deferred_write_s(
    batch: int, write_bytes: float, seek_s: tuple[float, float, float], span: float, turn_s: float, per_byte_s: float
) -> float:
    """Return the mean time of an HDD for one of `batch` deferred writes, served in the order of their addresses.

    The head and the addresses are batch + 1 uniform points of the span, so the distance d of a seek has distribution
    Beta(1, batch + 1): mean 1 / (batch + 2) of the span, as between two random points if the batch is 1.

    Args:
        batch: number of deferred writes in a batch, at least 1.
        write_bytes: bytes of each write.
        seek_s: (a, b, c) of the seek curve a + b sqrt(d) + c d, d as a fraction of the full stroke.
        span: fraction of the stroke that has data.
        turn_s: time of one rotation, half of which is the mean rotational delay.
        per_byte_s: transfer time per byte.
    """
    points = batch + 1
    mean = span / (points + 1)
    # E sqrt(d) of Beta(1, n) is n B(3/2, n).
    root = math.sqrt(span) * points * math.exp(math.lgamma(1.5) + math.lgamma(points) - math.lgamma(points + 1.5))
    a, b, c = seek_s
    return a + b * root + c * mean + turn_s / 2 + write_bytes * per_byte_s
