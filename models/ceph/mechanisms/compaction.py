"""RocksDB's flushes and compactions as bursts of background I/O.

A user byte is a byte written to RocksDB, before its compression.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from models.ceph.mechanisms.rocksdb import FILE_BYTES, Placement, RocksDbOptions, level_targets

_OVERLAP = 0.5  # mean fraction of the next level's bytes with the same keys that a merge rewrites: assumed


@dataclass(frozen=True)
class Burst:
    """Background I/O on one device of an OSD, once every `every_s` seconds."""

    every_s: float
    read_bytes: float
    write_bytes: float
    on_slow: bool


def written_per_byte(options: RocksDbOptions, placement: Placement) -> tuple[float, ...]:
    """Return the bytes written into L0 … Ln for each byte flushed (compressed).

    A flush writes it into L0. A compaction of L0 rewrites all of L1. In a deeper level it is merged with bytes of the
    same keys: at most the growth factor between the levels, and less in practice (Callaghan, "LSM math: how many levels
    minimizes write amplification?", 2018); half of it here (assumed). Nothing is written into an empty level.
    """
    targets, sizes = level_targets(options), placement.level_bytes
    compacted = options.level0_trigger * _flush_bytes(options) * options.column_families
    written = [1.0, 1 + sizes[1] / compacted if sizes[1] else 0.0]
    for size, target_above in zip(sizes[2:], targets[1:], strict=False):
        written.append(1 + _OVERLAP * size / target_above if size else 0.0)
    return tuple(written)


def slow_write_fraction(options: RocksDbOptions, placement: Placement) -> float:
    """Return the fraction of the bytes of flushes and compactions that is written to the slow device."""
    written = written_per_byte(options, placement)
    slow = sum(size * fraction for size, fraction in zip(written, placement.slow_fractions, strict=True))
    return slow / sum(written)


def bursts(options: RocksDbOptions, placement: Placement, user_bytes_per_s: float) -> tuple[Burst, ...]:
    """Return the flushes and compactions of one OSD.

    L0 is compacted as a whole when its number of files reaches the trigger; deeper levels move one file of 64 MiB at a
    time. If a level is on both devices, each burst is divided between them in proportion.
    """
    if user_bytes_per_s <= 0:
        return ()
    flushed_s = options.merge * options.memtable_bytes / user_bytes_per_s
    written, flush = written_per_byte(options, placement), _flush_bytes(options)
    result = list(_on_devices(placement, 0, 0.0, flush, 1.0, flushed_s))
    for level in range(1, options.levels):
        if not written[level]:
            continue
        moved = options.level0_trigger * flush if level == 1 else FILE_BYTES
        result += _on_devices(placement, level, moved, moved, written[level], flushed_s * moved / flush)
    return tuple(result)


def _flush_bytes(options: RocksDbOptions) -> float:
    """Return the bytes written by a flush."""
    return options.merge * options.memtable_bytes / options.compression_ratio


def _on_devices(
    placement: Placement, level: int, read_above: float, moved: float, written: float, every_s: float
) -> Iterator[Burst]:
    """Yield the burst on each device for moving `moved` bytes into a level.

    Args:
        read_above: bytes read from the level above.
        written: bytes written for each byte moved; those beyond 1 are read from the level first.
    """
    fraction, above = placement.slow_fractions[level], placement.slow_fractions[max(0, level - 1)]
    for on_slow, here, there in ((False, 1 - fraction, 1 - above), (True, fraction, above)):
        read = read_above * there + moved * (written - 1) * here
        write = moved * written * here
        if read or write:
            yield Burst(every_s, read, write, on_slow)
