"""The registry entry of Bob, with its demands and remedies."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import partial

from models.bob.compile import OPERATIONS, compile
from models.bob.durability import durability
from models.bob.faults import FAULTS
from models.bob.setup import SETUP
from models.bob.spec import BobSpec
from models.bob.spreads import SPREADS
from models.capabilities import Evidence, ObjectLimits, Remedies, SpecChange, faster_links, larger
from models.network.service_demand import ServiceDemand
from models.store import Store
from traces.operations import Op


def demands(spec: BobSpec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that requests with these operations visit, by path.

    CPU times, reads that are not all cached, and writes must be given, as None says.
    """
    found: dict[str, ServiceDemand | None] = {
        **{f"client.cpu.{op}": spec.client.cpu.get(op, ServiceDemand()) for op in ops},
        "network.latency": ServiceDemand(constant=spec.network.latency),
        **{f"hosts.cpu.{op}": spec.hosts.cpu.get(op) for op in ops},
    }
    if spec.total_nodes > 1:
        found["hosts.internode.call"] = spec.hosts.internode.call
    if "GET" in ops and spec.hosts.page_cache.hit_ratio < 1:
        found["drives.read"] = spec.drives.read
    if {"GET", "HEAD"} & set(ops) and (spec.stored.closed or spec.stored.objects):
        found["drives.index"] = spec.drives.index
    if "PUT" in ops:
        found["drives.write"] = spec.drives.write
    if {"PUT", "DELETE"} & set(ops):
        found["drives.append"] = spec.drives.append
    return found


def unused(spec: BobSpec, ops: Collection[Op]) -> list[str]:
    """Return the paths that have no effect with the other values of the spec."""
    silent = any(fault.kind == "link_down" for fault in spec.faults)
    without_effect = {
        **spec.network.unused_headers((spec.client.nic, spec.hosts.nic)),
        "hosts.internode": spec.total_nodes == 1,
        "operation_timeout": not silent,
        "blobs": not spec.stored.objects or spec.stored.closed is not None,
    }
    return [*spec.client.unused(), *(path for path, is_unused in without_effect.items() if is_unused)]


def changes(spec: BobSpec, at_end: BobSpec) -> Iterator[SpecChange]:
    """Yield more hosts, cores and drives, and faster links."""
    yield from larger(spec, "hosts.count", "hosts.cores.count", "drives.count")
    yield from faster_links(spec, "hosts.nic")


STORE = Store(
    "bob",
    BobSpec,
    compile,
    compile_saturated=partial(compile, waiting=math.inf),
    operations=frozenset(OPERATIONS),
    faults=FAULTS,
    remedies=Remedies(changes),
    demands=demands,
    unused=unused,
    object_limits=lambda spec: ObjectLimits(spec.blobs.max_size, spec.blobs.max_size, "blobs.max_size"),
    spreads=SPREADS,
    durability=durability,
    evidence=Evidence("rows", "docs/bob.md"),
    setup=SETUP,
)
