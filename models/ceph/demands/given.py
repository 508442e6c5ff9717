"""The service demands of a Ceph spec that may be 0, and the sections that have no effect."""

from __future__ import annotations

from collections.abc import Collection

from models.ceph.spec.spec import GROUP_FIELDS, CephSpec
from models.ceph.spec.spreads import SPREADS
from models.network.service_demand import NOTHING, ServiceDemand
from traces.operations import Op, ops_that, worked


def demands(spec: CephSpec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that requests with these operations visit, by path; none of them is required."""
    found = {f"client.cpu.{op}": spec.client.cpu.get(op, NOTHING) for op in ops}
    found["network.latency"] = ServiceDemand(constant=spec.network.latency)
    if spec.access.via_gateways:
        found |= {f"gateways.cpu.{op}": spec.gateways.cpu.get(op, NOTHING) for op in worked(ops)}
    if set(worked(ops)) - set(ops_that("changes")):
        found["osd.read"] = spec.osd.read
    if set(ops) & set(ops_that("changes")):
        found["osd.write"] = spec.osd.write
    return {**found}


def _scales_to(spec: CephSpec) -> float:
    """Return the least number of cores that a gateway may scale to, of the range of stores of which it is not known."""
    return spec.gateways.scales_to * SPREADS["gateways.scales_to"].low


def unused(spec: CephSpec, ops: Collection[Op]) -> list[str]:
    """Return the paths that have no effect with the other values of the spec and these operations."""
    is_bluestore = spec.osd.backend == "bluestore"
    changing = set(ops_that("changes"))
    has_reads, has_writes = set(worked(ops)) - changing, set(ops) & changing
    works_itself = bool(spec.faults or spec.background.loads)  # recovery, for one, writes
    parts = spec.host_groups.values()
    is_placed = bool(spec.pools.osd_pgs or spec.pools.osd_primaries)
    disks = any(part.device.rotational for part in parts)
    without_effect = {
        "gateways": not spec.access.via_gateways,
        "proxy": not spec.access.via_gateways,
        "proxy.nic": spec.has_ingress,
        "network.delayed_ack": not (spec.holds_small_bodies and "GET" in ops),
        "gateways.nic": spec.collocated,
        "gateways.cores.count": spec.shares_cores,
        "gateways.scales_to": spec.shares_cores or spec.gateways.cores.count <= _scales_to(spec),
        "hosts.cores.thread_gain": all(part.hosts.cores.threads_per_core == 1 for part in parts),
        **_of_groups(spec),
        "gateways.cache": not spec.gateways.cache.present,
        "gateways.key_request": not spec.gateways.sse,
        "pools.balancer": is_placed,
        "pools.upmap_max_deviation": is_placed or spec.upmap_max_deviation is None,
        "osd.read_depth": not disks,
        "osd.random_write_fraction": not (disks and has_writes),
        "osd.contention": all(
            part.hosts.cores.count - spec.gateway_cores_on_host <= part.osds_per_host + part.index_osds_per_host
            for part in parts
        ),
        "device.write": not has_writes and not works_itself,
        "device.write_latency": not has_writes and not works_itself,
        "osd.cache": not (spec.osd.cache.present or spec.osd.cache.hit_ratio),
        "buckets": not spec.access.via_gateways,
        "buckets.shard_query": "LIST" not in ops,
        "buckets.listed_entry": "LIST" not in ops,
        "buckets.gateway_query": "LIST" not in ops,
        "buckets.gateway_entry": "LIST" not in ops,
        "buckets.resharding": not spec.buckets.resharding.dynamic,
        "filestore": is_bluestore,
        "bluestore": not is_bluestore,
        "rocksdb": not is_bluestore,
        "osd.read": not has_reads and spec.access.kind != "mysql",  # whose transactions read
        "osd.write": not has_writes,
        "osd.commit": not has_writes,
        "osd.commit_member": not has_writes,
    }
    return [*spec.client.unused(), *(path for path, is_unused in without_effect.items() if is_unused)]


def _of_groups(spec: CephSpec) -> dict[str, bool]:
    """Return whether all groups of hosts have values of their own, by the path of the value that has no effect then."""
    groups = spec.hosts.groups.values()
    if not groups:
        return {}
    paths = {f"hosts.{name}": name for name in GROUP_FIELDS} | {"device": "device"}
    return {path: all(getattr(group, name) is not None for group in groups) for path, name in paths.items()}
