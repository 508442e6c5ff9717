"""The registry entry of JuiceFS, with its demands, remedies, CPU times and doubts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

import numpy as np

from models.capabilities import Doubt, Remedies, Side, SpecChange, larger
from models.juicefs.compile import compile, issues
from models.juicefs.faults import FAULTS
from models.juicefs.files import OPERATIONS
from models.juicefs.growth import knob, memory_bytes, memory_range_bytes, with_engine
from models.juicefs.setup import SETUP
from models.juicefs.spec import JuiceFSSpec
from models.juicefs.spreads import MEMORY_SPREADS, SPREADS
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.service_demand import ServiceDemand
from models.store import Store
from traces.operations import Op


def demands(spec: JuiceFSSpec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that requests with these operations visit, by path; that of a command must be given."""
    return {
        "metadata.command": spec.metadata.command,
        "metadata.commit": spec.metadata.commit,
        "metadata.latency": ServiceDemand(constant=spec.metadata.latency),
        **{f"mounts.cpu.{op}": spec.mounts.cpu_demand(op) for op in ops},
        **({f"client.cpu.{op}": spec.client.cpu.get(op, ServiceDemand()) for op in ops} if spec.is_gateway else {}),
    }


def unused(spec: JuiceFSSpec, ops: Collection[Op]) -> list[str]:
    """Return the paths that have no effect with the other values of the spec."""
    of_mounts = ["client.machines", "client.cores", "client.nic", "client.cpu", "network.latency", "network.queue",
                 "network.mtu", "network.payload_fraction", "tmp_folders"]  # fmt: skip
    in_memory = bool(spec.metadata.memory) and spec.metadata.engine == "redis"
    without_effect = {
        "metadata.servers": spec.metadata.engine in ("redis", "sqlite"),
        "metadata.latency": spec.metadata.engine == "sqlite",
        "metadata.files": not spec.metadata.memory,
        **{f"metadata.{name}": not in_memory for name in ("slices_per_chunk", *MEMORY_SPREADS)},
        "cache.write": not spec.cache.writeback,
        "cache.read": not spec.cache.present,
        "blocks.prefetch": not spec.cache.present,
    }
    own = of_mounts
    if spec.is_gateway:
        headers = spec.network.unused_headers([spec.client.nic])
        own = [*spec.client.unused(), *(path for path, is_unused in headers.items() if is_unused)]
    return [*own, "below.client.machines", *(path for path, is_unused in without_effect.items() if is_unused)]


def changes(spec: JuiceFSSpec, at_end: JuiceFSSpec) -> Iterator[SpecChange]:
    """Yield more mounts, cores of each, uploads, and statements that the engine serves at a time."""
    yield from larger(spec, "mounts.count", "mounts.cores.count", "blocks.uploads")
    if spec.metadata.engine in ("sql", "tikv"):
        yield from larger(spec, "metadata.servers")


def cpu(spec: JuiceFSSpec, network: Network, requests: Requests) -> dict[Side, float]:
    """Return the CPU time per request: of mounts as that of clients, of gateways as that of the server."""
    found: dict[Side, float] = {"client": 0.0, "server": 0.0}
    for k in np.unique(requests.route).tolist():
        sizes = requests.size_bytes[requests.route == k]
        part, op = len(sizes) / len(requests), network.routes[k].operation
        of_mount = part * float(spec.mounts.cpu_demand(op).mean_s(sizes).mean())
        found["server" if spec.is_gateway else "client"] += of_mount
        if spec.is_gateway and (own := spec.client.cpu_demand(op)) is not None:
            found["client"] += part * float(own.mean_s(sizes).mean())
    return found


def doubts(spec: JuiceFSSpec) -> Iterator[Doubt]:
    """Yield what is probably not meant."""
    if spec.metadata.memory and spec.metadata.engine == "redis":
        needed = memory_bytes(spec)
        low, high = memory_range_bytes(spec)
        if high > spec.metadata.memory:
            text = f"is {spec.metadata.memory / 1e9:.3g} GB; {spec.metadata.files:.3g} files take {needed / 1e9:.3g} GB"
            ends = f"{low / 1e9:.3g} to {high / 1e9:.3g} GB by the ranges of these"
            yield Doubt("metadata.memory", f"{text}, about {needed / spec.metadata.files:.0f} B each; {ends}")
    if spec.metadata.engine == "sqlite" and spec.mounts.count > 1:
        yield Doubt("metadata.engine", f"is sqlite, a file of one machine; there are {spec.mounts.count} mounts")


STORE = Store(
    "juicefs",
    JuiceFSSpec,
    compile,
    compile_saturated=partial(compile, saturated=True),
    operations=frozenset(OPERATIONS),
    faults=FAULTS,
    growth_on=with_engine,
    remedies=Remedies(changes, knob=knob),
    demands=demands,
    unused=unused,
    cpu=cpu,
    doubts=doubts,
    spreads=SPREADS,
    issues=issues,
    setup=SETUP,
    warms=lambda spec: True,  # attributes, files, and folders of a gateway
)
