"""The registry entry of SeaweedFS, with its demands and remedies."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import partial

from models.capabilities import Evidence, Remedies, SpecChange, faster_links, larger, more
from models.hosts.growth import drives_if_full, growth_of
from models.network.service_demand import ServiceDemand
from models.seaweedfs.compile import compile
from models.seaweedfs.durability import durability
from models.seaweedfs.faults import FAULTS
from models.seaweedfs.setup import SETUP
from models.seaweedfs.spec import SeaweedSpec
from models.seaweedfs.spreads import SPREADS
from models.store import Store
from traces.operations import Op

_NEEDLE_BYTES = 64  # of a chunk's header, checksum, padding and index entry (weed/storage/needle)
_CHUNKED: tuple[Op, ...] = ("GET", "PUT", "DELETE")


def demands(spec: SeaweedSpec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that requests with these operations visit, by path.

    CPU times of all services, reads that are not all cached, writes and syncs must be given, as None says.
    """
    found: dict[str, ServiceDemand | None] = {
        **{f"client.cpu.{op}": spec.client.cpu.get(op, ServiceDemand()) for op in ops},
        "network.latency": ServiceDemand(constant=spec.network.latency),
        "hosts.internode.latency": ServiceDemand(constant=spec.hosts.internode.latency),
        **{f"gateways.cpu.{op}": spec.gateways.cpu.get(op) for op in ops},
        **{f"hosts.cpu.{op}": spec.hosts.cpu.get(op) for op in ops if op in _CHUNKED},
    }
    if {"GET", "HEAD"} & set(ops):
        found |= {"filer.read": spec.filer.read, "filer.store.read": spec.filer.store.read}
    if {"PUT", "DELETE"} & set(ops):
        found |= {"filer.write": spec.filer.write, "filer.store.write": spec.filer.store.write}
        found["volumes.append"] = spec.volumes.append
        if spec.filer.store.synced:
            found["drives.sync"] = spec.drives.sync
    if "LIST" in ops:
        found |= {"filer.list": spec.filer.list, "filer.store.read": spec.filer.store.read}
    if "GET" in ops and spec.hosts.page_cache.hit_ratio < 1:
        found["drives.read"] = spec.drives.read
    if "PUT" in ops:
        found |= {"filer.assign": spec.filer.assign, "master.assign": spec.master.assign}
        found["drives.write"] = spec.drives.write
        if spec.volumes.fsync:
            found["drives.sync"] = spec.drives.sync
    return found


def unused(spec: SeaweedSpec, ops: Collection[Op]) -> list[str]:
    """Return the paths that have no effect with the other values of the spec."""
    own = spec.gateways.collocated
    without_effect = {
        **spec.network.unused_headers((spec.client.nic, spec.hosts.nic, spec.gateway_nic)),
        "gateways.count": own,
        "gateways.cores": own,
        "gateways.nic": own,
        "hosts.internode.call": True,
        "balance": not own,
        "volumes.erasure": not spec.volumes.erasure.fraction,
        "volumes.garbage_threshold": "DELETE" not in ops,
        "drives.sync": not (spec.volumes.fsync or spec.filer.store.synced),
        "stored.object_size": not spec.stored.objects,
    }
    return [*spec.client.unused(), *(path for path, is_unused in without_effect.items() if is_unused)]


def changes(spec: SeaweedSpec, at_end: SeaweedSpec) -> Iterator[SpecChange]:
    """Yield more hosts, cores, drives, gateways and writable volumes, and faster links."""
    if not spec.gateways.collocated:
        yield from larger(spec, "gateways.count")
        yield from faster_links(spec, "gateways.nic")
    yield from larger(spec, "hosts.count", "hosts.cores.count", "drives.count")
    yield from faster_links(spec, "hosts.nic")
    yield from ({"volumes.writable": n} for n in more(spec.volumes.per_bucket))


def _stored_bytes(spec: SeaweedSpec, object_bytes: float) -> float:
    chunks = max(1, math.ceil(object_bytes / spec.volumes.chunk_size))
    return spec.bytes_per_byte * (object_bytes + chunks * _NEEDLE_BYTES)


GROWTH = growth_of(_stored_bytes, lambda spec: spec.drives.capacity * spec.total_drives)
STORE = Store(
    "seaweedfs",
    SeaweedSpec,
    compile,
    compile_saturated=partial(compile, waiting=math.inf),
    faults=FAULTS,
    growth=GROWTH,
    remedies=Remedies(changes, knob=drives_if_full),
    demands=demands,
    unused=unused,
    spreads=SPREADS,
    durability=durability,
    evidence=Evidence("box", "docs/seaweedfs.md"),
    setup=SETUP,
)
