"""The service demands that a MinIO spec must give for the operations of its workload."""

from __future__ import annotations

from collections.abc import Collection

from models.minio.spec.sections import Hosts
from models.minio.spec.spec import MinioSpec
from models.network.service_demand import NOTHING, ServiceDemand
from traces.operations import Op, worked

_OF_DRIVES: dict[Op, tuple[str, ...]] = {
    "GET": ("read",),
    "PUT": ("write", "commit"),
    "HEAD": ("read",),
    "DELETE": ("read",),
    "LIST": ("read",),
}


def demands(spec: MinioSpec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that requests with these operations visit, by path.

    Those of server and drives must be given, as None says. A client without CPU times, and a network without latency
    or with unlimited bandwidth, take no time.
    """
    bandwidth = spec.network.bandwidth
    network = {"network.latency": ServiceDemand(constant=spec.network.latency)}
    if {"GET", "PUT"} & set(ops):
        network["network.bandwidth"] = ServiceDemand(per_byte=1 / bandwidth) if bandwidth else NOTHING
    drives = dict.fromkeys(f"drives.{name}" for op in worked(ops) for name in _OF_DRIVES[op])
    return {
        **{f"client.cpu.{op}": spec.client.cpu.get(op, NOTHING) for op in ops},
        **network,
        **{f"hosts.cpu.{op}": spec.hosts.cpu.get(op) for op in worked(ops)},
        **{path: getattr(spec.drives, path.partition(".")[2]) for path in drives},
    }


def _of_hosts(hosts: Hosts) -> dict[str, bool]:
    """Return whether fields of hosts have no effect with their other values."""
    return {
        "cpu_caches": not hosts.cpu_caches.cold_penalty or hosts.cores.shared,
        "setup_time": hosts.cores.shared,
        "age_bias": hosts.cores.shared,
        "garbage_collector": not hosts.garbage_collector.mark_work,
        "page_cache": not hosts.page_cache.present,
    }


def unused(spec: MinioSpec, ops: Collection[Op]) -> list[str]:
    """Return the paths that have no effect with the other values of the spec."""
    hosts = {"hosts": spec.hosts} | {f"pools.{number}.hosts": pool.hosts for number, pool in enumerate(spec.pools)}
    nics = [spec.client.nic, spec.network.bandwidth, spec.proxy.nic, *(each.nic for each in hosts.values())]
    without_effect = {
        **spec.network.unused_headers(nics),
        **{f"{path}.{name}": is_unused for path, each in hosts.items() for name, is_unused in _of_hosts(each).items()},
        **{f"{path}.memory": spec.stored is None for path in hosts},
        "hosts.internode": spec.hosts.count * spec.hosts.processes == 1 and not spec.pools,
        "healing": not any(fault.kind == "drive_replaced" for fault in spec.faults),
        "movement": not any(fault.kind in ("decommission", "rebalance") for fault in spec.faults),
        "scanner.cycles": spec.scanner.speed == "off",
        "proxy": spec.balance != "proxy",
        "network.latency": spec.balance == "local",
        "network.bandwidth": spec.balance == "local",
    }
    return [*spec.client.unused(), *(path for path, is_unused in without_effect.items() if is_unused)]
