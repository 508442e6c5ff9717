"""Fragmentation: the extents of a chunk on an OSD whose free space is what deletes have left.

A chunk that is larger than the free extents is divided among several of them, each of which takes a positioning of a
hard disk to write and to read. Allocators take freed extents even on drives with much unused space: ceph pull requests
45755 (first fit given up after 100 extents on a mostly empty drive) and 60870 (objects of different sizes are deleted,
larger ones then need several accesses); the free space of the hybrid allocator's benchmark is 0.92 fragmented (52489).
They come back to freed space only at the end of the drive, so accesses seek over more of it. Of 1 KB to 256 KB on 4+2,
free extents of 20 KiB, the mean chunk, give 0.9 of the published throughput after a day, 10 KiB half of it.
"""

from __future__ import annotations


def mean_extents(stored_bytes: float, free_extent_bytes: float, unit_bytes: int, churn: float) -> float:
    """Return the mean number of extents of a chunk.

    Extents of the same size that follow each other on the drive are assumed to be rare. Remainders of extents that are
    used in part are left out, which would give more.

    Args:
        stored_bytes: size of the chunk, in whole allocation units.
        free_extent_bytes: mean size of the free extents, at least an allocation unit.
        unit_bytes: allocation unit.
        churn: fraction of the chunks that are written to such space; others are contiguous.
    """
    divided = max(1.0, stored_bytes / max(free_extent_bytes, unit_bytes))
    return 1 + churn * (divided - 1)
