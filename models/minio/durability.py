"""What the objects of a MinIO survive: erasure sets, whose drives are all waited for, and synced."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from models.devices.file_system import PAGE_BYTES
from models.durability.durability import Durability, Rebuild, capacity_of
from models.minio.background.maintenance import healed_s
from models.minio.growth import FULL
from models.minio.spec.faults import DriveReplaced
from models.minio.spec.layout import Layout, default_parity, is_symmetric, set_size
from models.minio.spec.maintenance_sections import Stored
from models.minio.spec.sections import Drives
from models.minio.spec.spec import MinioSpec
from models.site.options import Hardware, Option, Values
from traces.workload.generate import generate

_REASON = "a PUT waits for all online drives, which sync parts (fdatasync) and xl.meta (O_DSYNC)"
_SOURCE = "cmd/erasure-object.go putObject, cmd/xl-storage.go"
_CAVEAT = (
    "MinIO syncs no directory: with the power of all hosts, the rename of an object acknowledged just before may be "
    "lost, unless a later sync or the file system's timer has written its journal"
)
_HEALS = "healing of one drive in an idle cluster, by its own workers (cmd/global-heal.go)"


def durability(spec: MinioSpec) -> Durability:
    """Return how objects are kept, in the pool that can lose least."""
    found = [(layout, drives) for _, drives, layout in spec.layouts]
    layout, drives = min(found, key=lambda each: each[0].parity - _together(each[0], each[0].hosts))
    fatal = sum(
        len(each.sets) * math.comb(each.size, each.parity + 1) for each, _ in found if each.parity == layout.parity
    )
    racks = spec.hosts.racks
    return Durability(
        width=layout.size,
        data=layout.data,
        acknowledged=layout.size,
        synced=True,
        on_host=_together(layout, layout.hosts),
        on_rack=_together(layout, racks) if racks > 1 else None,
        hosts=layout.hosts,
        fatal=float(fatal),
        rebuild=Rebuild(_healing_s(spec, drives), None, _HEALS),
        is_disk=drives.disk is not None,
        reason=_REASON,
        source=_SOURCE,
        settings=f"EC {layout.data}+{layout.parity}",
        caveat=_CAVEAT,
    )


def _together(layout: Layout, groups: int) -> int:
    """Return most drives of a set in one of equal groups of hosts."""
    group = layout.host_of(layout.sets) * groups // layout.hosts
    return max(int(np.bincount(row).max()) for row in group)


def _healing_s(spec: MinioSpec, drives: Drives) -> float | None:
    """Return how long the first drive is healed, full if nothing is said of what is stored; None: not known."""
    if not spec.layout.parity:
        return 0.0  # nothing can be healed
    stored = spec.stored or _full(spec, drives)
    if stored is None:
        return None
    fault = DriveReplaced(kind="drive_replaced", drive=0, at=0.0, back_at=1.0)
    return healed_s(spec.model_copy(update={"stored": stored, "faults": (fault,)}))[0] - fault.back_s


def _full(spec: MinioSpec, drives: Drives) -> Stored | None:
    """Return objects that fill the drives; None: their capacity is not known."""
    capacity = drives.capacity or capacity_of(drives.preset)
    if capacity is None:
        return None
    least = PAGE_BYTES * spec.layout.data  # a block on each drive
    size = max(least, round(generate(spec.workload, 0).size_bytes.mean()))
    usable = FULL * capacity * spec.total_drives * spec.layout.data / spec.layout.size
    return Stored(objects=max(1.0, usable / size), object_size=size)


def options(hardware: Hardware) -> Iterator[Option]:
    """Yield MinIO's own set size with its default parity, then with more, then smaller sets."""
    hosts, total = hardware.hosts, hardware.total_drives
    first = set_size(total, hosts)
    fits = [n for n in range(16, hosts > 1, -1) if total % n == 0 and is_symmetric(n, hosts)]
    for size in sorted(fits, key=lambda n: n != first):
        for parity in range(default_parity(size), size // 2 + 1):
            facts: Values = {"set-size": size, "parity": parity}
            if hosts > 1:
                facts["balance"] = "proxy"  # which leaves out hosts that are down
            yield Option(f"EC {size - parity}+{parity}", facts, {"drives.capacity": hardware.drive_bytes})
