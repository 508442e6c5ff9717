"""The registry entry of OpenIO SDS, with its demands, doubts and remedies."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import partial

from models.capabilities import Doubt, Evidence, ObjectLimits, Remedies, SpecChange, faster_links, larger
from models.network.service_demand import ServiceDemand
from models.openio.compile import compile
from models.openio.durability import durability
from models.openio.faults import FAULTS
from models.openio.growth import FULL, GROWTH, fill_fraction, knob
from models.openio.setup import SETUP
from models.openio.spec import OpenioSpec
from models.openio.spreads import SPREADS
from models.store import Store
from traces.operations import Op

_MAX_FILE_BYTES = 5 * 2**30 + 2  # Swift's default, whose proxy the gateway is (etc/swift.conf-sample)
_OBJECT_LIMITS = ObjectLimits(_MAX_FILE_BYTES, _MAX_FILE_BYTES, "max_file_size in swift.conf of the gateway")
_OF_DIRECTORY: dict[Op, tuple[str, ...]] = {
    "GET": ("read",), "HEAD": ("read",), "LIST": ("list",), "PUT": ("write",), "DELETE": ("write",),
}  # fmt: skip
_CHUNKED: tuple[Op, ...] = ("GET", "PUT", "DELETE")


def demands(spec: OpenioSpec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that requests with these operations visit, by path.

    CPU times of gateways and hosts, reads that are not all cached, and writes must be given, as None says.
    """
    found: dict[str, ServiceDemand | None] = {
        **{f"client.cpu.{op}": spec.client.cpu.get(op, ServiceDemand()) for op in ops},
        "network.latency": ServiceDemand(constant=spec.network.latency),
        "hosts.internode.latency": ServiceDemand(constant=spec.hosts.internode.latency),
        **{f"gateways.cpu.{op}": spec.gateways.cpu.get(op) for op in ops},
        **{f"hosts.cpu.{op}": spec.hosts.cpu.get(op) for op in ops if op in _CHUNKED},
        "directory.proxy": spec.directory.proxy,
    }
    for name in dict.fromkeys(name for op in ops for name in _OF_DIRECTORY.get(op, ())):
        found[f"directory.{name}"] = getattr(spec.directory, name)
    if {"PUT", "DELETE"} & set(ops) and spec.directory.replicas > 1:
        found["directory.replicate"] = spec.directory.replicate
    if {"GET", "PUT"} & set(ops) and spec.chunks.erasure is not None:
        found["gateways.coding"] = spec.gateways.coding
    if "GET" in ops and spec.hosts.page_cache.hit_ratio < 1:
        found["drives.read"] = spec.drives.read
    if "PUT" in ops:
        found["drives.write"] = spec.drives.write
    return found


def unused(spec: OpenioSpec, ops: Collection[Op]) -> list[str]:
    """Return the paths that have no effect with the other values of the spec."""
    kinds, own = {fault.kind for fault in spec.faults}, spec.gateways.collocated
    without_effect = {
        **spec.network.unused_headers((spec.client.nic, spec.hosts.nic, spec.gateway_nic)),
        "gateways.count": own,
        "gateways.cores": own,
        "gateways.nic": own,
        "gateways.coding": spec.chunks.erasure is None,
        "chunks.replicas": spec.chunks.erasure is not None,
        "chunks.connection_timeout": "host_down" not in kinds,
        "chunks.timeout": "rawx_hung" not in kinds,
        "directory.replicate": spec.directory.replicas == 1,
        "stored.object_size": not spec.stored.objects,
        "drives.dirty_limit": "PUT" not in ops,
    }
    return [*spec.client.unused(), *(path for path, is_unused in without_effect.items() if is_unused)]


def doubts(spec: OpenioSpec) -> Iterator[Doubt]:
    """Yield objects that a host takes with it, and contents that do not fit on the drives."""
    width, erasure = spec.protection.width, spec.chunks.erasure
    on_one, spare = math.ceil(width / spec.hosts.count), spec.protection.parity
    if on_one > spare > 0:
        what = "chunks.replicas" if erasure is None else "chunks.erasure"
        text = f"{on_one} of {width} chunks are on one of {spec.hosts.count} hosts, and an object can lose {spare}"
        yield Doubt(what, text)
    if spec.stored.object_size is not None and (fill := fill_fraction(spec, spec.stored.object_size)) >= FULL:
        yield Doubt("stored.objects", f"fills drives to {fill:.0%}: they get no more chunks")


def changes(spec: OpenioSpec, at_end: OpenioSpec) -> Iterator[SpecChange]:
    """Yield more gateways, hosts, cores, drives and containers, and faster links."""
    if not spec.gateways.collocated:
        yield from larger(spec, "gateways.count")
        yield from faster_links(spec, "gateways.nic")
    yield from larger(spec, "hosts.count", "hosts.cores.count", "drives.count", "directory.containers_per_bucket")
    yield from faster_links(spec, "hosts.nic")


STORE = Store(
    "openio",
    OpenioSpec,
    compile,
    compile_saturated=partial(compile, waiting=math.inf),
    faults=FAULTS,
    growth=GROWTH,
    remedies=Remedies(changes, knob=knob),
    demands=demands,
    unused=unused,
    doubts=doubts,
    object_limits=lambda spec: _OBJECT_LIMITS,
    spreads=SPREADS,
    durability=durability,
    evidence=Evidence("mechanism", "docs/openio.md"),
    setup=SETUP,
)
