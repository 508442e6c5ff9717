"""The file systems of Swift's drives: how long the reads of a look-up take that memory does not answer.

An object is PARTITION/SUFFIX/HASH/TIMESTAMP.data: a partition has up to 4096 suffixes, and a suffix a folder for each
object. Files are made in a temporary folder, so XFS puts the inodes of file, hash and suffix into different
allocation groups. Metadata of up to some 250 bytes are an extended attribute inside the inode (assumed).
"""

from __future__ import annotations

import math

from models.devices.file_system import Metadata, Reads, folder, inodes
from models.network.service_demand import ServiceDemand
from models.swift.spec.spec import SwiftSpec

CACHING = 0.75
"""Fraction of a host's memory that caches files and their metadata (assumed; the rest is that of processes)."""
_SUFFIXES = 4096
_IN_INODE = 7  # names of 32 bytes that fit into the inode of their folder
_OF_DATA = 256  # entries of 16 bytes, of names of three characters, in a data block
_OF_LEAF = 358  # hashes in a leaf block, as of other folders
_ONE_BLOCK = 170  # such entries and their hashes fit into one block
_OF_SUFFIX = 85  # names of 32 bytes in a data block


def metadata_of(spec: SwiftSpec) -> Metadata:
    """Return the metadata of a stored object on each drive that has a piece of it."""
    partition = spec.stored.objects / 2**spec.ring.part_power
    suffixes = max(-_SUFFIXES * math.expm1(-partition / _SUFFIXES), 1.0)
    each = max(partition / suffixes, 1.0)
    folders = [folder(min(_OF_DATA * each, partition))]
    if suffixes > _ONE_BLOCK:
        folders.append(folder(min(_OF_LEAF * each, partition)))
    if each > _IN_INODE:
        folders.append(folder(min(each, _OF_SUFFIX)))
    data_bytes = 0.0 if spec.stored.object_size is None else spec.stored.object_size / spec.data_pieces
    return Metadata(tuple(folders), (inodes(1 / each), inodes(), inodes()), 2 + 1 / each, data_bytes)


def objects_of_drive(spec: SwiftSpec) -> float:
    """Return the number of stored objects of which the drive with the greatest weight has a piece."""
    weights = spec.ring.weights
    part = max(weights) / sum(weights) if weights else 1 / spec.total_drives
    return spec.stored.objects * spec.pieces * part


def reads_of(spec: SwiftSpec) -> Reads:
    """Return the reads of look-ups; none if all metadata are in memory, or the spec gives the time of a look-up."""
    if spec.drives.lookup.takes_time or spec.hosts.memory is None or not spec.stored.objects:
        return Reads()
    pieces = spec.stored.objects * spec.pieces / spec.hosts.count
    return metadata_of(spec).reads(CACHING * spec.hosts.memory / pieces)


def lookup_of(spec: SwiftSpec) -> ServiceDemand:
    """Return the drive time of a look-up: as the spec gives it, or that of the mean number of reads."""
    read, reads = spec.drives.read, sum(reads_of(spec).found)
    return spec.drives.lookup if read is None or not reads else read.without_bytes.scaled(reads)


def with_lookup(spec: SwiftSpec) -> SwiftSpec:
    """Return the spec with the drive time of a look-up."""
    return spec.model_copy(update={"drives": spec.drives.model_copy(update={"lookup": lookup_of(spec)})})
