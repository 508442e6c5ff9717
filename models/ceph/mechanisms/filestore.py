"""FileStore: an object is a file of XFS, and every write goes to a journal first.

A write is acknowledged when it is in the journal, and written to its file later; so each byte is written twice. Full
directories split into 16. Finding a file needs its directories and its inode, which are read from disk once they
outgrow the kernel's caches. BlueStore replaced FileStore.

Sources: options filestore_* (src/common/config_opts.h; Red Hat Ceph Storage 1.2.3, configuration guide, chapter 28),
doc/dev/osd_internals/wbthrottle.rst.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from models.ceph.mechanisms.redundancy import round_up
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import Bytes
from traces.workload.distributions import Strict

_FAN_OUT = 16  # subdirectories of a split directory: one hexadecimal digit of the hash
_BLOCK_BYTES = 4096


def distinct(count: float, choices: float) -> float:
    """Return the mean number of different ones among a number of uniform choices of `count`; infinite: all differ."""
    return choices if math.isinf(count) else -count * math.expm1(choices * math.log1p(-1 / max(count, 1 + 1e-9)))


@dataclass(frozen=True)
class FileWritePlan:
    """The I/O of writing one chunk on its OSD.

    Attributes:
        journal_bytes: bytes written to the journal before the write is acknowledged.
        file_bytes: bytes written to the file later.
    """

    journal_bytes: int
    file_bytes: int


class FileStore(Strict):
    """FileStore's settings, and the sizes of its metadata."""

    split_multiple: Annotated[int, Basis("Ceph's default (src/common/config_opts.h)", 1, 1000)] = Field(
        2,
        ge=1,
        description="Factor of the directory size (filestore_split_multiple): directories split at 16 times this times "
        "`merge_threshold` files.",
    )
    merge_threshold: Annotated[int, Basis("Ceph's default (src/common/config_opts.h)", 1, 1000)] = Field(
        10, ge=1, description="Factor of the directory size (filestore_merge_threshold), see `split_multiple`."
    )
    flusher_ios: Annotated[int, Basis("Ceph's default (src/common/config_opts.h)", 1, 100_000)] = Field(
        500, ge=1, description="Number of files written together (filestore_wbthrottle_xfs_ios_start_flusher)."
    )
    cache: Annotated[Bytes, Basis("assumed", 1 << 26, 1 << 40)] = Field(
        2 << 30, gt=0, description="Memory for the inodes and directories of an OSD in the kernel's caches."
    )
    inode: Annotated[Bytes, Basis("Linux slabs: xfs_inode 1024 B, dentry 192 B", 256, 4096)] = Field(
        1216, gt=0, description="Memory of a file in the kernel's caches: its inode and directory entry."
    )
    directory_entry: Annotated[Bytes, Basis("assumed", 16, 4096)] = Field(
        128, gt=0, description="Space of a file's name in the blocks of its directory."
    )
    metadata_writes: Annotated[float, Unit("", "1.5"), Basis("assumed", 0, 10)] = Field(
        1.5, ge=0, description="Number of later writes elsewhere of a new file's inode, directory and attributes."
    )
    overwrite_metadata_writes: Annotated[
        float,
        Unit("", "0.5"),
        Basis(
            "fitted to overwrites of 1,000 files (ZHAW, 2014): between shared inode blocks and a log force each", 0, 10
        ),
    ] = Field(
        0.5, ge=0, description="Number of later writes elsewhere for a file that exists: its inode, or XFS's log."
    )
    journal_header: Annotated[Bytes, Basis("assumed", 0, 1 << 16)] = Field(
        1024, description="Number of bytes that a journal entry adds to its data."
    )

    def flushed(self, write_s: float, block_s: float, files: float, existing: float) -> float:
        """Return the mean time in s of a drive for one write's part in a flush of the page cache.

        A flush has `flusher_ios` writes. A file that was overwritten since the last flush is written once, with all
        its writes.

        Args:
            write_s, block_s: of the data of a file, and of a block of metadata.
            files: number of an OSD's files that writes choose from; infinite: each write is of another file.
            existing: fraction of the written files that existed before.
        """
        metadata = existing * self.overwrite_metadata_writes + (1 - existing) * self.metadata_writes
        return distinct(files, self.flusher_ios) / self.flusher_ios * (write_s + metadata * block_s)

    @property
    def directory_files(self) -> int:
        """Number of files at which a directory splits: 320 by default."""
        return self.split_multiple * self.merge_threshold * 16

    def write_plan(self, chunk_bytes: int) -> FileWritePlan:
        """Return the plan for writing a new chunk; both sizes are padded to blocks."""
        return FileWritePlan(
            round_up(chunk_bytes + self.journal_header, _BLOCK_BYTES), round_up(chunk_bytes, _BLOCK_BYTES)
        )

    def directory_levels(self, objects_per_pg: float) -> int:
        """Return the directory levels below that of a placement group; hashing is even, so all split together."""
        if objects_per_pg <= self.directory_files:
            return 0
        return math.ceil(math.log(objects_per_pg / self.directory_files, _FAN_OUT) - 1e-9)

    def metadata_reads_per_open(self, objects: float, pgs: int) -> float:
        """Return the mean number of disk reads to find a random file of an OSD.

        One for each directory on its path whose blocks are not cached, and one for its inode. The cache keeps what is
        used most: upper levels first, then blocks of the lowest directories, then inodes.

        Args:
            objects: number of files of the OSD.
            pgs: number of its placement groups.
        """
        if objects <= 0:
            return 0.0
        depth = self.directory_levels(objects / pgs)
        upper = [pgs * _FAN_OUT**level * (self.inode + _BLOCK_BYTES) for level in range(depth)]
        lowest = max(objects * self.directory_entry, pgs * _FAN_OUT**depth * self.inode)
        free, reads = float(self.cache), 0.0
        for needed in (*upper, lowest, objects * self.inode):
            reads += 1 - min(1.0, free / needed)
            free = max(0.0, free - needed)
        return reads
