"""The service demands that a Swift spec must give for the operations of its workload."""

from __future__ import annotations

from collections.abc import Collection

from models.network.service_demand import ServiceDemand
from models.swift.cluster.file_systems import lookup_of
from models.swift.spec.spec import SwiftSpec
from traces.operations import Op, worked

_OF_DRIVES: dict[Op, tuple[str, ...]] = {"GET": ("read",), "PUT": ("write", "sync"), "DELETE": ("sync",)}
_WITHIN: dict[Op, tuple[Op, ...]] = {"PUT": ("HEAD", "DELETE"), "DELETE": ("HEAD", "GET")}
"""Requests within those for large objects."""


def demands(spec: SwiftSpec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that requests with these operations visit, by path.

    Those of proxies, hosts and drives must be given, as None says. A client without CPU times, a network without
    latency, cached metadata and databases without lock times take no time.
    """
    if spec.client.multipart is not None:
        ops = dict.fromkeys([*ops, *(each for op in ops for each in _WITHIN.get(op, ()))])
    of_servers = worked(ops)
    named = [name for op in of_servers for name in _OF_DRIVES.get(op, ())]
    named += [*(("read",) if spec.auditor else ()), *(("read", "sync") if spec.replicator else ())]
    drives = dict.fromkeys(f"drives.{name}" for name in named)
    found: dict[str, ServiceDemand | None] = {
        **{f"client.cpu.{op}": spec.client.cpu.get(op, ServiceDemand()) for op in ops},
        "network.latency": ServiceDemand(constant=spec.network.latency),
        "hosts.internode.latency": ServiceDemand(constant=spec.hosts.internode.latency),
        **{f"proxies.cpu.{op}": spec.proxies.cpu.get(op) for op in of_servers},
        **{f"hosts.cpu.{op}": spec.hosts.cpu.get(op) for op in of_servers},
        **{path: getattr(spec.drives, path.partition(".")[2]) for path in drives},
    }
    if {"GET", "HEAD"} & set(of_servers) or spec.auditor or spec.replicator:
        found["drives.lookup"] = lookup_of(spec)
    if {"PUT", "DELETE"} & set(of_servers):
        found |= {"hosts.update_cpu": spec.hosts.update_cpu, "containers.update": spec.containers.update}
    if "LIST" in ops:
        found["containers.list"] = spec.containers.list
    return found


def unused(spec: SwiftSpec, ops: Collection[Op]) -> list[str]:
    """Return the paths that have no effect with the other values of the spec."""
    reads, writes = ({*names} & set(worked(ops)) for names in (("GET", "HEAD"), ("PUT", "DELETE")))
    fails = any(fault.kind in ("drive_frozen", "link_down") for fault in spec.faults)
    without_effect = {
        **spec.network.unused_headers((spec.client.nic, spec.hosts.nic, spec.proxies.nic)),
        "proxies.concurrency_timeout": not (spec.proxies.concurrent_gets and reads),
        "proxies.post_quorum_timeout": not writes,
        "proxies.conn_timeout": not fails,
        "proxies.node_timeout": not fails,
        "proxies.error_suppression_interval": not fails,
        "containers.timeout": not (writes and fails),
        "stored.object_size": spec.auditor is None,
        "auditor.zero_byte_files_per_second": not lookup_of(spec).takes_time,
        "hosts.memory": spec.drives.lookup.takes_time or not spec.stored.objects,
        "hosts.workers": bool(spec.hosts.servers_per_port),
        "hosts.update_cpu": not writes,
        "proxies.cores": spec.hosts.cores.shared,
    }
    return [*spec.client.unused(), *(path for path, is_unused in without_effect.items() if is_unused)]
