"""Reads hosts and drives as Ceph's orchestrator lists them: `ceph orch host ls` and `ceph orch device ls`.

Formats: src/pybind/mgr/orchestrator/module.py, whose sizes are in powers of 1000. Which of the drives are OSDs is not
said, so facts of `ceph osd tree` are more exact.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from models.ceph.site.osds import Osd, facts_of_osds
from models.site.reader import Facts, Found, Reader, SiteFile

_HOSTS = re.compile(r"^\s*HOST\s+ADDR\s+LABELS\b.*$", re.MULTILINE)
_DEVICES = re.compile(r"^\s*(?:HOST|Hostname)\s+PATH\s+TYPE\b.*$", re.MULTILINE | re.IGNORECASE)
_DEVICE = re.compile(
    r"^\s*(?P<host>\S+)\s+(?P<path>/dev/\S+)\s+(?P<type>hdd|ssd|nvme)\b.*?"
    r"\s(?P<size>\d+(?:\.\d+)?)(?P<unit>[kKMGTP])i?B?(?=\s|$)(?P<rest>.*)$",
    re.MULTILINE,
)
_UNITS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_AVAILABLE = re.compile(r"^\s+(?:.*\s)?(?:Yes|True)\b")


class _Device(NamedTuple):
    """A device: its host, class and bytes, and whether it has nothing on it."""

    host: str
    kind: str
    size_bytes: float
    is_available: bool


def read_hosts(file: SiteFile) -> Found:
    """Return the hosts, and those with the label `rgw` as gateways; with labels, the hosts are those for OSDs.

    Raises:
        ValueError: it lists no hosts.
    """
    labels = list(_labels(file))
    if not labels:
        raise ValueError("it lists no hosts")
    of_osds = sum("osd" in words or "osds" in words for words in labels)
    notes = [] if of_osds else ["hosts without OSDs are counted too, as no host has the label osd"]
    gateways = sum("rgw" in words for words in labels)
    return Found({"hosts": of_osds or len(labels), **({"gateways": gateways} if gateways else {})}, tuple(notes))


def _labels(file: SiteFile) -> Iterator[list[str]]:
    """Yield the labels of each host."""
    if file.items:
        yield from ([str(label) for label in each.get("labels") or ()] for each in file.items)
        return
    header = _HOSTS.search(file.text)
    for line in file.text[header.end() if header else 0 :].splitlines()[1:]:
        if not line.strip() or re.match(r"\s*\d+ hosts? in cluster", line):
            return
        yield re.split(r"[\s,]+", line.strip())[2:]


def read_devices(file: SiteFile) -> Found:
    """Return hosts and drives; flash next to hard disks is taken as that of databases.

    Raises:
        ValueError: it lists no drives.
    """
    devices = list(_of_json(file.items) if file.items else _of_text(file.text))
    if not devices:
        raise ValueError("it lists no drives")
    hosts = len({device.host for device in devices})
    disks = [device for device in devices if device.kind == "hdd"]
    found = facts_of_osds([Osd(each.host, each.kind, each.size_bytes) for each in disks or devices])
    facts: Facts = {name: value for name, value in found.facts.items() if name != "host-groups"}
    notes = [
        *found.notes,
        "which of its drives are OSDs, and which have the system, is not said; ceph osd tree says it",
    ]
    if (flash := Counter(device.kind for device in devices if device.kind != "hdd")) and disks:
        kind = "nvme" if "nvme" in flash else "sata-ssd"
        facts |= {"db": kind, "db-drives": max(1, round(flash.total() / hosts))}
        notes.append("the flash drives next to hard disks are taken as those of databases")
    if free := sum(device.is_available for device in devices):
        notes.append(f"{free} of {len(devices)} drives are not used yet")
    return Found(facts, tuple(notes))


def _of_text(text: str) -> Iterator[_Device]:
    for row in _DEVICE.finditer(text):
        kind = "nvme" if "nvme" in row["path"] else row["type"]
        yield _Device(row["host"], kind, float(row["size"]) * _UNITS[row["unit"]], bool(_AVAILABLE.match(row["rest"])))


def _of_json(hosts: Sequence[Mapping[str, Any]]) -> Iterator[_Device]:
    for host in hosts:
        for device in host.get("devices") or ():
            kind = str(device.get("human_readable_type", ""))
            kind = "nvme" if "nvme" in str(device["path"]) else kind
            size_bytes = float((device.get("sys_api") or {}).get("size") or 0)
            yield _Device(str(host.get("name")), kind, size_bytes, bool(device.get("available")))


def _lists_devices(file: SiteFile) -> bool:
    devices = [device for host in file.items for device in host.get("devices") or () if isinstance(device, Mapping)]
    return any({"path", "sys_api"} <= device.keys() for device in devices)


_ROUGH = frozenset({"hosts", "drives", "drive", "drive.capacity", "db", "db-drives", "gateways", "index-drives"})

READERS = (
    Reader(
        "ceph orch host ls",
        lambda file: (
            any({"hostname", "labels", "addr"} <= each.keys() for each in file.items) or bool(_HOSTS.search(file.text))
        ),
        read_hosts,
        _ROUGH,
    ),
    Reader(
        "ceph orch device ls", lambda file: _lists_devices(file) or bool(_DEVICES.search(file.text)), read_devices,
        _ROUGH,
    ),
)  # fmt: skip
"""The readers of the orchestrator's lists."""
