"""The index of a bucket: number of shards, when more are needed, and the entries that a LIST reads.

A shard is one RADOS object, so its primary OSD executes one operation on it at a time. An operation locks it until all
replicas have committed, if it counts as a read of data and a write (RWEXCL, PrimaryLogPG::get_rw_locks). Calls of
classes no longer do since 16.2.15, 17.2.8 and 18.2.2 (ceph pull requests 54593 to 54595, after 45852). Operations are
then pipelined: one waits, with its worker, until the transaction of the one before was submitted to RocksDB, which
kv_sync does when it begins a batch (BlueStore::Onode::flush, _txc_apply_kv). On drives of 24 ms, 8 and 16 clients of a
real 16.2.15 reached 12.6 and 18.8 PUTs of 4 KiB/s (model: 13.0 and 18.9); with the lock, the model has 11.2 and 14.9.
Sources: ceph `src/rgw/driver/rados/rgw_reshard.cc` (`RGWBucketReshard::calculate_preferred_shards`), `rgw_rados.cc`
(`RGWRados::calc_ordered_bucket_list_per_shard`, 19.2.6) and `src/common/options/rgw.yaml.in`.
"""

from __future__ import annotations

import math
from typing import Literal

from models.ceph.mechanisms.releases import Release, since

Rounding = Literal["prime", "power of two"]

OBJECTS_PER_SHARD = 100_000
"""rgw_max_objs_per_shard."""
MAX_DYNAMIC_SHARDS = 1999
"""rgw_max_dynamic_shards; also the largest prime that counts are rounded to."""
INDEX_ENTRY_BYTES = 200
"""Approximate size of an entry's key and value; IBM Storage Ceph 7 object gateway guide, "Index pool"."""
LIST_MAX_AIO = 128
"""rgw_bucket_index_max_aio: shards that a gateway queries at the same time."""
LIST_MIN_ENTRIES = 8
"""Smallest number of entries that a LIST requests from a shard."""
_GROWTH, _GROWTH_MULTISITE = 2, 8


def default_rounding(release: Release) -> Rounding:
    """Return how dynamic resharding rounds the new count: to primes since Nautilus (ceph pull request 30795).

    Before, powers of two, as in the published series of RHCS 3.3 (16 to 512 shards).
    """
    return "prime" if since(release, "nautilus") else "power of two"


def default_pipelined(release: Release) -> bool:
    """Return whether operations on a shard are pipelined in all point releases: since Squid."""
    return since(release, "squid")


def default_min_shards(release: Release) -> int:
    """Return the smallest count that dynamic resharding chooses: 11 since Squid.

    A constant in `rgw_reshard.cc` since the reduction of shards (pull request 57538); 16.2 went 1, 2, 5 in a test.
    """
    return 11 if since(release, "squid") else 1


def needs_reshard(
    objects: float, shards: int, per_shard: int = OBJECTS_PER_SHARD, max_shards: int = MAX_DYNAMIC_SHARDS
) -> bool:
    """Return whether dynamic resharding increases the shards of a bucket."""
    return shards < max_shards and objects > shards * per_shard


def next_shards(
    objects: float,
    release: Release,
    rounding: Rounding | None = None,
    multisite: bool = False,
    max_shards: int = MAX_DYNAMIC_SHARDS,
    per_shard: int = OBJECTS_PER_SHARD,
    min_shards: int | None = None,
) -> int:
    """Return the number of shards that dynamic resharding chooses for a bucket.

    Enough for twice the objects (multisite: eight times), rounded, between `min_shards` and `max_shards`.

    Args:
        objects: entries of the index.
        rounding, min_shards: None: the release's defaults.
    """
    least = default_min_shards(release) if min_shards is None else min_shards
    wanted = int(objects * (_GROWTH_MULTISITE if multisite else _GROWTH) / per_shard)
    wanted = max(least, min(max_shards, wanted), 1)
    prime = (rounding or default_rounding(release)) == "prime"
    rounded = _next_prime(wanted) if prime else 2 ** round(math.log2(wanted))
    return min(max_shards, max(least, rounded))


def entries_per_shard(keys: int, shards: int, release: Release = "reef") -> int:
    """Return the entries that an ordered LIST of `keys` keys requests from each shard.

    An equal part and a few standard deviations: max(8, 1 + floor(n/s) + sqrt(2 n ln(s) / s)), the maximum load of n
    balls in s bins (Raab and Steger 1998). RGW reads ahead: a page of fewer keys requests 1001. Before Nautilus, all
    of the keys were requested from each shard (pull requests 30853 and 33675).
    """
    if not since(release, "nautilus"):
        return keys
    spread = math.sqrt(2 * keys * math.log(shards) / shards)
    return max(LIST_MIN_ENTRIES, int(1 + keys // shards + spread))


def _next_prime(number: int) -> int:
    """Return the smallest prime that is at least `number`, or 1; beyond 1999, the end of RGW's list, `number`."""
    for candidate in range(number, MAX_DYNAMIC_SHARDS + 1):
        if all(candidate % divisor for divisor in range(2, math.isqrt(candidate) + 1)):
            return candidate
    return number
