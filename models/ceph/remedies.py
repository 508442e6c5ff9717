"""Remedies for a Ceph cluster: changes of its spec after which it may meet its objectives."""

from __future__ import annotations

import math
from collections.abc import Iterator

from models.capabilities import Knob, Remedies, SpecChange, larger, more
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.state import FULL_FRACTIONS
from models.ceph.mechanisms.bucket_index import OBJECTS_PER_SHARD
from models.ceph.mechanisms.rocksdb import place
from models.ceph.spec.object_size import first_object_bytes
from models.ceph.spec.spec import CephSpec

_DB_STEP_BYTES = 10**9


def changes(spec: CephSpec, at_end: CephSpec) -> Iterator[SpecChange]:
    """Yield more gateways, cores, index shards, hosts or drives, a larger block.db, and other protections of data."""
    if spec.access.via_gateways:
        yield from larger(spec, "gateways.count")
        if not spec.shares_cores:
            cores = {min(n, spec.gateways.scales_to) for n in more(spec.gateways.cores.count)}
            yield from ({"gateways.cores.count": n} for n in sorted(cores) if n > spec.gateways.cores.count)
        if not spec.buckets.resharding.dynamic:
            needed = math.ceil(at_end.stored.objects / at_end.workload.total_buckets / OBJECTS_PER_SHARD)
            shards = {needed, 4 * spec.buckets.shards}
            yield from ({"buckets.shards": n} for n in sorted(shards) if n > spec.buckets.shards)
    for name, part in spec.host_groups.items():
        yield from ({f"{_hosts(name)}.count": n, **_anew(spec)} for n in more(part.hosts.count))
        yield from ({f"{_hosts(name)}.drives": n, **_anew(spec)} for n in more(part.hosts.drives))
    yield from ({"db.size": f"{size // 10**9}GB"} for size in _databases(spec, at_end))
    if not spec.access.overwrites:
        yield from ({"pools.data": data, **_anew(spec)} for data in _protections(spec))


def _anew(spec: CephSpec) -> SpecChange:
    """Return the change with which CRUSH distributes by weight: other OSDs, or another pool, have no given numbers."""
    given = {"osd_pgs": spec.pools.osd_pgs, "osd_primaries": spec.pools.osd_primaries}
    return {f"pools.{name}": [] for name, numbers in given.items() if numbers}


def _hosts(group: str) -> str:
    """Return the path of the section of a group of hosts, or of all."""
    return f"hosts.groups.{group}" if group else "hosts"


def _databases(spec: CephSpec, at_end: CephSpec) -> list[int]:
    """Return sizes of block.db in bytes: twice, four times, and the smallest that holds all of RocksDB at the end.

    OSDs on hard disks without block.db may get one of that smallest size; flash drives keep RocksDB themselves.
    """
    disks = any(part.device.rotational for part in spec.host_groups.values())
    if spec.osd.backend != "bluestore" or (spec.db is None and not disks):
        return []
    costs = CostFunctions(at_end, first_object_bytes(at_end)).fullest
    metadata, low, high = costs.state.metadata_bytes, 0, 1 << 14
    while high - low > 1:
        middle = (low + high) // 2
        spills = place(costs.rocksdb, metadata, float(middle * _DB_STEP_BYTES)).spilled_bytes > 0
        low, high = (middle, high) if spills else (low, middle)
    now = spec.db.size if spec.db else 0
    sizes = {2 * now, 4 * now, high * _DB_STEP_BYTES}
    return sorted(size for size in sizes if size > now)


def _protections(spec: CephSpec) -> list[str]:
    """Return replicas and erasure codes that survive the loss of as many OSDs; objects are copied to a new pool."""
    data = spec.pools.data
    lost = data.width - data.data_shards
    codes = [f"ec {k}+{lost}" for k in (2, 4, 8) if k != data.data_shards]
    return codes if not data.is_ec else [f"replica {lost + 1}", *codes]


def moving_cost(before: CephSpec, after: CephSpec) -> float:
    """Return the cost of copying all objects to a pool with another protection; 0 if it stays the same."""
    if after.prices is None or after.pools.data == before.pools.data:
        return 0.0
    stored_bytes = before.stored.objects * first_object_bytes(before)
    return after.prices.copied_tb * stored_bytes / 1e12


def knob(spec: CephSpec, limit: str) -> Knob | None:
    """Return the field that avoids a limit of the state: index shards, drives, or the size of block.db."""
    if limit == "index shards":
        return Knob("buckets.shards", spec.buckets.shards)
    if limit in FULL_FRACTIONS:
        fullest = CostFunctions(spec, first_object_bytes(spec)).fullest
        return Knob(f"{_hosts(fullest.group)}.drives", fullest.spec.hosts.drives)
    if limit.startswith("spill "):
        return Knob("db.size", spec.db.size // _DB_STEP_BYTES if spec.db else 0, "GB")
    return None


REMEDIES = Remedies(changes, moving_cost, knob)
