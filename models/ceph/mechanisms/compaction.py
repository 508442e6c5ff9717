"""RocksDB's background work: flushes and compactions as bursts of I/O.

A user byte is a byte handed to RocksDB, before its compression.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from models.ceph.mechanisms.rocksdb import Placement, RocksDbOptions, level_targets

_FILE_BYTES = 64 << 20  # target_file_size_base, RocksDB's default
_OVERLAP = 0.5  # of the next level's bytes over the same keys that a merge rewrites, on the mean: assumed


@dataclass(frozen=True)
class Burst:
    """Background I/O on one device of an OSD, once in every `every_s` seconds."""

    every_s: float
    read_bytes: float
    write_bytes: float
    on_slow: bool


def written_per_byte(options: RocksDbOptions, placement: Placement) -> tuple[float, ...]:
    """Bytes written into L0 … Ln for each byte flushed (as it is on the device).

    A flush writes it into L0. A compaction of L0 rewrites all of L1. In a deeper level it is merged with the bytes of
    the same keys, which are as many as the level is larger than the one above: the level's growth factor is the most
    that is rewritten, and less in practice (Callaghan, "LSM math: how many levels minimizes write amplification?",
    2018); half of it here (assumed). A level that is still empty takes nothing.
    """
    targets, held = level_targets(options), placement.level_bytes
    compacted = options.level0_trigger * _flush_bytes(options) * options.column_families
    written = [1.0, 1 + held[1] / compacted if held[1] else 0.0]
    for size, target_above in zip(held[2:], targets[1:], strict=False):
        written.append(1 + _OVERLAP * size / target_above if size else 0.0)
    return tuple(written)


def write_amplification(options: RocksDbOptions, placement: Placement) -> float:
    """Bytes that flushes and compactions write for each user byte; the write-ahead log comes on top."""
    return sum(written_per_byte(options, placement)) / options.compression_ratio


def slow_write_fraction(options: RocksDbOptions, placement: Placement) -> float:
    """Share of the bytes of flushes and compactions that is written to the slow device."""
    written = written_per_byte(options, placement)
    slow = sum(size * fraction for size, fraction in zip(written, placement.slow_fractions, strict=True))
    return slow / sum(written)


def bursts(options: RocksDbOptions, placement: Placement, user_bytes_per_s: float) -> tuple[Burst, ...]:
    """The flushes and compactions of one OSD.

    L0 is compacted as a whole once it has its trigger's number of files; deeper levels move a file of 64 MiB at a time.
    Where a level is on both devices, each gets its share of every burst.
    """
    if user_bytes_per_s <= 0:
        return ()
    flushed_s = options.merge * options.memtable_bytes / user_bytes_per_s
    written, flush = written_per_byte(options, placement), _flush_bytes(options)
    result = list(_on_devices(placement, 0, 0.0, flush, 1.0, flushed_s))
    for level in range(1, options.levels):
        if not written[level]:
            continue
        moved = options.level0_trigger * flush if level == 1 else _FILE_BYTES
        result += _on_devices(placement, level, moved, moved, written[level], flushed_s * moved / flush)
    return tuple(result)


def _flush_bytes(options: RocksDbOptions) -> float:
    """Bytes that a flush writes."""
    return options.merge * options.memtable_bytes / options.compression_ratio


def _on_devices(
    placement: Placement, level: int, read_above: float, moved: float, written: float, every_s: float
) -> Iterator[Burst]:
    """What moving `moved` bytes into a level is for each device.

    Args:
        read_above: bytes read from the level above.
        written: bytes written for each byte moved; those beyond it are read from the level first.
    """
    fraction, above = placement.slow_fractions[level], placement.slow_fractions[max(0, level - 1)]
    for on_slow, here, there in ((False, 1 - fraction, 1 - above), (True, fraction, above)):
        read = read_above * there + moved * (written - 1) * here
        write = moved * written * here
        if read or write:
            yield Burst(every_s, read, write, on_slow)
