"""FileStore: an object is a file of XFS, and every write goes to a journal first.

A PUT is acknowledged when the journal has it, and written to its file later; so each byte is written twice. Files lie
in directories that split into 16 when they are full; finding one needs its directories and its inode, which are read
from the disk once they outgrow the memory that the kernel has for them. BlueStore replaced all of that.

Sources: options filestore_* (src/common/config_opts.h; Red Hat Ceph Storage 1.2.3, configuration guide, chapter 28),
doc/dev/osd_internals/wbthrottle.rst.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pydantic import Field

from models.ceph.mechanisms.redundancy import round_up
from traces.units import Bytes
from traces.workload.distributions import Strict

_FAN_OUT = 16  # subdirectories of a split directory: one hexadecimal digit of the hash
_BLOCK_BYTES = 4096


@dataclass(frozen=True)
class FileWritePlan:
    """What a write of one chunk does on its OSD.

    Attributes:
        journal_bytes: written to the journal, which acknowledges it.
        file_bytes: written to the file later.
    """

    journal_bytes: int
    file_bytes: int


class FileStore(Strict):
    """FileStore's settings, and what its metadata take."""

    split_multiple: int = Field(2, ge=1, description="filestore_split_multiple")
    merge_threshold: int = Field(10, ge=1, description="filestore_merge_threshold")
    flusher_ios: int = Field(
        500, ge=1, description="filestore_wbthrottle_xfs_ios_start_flusher: files written together"
    )
    cache: Bytes = Field(2 << 30, gt=0, description="memory that an OSD's inodes and directories may take (assumed)")
    inode: Bytes = Field(1216, gt=0, description="of a cached file: xfs_inode 1024 B, dentry 192 B (Linux slabs)")
    directory_entry: Bytes = Field(128, gt=0, description="of a file in its directory's blocks (assumed)")
    metadata_writes: float = Field(
        1.5, ge=0, description="writes of a new file's inode, directory and attributes, later and elsewhere (assumed)"
    )
    journal_header: Bytes = Field(1024, description="what an entry of the journal adds to the data (assumed)")

    @property
    def directory_files(self) -> int:
        """Files of a directory before it splits: 320 by default."""
        return self.split_multiple * self.merge_threshold * 16

    def write_plan(self, chunk_bytes: int) -> FileWritePlan:
        """What writing a new chunk does; both are padded to blocks."""
        return FileWritePlan(
            round_up(chunk_bytes + self.journal_header, _BLOCK_BYTES), round_up(chunk_bytes, _BLOCK_BYTES)
        )

    def directory_levels(self, objects_per_pg: float) -> int:
        """Levels of directories below a placement group's own; objects are hashed evenly, so all split in step."""
        if objects_per_pg <= self.directory_files:
            return 0
        return math.ceil(math.log(objects_per_pg / self.directory_files, _FAN_OUT) - 1e-9)

    def splits(self, before: float, after: float) -> int:
        """Directories of a placement group that split while it grows; each moves `directory_files` files."""
        first, last = self.directory_levels(before), self.directory_levels(after)
        return sum(_FAN_OUT**level for level in range(first, last))

    def metadata_reads_per_open(self, objects: float, pgs: int) -> float:
        """Disk reads, on average, to find a random file of an OSD before its data can be read or written.

        One for each directory on its path whose blocks are not in memory, and one for its inode. What many files share
        is used more often, so the cache keeps upper levels first, then blocks of the lowest directories, then inodes.

        Args:
            objects: files of the OSD.
            pgs: its placement groups.
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
