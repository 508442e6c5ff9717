"""The state of a cluster by its number of objects: fill, size and spillover of RocksDB, cache hits, index entries.

All OSDs are assumed to hold the same amount, and all objects of the working set to be read equally often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from models.capabilities import Effect
from models.ceph.mechanisms.bucket_index import OBJECTS_PER_SHARD
from models.ceph.mechanisms.compaction import slow_write_fraction
from models.ceph.mechanisms.rocksdb import (
    RocksDbOptions,
    block_cache_hit_fraction,
    place,
    slow_reads_per_absent_lookup,
    slow_reads_per_lookup,
)
from traces.errors import InputError

ONODE_BYTES = 6 << 10
"""An onode in BlueStore's cache, with its extents and blobs: assumed (4 to 8 KiB)."""

FULL_FRACTIONS = {"nearfull": 0.85, "backfillfull": 0.90, "full": 0.95}
"""mon_osd_nearfull_ratio, mon_osd_backfillfull_ratio, mon_osd_full_ratio."""

_MIB = 1 << 20


@dataclass(frozen=True)
class StateInputs:
    """The inputs of the state other than the number of objects."""

    object_bytes: float
    """mean bytes of an object of the cluster that are in the data pool"""
    shards_per_object: float
    """replicas or chunks of it in the pool: RADOS objects x (replicas, or k + m) x fraction of the objects there"""
    allocated_bytes_per_shard: float
    alloc_unit_bytes: int
    """min_alloc_size"""
    osds: float
    """number of OSDs such as this one that would have all data"""
    device_bytes: float
    """the data device of an OSD"""
    db_bytes: float
    """block.db of an OSD; 0: none"""
    rocks: RocksDbOptions
    memory_target_bytes: float
    """osd_memory_target"""
    buckets: int
    shards_per_bucket: int
    working_set_objects: float | None = None
    """number of newest objects that reads request; None: all"""


@dataclass(frozen=True)
class ClusterState:
    """The state of a cluster; bytes and shard objects are those of one OSD."""

    objects: float
    shard_objects: float
    stored_bytes: float
    """bytes of clients' objects, without redundancy"""
    allocated_bytes: float
    fill_fraction: float
    """fraction of the data device used, including spilled metadata; above 1: they do not fit"""
    metadata_bytes: float
    """RocksDB, compressed"""
    level_bytes: tuple[float, ...]
    spilled_bytes: float
    """RocksDB's bytes on the data device"""
    level_slow_fractions: tuple[float, ...]
    onode_hit_fraction: float
    block_cache_hit_fraction: float
    entries_per_index_shard: float
    slow_reads_per_lookup: float
    """reads of the data device to find the onode of an existing object that is not in the onode cache"""
    slow_reads_per_absent_lookup: float
    """the same for an object that does not exist yet"""
    fast_reads_per_lookup: float
    fast_reads_per_absent_lookup: float
    """the same reads of block.db; 0 without one"""
    slow_write_fraction: float
    """fraction of the bytes of flushes and compactions written to the data device"""


def cache_bytes(memory_target_bytes: float) -> tuple[float, float]:
    """Return the sizes of BlueStore's caches in bytes: onodes, and RocksDB's block cache.

    In total ``osd_memory_target x (1 - osd_memory_expected_fragmentation 0.15) - osd_memory_base 768 MiB``, at
    least osd_memory_cache_min 128 MiB (BlueStore::MempoolThread). The split is the initial one of auto-tuning:
    bluestore_cache_meta_ratio 0.45, bluestore_cache_kv_ratio 0.45 and bluestore_cache_kv_onode_ratio 0.04.
    """
    whole = max(128 * _MIB, 0.85 * memory_target_bytes - 768 * _MIB)
    return 0.45 * whole, 0.49 * whole


def state_at(inputs: StateInputs, objects: float) -> ClusterState:
    """Return the state of a cluster with this number of objects.

    Raises:
        InputError: `objects` is negative.
    """
    if objects < 0:
        raise InputError(f"objects is {objects}; at least 0 is allowed")
    rocks = inputs.rocks
    per_osd = inputs.shards_per_object / inputs.osds
    shard_objects = objects * per_osd
    read_objects = min(objects, inputs.working_set_objects or objects) * per_osd
    metadata_each = rocks.metadata_bytes_per_object / rocks.compression_ratio
    metadata, requested = shard_objects * metadata_each, read_objects * metadata_each
    placed = place(rocks, metadata, inputs.db_bytes)
    allocated = shard_objects * inputs.allocated_bytes_per_shard
    fill = (allocated + placed.spilled_bytes) / inputs.device_bytes
    on_fast, has_db = placed.exchanged, inputs.db_bytes > 0
    onode_cache, block_cache = cache_bytes(inputs.memory_target_bytes)
    return ClusterState(
        objects=objects,
        shard_objects=shard_objects,
        stored_bytes=objects * inputs.object_bytes / inputs.osds,
        allocated_bytes=allocated,
        fill_fraction=fill,
        metadata_bytes=metadata,
        level_bytes=placed.level_bytes,
        spilled_bytes=placed.spilled_bytes,
        level_slow_fractions=placed.slow_fractions,
        onode_hit_fraction=min(1.0, onode_cache / (read_objects * ONODE_BYTES)) if read_objects else 1.0,
        block_cache_hit_fraction=block_cache_hit_fraction(rocks, metadata, block_cache, requested),
        entries_per_index_shard=objects / (inputs.buckets * inputs.shards_per_bucket),
        slow_reads_per_lookup=slow_reads_per_lookup(rocks, placed, block_cache, requested),
        slow_reads_per_absent_lookup=slow_reads_per_absent_lookup(rocks, placed, block_cache),
        fast_reads_per_lookup=slow_reads_per_lookup(rocks, on_fast, block_cache, requested) if has_db else 0.0,
        fast_reads_per_absent_lookup=slow_reads_per_absent_lookup(rocks, on_fast, block_cache) if has_db else 0.0,
        slow_write_fraction=slow_write_fraction(rocks, placed),
    )


@lru_cache(maxsize=64)
def events(inputs: StateInputs, objects_low: int, objects_high: int, imbalance: float = 1.0) -> tuple[Effect, ...]:
    """Return the effects that begin between two numbers of objects, in order, without those present at the lower.

    `imbalance`: bytes of the fullest OSD over those of the mean one; the fullest reaches the limits of space.
    """
    found = []
    state = lru_cache(maxsize=None)(partial(state_at, inputs))  # the first steps of all effects are the same
    for name, text, holds in _effects(inputs, imbalance):
        objects = _first(state, holds, objects_low, objects_high)
        if objects is not None:
            found.append(Effect(name, objects, text))
    return tuple(sorted(found, key=lambda event: event.objects))


_Effect = tuple[str, str, Callable[[ClusterState], bool]]


def _effects(inputs: StateInputs, imbalance: float) -> list[_Effect]:
    effects: list[_Effect] = [
        (
            "onode cache",
            "fewer than half of the onodes that are read fit into BlueStore's cache",
            lambda state: state.onode_hit_fraction < 0.5,
        ),
        (
            "block cache",
            "fewer than half of RocksDB's blocks that are read fit into its cache",
            lambda state: state.block_cache_hit_fraction < 0.5,
        ),
        (
            "index shards",
            f"more than {OBJECTS_PER_SHARD:,} entries in an index shard: resharding, or a health warning",
            lambda state: state.entries_per_index_shard > OBJECTS_PER_SHARD,
        ),
    ]
    effects += [_full(name, fraction, imbalance) for name, fraction in FULL_FRACTIONS.items()]
    if inputs.db_bytes:
        effects += [_spill(level) for level in range(inputs.rocks.levels)]
    return effects


def _full(name: str, fraction: float, imbalance: float) -> _Effect:
    mean = fraction / imbalance
    of_mean = f"; OSDs are {mean:.0%} full on average" if imbalance > 1 else ""
    refuses = ": a real cluster refuses writes" if name == "full" else ""
    return name, f"the fullest OSD is {fraction:.0%} full{of_mean}{refuses}", lambda state: state.fill_fraction >= mean


def _spill(level: int) -> _Effect:
    return (
        f"spill L{level}",
        f"level {level} of RocksDB begins to spill from block.db to the data device",
        lambda state: state.level_bytes[level] * state.level_slow_fractions[level] > 0,
    )


def _first(
    state: Callable[[int], ClusterState], holds: Callable[[ClusterState], bool], low: int, high: int
) -> int | None:
    """Return the smallest number of objects above `low`, up to `high`, from which `holds` is true, or None."""
    if holds(state(low)) or not holds(state(high)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(state(middle)) else (middle, high)
    return high
