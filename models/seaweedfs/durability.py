"""What the objects of a SeaweedFS survive: copies of volumes, shards of old ones, and entries of filers."""

from __future__ import annotations

from collections.abc import Iterator

from models.durability.data_loss import fatal_sets
from models.durability.durability import Durability, Rebuild, Weaker, copied_s
from models.seaweedfs.spec import SeaweedSpec
from models.site.options import Hardware, Option, Values
from traces.workload.generate import generate

_SOURCE = "weed/operation/upload_chunked.go, weed/storage/volume_write.go"
_VOLUME_BYTES = 30e9  # the master's default, -volumeSizeLimitMB 30000
_FULL = 0.95  # of a drive (assumed)
_FIXED = "volumes copied one after the other, by volume.fix.replication or ec.rebuild once the drive is replaced"
_OLD = 0.9  # of the objects are in volumes that are full and quiet, so that they are erasure coded (assumed)


def durability(spec: SeaweedSpec) -> Durability:
    """Return how chunks and entries are kept, of replicated or erasure-coded volumes those that can lose less."""
    volumes, hosts, store = spec.volumes, spec.hosts.count, spec.filer.store
    erasure, copies = volumes.erasure, volumes.copies
    is_coded = erasure.fraction > 0 and erasure.parity - -(-erasure.width // hosts) < copies - 2
    width, data = (erasure.width, erasure.data) if is_coded else (copies, 1)
    by_host = width <= hosts
    drives = spec.total_drives
    synced = "sync it" if volumes.fsync else "append it to their page caches, and sync nothing"
    entry = f"its entry is on {store.copies} machine{'s' * (store.copies > 1)}, {'' if store.synced else 'not '}synced"
    # Filers with stores of their own follow the changes of the others, which no request waits for.
    peers = 1 if store.shared else spec.gateway_count
    return Durability(
        width=width,
        data=data,
        acknowledged=width,
        synced=volumes.fsync,
        on_host=-(-width // hosts),
        on_rack=None,
        hosts=hosts,
        fatal=fatal_sets(
            max(_held_bytes(spec) * drives / spec.bytes_per_byte / _VOLUME_BYTES, 1.0), width, width - data,
            hosts if by_host else max(drives, width), spec.drives.count if by_host else 1,
        ),
        rebuild=Rebuild(_copied_s(spec), None, _FIXED),
        is_disk=spec.drives.disk is not None,
        reason=f"a chunk waits for all servers of its volume, which {synced}; {entry}",
        source=_SOURCE,
        settings=_settings(spec),
        on_drive=-(-width // drives),
        weaker=Weaker("entries of filers", max(store.copies, peers), store.copies, store.synced),
        usable=1 / spec.bytes_per_byte,
    )  # fmt: skip


def _settings(spec: SeaweedSpec) -> str:
    erasure = spec.volumes.erasure
    replication = f"replication {_xyz(spec.volumes.copies)}"
    return f"{replication}, EC {erasure.data}+{erasure.parity}" if erasure.fraction else replication


def _xyz(copies: int) -> str:
    """Return SeaweedFS's word for further copies on other hosts."""
    return f"{copies - 1:03d}"


def _held_bytes(spec: SeaweedSpec) -> float:
    """Return the bytes on each drive, those of a full one if nothing is stored."""
    size = spec.stored.object_size or float(generate(spec.workload, 0).size_bytes.mean())
    return spec.stored.objects * size * spec.bytes_per_byte / spec.total_drives or _FULL * spec.drives.capacity


def _copied_s(spec: SeaweedSpec) -> float:
    held = _held_bytes(spec)
    piece = min(held, _VOLUME_BYTES)
    return copied_s(held / piece, piece, spec.drives.read, spec.drives.write, 1)


def options(hardware: Hardware) -> Iterator[Option]:
    """Yield two copies, three, one, each as by default and then synced; at last two, of which old ones are coded.

    Entries of what is synced are in a database with a synchronous copy, whose commits are synced on a drive as of data.
    """
    copies = [each for each in (2, 3, 1) if each <= hardware.hosts]
    settings = [(each, 0.0) for each in copies]
    if 2 in copies and hardware.total_drives >= 14:
        settings.append((2, _OLD))
    for number, coded in settings:
        stored = (1 - coded) * number + coded * 1.4
        cached = hardware.cached(stored)
        facts = {"replicas": number, **({} if cached is None else {"cached": f"{cached:.3g}"})}
        sets: Values = {"drives.capacity": hardware.drive_bytes, "balance": "proxy"}
        text = _xyz(number)
        if coded:
            sets["volumes.erasure.fraction"] = coded
            text += ", EC 10+4"
        yield Option(text, facts, sets)
        database: Values = {
            "volumes.fsync": True,
            "filer.store.shared": True,
            "filer.store.latency": "50us",
            "filer.store.synced": True,
            "filer.store.copies": min(number, 2),
        }
        yield Option(f"{text}, fsync, SQL filer store", facts, {**sets, **database})
