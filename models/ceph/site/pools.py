"""Reads the pools and buckets of a Ceph cluster, and `ceph report`, which has most.

Formats: src/osd/osd_types.cc (pg_pool_t::dump and its text, pg_stat_t::dump), src/osd/OSD.cc (bench),
src/rgw/driver/rados/rgw_bucket.cc (bucket stats).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from models.ceph.mechanisms.redundancy import STRIPE_UNIT_BYTES
from models.ceph.site.osds import metadata_facts
from models.ceph.site.pg_text import PG_TEXT
from models.ceph.site.placed import placed_groups
from models.ceph.site.state import ROUGH, STATE, holdings
from models.site.reader import Facts, Found, Reader, SiteFile

_REPLICATED, _ERASURE = 1, 3
_LARGE_BYTES = 128 << 10
_BENCH = frozenset({"drive.write.bandwidth", "drive.write.iops"})
_POOL = re.compile(
    r"^\s*pool \d+ '(?P<name>[^']+)' (?P<kind>replicated|erasure)\b.*? size (?P<size>\d+) "
    r".*?\bpg_num (?P<groups>\d+)(?P<rest>.*)$",
    re.MULTILINE,
)


def _data_pool(pools: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the pool that the objects of buckets are in: by its name, or that with the most placement groups."""
    name = "pool_name"
    named = [pool for pool in pools if str(pool[name]).endswith("buckets.data")]
    others = [pool for pool in pools if not re.search(r"\.mgr|health_metrics|\.index|\.meta|\.log|control", pool[name])]
    return max(named or others, key=lambda pool: pool.get("pg_num", 0), default=None)


def pool_facts(pools: Sequence[Mapping[str, Any]], profiles: Mapping[str, Mapping[str, Any]]) -> Found:
    """Return protection and placement groups of the data pool, and the replicas of the index.

    Raises:
        ValueError: there is no data pool.
    """
    data = _data_pool(pools)
    if data is None:
        raise ValueError("it has no pool for data")
    facts: Facts = {"placement-groups": int(data["pg_num"])}
    notes = [f"the data are in the pool {data['pool_name']}"]
    others = [str(pool["pool_name"]) for pool in pools if pool is not data and "data" in str(pool["pool_name"])]
    if others:
        notes.append(f"left out: {', '.join(others)}; pools.second is a data pool on another device class")
    size = int(data["size"])
    if int(data.get("type", _REPLICATED)) == _ERASURE or data.get("erasure_code_profile"):
        profile = profiles.get(str(data.get("erasure_code_profile")), {})
        width = round(int(data.get("stripe_width", 0)) / STRIPE_UNIT_BYTES)
        k = int(profile.get("k", 0)) or (width if width > 1 else 0)  # stripes of 4 KiB before Luminous say nothing
        if 0 < k < size:
            facts["protection"] = f"ec {k}+{size - k}"
        else:
            facts["erasure-shards"] = size
    else:
        facts["protection"] = f"replica {size}"
    index = [int(pool["size"]) for pool in pools if str(pool["pool_name"]).endswith("buckets.index")]
    if index:
        facts["index-replicas"] = max(index)
    return Found(facts, tuple(notes))


def read_pools(file: SiteFile) -> Found:
    """Return what `ceph osd pool ls detail` says."""
    return pool_facts(file.items, {})


def read_pools_text(file: SiteFile) -> Found:
    """Return what `ceph osd pool ls detail`, or `ceph osd dump`, says as text of pools.

    The data shards of an erasure code follow from the width of a stripe and the usual unit of 4 KiB; with a unit that
    gives no code, only the number of all shards is known.
    """
    pools = [
        {
            "pool_name": match["name"],
            "type": _ERASURE if match["kind"] == "erasure" else _REPLICATED,
            "size": int(match["size"]),
            "pg_num": int(match["groups"]),
            "stripe_width": int(width[1]) if (width := re.search(r"\bstripe_width (\d+)", match["rest"])) else 0,
        }
        for match in _POOL.finditer(file.text)
    ]
    return pool_facts(pools, {})


def read_dump(file: SiteFile) -> Found:
    """Return what `ceph osd dump` says of pools."""
    return pool_facts(file.fields["pools"], file.fields.get("erasure_code_profiles", {}))


def read_buckets(file: SiteFile) -> Found:
    """Return what `radosgw-admin bucket stats` says: buckets, their objects and index shards."""
    buckets = file.items or [file.fields]
    used = [bucket["usage"]["rgw.main"] for bucket in buckets if "rgw.main" in bucket.get("usage", {})]
    objects = sum(int(usage["num_objects"]) for usage in used)
    total_bytes = sum(int(usage.get("size", usage.get("size_actual", 0))) for usage in used)
    if not objects:
        raise ValueError("no bucket of it has objects")
    shards = [int(bucket["num_shards"]) for bucket in buckets if "num_shards" in bucket]
    found = _bucket_facts([int(usage["num_objects"]) for usage in used], shards)
    return Found({**found.facts, "stored-size": f"{max(1, round(total_bytes / objects))}B"}, found.notes)


def _bucket_facts(objects: Sequence[int], shards: Sequence[int]) -> Found:
    """Return the facts of buckets with some numbers of objects, and of index shards, of which 0 is one."""
    total = sum(objects)
    facts: Facts = {"buckets": len(objects), "objects": total}
    if shards:
        facts["shards"] = round(sum(max(1, each) for each in shards) / len(shards))
    notes = []
    if max(objects) > 1.5 * total / len(objects):
        notes.append(
            f"the largest bucket has {max(objects):,} of {total:,} objects; a spec has equal buckets with the mean "
            "number of index shards"
        )
    return Found(facts, tuple(notes))


def read_limits(file: SiteFile) -> Found:
    """Return what `radosgw-admin bucket limit check` says: buckets, their objects and index shards.

    Raises:
        ValueError: no bucket has objects.
    """
    buckets = [bucket for user in file.items for bucket in user["buckets"] if int(bucket["num_objects"])]
    if not buckets:
        raise ValueError("no bucket of it has objects")
    return _bucket_facts(
        [int(bucket["num_objects"]) for bucket in buckets], [int(bucket["num_shards"]) for bucket in buckets]
    )


def read_zone(file: SiteFile) -> Found:
    """Return notes on what `radosgw-admin zone get` says: its storage classes, and what the model leaves out."""
    notes = []
    for placement in file.fields["placement_pools"]:
        for name, storage in placement["val"].get("storage_classes", {}).items():
            pool = storage.get("data_pool") or "the standard one"
            notes.append(f"objects of {placement['key']}, class {name}, are in the pool {pool}")
            if compression := storage.get("compression_type"):
                notes.append(f"they are compressed by {compression}, which the model leaves out")
    return Found({}, tuple(notes))


def read_bench(file: SiteFile) -> Found:
    """Return what `ceph tell osd.N bench` measured: the bandwidth of large writes, or the rate of small ones."""
    fields = file.fields
    rate = float(fields.get("bytes_per_sec") or float(fields["bytes_written"]) / float(fields["elapsed_sec"]))
    block_bytes = float(fields["blocksize"])
    notes = ("its writes go through the OSD, which takes longer than the drive alone; fio measures that",)
    if block_bytes >= _LARGE_BYTES:
        return Found({"drive.write.bandwidth": rate}, notes)
    return Found({"drive.write.iops": rate / block_bytes}, notes)


def read_report(file: SiteFile) -> Found:
    """Return what `ceph report` says of OSDs and pools."""
    fields = file.fields
    osds = metadata_facts(fields.get("osd_metadata") or ())
    osdmap = fields["osdmap"]
    pools = pool_facts(osdmap["pools"], osdmap.get("erasure_code_profiles", {}))
    total = (fields.get("pool_sum") or {}).get("stat_sum", {})
    held = holdings(float(total.get("num_objects", 0)), float(total.get("num_bytes", 0)))
    return Found({**osds.facts, **pools.facts, **held.facts}, (*osds.notes, *pools.notes, *held.notes))


def read_pg_dump(file: SiteFile) -> Found:
    """Return which OSDs have the placement groups of the data pool, and are their primaries."""
    return placed_groups(_pg_stats(file))


def _pg_stats(file: SiteFile) -> list[Mapping[str, Any]]:
    """Return the placement groups of `ceph pg dump` or `ceph pg ls` in JSON; none in other files."""
    fields = file.fields.get("pg_map", file.fields)
    found = fields.get("pg_stats", file.json) if isinstance(fields, Mapping) else None
    if not isinstance(found, list):
        return []
    return [each for each in found if isinstance(each, Mapping) and {"pgid", "acting"} <= each.keys()]


READERS = (
    Reader("ceph pg dump -f json", lambda file: bool(_pg_stats(file)), read_pg_dump),
    PG_TEXT,
    Reader(
        "ceph report",
        lambda file: isinstance(file.fields.get("osdmap"), Mapping) and "osd_metadata" in file.fields,
        read_report,
        ROUGH,
    ),
    *STATE,
    Reader(
        "ceph tell osd.N bench",
        lambda file: {"bytes_written", "blocksize", "elapsed_sec"} <= file.fields.keys(),
        read_bench,
        _BENCH,
    ),
    Reader("ceph osd pool ls detail", lambda file: bool(_POOL.search(file.text)), read_pools_text),
    Reader("ceph osd dump -f json", lambda file: "erasure_code_profiles" in file.fields, read_dump),
    Reader(
        "ceph osd pool ls detail -f json",
        lambda file: any({"pool_name", "pg_num"} <= each.keys() for each in file.items),
        read_pools,
    ),
    Reader("radosgw-admin zone get", lambda file: "placement_pools" in file.fields, read_zone),
    Reader(
        "radosgw-admin bucket limit check",
        lambda file: any({"user_id", "buckets"} <= each.keys() for each in file.items),
        read_limits,
    ),
    Reader(
        "radosgw-admin bucket stats",
        lambda file: any({"bucket", "usage"} <= each.keys() for each in (*file.items, file.fields)),
        read_buckets,
    ),
)
"""The readers of pools, objects, buckets and services."""
