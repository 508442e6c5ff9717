"""What the objects of an OpenIO survive: chunks and bases of the directory, none of which are synced."""

from __future__ import annotations

import math
from collections.abc import Iterator

from models.durability.data_loss import fatal_sets
from models.durability.durability import Durability, Rebuild, Weaker, copied_s
from models.openio.growth import FULL
from models.openio.spec import OpenioSpec
from models.site.kinds import shards
from models.site.options import Hardware, Option, Values, protections
from traces.workload.generate import generate

_REASON = "rawx services write chunks to their page caches (fsync_file and fsync_dir are off)"
_SOURCE = "rawx/defs.go; synchronous OFF in sqliterepo/repository.c"
_AT_ONCE = 10  # chunks that a rebuilder copies at the same time (assumed)
_REBUILT = "chunks rebuilt on other drives by an operator's rebuilder, ten at a time (assumed)"


def durability(spec: OpenioSpec) -> Durability:
    """Return how chunks and the directory are kept."""
    protection, hosts, erasure = spec.protection, spec.hosts.count, spec.chunks.erasure
    width = protection.width
    by_host = width <= hosts
    copies = spec.directory.replicas
    return Durability(
        width=width,
        data=protection.data,
        acknowledged=width,
        synced=False,
        on_host=-(-width // hosts),
        on_rack=None,
        hosts=hosts,
        # Each object has drives of its own choice, so that with many of them every set of drives is fatal.
        fatal=fatal_sets(
            math.inf, width, protection.parity, hosts if by_host else spec.total_drives,
            spec.drives.count if by_host else 1,
        ),
        rebuild=Rebuild(_copied_s(spec), None, _REBUILT),
        is_disk=spec.drives.disk is not None,
        reason=_REASON,
        source=_SOURCE,
        settings=f"replica {width}" if erasure is None else f"EC {erasure.data}+{erasure.parity}",
        weaker=Weaker("bases of the directory", copies, spec.directory_quorum, False),
    )  # fmt: skip


def _copied_s(spec: OpenioSpec) -> float:
    """Return how long the chunks of a drive are rebuilt, of a full one if nothing is stored."""
    protection, drives = spec.protection, spec.drives
    size = spec.stored.object_size or float(generate(spec.workload, 0).size_bytes.mean()) or 1.0
    chunk_bytes = min(size / protection.data, float(spec.chunks.size))
    held = spec.stored.objects * size / protection.data * protection.width / spec.total_drives
    return copied_s(
        (held or FULL * drives.capacity) / chunk_bytes, chunk_bytes, drives.read, drives.write,
        _AT_ONCE, targets=max(spec.total_drives - 1, 1),
    )  # fmt: skip


def options(hardware: Hardware) -> Iterator[Option]:
    """Yield three replicas, then erasure codes, then other replicas; gateways are on the hosts."""
    facts = {"gateways": hardware.hosts, "gateway-cores": hardware.cores}
    sets: Values = {
        "gateways.collocated": True,
        "directory.replicas": min(3, hardware.hosts),
        "drives.capacity": hardware.drive_bytes,
    }
    for text in protections(hardware.total_drives):
        data, parity = shards(text)
        cached = hardware.cached((data + parity) / data)
        known = {} if cached is None else {"hosts.page_cache.hit_ratio": cached}
        yield Option(text, {**facts, "protection": text}, {**sets, **known})
