"""RocksDB under BlueStore: options by release, sizes of its levels, spillover, and lookups.

Bytes of a database are bytes on a device (compressed) of all column families, unless stated otherwise. The *fast*
device is the OSD's block.db, the *slow* one its data device; without a block.db everything is on the slow one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from models.ceph.mechanisms.releases import Release, default, since
from traces.errors import InputError
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import Bytes
from traces.workload.distributions import Strict

Policy = Literal["rocksdb_original", "use_some_extra", "fit_to_fast"]

_GIB = 1 << 30
_DB_FRACTION = 0.95  # of block.db that BlueStore lets RocksDB use (src/os/bluestore/BlueStore.cc)
_LEVEL0_RESERVE = _GIB  # L0 as use_some_extra counts it, independent of the options (same file)
_RESERVED_FACTOR = 2.0  # bluestore_volume_selection_reserved_factor
_ALLOCATION = 1 << 20  # bluefs_alloc_size
_BLUEFS_LOG = 16 << 20  # up to bluefs_log_compact_min_size
_INDEX_FRACTION = 0.02  # of a database's bytes in index and filter blocks: assumed (keys of ~80 B, blocks of 4 KiB)
_MEMTABLE_BYTES = 8 << 20
_MEMTABLE_DOUBLING = 0.11


FILE_BYTES = 64 << 20
"""Bytes of a file of tables: target_file_size_base, RocksDB's default."""

_RELEASE = Basis(
    "Ceph's default of the release (bluestore_rocksdb_options, src/common/options/global.yaml.in), or RocksDB's own"
)
_METADATA = Basis("derived from a published series: (28 + 80) GB for 54.4 M shard objects (Red Hat, 10^9 objects)")


def memtable_factor(memtable_bytes: float) -> float:
    """Return how much longer insertions into memtables take than with memtables of 8 MiB.

    An insertion into a skip list compares a key of each of its levels, whose number grows with the logarithm of the
    entries, and in a large list each of them misses the processor's caches. 23.6 K PUT/s with memtables of 256 MiB and
    36.5 K/s with 8 MiB (ceph.io, "RocksDB tuning deep dive", 2022) are 11 % more time for each doubling. Smaller ones
    are assumed to take as long as those of 8 MiB, which fit into the caches.
    """
    return 1 + _MEMTABLE_DOUBLING * max(0.0, math.log2(memtable_bytes / _MEMTABLE_BYTES))


class RocksDb(Strict):
    """RocksDB's options on every OSD; absent ones are the release's defaults."""

    memtables: Annotated[int, _RELEASE] | None = Field(
        None, ge=2, description="Largest number of memtables (max_write_buffer_number); absent: the release's."
    )
    memtable_bytes: Annotated[Bytes, _RELEASE, Field(gt=0)] | None = Field(
        None, description="Size of a memtable (write_buffer_size); absent: the release's."
    )
    merge: Annotated[int, _RELEASE] | None = Field(
        None,
        ge=1,
        description="Number of memtables merged in a flush (min_write_buffer_number_to_merge); absent: the release's.",
    )
    level0_trigger: Annotated[int, _RELEASE] | None = Field(
        None,
        ge=1,
        description="Number of files in L0 that starts a compaction (level0_file_num_compaction_trigger); absent: the "
        "release's.",
    )
    level_base_bytes: Annotated[Bytes, _RELEASE, Field(gt=0)] | None = Field(
        None, description="Size of L1 (max_bytes_for_level_base); absent: the release's."
    )
    level_multiplier: Annotated[float, Unit("", "10"), _RELEASE, Field(gt=1)] | None = Field(
        None,
        description="Size of a level over that of the level before (max_bytes_for_level_multiplier); absent: the "
        "release's.",
    )
    levels: Annotated[int, _RELEASE] | None = Field(
        None, ge=2, le=16, description="Number of levels, including L0 (num_levels); absent: the release's."
    )
    policy: Annotated[Policy, _RELEASE] | None = Field(
        None,
        description="Rule by which levels are placed on block.db (bluestore_volume_selection_policy); absent: the "
        "release's.",
    )
    compression_ratio: Annotated[float, Unit("", "2.5"), _RELEASE, Field(ge=1)] | None = Field(
        None, description="Ratio of bytes before to bytes after RocksDB's compression; absent: the release's."
    )
    wal_bytes: Annotated[Bytes, _RELEASE] | None = Field(
        None, description="Largest size of the write-ahead log (max_total_wal_size); absent: the release's."
    )
    column_families: Annotated[int, _RELEASE] | None = Field(
        None, ge=1, description="Number of shards of the column family with the onodes, O(n); absent: the release's."
    )
    bloom_bits: Annotated[float, Unit("bit", "20"), _RELEASE, Field(gt=0)] | None = Field(
        None, description="Size of Bloom filters per key (rocksdb_bloom_bits_per_key); absent: the release's."
    )
    metadata_bytes_per_object: Annotated[Bytes, _METADATA, Field(gt=0)] | None = Field(
        None,
        description="Size of RocksDB's metadata of each object on an OSD (a replica or a chunk), before compression; "
        "absent: 2050 B.",
    )

    def options(self, release: Release) -> RocksDbOptions:
        """Return the options with the release's defaults."""
        return replace(rocksdb_defaults(release), **self.model_dump(exclude_none=True))


@dataclass(frozen=True)
class RocksDbOptions:
    """The options of `RocksDb` with all defaults filled in, and two more of the release.

    Attributes:
        recycled_logs: files of the write-ahead log that are kept for further use (recycle_log_file_num).
        compactions: compactions at the same time (max_background_compactions, or three of four max_background_jobs).
    """

    memtables: int
    memtable_bytes: int
    merge: int
    level0_trigger: int
    level_base_bytes: int
    level_multiplier: float
    levels: int
    policy: Policy
    compression_ratio: float
    wal_bytes: int
    column_families: int
    bloom_bits: float
    metadata_bytes_per_object: int
    recycled_logs: int
    compactions: int

    @property
    def false_positive_fraction(self) -> float:
        """False positives of a Bloom filter: ``0.6185 ** bits`` with the optimal number of hashes (Broder and
        Mitzenmacher, Internet Mathematics 1(4), 2004), 0.8 % with 10 bits."""
        return float(0.6185**self.bloom_bits)


def rocksdb_defaults(release: Release) -> RocksDbOptions:
    """Return the default options of a release.

    What changed is in `releases.CHANGES`. num_levels 7 is RocksDB's own default. The WAL's limit is 1 GiB in all
    releases: an option since Pacific, the product of the memtables before.

    Bytes of metadata: more than (28 GiB + 80 GB) / 54.4 million shard objects = 2024, derived from a published series
    (Luminous, 10^9 objects of 64 KB, EC 4+2, >80 GB spilled per OSD). They include all that RocksDB stored there:
    onodes, free list, logs of placement groups, and bucket indexes if they were on the same OSDs.
    """
    return RocksDbOptions(
        memtables=int(default("max_write_buffer_number", release)),
        memtable_bytes=int(default("write_buffer_size", release)),
        merge=int(default("min_write_buffer_number_to_merge", release)),
        level0_trigger=int(default("level0_file_num_compaction_trigger", release)),
        level_base_bytes=int(default("max_bytes_for_level_base", release)),
        level_multiplier=default("max_bytes_for_level_multiplier", release),
        levels=7,
        policy="use_some_extra" if since(release, "octopus") else "rocksdb_original",
        compression_ratio=default("rocksdb_compression_ratio", release),
        wal_bytes=_GIB,
        column_families=int(default("bluestore_rocksdb_cfs O(n)", release)),
        bloom_bits=20,  # since Luminous
        metadata_bytes_per_object=2050,
        recycled_logs=int(default("recycle_log_file_num", release)),
        compactions=int(default("max_background_compactions", release)),
    )


def level_targets(options: RocksDbOptions) -> tuple[float, ...]:
    """Return the bytes of L0 … Ln when full; RocksDB counts L0 like L1 (LevelCompactionBuilder::GetPathId)."""
    return tuple(target * options.column_families for target in _family_targets(options))


def _family_targets(options: RocksDbOptions) -> tuple[float, ...]:
    grown = (options.level_base_bytes * options.level_multiplier**i for i in range(options.levels - 1))
    return (options.level_base_bytes, *grown)


def level_bytes(options: RocksDbOptions, total_bytes: float) -> tuple[float, ...]:
    """Return the bytes in L0 … Ln of a database: levels are full from L0 on, and the next one has the rest.

    Raises:
        InputError: `total_bytes` is negative.
    """
    if total_bytes < 0:
        raise InputError(f"total_bytes is {total_bytes}; at least 0 is allowed")
    sizes: list[float] = []
    for target in level_targets(options)[:-1]:
        sizes.append(min(target, total_bytes))
        total_bytes -= sizes[-1]
    return (*sizes, total_bytes)


@dataclass(frozen=True)
class Placement:
    """Where a database's bytes are.

    Attributes:
        level_bytes: bytes of each level.
        slow_fractions: the fraction of each on the slow device.
        is_full: whether block.db lacks space for what belongs there, so that the log goes to the slow device, too.
    """

    level_bytes: tuple[float, ...]
    slow_fractions: tuple[float, ...]
    is_full: bool = False

    @property
    def exchanged(self) -> Placement:
        """The same with the fast device as the slow one, and the other way round."""
        return Placement(self.level_bytes, tuple(1 - fraction for fraction in self.slow_fractions))

    @property
    def total_bytes(self) -> float:
        return sum(self.level_bytes)

    @property
    def spilled_bytes(self) -> float:
        """Bytes on the slow device."""
        return sum(size * fraction for size, fraction in zip(self.level_bytes, self.slow_fractions, strict=True))


def place(options: RocksDbOptions, total_bytes: float, db_bytes: float) -> Placement:
    """Return where a database's bytes are, with a block.db of `db_bytes` (0: none).

    A level belongs to block.db if its target and those of the levels before it fit into 95 % of it (RocksDB's
    GetPathId, which considers one column family at a time). With ``use_some_extra`` part of the next levels may use
    the space beyond a reserve; with ``fit_to_fast`` all levels belong there. What does not fit into block.db goes to
    the slow device (BlueFS), where it stays; levels are assumed to be placed from L0 on.
    """
    sizes = level_bytes(options, total_bytes)
    whole = _whole_levels(options, db_bytes)
    room, is_full = table_room(options, db_bytes), False
    extra = _extra_bytes(options, db_bytes) if options.policy == "use_some_extra" else 0.0
    slow_fractions: list[float] = []
    for level, size in enumerate(sizes):
        belongs = size if level < whole else min(size, extra)
        fast = min(belongs, room)
        is_full |= belongs > room
        room -= fast
        extra -= fast if level >= whole else 0.0
        slow_fractions.append(1 - fast / size if size else float(level >= whole))
    return Placement(sizes, tuple(slow_fractions), is_full)


def table_room(options: RocksDbOptions, db_bytes: float) -> float:
    """Return the bytes of tables that a block.db has space for, besides logs and compactions.

    It has the write-ahead log, the files of it that are kept for further use, and the log of BlueFS. A table leaves
    half a unit of allocation unused. Compactions of L0 write their output before they delete their input, one in each
    column family at most. What finds no space then goes to the slow device for good, so that space counts as taken, up
    to half of what the logs leave (assumed, as smaller ones were not measured).

    Measured on Pacific with 256 MiB, levels of 16 MiB and three column families: spilled from between 95 and 129 MiB of
    tables on, here from 128; 202 of 330 MiB, here 202. These were known when the model was made.
    """
    flushed = options.level0_trigger * options.merge * options.memtable_bytes / options.compression_ratio
    jobs = min(options.compactions, options.column_families)
    logs = options.wal_bytes + options.recycled_logs * options.memtable_bytes + _BLUEFS_LOG
    room = max(0.0, db_bytes - logs)
    room -= min(room / 2, jobs * (flushed + options.level_base_bytes))
    return room / (1 + _ALLOCATION / 2 / min(FILE_BYTES, options.memtable_bytes))


def _whole_levels(options: RocksDbOptions, db_bytes: float) -> int:
    """Return how many levels, from L0 on, belong to block.db."""
    if options.policy == "fit_to_fast" and db_bytes:
        return options.levels
    room = _DB_FRACTION * db_bytes
    for level, target in enumerate(_family_targets(options)):
        room -= target
        if room < 0:
            return level
    return options.levels


def _extra_bytes(options: RocksDbOptions, db_bytes: float) -> float:
    """Return the bytes of block.db that use_some_extra gives to further levels (RocksDBBlueFSVolumeSelector).

    The reserve is L0 … Li and twice L(i+1), for the largest i for which it fits into 95 % of block.db.
    """
    usable = _DB_FRACTION * db_bytes
    lower, extra = float(_LEVEL0_RESERVE), 0.0
    for target, after in pairwise(_family_targets(options)[1:]):
        lower += target
        reserve = lower + _RESERVED_FACTOR * after
        if usable <= reserve:
            break
        extra = usable - reserve
    return extra


def block_cache_hit_fraction(
    options: RocksDbOptions, total_bytes: float, cache_bytes: float, requested_bytes: float | None = None
) -> float:
    """Return the fraction of data blocks found in RocksDB's block cache, for keys requested equally often.

    Blocks are cached uncompressed; index and filter blocks have priority
    (rocksdb_cache_index_and_filter_blocks_with_high_priority).

    Args:
        total_bytes: size of the database.
        cache_bytes: size of the block cache.
        requested_bytes: size of the part that lookups request; None: all of it.
    """
    requested = total_bytes if requested_bytes is None else min(requested_bytes, total_bytes)
    room = cache_bytes - _INDEX_FRACTION * total_bytes * options.compression_ratio
    return _cached_fraction(requested * options.compression_ratio, room)


def slow_reads_per_lookup(
    options: RocksDbOptions, placement: Placement, cache_bytes: float, requested_bytes: float | None = None
) -> float:
    """Return the expected reads of the slow device per lookup of a key that is in the database.

    A lookup descends through the levels. At each it reads a filter (index and filter block), and a data block if the
    key is there or the filter gives a false positive. The probability of a key's level is the level's fraction of the
    requested bytes; the newest are in the upper levels.

    Args:
        cache_bytes: size of RocksDB's block cache.
        requested_bytes: size of the newest keys, which lookups request; None: all keys.
    """
    requested = left = min(placement.total_bytes, math.inf if requested_bytes is None else requested_bytes)
    filter_miss = _filter_miss_fraction(options, placement, cache_bytes)
    data_miss = 1 - block_cache_hit_fraction(options, placement.total_bytes, cache_bytes, requested)
    reads = above = 0.0
    for size, fraction in zip(placement.level_bytes, placement.slow_fractions, strict=True):
        here = min(size, left)
        if here:
            reads += here / requested * (above + fraction * (filter_miss + data_miss))
            above += fraction * (filter_miss + options.false_positive_fraction * data_miss)
            left -= here
    return reads


def slow_reads_per_absent_lookup(options: RocksDbOptions, placement: Placement, cache_bytes: float) -> float:
    """Return the expected reads of the slow device per lookup of an absent key, such as a new object's.

    All levels are searched; each filter excludes the key or gives a false positive.
    """
    data_miss = 1 - block_cache_hit_fraction(options, placement.total_bytes, cache_bytes)
    passed = _filter_miss_fraction(options, placement, cache_bytes) + options.false_positive_fraction * data_miss
    levels = zip(placement.level_bytes, placement.slow_fractions, strict=True)
    return passed * sum(fraction for size, fraction in levels if size)


def _filter_miss_fraction(options: RocksDbOptions, placement: Placement, cache_bytes: float) -> float:
    filters = _INDEX_FRACTION * placement.total_bytes * options.compression_ratio
    return 1 - _cached_fraction(filters, cache_bytes)


def _cached_fraction(wanted_bytes: float, cache_bytes: float) -> float:
    return min(1.0, max(0.0, cache_bytes) / wanted_bytes) if wanted_bytes else 1.0
