"""The service demands of a Ceph spec that may be 0, and the sections that have no effect."""

from __future__ import annotations

from collections.abc import Collection

from models.ceph.spec import CephSpec
from models.network.service_demand import ServiceDemand
from traces.workload.workload import Op

NOTHING = ServiceDemand()


def demands(spec: CephSpec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that requests with these operations visit, by path; none of them is required."""
    found = {f"client.cpu.{op}": spec.client.cpu.get(op, NOTHING) for op in ops}
    found["network.latency"] = ServiceDemand(constant=spec.network.latency)
    if spec.access.via_gateways:
        found |= {f"gateways.cpu.{op}": spec.gateways.cpu.get(op, NOTHING) for op in ops}
    if {"GET", "HEAD", "LIST"} & set(ops):
        found["osd.read"] = spec.osd.read
    if {"PUT", "DELETE"} & set(ops):
        found["osd.write"] = spec.osd.write
    return {**found}


def unused(spec: CephSpec) -> list[str]:
    """Return the fields that have no effect with the other values of the spec."""
    is_bluestore = spec.osd.backend == "bluestore"
    mix = {op for op, weight in spec.workload.mix.items() if weight}
    without_effect = {
        "gateways": not spec.access.via_gateways,
        "gateways.nic": spec.collocated,
        "buckets": not spec.access.via_gateways,
        "buckets.listed_entry": "LIST" not in mix,
        "buckets.resharding": not spec.buckets.resharding.dynamic,
        "filestore": is_bluestore,
        "bluestore": not is_bluestore,
        "rocksdb": not is_bluestore,
        "osd.read": not mix & {"GET", "HEAD", "LIST"},
        "osd.write": not mix & {"PUT", "DELETE"},
        "osd.commit": not mix & {"PUT", "DELETE"},
        "osd.commit_member": not mix & {"PUT", "DELETE"},
    }
    return [path for path, is_unused in without_effect.items() if is_unused]
