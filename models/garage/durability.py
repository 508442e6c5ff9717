"""What the objects of a Garage survive: copies of rows and blocks on a quorum of nodes, synced if that is set."""

from __future__ import annotations

from collections.abc import Iterator

from models.durability.data_loss import fatal_sets
from models.durability.durability import Durability, Rebuild, copied_s
from models.garage.spec import GarageSpec
from models.site.options import Hardware, Option
from traces.workload.generate import generate

_SOURCE = "garage_rpc/replication_mode.rs; data_fsync in garage_block/manager.rs, metadata_fsync in garage_db"
_PARTITIONS = 256  # PARTITION_BITS, garage_rpc/layout/version.rs
_FULL = 0.95  # of a drive (assumed)
_TRANQUILITY = 2  # a worker sleeps for twice the time of its work: resync tranquility, garage_block/resync.rs
_RESYNC = "blocks fetched by one resync worker at tranquility 2, once the drive is replaced"


def durability(spec: GarageSpec) -> Durability:
    """Return how rows and blocks are kept."""
    copies, quorum = spec.replication, spec.protection.write_quorum
    synced = {"rows": spec.metadata.fsync, "blocks": spec.data_fsync}
    unsynced = " and ".join(name for name, is_synced in synced.items() if not is_synced)
    return Durability(
        width=copies,
        data=1,
        acknowledged=quorum,
        synced=not unsynced,
        on_host=1,
        on_rack=None,
        hosts=spec.hosts.count,
        # A block is on the same drive of each of its nodes, as nodes with equal drives divide hashes in the same way
        # (garage_block/layout.rs); rows are on the first.
        fatal=spec.drives.count * fatal_sets(_PARTITIONS, copies, copies - 1, spec.hosts.count, 1),
        rebuild=Rebuild(_copied_s(spec), None, _RESYNC),
        is_disk=spec.drives.disk is not None,
        reason=f"a PUT waits for {quorum} of {copies} nodes, which {_synced_text(unsynced)}",
        source=_SOURCE,
        settings=f"replica {copies}",
    )


def _synced_text(unsynced: str) -> str:
    return f"do not sync {unsynced}" if unsynced else "sync rows and blocks"


def _copied_s(spec: GarageSpec) -> float:
    """Return how long the blocks of a drive are fetched, of a full one if nothing is stored."""
    drives = spec.drives
    size = spec.stored.object_size or float(generate(spec.workload, 0).size_bytes.mean()) or 1.0
    block_bytes = min(size, float(spec.block_size)) * spec.compressed
    held = spec.stored.objects * size * spec.compressed * spec.replication / (spec.hosts.count * drives.count)
    blocks = (held or _FULL * drives.capacity) / block_bytes
    return copied_s(blocks, block_bytes, drives.read, drives.write, 1) * (1 + _TRANQUILITY)


def options(hardware: Hardware) -> Iterator[Option]:
    """Yield three copies, then fewer, each without syncs, which is the default, and then with them."""
    most = min(3, hardware.hosts)
    for copies in range(most, 0, -1):
        cached = hardware.cached(copies)
        facts = {"replicas": copies, **({} if cached is None else {"cached": f"{cached:.3g}"})}
        sets = {"drives.capacity": hardware.drive_bytes, "balance": "proxy"}  # which leaves out nodes that are down
        yield Option(f"replica {copies}", facts, sets)
        fsync = {"metadata.fsync": True, "data_fsync": True}
        yield Option(f"replica {copies}, fsync", facts, {**sets, **fsync})
