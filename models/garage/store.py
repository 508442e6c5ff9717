"""The registry entry of Garage, with its demands, doubts and remedies."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import partial

from models.capabilities import Evidence, ObjectLimits, Remedies, SpecChange, faster_links, larger, more
from models.garage.compile import compile
from models.garage.durability import durability
from models.garage.faults import FAULTS
from models.garage.setup import SETUP
from models.garage.spec import MOST_HOSTS, GarageSpec
from models.garage.spreads import SPREADS
from models.hosts.growth import drives_if_full, growth_of
from models.network.service_demand import ServiceDemand
from models.store import Store
from traces.operations import Op

_ROW_BYTES = 500  # of an object's and a version's row with their indices (assumed)
_LIMITS = ObjectLimits(5 << 40, 5 << 40, "S3's limit of an object; Garage's code has no smaller one")


def demands(spec: GarageSpec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that requests with these operations visit, by path.

    CPU times, reads that are not all cached, writes and syncs must be given, as None says.
    """
    found: dict[str, ServiceDemand | None] = {
        **{f"client.cpu.{op}": spec.client.cpu.get(op, ServiceDemand()) for op in ops},
        "network.latency": ServiceDemand(constant=spec.network.latency),
        **{f"hosts.cpu.{op}": spec.hosts.cpu.get(op) for op in ops},
        "metadata.read": spec.metadata.read,
    }
    if spec.hosts.count > 1:
        found["hosts.internode.call"] = spec.hosts.internode.call
    if {"PUT", "DELETE"} & set(ops):
        found["metadata.commit"] = spec.metadata.commit
    if "GET" in ops and spec.hosts.page_cache.hit_ratio < 1:
        found["drives.read"] = spec.drives.read
    if "PUT" in ops:
        found["drives.write"] = spec.drives.write
    if ({"PUT", "DELETE"} & set(ops) and spec.metadata.fsync) or ("PUT" in ops and spec.data_fsync):
        found["drives.sync"] = spec.drives.sync
    return found


def unused(spec: GarageSpec, ops: Collection[Op]) -> list[str]:
    """Return the paths that have no effect with the other values of the spec."""
    without_effect = {
        **spec.network.unused_headers((spec.client.nic, spec.hosts.nic), bool(spec.network.delayed_ack)),
        "hosts.internode": spec.hosts.count == 1,
        "drives.sync": not (spec.metadata.fsync or spec.data_fsync),
        "hosts.internode.stalled": not spec.network.delayed_ack,
        "stored.object_size": not spec.stored.objects,
    }
    return [*spec.client.unused(), *(path for path, is_unused in without_effect.items() if is_unused)]


def changes(spec: GarageSpec, at_end: GarageSpec) -> Iterator[SpecChange]:
    """Yield more hosts, cores and drives, and faster links."""
    yield from ({"hosts.count": n} for n in more(spec.hosts.count) if n <= MOST_HOSTS)
    yield from larger(spec, "hosts.cores.count", "drives.count")
    yield from faster_links(spec, "hosts.nic")


def _stored_bytes(spec: GarageSpec, object_bytes: float) -> float:
    return spec.replication * (object_bytes * spec.compressed + _ROW_BYTES)


GROWTH = growth_of(_stored_bytes, lambda spec: spec.drives.capacity * spec.drives.count * spec.hosts.count)
STORE = Store(
    "garage",
    GarageSpec,
    compile,
    compile_saturated=partial(compile, waiting=math.inf),
    faults=FAULTS,
    growth=GROWTH,
    remedies=Remedies(changes, knob=drives_if_full),
    demands=demands,
    unused=unused,
    object_limits=lambda spec: _LIMITS,
    spreads=SPREADS,
    durability=durability,
    evidence=Evidence("box", "docs/garage.md"),
    setup=SETUP,
)
