"""Reads `lsblk -J` of util-linux: the data drives of a host, by kind and size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from models.site.reader import Facts, Found, Reader, SiteFile

_SYSTEM = re.compile(r"/|/(boot|usr|var|home|tmp|root)(/.*)?|\[SWAP\]")
_NOT_DRIVES = re.compile(r"(loop|zram|ram|nbd|rbd|dm-|sr|md|fd)\d*")
_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}


class Drive(NamedTuple):
    """A drive: the preset of its kind, and its capacity in decimal GB."""

    kind: str
    capacity_gb: int


def preset_of(rotational: bool, is_nvme: bool) -> str:
    """Return the preset of a class of drives."""
    return "hdd-7k2" if rotational else "nvme" if is_nvme else "sata-ssd"


def _bytes(size: Any) -> float:
    match = re.fullmatch(r"([\d.,]+)\s*([BKMGTP]?)", str(size))
    if match is None:
        raise ValueError(f"size is {size!r}")
    return float(match[1].replace(",", ".")) * _UNITS[match[2]]


def _mounts(device: Mapping[str, Any]) -> Iterator[str]:
    points = device.get("mountpoints") or [device.get("mountpoint")]
    yield from (str(point) for point in points if point)
    for child in device.get("children") or ():
        yield from _mounts(child)


def _drives(devices: list[Mapping[str, Any]]) -> Iterator[Drive]:
    """Yield the drives that do not have the system on them; of an unknown kind, with an empty preset."""
    for device in devices:
        name = str(device["name"]).removeprefix("/dev/")
        if device.get("type", "disk") != "disk" or _NOT_DRIVES.fullmatch(name):
            continue
        if str(device.get("rm")) in ("True", "1") or any(_SYSTEM.fullmatch(point) for point in _mounts(device)):
            continue
        is_nvme = name.startswith("nvme") or device.get("tran") == "nvme"
        rota = device.get("rota")
        kind = "" if rota is None and not is_nvme else preset_of(str(rota) in ("True", "1"), is_nvme)
        if size := _bytes(device.get("size") or 0):
            yield Drive(kind, round(size / 1e9))


def read(file: SiteFile) -> Found:
    """Return number, kind and capacity of the data drives, which are the most frequent ones."""
    counts = Counter(_drives(file.fields["blockdevices"]))
    if not counts:
        return Found({}, ("each drive has the system on it, so none is taken as a data drive",))
    of_kind = Counter[str]()
    for drive, count in counts.items():
        of_kind[drive.kind] += count
    kind, number = max(of_kind.items(), key=lambda each: (each[1], each[0] == "hdd-7k2"))
    sizes = {drive.capacity_gb: count for drive, count in counts.items() if drive.kind == kind}
    total_gb = sum(size * count for size, count in sizes.items())
    facts: Facts = {"drives": number, "drive.capacity": f"{round(total_gb / number)}GB"}
    notes = []
    if kind:
        facts["drive"] = kind
    else:
        notes.append("lsblk does not say which drives are hard disks; it does with -o +ROTA")
    if len(sizes) > 1 and max(sizes) > 1.1 * min(sizes):
        notes.append(f"drives have {min(sizes)} to {max(sizes)} GB; a spec has equal ones, of the mean capacity")
    others = {name: count for name, count in of_kind.items() if name != kind}
    if kind == "hdd-7k2" and others.keys() & {"nvme", "sata-ssd"}:
        fast = "nvme" if "nvme" in others else "sata-ssd"
        facts |= {"db": fast, "db-drives": others.pop(fast)}
        notes.append("the flash drives next to hard disks are taken as those of databases or metadata")
    notes += [f"{count} drives of another kind ({name or 'unknown'}) are left out" for name, count in others.items()]
    return Found(facts, tuple(notes))


LSBLK = Reader("lsblk -J", lambda file: isinstance(file.fields.get("blockdevices"), list), read)
"""The reader."""
