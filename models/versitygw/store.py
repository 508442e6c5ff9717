"""The registry entry of versitygw, with its demands and remedies."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import partial

from models.capabilities import Evidence, Remedies, SpecChange, faster_links, larger
from models.hosts.growth import drives_if_full, growth_of
from models.network.service_demand import ServiceDemand
from models.store import Store
from models.versitygw.compile import compile
from models.versitygw.durability import durability
from models.versitygw.faults import FAULTS
from models.versitygw.setup import SETUP
from models.versitygw.spec import VersitygwSpec
from models.versitygw.spreads import SPREADS
from traces.operations import Op

_FILE_BYTES = 4096  # of an inode with its attributes, and half of a block that is not full (assumed)


def demands(spec: VersitygwSpec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that requests with these operations visit, by path.

    CPU times, reads that are not all cached, writes and syncs must be given, as None says.
    """
    found: dict[str, ServiceDemand | None] = {
        **{f"client.cpu.{op}": spec.client.cpu.get(op, ServiceDemand()) for op in ops},
        "network.latency": ServiceDemand(constant=spec.network.latency),
        **{f"hosts.cpu.{op}": spec.hosts.cpu.get(op) for op in ops},
        "file_system.call": spec.file_system.call,
    }
    if "GET" in ops and spec.hosts.page_cache.hit_ratio < 1:
        found["drives.read"] = spec.drives.read
    if "PUT" in ops:
        found["drives.write"] = spec.drives.write
        if spec.is_remote and spec.file_system.synced:
            found["drives.sync"] = spec.drives.sync
    return found


def unused(spec: VersitygwSpec, ops: Collection[Op]) -> list[str]:
    """Return the paths that have no effect with the other values of the spec."""
    without_effect = {
        **spec.network.unused_headers((spec.client.nic, spec.hosts.nic, spec.file_system.nic)),
        "hosts.internode": True,
        "file_system.latency": not spec.is_remote,
        "file_system.nic": not spec.is_remote,
        "file_system.synced": not spec.is_remote,
        "drives.sync": not (spec.is_remote and spec.file_system.synced),
        "stored.object_size": not spec.stored.objects,
    }
    return [*spec.client.unused(), *(path for path, is_unused in without_effect.items() if is_unused)]


def changes(spec: VersitygwSpec, at_end: VersitygwSpec) -> Iterator[SpecChange]:
    """Yield more hosts on a remote file system, more cores and drives, and faster links."""
    if spec.is_remote:
        yield from larger(spec, "hosts.count")
    yield from larger(spec, "hosts.cores.count", "drives.count")
    yield from faster_links(spec, "hosts.nic")


GROWTH = growth_of(lambda spec, size: size + _FILE_BYTES, lambda spec: spec.drives.capacity * spec.drives.count)
STORE = Store(
    "versitygw",
    VersitygwSpec,
    compile,
    compile_saturated=partial(compile, waiting=math.inf),
    faults=FAULTS,
    growth=GROWTH,
    remedies=Remedies(changes, knob=drives_if_full),
    demands=demands,
    unused=unused,
    spreads=SPREADS,
    durability=durability,
    evidence=Evidence("box", "docs/versitygw.md"),
    setup=SETUP,
)
