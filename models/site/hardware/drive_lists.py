"""Reads drives from `smartctl`, `nvme list` and `lshw -json`, as text and JSON.

Formats: smartmontools (smartctl in JSON), nvme-cli (nvme-print-json.c, both layouts), lshw (-json).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from models.site.hardware.links import rate_text
from models.site.hardware.lsblk import bytes_of, has_system, preset_of
from models.site.reader import Facts, Found, Reader, SiteFile

_RPM = 7200
_CAPACITY = re.compile(
    r"^\s*(?:User Capacity|Total NVM Capacity|Namespace 1 Size/Capacity):\s+([\d,.'  ]+)", re.MULTILINE
)
_NVME_LINE = re.compile(r"^\s*/dev/(nvme\d+n\d+)\s.*?[\d.]+\s*[kKMGTP]?B\s*/\s*([\d.]+)\s*([kKMGTP]?)B\s", re.MULTILINE)
_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


def _one_drive(size_bytes: float, rpm: int | None, is_nvme: bool) -> Found:
    """Return what is known of one drive of a host; without a rate of rotation its kind is not."""
    facts: Facts = {"drive.capacity": f"{round(size_bytes / 1e9)}GB"} if size_bytes else {}
    if is_nvme or rpm is not None:
        facts["drive"] = preset_of(bool(rpm), is_nvme)
    if not facts:
        raise ValueError("it has neither capacity nor rate of rotation")
    notes = ["it is one drive; how many there are is in lsblk -J"]
    if rpm and rpm != _RPM:
        notes.append(f"the drive has {rpm} rpm; the preset is of {_RPM}")
    return Found(facts, tuple(notes))


def read_smartctl(file: SiteFile) -> Found:
    """Return kind and capacity of the drive that `smartctl` describes."""
    fields = file.fields
    if fields:
        size = (fields.get("user_capacity") or {}).get("bytes") or fields.get("nvme_total_capacity") or 0
        is_nvme = (fields.get("device") or {}).get("protocol") == "NVMe"
        return _one_drive(float(size), fields.get("rotation_rate"), is_nvme)
    size_text = _CAPACITY.search(file.text)
    rotation = re.search(r"^\s*Rotation Rate:\s+(\d+|Solid)", file.text, re.MULTILINE)
    rpm = None if rotation is None else 0 if rotation[1] == "Solid" else int(rotation[1])
    is_nvme = bool(re.search(r"^\s*(NVMe Version|Total NVM Capacity)", file.text, re.MULTILINE))
    return _one_drive(float(re.sub(r"\D", "", size_text[1])) if size_text else 0.0, rpm, is_nvme)


def _flash(sizes: Sequence[float]) -> Found:
    """Return the drives of the most frequent size."""
    if not sizes:
        raise ValueError("it has no drives")
    counts = Counter(round(size / 1e9) for size in sizes)
    size_gb, number = max(counts.items(), key=lambda each: (each[1], each[0]))
    notes = [f"{count} drives of {size} GB are left out" for size, count in sorted(counts.items()) if size != size_gb]
    return Found({"drives": number, "drive": "nvme", "drive.capacity": f"{size_gb}GB"}, tuple(notes))


def _namespaces(devices: Iterable[Mapping[str, Any]]) -> Iterator[float]:
    """Yield the sizes in bytes of namespaces, in the layout of one list or of subsystems."""
    for device in devices:
        if device.get("PhysicalSize"):
            yield float(device["PhysicalSize"])
        for part in ("Subsystems", "Controllers", "Namespaces"):
            yield from _namespaces(device.get(part) or ())


def read_nvme(file: SiteFile) -> Found:
    """Return number and size of the NVMe drives that `nvme list` has."""
    if file.fields:
        return _flash(list(_namespaces(file.fields["Devices"])))
    return _flash([float(size) * _DECIMAL[unit] for _, size, unit in _NVME_LINE.findall(file.text)])


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for child in node.get("children") or ():
        yield from _nodes(child)


def _names(node: Mapping[str, Any]) -> list[str]:
    names = node.get("logicalname") or []
    return [names] if isinstance(names, str) else [str(name) for name in names]


def read_lshw(file: SiteFile) -> Found:
    """Return cores, the fastest link and the drives without the system of a host."""
    (top,) = file.items or [file.fields]
    nodes = list(_nodes(top))
    facts: Facts = {}
    threads = [
        int((node.get("configuration") or {}).get("threads") or (node.get("configuration") or {}).get("cores") or 1)
        for node in nodes
        if node.get("class") == "processor" and not node.get("disabled")
    ]
    facts |= {"cores": sum(threads)} if threads else {}
    rates = [float(node.get("size") or node.get("capacity") or 0) for node in nodes if node.get("class") == "network"]
    facts |= {"nic": rate_text(max(rates))} if any(rates) else {}
    disks = [
        node
        for node in nodes
        if node.get("class") == "disk" and node.get("size") and not has_system(_mounts(node)) and _names(node)
    ]
    if disks:
        sizes = [bytes_of(node["size"]) for node in disks]
        if all("nvme" in name for node in disks for name in _names(node)):
            facts |= _flash(sizes).facts
        else:
            facts |= {"drives": len(disks), "drive.capacity": f"{round(sum(sizes) / len(sizes) / 1e9)}GB"}
    if not facts:
        raise ValueError("it has neither processors nor links nor drives; run it as root")
    return Found(facts)


def _mounts(disk: Mapping[str, Any]) -> list[str]:
    return [name for node in _nodes(disk) for name in _names(node) if not name.startswith("/dev/")]


_OF_DRIVES = frozenset({"drives", "drive", "drive.capacity"})

SMARTCTL = Reader(
    "smartctl",
    lambda file: (
        "smartctl" in file.fields
        or (
            file.json is None
            and bool(re.search(r"^=== START OF (INFORMATION|SMART DATA) SECTION", file.text, re.MULTILINE))
        )
    ),
    read_smartctl,
    _OF_DRIVES,
)
"""The reader of one drive."""

NVME = Reader(
    "nvme list",
    lambda file: isinstance(file.fields.get("Devices"), list) if file.fields else bool(_NVME_LINE.search(file.text)),
    read_nvme,
    _OF_DRIVES,
)
"""The reader of NVMe drives."""

LSHW = Reader(
    "lshw -json",
    lambda file: any(each.get("class") == "system" and "children" in each for each in (*file.items, file.fields)),
    read_lshw,
    _OF_DRIVES | {"cores", "nic"},
)
"""The reader of all hardware of a host."""
