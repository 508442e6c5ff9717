"""A bucket's index: how many shards it has, when it needs more, and what a LIST asks of them.

A shard is one RADOS object, so its operations are done one at a time on its primary OSD.
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
"""Key and value of one entry, about; IBM Storage Ceph 7 object gateway guide, "Index pool"."""
LIST_MAX_AIO = 128
"""rgw_bucket_index_max_aio: shards that a gateway asks at a time."""
LIST_MIN_ENTRIES = 8
"""Entries that a LIST asks of a shard at least."""
DELETE_KEYS = 1000
"""Keys of one S3 multi-object DELETE at most."""
DELETE_MAX_AIO = 16
"""rgw_multi_obj_del_max_aio: keys of one multi-object DELETE that are removed at a time."""

_GROWTH, _GROWTH_MULTISITE = 2, 8


def default_rounding(release: Release) -> Rounding:
    """To what dynamic resharding rounds the new count: primes since Nautilus (ceph pull request 30795).

    Powers of two before are what the published series of RHCS 3.3 shows (16 to 512 shards).
    """
    return "prime" if since(release, "nautilus") else "power of two"


def default_min_shards(release: Release) -> int:
    """Least count that dynamic resharding chooses: 11 since Squid.

    A constant in `rgw_reshard.cc`, as old as the reduction of shards (pull request 57538); 16.2 was seen to go 1, 2, 5.
    """
    return 11 if since(release, "squid") else 1


def needs_reshard(
    objects: float, shards: int, per_shard: int = OBJECTS_PER_SHARD, max_shards: int = MAX_DYNAMIC_SHARDS
) -> bool:
    """Whether dynamic resharding gives a bucket more shards."""
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
    """The shards that dynamic resharding gives a bucket of so many objects.

    Room for twice the objects (multisite: eight times), rounded, between `min_shards` and `max_shards`.

    Args:
        objects: entries of the index.
        rounding, min_shards: None: as the release does it.
    """
    least = default_min_shards(release) if min_shards is None else min_shards
    wanted = int(objects * (_GROWTH_MULTISITE if multisite else _GROWTH) / per_shard)
    wanted = max(least, min(max_shards, wanted), 1)
    prime = (rounding or default_rounding(release)) == "prime"
    rounded = _next_prime(wanted) if prime else 2 ** round(math.log2(wanted))
    return min(max_shards, max(least, rounded))


def entries_per_shard(keys: int, shards: int) -> int:
    """Entries that an ordered LIST of `keys` keys asks of each shard.

    Its even share and a few standard deviations: max(8, 1 + floor(n/s) + sqrt(2 n ln(s) / s)), the greatest load of s
    bins that n balls are thrown into (Raab and Steger 1998). RGW reads ahead: a page of fewer keys asks for 1001.
    """
    spread = math.sqrt(2 * keys * math.log(shards) / shards)
    return max(LIST_MIN_ENTRIES, int(1 + keys // shards + spread))


def _next_prime(number: int) -> int:
    """The least prime that is not below `number`, or 1; beyond the 1999 of RGW's own list the number itself."""
    for candidate in range(number, MAX_DYNAMIC_SHARDS + 1):
        if all(candidate % divisor for divisor in range(2, math.isqrt(candidate) + 1)):
            return candidate
    return number
