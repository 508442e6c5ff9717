"""Reads `lsblk` of util-linux, JSON or text: the data drives of a host, by kind and size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from models.site.reader import Facts, Found, Reader, SiteFile

_SYSTEM = re.compile(r"/|/(boot|usr|var|home|tmp|root)(/.*)?|\[SWAP\]")
_DATABASE = re.compile(r"osd-{2}(db|wal)|block-{2}(db|dbs|wal)\b|block\.db")
_NOT_DRIVES = re.compile(r"(loop|zram|ram|nbd|rbd|dm-|sr|md|fd)\d*")
_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}


class Drive(NamedTuple):
    """A drive: the preset of its kind, its capacity in decimal GB, and whether databases of OSDs are on it."""

    kind: str
    capacity_gb: int
    has_databases: bool = False


def preset_of(rotational: bool, is_nvme: bool) -> str:
    """Return the preset of a class of drives."""
    return "hdd-7k2" if rotational else "nvme" if is_nvme else "sata-ssd"


def bytes_of(size: Any) -> float:
    """Return a size in bytes, with units of powers of 1024.

    Raises:
        ValueError: it is none.
    """
    match = re.fullmatch(r"([\d.,]+)\s*([BKMGTP]?)", str(size))
    if match is None:
        raise ValueError(f"size is {size!r}")
    return float(match[1].replace(",", ".")) * _UNITS[match[2]]


def _mounts(device: Mapping[str, Any]) -> Iterator[str]:
    points = device.get("mountpoints") or [device.get("mountpoint")]
    yield from (str(point) for point in points if point)
    for child in device.get("children") or ():
        yield from _mounts(child)


def has_system(points: Iterable[str]) -> bool:
    """Return whether one of some mount points is of the system."""
    return any(_SYSTEM.fullmatch(point) for point in points)


def _below(device: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for child in device.get("children") or ():
        yield child
        yield from _below(child)


def _drives(devices: Iterable[Mapping[str, Any]]) -> Iterator[Drive]:
    """Yield the drives that do not have the system on them; of an unknown kind, with an empty preset.

    A drive with several paths is one.
    """
    paths = set[str]()
    for device in devices:
        if path := next((str(each["name"]) for each in _below(device) if each.get("type") == "mpath"), ""):
            if path in paths:
                continue
            paths.add(path)
        name = str(device["name"]).removeprefix("/dev/")
        if device.get("type", "disk") != "disk" or _NOT_DRIVES.fullmatch(name):
            continue
        if str(device.get("rm")) in ("True", "1") or has_system(_mounts(device)):
            continue
        is_nvme = name.startswith("nvme") or device.get("tran") == "nvme"
        rota = device.get("rota")
        kind = "" if rota is None and not is_nvme else preset_of(str(rota) in ("True", "1"), is_nvme)
        if size := bytes_of(device.get("size") or 0):
            databases = any(_DATABASE.search(str(each.get("name"))) for each in _below(device))
            yield Drive(kind, round(size / 1e9), databases)


def read(file: SiteFile) -> Found:
    """Return number, kind and capacity of the data drives, which are the most frequent ones."""
    devices = file.fields["blockdevices"] if file.fields else _table(file.text)
    found = list(_drives(devices))
    counts = Counter(drive for drive in found if not drive.has_databases)
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
    if databases := [drive for drive in found if drive.has_databases]:
        facts |= {"db": databases[0].kind or "sata-ssd", "db-drives": len(databases)}
    others = {name: count for name, count in of_kind.items() if name != kind}
    if not databases and kind == "hdd-7k2" and others.keys() & {"nvme", "sata-ssd"}:
        fast = "nvme" if "nvme" in others else "sata-ssd"
        facts |= {"db": fast, "db-drives": others.pop(fast)}
        notes.append("the flash drives next to hard disks are taken as those of databases or metadata")
    notes += [f"{count} drives of another kind ({name or 'unknown'}) are left out" for name, count in others.items()]
    return Found(facts, tuple(notes))


_ALWAYS = {"name", "kname", "maj:min", "rm", "size", "ro", "type", "rota", "mountpoint"}  # the last may be empty
_HEADER = re.compile(r"^NAME\s.*\bSIZE\b.*$", re.MULTILINE)
_BRANCH = re.compile(r"^[\s├└│─|`-]+")


def _table(text: str) -> list[Mapping[str, Any]]:
    """Return the drives of the text of lsblk, each with all that is below it as its children."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if _HEADER.match(line))
    columns = [(match[0].lower(), match.span()) for match in re.finditer(r"\S+", lines[start])]
    devices: list[tuple[Mapping[str, str], list[Mapping[str, str]]]] = []
    for line in filter(str.strip, lines[start + 1 :]):
        branch = _BRANCH.match(line)
        if branch is None:
            devices.append((_cells(line, columns), []))
        elif devices:
            _, children = devices[-1]
            children.append(_cells(" " * branch.end() + line[branch.end() :], columns))
    return [{**device, "children": children} for device, children in devices]


def _cells(line: str, columns: list[tuple[str, tuple[int, int]]]) -> dict[str, str]:
    """Return the cells of a row by the names of columns: in their order if all are filled, else by their places."""
    words = list(re.finditer(r"\S+", line))
    if len(words) == 1 and re.match(r"/|\[", words[0][0]):
        return {"name": "", "mountpoint": words[0][0]}  # a further mount point of the line before
    names = [name.replace("mountpoints", "mountpoint") for name, _ in columns]
    may_be_empty = names[-1:].count("mountpoint") if set(names) <= _ALWAYS else 0
    if len(words) >= len(columns) - may_be_empty:
        return dict(zip(names, (word[0] for word in words), strict=False))
    cells = {names[0]: words[0][0]}
    for word in words[1:]:
        ends = [min(abs(word.start() - first), abs(word.end() - last)) for _, (first, last) in columns[1:]]
        cells[names[1 + ends.index(min(ends))]] = word[0]
    return cells


LSBLK = Reader(
    "lsblk",
    lambda file: isinstance(file.fields.get("blockdevices"), list) if file.fields else bool(_HEADER.search(file.text)),
    read,
)
"""The reader."""
