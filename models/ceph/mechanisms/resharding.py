"""Resharding of bucket indexes: when it happens, how long it takes, and which requests wait for it.

Before Tentacle all index writes of the bucket are refused while its entries are copied, and blocked requests poll every
5 s. Since Tentacle changes are logged during the copy, and writes wait only while the log is replayed. Reads of objects
never wait. A real 16.2.15 had seven commits one after the other while writes were blocked: 0.33 s on drives of 8 ms, of
which the model has 0.22 s. Sources: ceph `src/rgw/driver/rados/rgw_reshard.cc`, `rgw_rados.cc`
(`block_while_resharding`), `src/common/options/rgw.yaml.in`; https://ceph.io/en/news/blog/2026/rgw-improved-resharding/.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heapreplace
from typing import Annotated, Literal

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
from traces.spec.field_notes import Basis
from traces.spec.units import MOST_COUNT, Seconds
from traces.workload.distributions import Strict

Mode = Literal["blocking", "two_phase"]
_RESHARD = Basis("default of the release: src/rgw/driver/rados/rgw_reshard.cc")
_RGW = Basis("Ceph's default: src/common/options/rgw.yaml.in")

LOG_SHARDS = 16
"""rgw_reshard_num_logs: queues of buckets to be resharded; a worker locks one and processes its buckets in turn."""


BLOCKED_COMMITS = 7
"""Commits one after the other while writes are blocked, before Tentacle, as the log of a real 16.2.15 has them: flags
of the old shards, instance of the bucket, entries of the new shards (at least one batch), bucket of the user, entry
point, instance again, lock; then the old shards are removed."""


def default_mode(release: Release) -> Mode:
    """Return the resharding mode of a release (ceph pull request 56597; blocking if an OSD is older)."""
    return "two_phase" if since(release, "tentacle") else "blocking"


def default_batch_latency_s(release: Release) -> float:
    """Return the assumed latency of a batch of copied entries in s: see `Resharding` for what it follows from."""
    return 0.1 if since(release, "pacific") else 0.29


def one_by_one(release: Release) -> bool:
    """Return whether only one blocked request proceeds in each round of polling.

    Since Nautilus (pull request 24406) a polling request needs the bucket's reshard lock to learn about the new shards,
    and only one of several at the same time gets it. Fixed in Reef (pull request 48411).
    """
    return since(release, "nautilus") and not since(release, "reef")


class Resharding(Strict):
    """How gateways reshard bucket indexes.

    The latency of a batch is assumed. Published reshards imply, with 64 entries per batch and 128 batches in progress,
    107 ms (Squid: 20 M objects in 262 s), 93 ms (500 M in 5663 s), 91 ms (100 M in 1110 s, pull request 56757) and
    66 ms (17 M in 137 s); Tentacle's 90 ms (20 M in 220 s) and 22 ms (500 M in 1344 s); two overloaded cores 780 ms.
    The only one of a release before Pacific, whose database is not sharded by column families, implies 250 to 330 ms
    (30 M in 15 to 20 minutes: rook issue 6304, drives unknown).

    The poll limit is one loop of `block_while_resharding`; `RGWRados::guard_reshard` may repeat it ten times.
    """

    dynamic: bool = Field(True, description="Whether buckets are resharded as they grow (rgw_dynamic_resharding).")
    interval: Annotated[Seconds, _RGW] = Field(
        600.0,
        gt=0,
        description="Time between two scans of a gateway for buckets to reshard (rgw_reshard_thread_interval).",
    )
    per_shard: Annotated[int, _RGW] = Field(
        OBJECTS_PER_SHARD,
        ge=1,
        description="Number of objects per shard above which a bucket is resharded (rgw_max_objs_per_shard).",
    )
    max_shards: Annotated[int, _RGW] = Field(
        MAX_DYNAMIC_SHARDS,
        ge=1,
        description="Largest number of shards that dynamic resharding chooses (rgw_max_dynamic_shards).",
    )
    min_shards: Annotated[int, _RESHARD] | None = Field(
        None,
        ge=1,
        le=MOST_COUNT,
        description="Smallest number of shards that dynamic resharding chooses; absent: the release's.",
    )
    rounding: Annotated[Rounding, _RESHARD] | None = Field(
        None, description="Rounding of the new number of shards, to a prime or a power of two; absent: the release's."
    )
    multisite: bool = Field(
        False,
        description="Whether the cluster is multisite: new shards are for eight times the objects instead of twice.",
    )
    mode: Annotated[Mode, _RESHARD] | None = Field(
        None, description="Whether writes wait for the whole copy or for a replay only; absent: the release's."
    )
    batch: Annotated[int, _RGW] = Field(
        64, ge=1, le=MOST_COUNT, description="Number of index entries written together (rgw_reshard_batch_size)."
    )
    aio: Annotated[int, _RGW] = Field(
        128, ge=1, le=MOST_COUNT, description="Number of batches in progress at the same time (rgw_reshard_max_aio)."
    )
    batch_latency: (
        Annotated[
            Seconds,
            Basis(
                "assumed by release; published reshards imply 0.02 to 0.11 s, one before Pacific 0.25 to 0.33 s, two "
                "overloaded cores 0.78 s",
                1e-3,
                1,
            ),
        ]
        | None
    ) = Field(
        None,
        gt=0,
        description="Latency of a batch while `aio` of them are in progress; absent: 0.1 s, before Pacific 0.29 s.",
    )
    poll: Annotated[Seconds, Basis("block_while_resharding in src/rgw/driver/rados/rgw_rados.cc", 0.1, 60)] = Field(
        5.0, gt=0, description="Polling interval of a blocked request; 30 s in the first versions of Luminous."
    )
    poll_limit: Annotated[
        int, Basis("one loop of block_while_resharding; RGWRados::guard_reshard may repeat it ten times", 1, 100)
    ] = Field(10, ge=1, description="Number of polls after which a blocked request fails with error 504.")

    def entries_per_s(self, release: Release) -> float:
        """Return the index entries copied per second."""
        latency_s = default_batch_latency_s(release) if self.batch_latency is None else self.batch_latency
        return copy_entries_per_s(self.batch, self.aio, latency_s)


@dataclass(frozen=True)
class Reshard:
    """One reshard of one bucket.

    Attributes:
        at_s: start time.
        bucket: number of the bucket.
        objects: entries of its index at that time.
        copy_s: duration of the copy.
        blocked_s: how long writes are blocked: during the copy, or with two phases during the replay after it.
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
        """Time from which writes are blocked."""
        return self.at_s + (self.copy_s if self.mode == "two_phase" else 0.0)

    @property
    def end_s(self) -> float:
        """Time from which the new shards are in use."""
        return self.blocked_from_s + self.blocked_s


def copy_entries_per_s(batch: int, aio: int, batch_latency_s: float) -> float:
    """Return the index entries copied per second, with `aio` batches in progress (Little's law)."""
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
    commit_s: float = 0.0,
) -> Reshard:
    """Return a reshard to any number of shards, dynamic or manual (``radosgw-admin bucket reshard``).

    With two phases, writes during the copy are replayed at the copy's speed (assumed).

    Args:
        growth_ops: index entries written per second during the reshard.
        commit_s: time of a commit of an OSD.
    """
    mode = settings.mode or default_mode(release)
    entries_per_s = settings.entries_per_s(release)
    copy_s = objects / entries_per_s + (BLOCKED_COMMITS * commit_s if mode == "blocking" else 0.0)
    blocked_s = growth_ops * copy_s / entries_per_s if mode == "two_phase" else copy_s
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
    """Return the dynamic reshards of buckets that grow at the same rate, in order of their start.

    A bucket is resharded at the first scan after it has outgrown its shards. A worker processes one bucket after the
    other, so buckets that cross the limit together wait for each other. Blocking does not slow down growth.

    Args:
        objects_start, objects_end: objects in each bucket; time 0 is the start.
        growth_ops: objects added to each bucket per second.
        shards: shards of each bucket at the start.
        workers: gateways that reshard; each has one worker, at most `LOG_SHARDS` of which find work.

    Raises:
        InputError: a count is below 1, growth is not above 0, or the buckets shrink.
    """
    if min(shards, buckets, workers) < 1 or not growth_ops > 0 or not 0 <= objects_start <= objects_end:
        raise InputError(
            f"resharding of {buckets} buckets, {shards} shards, {workers} workers, {objects_start:g} to "
            f"{objects_end:g} objects, {growth_ops:g} per second: counts must be at least 1, growth above 0, "
            "and the number of objects must not decrease"
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
    """Return the waiting times of writers that arrive just as the bucket's writes are blocked.

    Each polls every `poll`; if they proceed one by one, the k-th does so k - 1 rounds after the first.

    Args:
        poll_limit: largest number of polls; None: that of the settings.

    Returns:
        seconds, shape (writers,); infinite for those that fail after `poll_limit` polls.
    """
    limit = settings.poll_limit if poll_limit is None else poll_limit
    first = max(math.ceil(event.blocked_s / settings.poll), 1)
    rounds = (first + k * one_by_one(release) for k in range(writers))
    return tuple(n * settings.poll if n <= limit else math.inf for n in rounds)
