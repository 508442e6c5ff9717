"""Reads how full the drives of a Swift cluster are: `diskusage` of recon, and `swift-recon -d` with and without -v.

Formats: swift/common/middleware/recon.py and swift/cli/recon.py. What swift-recon calls a host is a port of one, of
which an object server for each drive has several; a ring has the hosts more exactly.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from models.site.reader import Facts, Found, Reader, SiteFile
from models.site.uneven import even_hosts, mean_capacity

_HOSTS = re.compile(r"^--> Starting reconnaissance on (\d+) hosts", re.MULTILINE)
_OF_HOST = re.compile(r"^-> https?://(?P<host>\S+?):\d+/recon/diskusage: (?P<drives>\[.*\])\s*$", re.MULTILINE)
_GRAPH = re.compile(r"^\s*`*\s*(\d+)%\s+(\d+)(?: |$)", re.MULTILINE)
_TOTAL = re.compile(r"^Disk usage: space used: (\d+) of (\d+)", re.MULTILINE)


def read_disk_usage(file: SiteFile) -> Found:
    """Return drives, capacity and fill of one host.

    Raises:
        ValueError: no drive is mounted.
    """
    drives, found = _usage(file.items)
    return Found({**found.facts, "drives": drives}, found.notes)


def _usage(entries: Sequence[Mapping[str, Any]]) -> tuple[int, Found]:
    """Return the number of mounted drives, their capacity, and notes on their fill."""
    mounted = [each for each in entries if str(each.get("mounted")) == "True" and each.get("size")]
    if not mounted:
        raise ValueError("no drive of it is mounted")
    facts, notes = mean_capacity([float(each["size"]) for each in mounted])
    fills = [100 * float(each["used"]) / float(each["size"]) for each in mounted]
    notes.append(f"drives are {min(fills):.0f} to {max(fills):.0f} % full")
    if missing := len(entries) - len(mounted):
        notes.append(f"{missing} drives are not mounted; they are left out")
    return len(mounted), Found(facts, tuple(notes))


def read_recon(file: SiteFile) -> Found:
    """Return hosts, drives, capacity and fill of the cluster.

    Raises:
        ValueError: it has no drives.
    """
    of_hosts: dict[str, list[Mapping[str, Any]]] = {}
    for row in _OF_HOST.finditer(file.text):
        drives = ast.literal_eval(re.sub(r"\bnull\b", "None", row["drives"]))
        of_hosts.setdefault(row["host"], []).extend(drives)
    if of_hosts:
        facts, notes = even_hosts([sum(str(each["mounted"]) == "True" for each in own) for own in of_hosts.values()])
        _, found = _usage([each for own in of_hosts.values() for each in own])
        return Found({**facts, **found.facts}, (*notes, *found.notes))
    return _summary(file.text)


def _summary(text: str) -> Found:
    hosts, total = _HOSTS.search(text), _TOTAL.search(text)
    drives = sum(int(number) for _, number in _GRAPH.findall(text))
    if hosts is None or total is None or not drives:
        raise ValueError("it lacks the number of hosts, or the graph of disk usage; swift-recon -d has both")
    count, used, size = int(hosts[1]), int(total[1]), int(total[2])
    facts: Facts = {"hosts": count, "drives": max(1, round(drives / count))}
    facts["drive.capacity"] = f"{round(size / drives / 1e9)}GB"
    notes = [f"drives are {100 * used / size:.0f} % full on average"]
    if drives % count:
        notes.append(f"{drives} drives are on {count} hosts; a spec has equal hosts")
    return Found(facts, tuple(notes))


READERS = (
    Reader(
        "diskusage of recon",
        lambda file: bool(file.items) and all({"device", "mounted", "size"} <= each.keys() for each in file.items),
        read_disk_usage,
    ),
    Reader(
        "swift-recon -d", lambda file: bool(_OF_HOST.search(file.text) or _TOTAL.search(file.text)), read_recon,
        frozenset({"hosts", "drives"}),
    ),
)  # fmt: skip
"""The readers of drives and their fill."""
