"""RocksDB under BlueStore: its options by release, how full its levels are, and which of their bytes spill.

Bytes of a database are bytes on a device (compressed), all column families together, unless said otherwise. The *fast*
device is the OSD's block.db, the *slow* one its data device; without a block.db all is on the slow one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from models.ceph.mechanisms.releases import Release, since
from traces.errors import InputError
from traces.units import Bytes
from traces.workload.distributions import Strict

Policy = Literal["rocksdb_original", "use_some_extra", "fit_to_fast"]

_MIB = 1 << 20
_GIB = 1 << 30
_DB_FRACTION = 0.95  # of block.db is what RocksDB is told it may use (src/os/bluestore/BlueStore.cc)
_LEVEL0_RESERVE = _GIB  # L0 as use_some_extra counts it, whatever the options say (same file)
_RESERVED_FACTOR = 2.0  # bluestore_volume_selection_reserved_factor
_INDEX_FRACTION = 0.02  # index and filter blocks in a database's bytes: assumed (keys of ~80 B, blocks of 4 KiB)


class RocksDb(Strict):
    """RocksDB's options on every OSD; what is absent is as the release has it."""

    memtables: int | None = Field(None, ge=2, description="max_write_buffer_number")
    memtable_bytes: Annotated[Bytes, Field(gt=0)] | None = Field(None, description="write_buffer_size")
    merge: int | None = Field(None, ge=1, description="min_write_buffer_number_to_merge: memtables a flush takes")
    level0_trigger: int | None = Field(None, ge=1, description="level0_file_num_compaction_trigger")
    level_base_bytes: Annotated[Bytes, Field(gt=0)] | None = Field(
        None, description="max_bytes_for_level_base: size of L1"
    )
    level_multiplier: float | None = Field(None, gt=1, description="max_bytes_for_level_multiplier")
    levels: int | None = Field(None, ge=2, le=16, description="num_levels, L0 included")
    policy: Policy | None = Field(None, description="bluestore_volume_selection_policy")
    compression_ratio: float | None = Field(None, ge=1, description="bytes before / after RocksDB's compression")
    wal_bytes: Bytes | None = Field(None, description="max_total_wal_size")
    column_families: int | None = Field(None, ge=1, description="shards of the families that hold onodes: O(n)")
    bloom_bits: float | None = Field(None, gt=0, description="rocksdb_bloom_bits_per_key")
    metadata_bytes_per_object: Annotated[Bytes, Field(gt=0)] | None = Field(
        None,
        description="bytes of RocksDB for each object that an OSD holds (a replica or a shard), before compression",
    )

    def options(self, release: Release) -> RocksDbOptions:
        """These options, those absent as in the release."""
        return replace(rocksdb_defaults(release), **self.model_dump(exclude_none=True))


@dataclass(frozen=True)
class RocksDbOptions:
    """The options of `RocksDb`, all known."""

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

    @property
    def false_positive_fraction(self) -> float:
        """Keys not in a file that its Bloom filter lets through: ``0.6185 ** bits`` with the best number of hashes
        (Broder and Mitzenmacher, Internet Mathematics 1(4), 2004), 0.8 % with 10 bits."""
        return float(0.6185**self.bloom_bits)


def rocksdb_defaults(release: Release) -> RocksDbOptions:
    """A release's own options.

    Memtables and levels: bluestore_rocksdb_options (src/common/options/global.yaml.in; ceph.io on RocksDB tuning, 2022,
    and on its compression in Squid, 2.68:1). RocksDB's own defaults where that sets none: num_levels 7, L1 256 MiB,
    multiplier 10, L0 trigger 4. Column families are sharded O(3) since Pacific (bluestore_rocksdb_cfs). The WAL's limit
    is 1 GiB in all releases: an option since Pacific, the product of the memtables before.

    Bytes of metadata: more than (28 GiB + 80 GB) / 54.4 million shard objects = 2024, derived from a published series
    (Luminous, 10^9 objects of 64 KB, EC 4+2, >80 GB spilled an OSD). It holds all that RocksDB had there: onodes, free
    list, logs of placement groups, and bucket indexes if they shared those OSDs.
    """
    squid, reef = since(release, "squid"), since(release, "reef")
    return RocksDbOptions(
        memtables=64 if squid else 128 if reef else 4,
        memtable_bytes=16 * _MIB if squid else 8 * _MIB if reef else 256 * _MIB,
        merge=6 if squid else 16 if reef else 1,
        level0_trigger=8 if reef else 4,
        level_base_bytes=_GIB if reef else 256 * _MIB,
        level_multiplier=8 if reef else 10,
        levels=7,
        policy="use_some_extra" if since(release, "octopus") else "rocksdb_original",
        compression_ratio=2.68 if squid else 1.0,
        wal_bytes=_GIB,
        column_families=3 if since(release, "pacific") else 1,
        bloom_bits=20,  # since Luminous
        metadata_bytes_per_object=2050,
    )


def level_targets(options: RocksDbOptions) -> tuple[float, ...]:
    """Bytes of L0 … Ln when full. RocksDB takes L0 to be as large as L1 (LevelCompactionBuilder::GetPathId)."""
    return tuple(target * options.column_families for target in _family_targets(options))


def _family_targets(options: RocksDbOptions) -> tuple[float, ...]:
    grown = (options.level_base_bytes * options.level_multiplier**i for i in range(options.levels - 1))
    return (options.level_base_bytes, *grown)


def level_bytes(options: RocksDbOptions, total_bytes: float) -> tuple[float, ...]:
    """Bytes in L0 … Ln of a database of so many bytes: the lower levels full, the rest in the next.

    Raises:
        InputError: `total_bytes` is negative.
    """
    if total_bytes < 0:
        raise InputError(f"total_bytes is {total_bytes}; a database has 0 bytes or more")
    held: list[float] = []
    for target in level_targets(options)[:-1]:
        held.append(min(target, total_bytes))
        total_bytes -= held[-1]
    return (*held, total_bytes)


@dataclass(frozen=True)
class Placement:
    """Where a database's bytes are: bytes of each level, and the share of each that is on the slow device."""

    level_bytes: tuple[float, ...]
    slow_fractions: tuple[float, ...]

    @property
    def total_bytes(self) -> float:
        return sum(self.level_bytes)

    @property
    def spilled_bytes(self) -> float:
        """Bytes on the slow device."""
        return sum(held * fraction for held, fraction in zip(self.level_bytes, self.slow_fractions, strict=True))

    @property
    def fast_bytes(self) -> float:
        """Bytes on block.db, without the write-ahead log."""
        return self.total_bytes - self.spilled_bytes


def place(options: RocksDbOptions, total_bytes: float, db_bytes: float) -> Placement:
    """Where a database's bytes are, with a block.db of `db_bytes` (0: there is none).

    A level belongs to block.db if its target and those below fit into 95 % of it (GetPathId of RocksDB, which looks at
    one column family at a time). With ``use_some_extra`` part of the next levels may use what is left beyond a reserve;
    with ``fit_to_fast`` all levels belong there. What finds block.db full, the write-ahead log included, goes to the
    slow device (BlueFS); lower levels are taken to come first.
    """
    held = level_bytes(options, total_bytes)
    whole = _whole_levels(options, db_bytes)
    room = max(0.0, db_bytes - options.wal_bytes)
    extra = _extra_bytes(options, db_bytes) if options.policy == "use_some_extra" else 0.0
    shares: list[float] = []
    for level, size in enumerate(held):
        if level == whole:
            room = min(room, extra)
        fast = min(size, room)
        room -= fast
        shares.append(1 - fast / size if size else float(level >= whole))
    return Placement(held, tuple(shares))


def _whole_levels(options: RocksDbOptions, db_bytes: float) -> int:
    """How many levels, from L0 on, belong to block.db."""
    if options.policy == "fit_to_fast" and db_bytes:
        return options.levels
    room = _DB_FRACTION * db_bytes
    for level, target in enumerate(_family_targets(options)):
        room -= target
        if room < 0:
            return level
    return options.levels


def _extra_bytes(options: RocksDbOptions, db_bytes: float) -> float:
    """What use_some_extra lets levels have that do not belong to block.db (RocksDBBlueFSVolumeSelector).

    The reserve is L0 … Li and twice L(i+1), for the largest i with which it fits into 95 % of block.db.
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
    """Share of data blocks found in RocksDB's block cache, of keys asked for equally often.

    Blocks are cached uncompressed; index and filter blocks have the better place in the cache
    (rocksdb_cache_index_and_filter_blocks_with_high_priority).

    Args:
        total_bytes: the database.
        asked_bytes: the part of it that lookups are for; absent: all of it.
    """
    requested = total_bytes if requested_bytes is None else min(requested_bytes, total_bytes)
    room = cache_bytes - _INDEX_FRACTION * total_bytes * options.compression_ratio
    return _held_fraction(requested * options.compression_ratio, room)


def slow_reads_per_lookup(
    options: RocksDbOptions, placement: Placement, cache_bytes: float, requested_bytes: float | None = None
) -> float:
    """Expected reads of the slow device for the lookup of a key that is in the database.

    A lookup goes down the levels: in each it asks a filter (index and filter block), and reads a data block where the
    key is, or where the filter errs. A key is in a level with the level's share of the bytes asked for; the newest
    are in the upper levels.

    Args:
        cache_bytes: RocksDB's block cache.
        asked_bytes: lookups are for the newest keys, of so many bytes; absent: for all.
    """
    requested = left = min(placement.total_bytes, math.inf if requested_bytes is None else requested_bytes)
    filter_miss = _filter_miss_fraction(options, placement, cache_bytes)
    data_miss = 1 - block_cache_hit_fraction(options, placement.total_bytes, cache_bytes, requested)
    reads = above = 0.0
    for held, fraction in zip(placement.level_bytes, placement.slow_fractions, strict=True):
        here = min(held, left)
        if here:
            reads += here / requested * (above + fraction * (filter_miss + data_miss))
            above += fraction * (filter_miss + options.false_positive_fraction * data_miss)
            left -= here
    return reads


def slow_reads_per_absent_lookup(options: RocksDbOptions, placement: Placement, cache_bytes: float) -> float:
    """Expected reads of the slow device for the lookup of a key that is not there, as a new object's: all filters say
    so, or err."""
    data_miss = 1 - block_cache_hit_fraction(options, placement.total_bytes, cache_bytes)
    passed = _filter_miss_fraction(options, placement, cache_bytes) + options.false_positive_fraction * data_miss
    levels = zip(placement.level_bytes, placement.slow_fractions, strict=True)
    return passed * sum(fraction for held, fraction in levels if held)


def _filter_miss_fraction(options: RocksDbOptions, placement: Placement, cache_bytes: float) -> float:
    filters = _INDEX_FRACTION * placement.total_bytes * options.compression_ratio
    return 1 - _held_fraction(filters, cache_bytes)


def _held_fraction(wanted_bytes: float, cache_bytes: float) -> float:
    return min(1.0, max(0.0, cache_bytes) / wanted_bytes) if wanted_bytes else 1.0
