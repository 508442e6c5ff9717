"""What the records of a Bob survive: copies in page caches, of which a quorum is waited for."""

from __future__ import annotations

from collections.abc import Iterator

from models.bob.spec import BobSpec
from models.durability.data_loss import fatal_sets
from models.durability.durability import Durability, Rebuild, capacity_of, copied_s
from models.site.options import Hardware, Option
from traces.workload.generate import generate

_REASON = (
    "a PUT is acknowledged when a quorum of nodes have appended it to their page caches, which are synced every 10 MiB"
)
_SOURCE = "bob/src/cluster/quorum.rs, max_dirty_bytes_before_sync in bob-common/src/configs/node.rs"
_FULL = 0.95  # of a drive (assumed)


def durability(spec: BobSpec) -> Durability:
    """Return how records are kept."""
    replicas, hosts = spec.vdisks.replicas, spec.hosts.count
    by_host = replicas <= hosts
    return Durability(
        width=replicas,
        data=1,
        acknowledged=spec.quorum,
        synced=False,
        on_host=-(-replicas // hosts),
        on_rack=None,
        hosts=hosts,
        fatal=fatal_sets(
            spec.vdisks.count, replicas, replicas - 1, hosts if by_host else spec.total_nodes,
            spec.drives.count if by_host else 1,
        ),
        rebuild=Rebuild(_copied_s(spec), None, "blobs copied from another node to the new drive, one after the other"),
        is_disk=spec.drives.disk is not None,
        reason=f"{_REASON}: {spec.quorum} of {replicas}",
        source=_SOURCE,
        settings=f"replica {replicas}, quorum {spec.quorum}",
    )  # fmt: skip


def _copied_s(spec: BobSpec) -> float | None:
    """Return how long the blobs of a drive are copied, of a full one if nothing is stored; None: not known."""
    drives, blob = spec.drives, spec.blobs.max_size
    size = float(generate(spec.workload, 0).size_bytes.mean())
    held = spec.stored.objects * size * spec.vdisks.replicas / (spec.hosts.count * drives.count)
    if not held:
        capacity = capacity_of(drives.preset)
        if capacity is None:
            return None
        held = _FULL * capacity
    return copied_s(held / blob, blob, drives.read, drives.write, 1)


def options(hardware: Hardware) -> Iterator[Option]:
    """Yield copies with a majority as quorum, then with all of them; a drive of a single host has a node of its own."""
    sets = {} if hardware.hosts > 1 else {"hosts.processes": hardware.drives}
    places = hardware.hosts if hardware.hosts > 1 else hardware.drives
    for replicas in (3, 2, 1):
        for quorum in dict.fromkeys((replicas // 2 + 1, replicas)):
            cached = hardware.cached(replicas)
            known = {} if cached is None else {"cached": f"{cached:.3g}"}
            if replicas <= places:
                facts = {"replicas": replicas, "quorum": quorum, **known}
                yield Option(f"replica {replicas}, quorum {quorum}", facts, sets)
