"""Reads what a Swift cluster is: the text of `swift-ring-builder object.builder` (swift/cli/ringbuilder.py)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log2
from typing import NamedTuple

from models.site.reader import Facts, Found, Reader, SiteFile
from models.site.uneven import even_hosts

_HEAD = re.compile(
    r"^\s*(\d+) partitions, ([\d.]+) replicas, (?:\d+ regions?, )?\d+ zones?, \d+ devices?", re.MULTILINE
)
_DEVICE = re.compile(
    r"^\s*\d+\s+(?:(?P<region>\d+)\s+)?(?P<zone>\d+)\s+"  # without regions and a network for replicas before 1.9
    r"(?:(?P<ip>\S+):(?P<port>\d+)\s+\S+:\d+|(?P<old_ip>\S+)\s+(?P<old_port>\d+)(?:\s+\S+[.:]\S+\s+\d+)?)\s+"
    r"(?P<name>\S+)\s+(?P<weight>[\d.]+)\s+(?P<partitions>\d+)\b",
    re.MULTILINE,
)
_MOST_REPLICAS = 5


class Device(NamedTuple):
    """A drive in a ring: region and zone, address and port of its server, and weight."""

    region: str
    zone: str
    ip: str
    port: str
    weight: float


def read_ring(file: SiteFile) -> Found:
    """Return hosts, drives, zones, partitions and replicas of a ring.

    Raises:
        ValueError: the ring has no devices.
    """
    head = _HEAD.search(file.text)
    devices = [
        Device(each["region"] or "1", each["zone"], each["ip"] or each["old_ip"], each["port"] or each["old_port"],
               float(each["weight"]))
        for each in _DEVICE.finditer(file.text)
    ]  # fmt: skip
    if head is None:
        raise ValueError("it has no devices")
    return found_of(devices, round(log2(int(head[1]))), float(head[2]))


def found_of(devices: Sequence[Device], part_power: int, replicas: float) -> Found:
    """Return what the devices of a ring say of hosts, and its replicas of protection.

    Raises:
        ValueError: the ring has no devices.
    """
    if not devices:
        raise ValueError("it has no devices")
    hosts = Counter(device.ip for device in devices)
    weights = _weights(devices)
    facts, notes = even_hosts([max(hosts.values())] * len(hosts) if weights else [*hosts.values()])
    if weights:
        facts["ring-weights"] = [{"weight": weight} for weight in weights]
    if len(set(hosts.values())) > 1:
        notes.append(
            f"hosts have {min(hosts.values())} to {max(hosts.values())} drives; in the spec the missing ones have "
            "weight 0, so they hold nothing"
        )
    facts["zones"] = len({(device.region, device.zone) for device in devices})
    facts["part-power"] = part_power
    facts |= _servers(devices)
    if replicas > _MOST_REPLICAS:
        notes.append(f"{replicas:g} replicas are fragments of an erasure code, whose k and m the ring does not say")
    else:
        facts["protection"] = f"replica {max(1, round(replicas))}"
        if replicas != round(replicas):
            notes.append(f"{replicas:g} replicas are taken as {round(replicas)}")
    if (regions := len({device.region for device in devices})) > 1:
        notes.append(f"{regions} regions are taken as zones, without the latency between them")
    return Found(facts, tuple(notes))


def _weights(devices: Sequence[Device]) -> list[float]:
    """Return the weight of each drive, host by host, 0 for those that a host lacks; none if all are equal.

    Hosts are in zones in turn, as in a spec, if zones have as many hosts.
    """
    of_host: dict[str, list[float]] = {}
    zone_of: dict[str, tuple[str, str]] = {}
    for device in devices:
        of_host.setdefault(device.ip, []).append(device.weight)
        zone_of.setdefault(device.ip, (device.region, device.zone))
    most = max(map(len, of_host.values()))
    padded = {host: weights + [0.0] * (most - len(weights)) for host, weights in of_host.items()}
    if len({weight for weights in padded.values() for weight in weights}) == 1:
        return []
    zones: dict[tuple[str, str], list[str]] = {}
    for host, zone in zone_of.items():
        zones.setdefault(zone, []).append(host)
    alike = len({len(hosts) for hosts in zones.values()}) == 1
    order = [host for turn in zip(*zones.values(), strict=True) for host in turn] if alike else list(of_host)
    return [weight for host in order for weight in padded[host]]


def _servers(devices: Sequence[Device]) -> Facts:
    """Return whether each drive has object servers of its own: a port for each drive of a host."""
    ports: dict[str, set[str]] = {}
    for device in devices:
        ports.setdefault(device.ip, set()).add(device.port)
    drives = Counter(device.ip for device in devices)
    own = all(len(of_host) == drives[host] for host, of_host in ports.items())
    return {"servers-per-port": 1 if own and max(drives.values()) > 1 else 0} if max(drives.values()) > 1 else {}


READERS = (Reader("swift-ring-builder", lambda file: bool(_HEAD.search(file.text)), read_ring),)
"""The reader of rings."""
