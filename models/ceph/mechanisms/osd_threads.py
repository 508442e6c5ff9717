"""The threads of an OSD: how many operations it executes at the same time, and how many cores it makes use of.

An OSD divides its placement groups among shards by their number, each with a queue and worker threads
(spg_t::hash_to_shard, src/osd/osd_types.h). A worker takes the next operation of its shard, waits for the lock of the
operation's placement group, executes it, and waits for its reads (src/osd/OSD.cc, OSD::ShardedOpWQ::_process;
BlueStore::_do_read). Writes are only prepared by it: other threads write and commit them.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.ceph.mechanisms.releases import Release, default

_GROUPS_PER_THREAD = 4


@dataclass(frozen=True)
class Workers:
    """The worker threads of an OSD: the number of its shards, and of threads of each."""

    shards: int
    threads_per_shard: int

    @staticmethod
    def of(shards: int | None, threads_per_shard: int | None, release: Release, rotational: bool) -> Workers:
        """Return the numbers that are given; None: the release's for OSDs on a hard disk, or on flash."""
        return Workers(
            shards or int(default("osd_op_num_shards", release, rotational)),
            threads_per_shard or int(default("osd_op_num_threads_per_shard", release, rotational)),
        )

    @property
    def count(self) -> int:
        """Number of threads of all shards."""
        return self.shards * self.threads_per_shard


def has_pg_locks(groups: float, threads: int) -> bool:
    """Whether an OSD has so few placement groups that it executes fewer operations at a time than it has threads.

    Operations of one placement group are executed one at a time. With 4 groups for each thread, a group has two of as
    many operations as there are threads for 11 % of them, which is left out.
    """
    return groups < _GROUPS_PER_THREAD * threads


def usable_cores(cores: int, osds: int, contention: float) -> int:
    """Return the number of cores of a host that its OSDs keep busy, rounded; at least 1.

    Amdahl's law for the threads of an OSD: with c cores for each of them, an OSD keeps ``c / (1 + contention (c - 1))``
    busy. With 0.044 this is within 8 % of published throughputs of 4 KiB blocks from 2 to 20 threads a drive, of reads
    up to the limit of the workers, and of writes (ceph.io, "OSDs per NVMe", 2023).
    """
    each = max(1.0, cores / osds)
    return max(1, round(cores / (1 + contention * (each - 1))))
