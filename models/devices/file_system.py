"""A file system (XFS) whose metadata do not all fit into memory: reads of look-ups, and metadata written back.

Directories and inodes are in blocks, each with the metadata of several objects. Memory keeps what was used last, so by
Che's approximation (Che, Tung and Wang, IEEE JSAC 20(7), 2002) a block is found in memory if one of its objects was
looked up within a time that is the same for all; it follows from the size of the memory. Objects are looked up equally
often. XFS writes a changed block back within 30 s, all of them in the order of their places, so neighbours are one
access. Sizes are those of XFS with inodes of 512 bytes and blocks of 4 KiB, and of the slabs of Linux 6.18.
benchmarks/file_system_accesses.csv has counts of accesses that these formulas were compared with: of 240,000 to 410,000
objects, the first look-up of one of MinIO's read 3.66 blocks of metadata (formula: 3.67), and each PUT caused 0.55 to
0.65 accesses that wrote blocks back (0.55).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy

WRITE_BACK_S = 30.0
"""Longest time until metadata are written back: fs.xfs.xfssyncd_centisecs."""
PAGE_BYTES = 4096
_BUFFER_BYTES = 384  # slab xfs_buf
_INODE_BYTES = 1024 + 192  # slabs xfs_inode and dentry
_CLUSTER_BYTES = 16_384  # an inode cluster of 32 inodes of 512 bytes
_CLUSTER_INODES = 32
_LEAF_ENTRIES = 358  # hashes of names, 8 bytes each, in leaf blocks that are 0.7 full, as B+ trees are by random keys
_NAME_BYTES = 32  # of a key, or of the part of it after the last slash (assumed)
_ENTRIES = PAGE_BYTES // (-(-(_NAME_BYTES + 12) // 8) * 8)  # of a data block: inode number, length, type and tag, too
_LEAST = 1e-4  # rarer reads are left out
_INODE_ON_DRIVE_BYTES = 512
_INODE_SPACE = ((10**12, 0.25), (50 * 10**12, 0.05))
"""Fraction of a file system up to this size that inodes may take (imaxpct, mkfs.xfs(8)); of a larger one, 0.01."""
_OTHERS_WRITTEN = 0.06  # inode clusters and allocation trees of new objects, which are next to each other (counted)


@dataclass(frozen=True)
class Blocks:
    """Blocks of one kind, of which a look-up of an object reads one.

    Attributes:
        size_bytes: of a block in memory.
        objects: whose metadata are in a block.
        with_inode: whether an object's inode in memory stands for the block.
    """

    size_bytes: int
    objects: float
    with_inode: bool = False

    def missed(self, lookups: float) -> float:
        """Return the probability that a block is not in memory.

        Args:
            lookups: of each object within the time for which unused blocks are kept.
        """
        return math.exp(-(self.objects + self.with_inode) * lookups)


LEAF = Blocks(PAGE_BYTES + _BUFFER_BYTES, _LEAF_ENTRIES)
"""Leaf blocks of a large directory, found by the hash of a name; the last one that tells that a name is not there."""
ENTRY = Blocks(PAGE_BYTES + _BUFFER_BYTES, _ENTRIES)
"""Data blocks of a large directory, with the inode of each name."""


MOST_DIRTY = 2**31 - 1
"""Greatest number of pieces that page caches can hold back, which is no limit in practice."""


def dirty_pieces(limit_bytes: float, mean_bytes: float, least: int) -> int:
    """Return how many pieces fit into the memory for what is not written back; small ones share pages of a file.

    Args:
        limit_bytes: of the memory.
        mean_bytes: mean size of a piece; 0: nothing is written.
        least: pieces that are written at the same time, which always fit.
    """
    return max(least, int(min(limit_bytes / max(mean_bytes, 1.0), MOST_DIRTY)))


def folder(objects: float) -> Blocks:
    """Return the blocks of folders with the names of this number of objects each, at least 1."""
    return Blocks(PAGE_BYTES + _BUFFER_BYTES, max(objects, 1.0))


def inodes(each: float = 1.0) -> Blocks:
    """Return the inode clusters with `each` inodes of every object next to each other."""
    return Blocks(_CLUSTER_BYTES + _BUFFER_BYTES, _CLUSTER_INODES / each, with_inode=True)


@dataclass(frozen=True)
class Metadata:
    """The metadata of a store's objects on a drive.

    Attributes:
        folders: blocks in which the name of an object is looked up.
        files: blocks with the inodes of its folders and files.
        inodes: number of these.
        data_bytes: of the object on the drive, which memory keeps as well.
    """

    folders: tuple[Blocks, ...]
    files: tuple[Blocks, ...]
    inodes: float
    data_bytes: float = 0.0

    @property
    def bytes_each(self) -> float:
        """Memory of an object whose metadata and data are all in memory."""
        return self._held_bytes(math.inf)

    def _held_bytes(self, lookups: float) -> float:
        blocks = sum(
            each.size_bytes / each.objects * (1 - math.exp(-each.objects * lookups))
            for each in (*self.folders, *self.files)
        )
        pages = -(-self.data_bytes // PAGE_BYTES) * PAGE_BYTES
        return blocks + (self.inodes * _INODE_BYTES + pages) * (1 - math.exp(-lookups))

    def lookups(self, memory_bytes: float) -> float:
        """Return how often an object is looked up while memory keeps an unused block; infinite if all fit.

        Args:
            memory_bytes: memory for each object.
        """
        if memory_bytes >= self.bytes_each:
            return math.inf
        low, high = 1e-15, 64.0
        if self._held_bytes(low) >= memory_bytes:
            return 0.0
        return float(scipy.optimize.brentq(lambda x: self._held_bytes(x) - memory_bytes, low, high, xtol=1e-15))

    def reads(self, memory_bytes: float) -> Reads:
        """Return the reads of look-ups with so much memory for each object."""
        lookups = self.lookups(memory_bytes)
        return Reads(_missed(self.folders, lookups), _missed(self.files, lookups))


def fill_fraction(metadata: Metadata, objects: float, capacity_bytes: float) -> float:
    """Return how full a file system is with a number of objects, of space or of inodes, whichever is more."""
    most = next((fraction for size, fraction in _INODE_SPACE if capacity_bytes <= size), 0.01)
    pages = -(-metadata.data_bytes // PAGE_BYTES) * PAGE_BYTES
    inodes = metadata.inodes * _INODE_ON_DRIVE_BYTES
    return max(objects * (pages + inodes) / capacity_bytes, objects * inodes / (most * capacity_bytes))


@dataclass(frozen=True)
class Reads:
    """Probabilities that the blocks of a look-up are read from the drive, in the order in which it needs them.

    Attributes:
        folders: of its name; the first tells whether there is such a name.
        files: of the inodes of its folders and files.
    """

    folders: tuple[float, ...] = ()
    files: tuple[float, ...] = ()

    @property
    def found(self) -> tuple[float, ...]:
        """Of a look-up of an object that is there."""
        return self.folders + self.files

    @property
    def absent(self) -> tuple[float, ...]:
        """Of a look-up of an object that is not there."""
        return self.folders[:1]


NO_READS = Reads()
"""Look-ups of metadata that are all in memory."""


def _missed(blocks: Sequence[Blocks], lookups: float) -> tuple[float, ...]:
    return tuple(missed for each in blocks if (missed := each.missed(lookups)) > _LEAST)


def written_back(objects: float, changes: float, changed: Sequence[Blocks] = (LEAF,)) -> float:
    """Return the accesses that write metadata back for each new or removed object.

    A change is of a random block of each kind. Of B blocks, ``p = 1 - exp(-n / B)`` are changed by n changes within
    `WRITE_BACK_S`, and changed neighbours are one access, which leaves ``B p (1 - p)``.

    Args:
        objects: objects of the drive.
        changes: within `WRITE_BACK_S`, n.
        changed: kinds of blocks: a new name changes a leaf, and its inodes are next to those of others; a removed one
            changes its inodes' clusters, too.
    """
    if not changes:
        return 0.0
    total = _OTHERS_WRITTEN
    for each in changed:
        blocks = max(objects / each.objects, 1.0)
        fraction = -math.expm1(-changes / blocks)
        total += blocks * fraction * (1 - fraction) / changes
    return total
