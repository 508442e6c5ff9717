"""Resharding of bucket indexes: when it happens, how long it takes, and who waits for it.

Before Tentacle all index writes of the bucket are refused while its entries are copied, and the requests that make them
look again every 5 s. Since Tentacle changes are logged while the copy goes on, and writes wait only while the log is
replayed. Reads of objects never wait. Sources: ceph `src/rgw/driver/rados/rgw_reshard.cc`, `rgw_rados.cc`
(`block_while_resharding`), `src/common/options/rgw.yaml.in`; https://ceph.io/en/news/blog/2026/rgw-improved-resharding/.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heapreplace
from typing import Literal

from pydantic import Field

from models.ceph.mechanisms.bucket_index import (
    MAX_DYNAMIC_SHARDS,
    OBJECTS_PER_SHARD,
    Rounding,
    needs_reshard,
    next_shards,
)
from models.ceph.mechanisms.releases import Release, since
from traces.errors import InputError
from traces.units import Seconds
from traces.workload.distributions import Strict

Mode = Literal["blocking", "two_phase"]

LOG_SHARDS = 16
"""rgw_reshard_num_logs: queues of buckets to be resharded; a worker locks one and does its buckets in turn."""


def default_mode(release: Release) -> Mode:
    """How a release reshards (ceph pull request 56597; it falls back to blocking where an OSD is older)."""
    return "two_phase" if since(release, "tentacle") else "blocking"


def one_by_one(release: Release) -> bool:
    """Whether only one blocked request gets through in each round of looking again.

    Since Nautilus (pull request 24406) who looks again needs the bucket's reshard lock to learn of the new shards, and
    only one of those that come together gets it. Mended in Reef (pull request 48411).
    """
    return since(release, "nautilus") and not since(release, "reef")


class Resharding(Strict):
    """How gateways reshard bucket indexes.

    The latency of a batch is assumed. Published reshards imply, with 64 entries a batch and 128 batches under way,
    107 ms (Squid: 20 M objects in 262 s), 93 ms (500 M in 5663 s), 91 ms (100 M in 1110 s, pull request 56757) and
    66 ms (17 M in 137 s); Tentacle's 90 ms (20 M in 220 s) and 22 ms (500 M in 1344 s); two crowded cores 780 ms.

    The limit of looks is one loop of `block_while_resharding`; `RGWRados::guard_reshard` may repeat it ten times.
    """

    dynamic: bool = Field(True, description="rgw_dynamic_resharding: buckets are resharded as they grow")
    interval: Seconds = Field(600.0, gt=0, description="rgw_reshard_thread_interval: between a worker's scans")
    per_shard: int = Field(OBJECTS_PER_SHARD, ge=1, description="rgw_max_objs_per_shard: more than this is too many")
    max_shards: int = Field(MAX_DYNAMIC_SHARDS, ge=1, description="rgw_max_dynamic_shards")
    min_shards: int | None = Field(None, ge=1, description="least count chosen; absent: the release's")
    rounding: Rounding | None = Field(None, description="of the count chosen; absent: the release's")
    multisite: bool = Field(False, description="room for 8 times the objects is made, not for twice")
    mode: Mode | None = Field(None, description="whether writes wait for the copy; absent: the release's")
    batch: int = Field(64, ge=1, description="rgw_reshard_batch_size: entries written together")
    aio: int = Field(128, ge=1, description="rgw_reshard_max_aio: batches under way")
    batch_latency: Seconds = Field(0.1, gt=0, description="of one batch, with so many under way (assumed)")
    poll: Seconds = Field(5.0, gt=0, description="between looks of a blocked request; 30 s in the first Luminous")
    poll_limit: int = Field(10, ge=1, description="looks after which a blocked request is answered with error 504")

    @property
    def entries_per_s(self) -> float:
        """Speed of the copy."""
        return copy_entries_per_s(self.batch, self.aio, self.batch_latency)


@dataclass(frozen=True)
class Reshard:
    """One reshard of one bucket.

    Attributes:
        at_s: when it begins.
        bucket: which of the buckets.
        objects: entries of its index then.
        copy_s: how long its entries are copied.
        blocked_s: how long its writes are blocked: the copy, or in two phases the replay that follows it.
    """

    at_s: float
    bucket: int
    objects: int
    old_shards: int
    new_shards: int
    mode: Mode
    copy_s: float
    blocked_s: float

    @property
    def blocked_from_s(self) -> float:
        """When its writes begin to wait."""
        return self.at_s + (self.copy_s if self.mode == "two_phase" else 0.0)

    @property
    def end_s(self) -> float:
        """When the new shards are in use."""
        return self.blocked_from_s + self.blocked_s


def copy_entries_per_s(batch: int, aio: int, batch_latency_s: float) -> float:
    """Index entries copied a second: `aio` batches of `batch` entries each are under way (Little's law)."""
    return batch * aio / batch_latency_s


def reshard(
    objects: float,
    old_shards: int,
    new_shards: int,
    settings: Resharding,
    release: Release,
    *,
    growth_ops: float = 0.0,
    at_s: float = 0.0,
    bucket: int = 0,
) -> Reshard:
    """A reshard, also one asked for by hand (``radosgw-admin bucket reshard``), to any count.

    In two phases what is written during the copy is replayed, at the copy's speed (assumed).

    Args:
        growth_ops: index entries written a second while it goes on.
    """
    mode = settings.mode or default_mode(release)
    copy_s = objects / settings.entries_per_s
    blocked_s = growth_ops * copy_s / settings.entries_per_s if mode == "two_phase" else copy_s
    return Reshard(at_s, bucket, int(objects), old_shards, new_shards, mode, copy_s, blocked_s)


def schedule(
    objects_start: float,
    objects_end: float,
    growth_ops: float,
    settings: Resharding,
    release: Release,
    *,
    shards: int,
    buckets: int = 1,
    workers: int = 1,
) -> tuple[Reshard, ...]:
    """The dynamic reshards of buckets that grow in step, in the order they begin.

    A bucket is resharded at the first scan after it has grown beyond its shards' limit. A worker does one bucket after
    the other, so buckets that cross the limit together wait for each other. Growth is not held up by the waiting.

    Args:
        objects_start, objects_end: of each bucket; time counts from the start.
        growth_ops: objects that each bucket gains a second.
        shards: of each bucket at the start.
        workers: gateways that reshard: each has one worker, and no more than `LOG_SHARDS` of them find work.

    Raises:
        InputError: a count is below 1, growth is not above 0, or the buckets shrink.
    """
    if min(shards, buckets, workers) < 1 or not growth_ops > 0 or not 0 <= objects_start <= objects_end:
        raise InputError(
            f"resharding of {buckets} buckets, {shards} shards, {workers} workers, {objects_start:g} to "
            f"{objects_end:g} objects, {growth_ops:g} a second: counts must be at least 1, growth above 0, "
            "and objects must not shrink"
        )
    if not settings.dynamic:
        return ()
    counts = [shards] * buckets
    free_s = [0.0] * min(workers, LOG_SHARDS)
    end_s = (objects_end - objects_start) / growth_ops
    events: list[Reshard] = []
    while min(counts) < settings.max_shards:
        crossing_s = max((min(counts) * settings.per_shard - objects_start) / growth_ops, 0.0)
        scan_s = max((crossing_s // settings.interval + 1) * settings.interval, free_s[0])
        if scan_s > end_s:
            break
        found = objects_start + growth_ops * scan_s
        due = [b for b, n in enumerate(counts) if needs_reshard(found, n, settings.per_shard, settings.max_shards)]
        for bucket in due:
            at_s = max(scan_s, free_s[0])
            objects = objects_start + growth_ops * at_s
            new = next_shards(
                objects, release, settings.rounding, settings.multisite, settings.max_shards, settings.per_shard,
                settings.min_shards,
            )  # fmt: skip
            event = reshard(
                objects, counts[bucket], new, settings, release, growth_ops=growth_ops, at_s=at_s, bucket=bucket
            )
            heapreplace(free_s, event.end_s)
            counts[bucket] = new
            events.append(event)
    return tuple(event for event in events if event.at_s <= end_s)


def release_times(
    event: Reshard, writers: int, settings: Resharding, release: Release, poll_limit: float | None = None
) -> tuple[float, ...]:
    """How long each of the writers waits that come as the bucket's writes begin to be blocked, shape (writers,).

    Each looks again every `poll`; where they get through one by one, the k-th does so k - 1 rounds after the first.

    Args:
        poll_limit: looks at most, None: as the settings say.

    Returns:
        seconds; infinite for those that are answered with an error after `poll_limit` looks.
    """
    limit = settings.poll_limit if poll_limit is None else poll_limit
    first = max(math.ceil(event.blocked_s / settings.poll), 1)
    rounds = (first + k * one_by_one(release) for k in range(writers))
    return tuple(n * settings.poll if n <= limit else math.inf for n in rounds)
