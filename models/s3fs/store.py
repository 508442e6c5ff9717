"""The registry entry of s3fs, with its demands, faults and remedies."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial

import numpy as np

from models.capabilities import Doubt, ObjectLimits, Remedies, Side, SpecChange, Spread, larger, more
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.service_demand import ServiceDemand
from models.s3fs.compile import OPERATIONS, compile, issues
from models.s3fs.setup import SETUP
from models.s3fs.spec import S3fsSpec
from models.shared.faults import FaultKind
from models.spec.spreads import DRIVE_TIMES, PROCESSORS
from models.store import Store
from traces.operations import Op

_WRITING = {"PUT", "WRITE", "FSYNC", "CLOSE"}
_READING = {"GET", "READ"}
FAULTS = {
    "mount": FaultKind("mount_down", "outage", "mount", refuses=True),
    "slow-mount": FaultKind("slow_mount", "slow", "mount"),
}

SPREADS: Mapping[str, Spread] = {
    "mounts.cpu": Spread(0.5, 2.0, f"{PROCESSORS}; assumed: requests of FUSE of 15 to 60 us"),
    "temporary.read": DRIVE_TIMES,
    "temporary.write": DRIVE_TIMES,
}


def demands(spec: S3fsSpec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that operations visit, by path; all of them have defaults."""
    found: dict[str, ServiceDemand | None] = {"mounts.cpu": spec.mounts.cpu}
    if set(ops) & (_WRITING | _READING):
        found["temporary.write"] = spec.temporary.write
    if set(ops) & _WRITING:
        found["temporary.read"] = spec.temporary.read
    return found


def unused(spec: S3fsSpec, ops: Collection[Op]) -> list[str]:
    """Return the paths that have no effect with the other values of the spec."""
    without_effect = {
        "tls": not spec.behaviour.reconnects,
        "directory_entries": not {"LIST", "READDIR"} & set(ops),
        "temporary": not (_WRITING | _READING) & set(ops),
        "network.latency": True,  # the application is on the machine of its mount
        "network.queue": True,
        "network.mtu": True,
        "network.payload_fraction": True,
    }
    return [path for path, is_unused in without_effect.items() if is_unused]


def doubts(spec: S3fsSpec) -> Iterator[Doubt]:
    """Yield mounts that are on other machines than the clients of the store below."""
    machines = getattr(spec.below.client, "machines", spec.mounts.count)
    if machines != spec.mounts.count:
        yield Doubt("mounts.count", f"is {spec.mounts.count}, but below.client.machines, which they are on, {machines}")


def cpu_s(spec: S3fsSpec, network: Network, requests: Requests) -> dict[Side, float]:
    """Return the mean CPU time in s of the mounts, which are clients, per operation that is not retried or hedged."""
    total_s = 0.0
    for k in np.unique(requests.route).tolist():
        size = requests.size_bytes[requests.route == k]
        for visit in network.routes[k].visits:
            counts = network.station_counts(visit.station)
            if network.stations[int(np.flatnonzero(counts)[0])].role == "mount cpu":
                total_s += float(visit.mean_s(size).sum())
    return {"client": total_s / max(len(requests), 1), "server": 0.0}


def changes(spec: S3fsSpec, at_end: S3fsSpec) -> Iterator[SpecChange]:
    """Yield more mounts, cores and threads."""
    yield from larger(spec, "mounts.count", "mounts.cores.count")
    yield from ({"max_thread_count": n} for n in more(spec.threads))


STORE = Store(
    "s3fs",
    S3fsSpec,
    compile,
    compile_saturated=partial(compile, saturated=True),
    operations=OPERATIONS,
    faults=FAULTS,
    remedies=Remedies(changes),
    demands=demands,
    unused=unused,
    cpu=cpu_s,
    doubts=doubts,
    object_limits=lambda spec: ObjectLimits(spec.most_file_bytes, spec.most_file_bytes, "10,000 parts of S3"),
    spreads=SPREADS,
    issues=issues,
    setup=SETUP,
    warms=lambda spec: True,  # names, and files that exist
)
