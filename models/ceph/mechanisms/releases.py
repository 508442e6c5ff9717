"""Ceph's releases in order, and the defaults that changed with them as a table.

Mechanisms that a release replaced (rounding of shards, resharding in two phases, erasure codes) are next to these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Release = Literal["jewel", "luminous", "mimic", "nautilus", "octopus", "pacific", "quincy", "reef", "squid", "tentacle"]

RELEASES: tuple[Release, ...] = get_args(Release)
"""Oldest first."""


def since(release: Release, first: Release) -> bool:
    """Whether `release` is `first` or a later one."""
    return RELEASES.index(release) >= RELEASES.index(first)


_MIB, _GIB = 1 << 20, 1 << 30
_ROCKSDB = "bluestore_rocksdb_options; ceph.io on RocksDB tuning, 2022, and on its compression in Squid"


@dataclass(frozen=True)
class ChangedDefault:
    """A default that a release has changed.

    Attributes:
        option: name of the option.
        first: the first release with it.
        value: the default, of OSDs on a hard disk if there are two.
        on_flash: the default of other OSDs, if it differs.
        source: where it is stated, besides src/common/options/ (before Quincy src/common/options.cc).
    """

    option: str
    first: Release
    value: float
    on_flash: float | None = None
    source: str = ""


CHANGES = (
    ChangedDefault("bluestore_min_alloc_size", "jewel", 64 << 10, 16 << 10),
    ChangedDefault("bluestore_min_alloc_size", "octopus", 64 << 10, 4 << 10),
    ChangedDefault("bluestore_min_alloc_size", "pacific", 4 << 10, source="ceph PR 34588"),
    ChangedDefault("bluestore_prefer_deferred_size", "jewel", 32 << 10, 0),
    ChangedDefault("bluestore_prefer_deferred_size", "pacific", 64 << 10, 0),
    ChangedDefault("bluestore_max_blob_size", "jewel", 512 << 10, 64 << 10),
    ChangedDefault("bluestore_max_blob_size", "pacific", 64 << 10, source="assumed: with ceph PR 39691"),
    ChangedDefault("bluestore_deferred_batch_ops", "jewel", 64, 16),
    ChangedDefault("max_write_buffer_number", "jewel", 4, source=_ROCKSDB),
    ChangedDefault("max_write_buffer_number", "reef", 128, source=_ROCKSDB),
    ChangedDefault("max_write_buffer_number", "squid", 64, source=_ROCKSDB),
    ChangedDefault("write_buffer_size", "jewel", 256 * _MIB, source=_ROCKSDB),
    ChangedDefault("write_buffer_size", "reef", 8 * _MIB, source=_ROCKSDB),
    ChangedDefault("write_buffer_size", "squid", 16 * _MIB, source=_ROCKSDB),
    ChangedDefault("min_write_buffer_number_to_merge", "jewel", 1, source=_ROCKSDB),
    ChangedDefault("min_write_buffer_number_to_merge", "reef", 16, source=_ROCKSDB),
    ChangedDefault("min_write_buffer_number_to_merge", "squid", 6, source=_ROCKSDB),
    ChangedDefault("recycle_log_file_num", "jewel", 4, source=_ROCKSDB),
    ChangedDefault("recycle_log_file_num", "reef", 0, source=_ROCKSDB),
    ChangedDefault("max_background_compactions", "jewel", 2, source=_ROCKSDB),
    ChangedDefault("max_background_compactions", "reef", 3, source="three of max_background_jobs, 4"),
    ChangedDefault("level0_file_num_compaction_trigger", "jewel", 4, source="RocksDB's own"),
    ChangedDefault("level0_file_num_compaction_trigger", "reef", 8, source=_ROCKSDB),
    ChangedDefault("max_bytes_for_level_base", "jewel", 256 * _MIB, source="RocksDB's own"),
    ChangedDefault("max_bytes_for_level_base", "reef", _GIB, source=_ROCKSDB),
    ChangedDefault("max_bytes_for_level_multiplier", "jewel", 10, source="RocksDB's own"),
    ChangedDefault("max_bytes_for_level_multiplier", "reef", 8, source=_ROCKSDB),
    ChangedDefault("rocksdb_compression_ratio", "jewel", 1.0, source="compression off"),
    ChangedDefault("rocksdb_compression_ratio", "squid", 2.68, source="LZ4; measured (ceph.io)"),
    ChangedDefault("bluestore_rocksdb_cfs O(n)", "jewel", 1),
    ChangedDefault("bluestore_rocksdb_cfs O(n)", "pacific", 3),
    ChangedDefault("osd_op_num_shards", "jewel", 5),
    ChangedDefault("osd_op_num_shards", "luminous", 5, 8, source="ceph PR 15422, 2017"),
    ChangedDefault("osd_op_num_shards", "reef", 1, 8, source="ceph PR 58509, 2024, which point releases have"),
    ChangedDefault("osd_op_num_threads_per_shard", "jewel", 2),
    ChangedDefault("osd_op_num_threads_per_shard", "luminous", 1, 2, source="ceph PR 15422, 2017"),
    ChangedDefault("osd_op_num_threads_per_shard", "reef", 5, 2, source="ceph PR 58509, 2024"),
    ChangedDefault("rgw_thread_pool_size", "jewel", 100),
    ChangedDefault("rgw_thread_pool_size", "luminous", 512, source="ceph PRs 22581 and 24034, 2018"),
    ChangedDefault("osd_mclock_recovery_fraction", "quincy", 0.25, source="profile high_client_ops"),
    ChangedDefault("osd_mclock_recovery_fraction", "reef", 0.5, source="profile balanced"),
)
"""Oldest first, by option; in all releases an option has the value of its last change until then."""


def default(option: str, release: Release, rotational: bool = False) -> float:
    """Return the default of an option in a release.

    Raises:
        KeyError: no change of the option until this release is known.
    """
    found = [change for change in CHANGES if change.option == option and since(release, change.first)]
    if not found:
        raise KeyError(option)
    last = found[-1]
    return last.value if rotational or last.on_flash is None else last.on_flash
