"""What the objects of a Swift survive: a quorum of object servers that sync file and directory before they respond."""

from __future__ import annotations

from collections.abc import Iterator

from models.durability.data_loss import fatal_sets
from models.durability.durability import Durability, Rebuild, capacity_of, copied_s
from models.site.options import Hardware, Option, Values, protections
from models.swift.spec.spec import SwiftSpec
from traces.workload.generate import generate

_REASON = "a PUT is acknowledged when a quorum of object servers have synced the file and its directory"
_SOURCE = "swift/obj/diskfile.py, swift/proxy/controllers/obj.py"
_FULL = 0.95  # of a drive: fallocate_reserve is 1 % in object-server.conf-sample, and drives fill unevenly (assumed)
_COPIES = "replication by one process a host at a time, in an idle cluster, once the drive is replaced"


def durability(spec: SwiftSpec) -> Durability:
    """Return how objects are kept."""
    protection, hosts, zones = spec.protection, spec.hosts.count, spec.hosts.zones
    width = protection.width
    of_zone = -(-width // zones)
    by_host = width <= hosts
    erasure = spec.ring.erasure
    return Durability(
        width=width,
        data=protection.data,
        acknowledged=protection.write_quorum,
        synced=True,
        on_host=-(-of_zone // (hosts // zones)),
        on_rack=of_zone if zones > 1 else None,
        hosts=hosts,
        fatal=fatal_sets(
            2.0**spec.ring.part_power, width, protection.parity, hosts if by_host else spec.total_drives,
            spec.drives.count if by_host else 1,
        ),
        rebuild=Rebuild(_copied_s(spec), None, _COPIES),
        is_disk=spec.drives.disk is not None,
        reason=f"{_REASON}: {protection.write_quorum} of {width}",
        source=_SOURCE,
        settings=f"replica {width}" if erasure is None else f"EC {erasure.data}+{erasure.parity}",
    )  # fmt: skip


def _copied_s(spec: SwiftSpec) -> float | None:
    """Return how long the pieces of a drive are copied, of a full one if nothing is said; None: not known."""
    protection, drives = spec.protection, spec.drives
    size = spec.stored.object_size or float(generate(spec.workload, 0).size_bytes.mean()) or 1.0
    piece_bytes = size / protection.data
    pieces = spec.stored.objects * protection.width / spec.total_drives
    if not pieces:
        capacity = capacity_of(drives.preset)
        if capacity is None:
            return None
        pieces = _FULL * capacity / piece_bytes
    at_once = spec.replicator.concurrency if spec.replicator is not None else 1
    # A fragment is decoded from as many others, which are read at the same time.
    return copied_s(
        pieces, piece_bytes, drives.read, drives.write, max(spec.hosts.count - 1, 1) * at_once, drives.sync
    )  # fmt: skip


def options(hardware: Hardware) -> Iterator[Option]:
    """Yield three replicas, then erasure codes, then other replicas; a proxy on each host has half of its cores."""
    half = max(hardware.cores // 2, 1)
    facts = {"proxies": hardware.hosts, "proxy-cores": half, "cores": max(hardware.cores - half, 1)}
    for text in protections(hardware.total_drives):
        few: Values = {"containers.replicas": min(3, hardware.total_drives)} if hardware.total_drives < 3 else {}
        if hardware.memory is not None:
            few["hosts.memory"] = hardware.memory
        if hardware.is_disk:
            few["drives.read_size"] = "1MiB"  # a disk reads on without a seek, while no other request waits (assumed)
        yield Option(text, {**facts, "protection": text}, few)
