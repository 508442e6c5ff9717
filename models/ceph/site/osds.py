"""Reads which OSDs a Ceph cluster has: `ceph osd tree` and `ceph osd df tree` (text and JSON), `ceph osd metadata`.

Formats: src/mon/OSDMonitor.cc and src/osd/OSDMap.cc (print_tree), src/mgr/DaemonServer.cc (osd df),
OSD::_collect_metadata (src/osd/OSD.cc).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from models.ceph.mechanisms.releases import RELEASES
from models.site.hardware.lsblk import preset_of
from models.site.reader import Facts, Found, Reader, SiteFile
from models.site.uneven import even_hosts, mean_capacity

_LINE = re.compile(
    r"^\s*(?P<id>-?\d+)\s+(?:(?P<class>[a-z]\w*)\s+)?(?P<weight>\d+(?:\.\d+)?|-)\s+"
    r"(?:(?P<type>[a-z]\w*) (?P<name>\S+)|(?P<osd>osd\.\d+)\s+(?P<status>up|down|DNE|destroyed)\b)"
)
_DF_LINE = re.compile(
    r"^\s*-?\d+\s+(?:(?P<class>[a-z]\w*)\s+)?(?:\d+(?:\.\d+)?|-)\s+(?:\d+(?:\.\d+)?|-)\s+"
    r"(?P<size>\d+(?:\.\d+)?)\s*(?P<unit>[KMGTPE]?)(?:i?B)?\s.*?\s"
    r"(?P<use>\d+(?:\.\d+)?|-)\s+(?:\d+(?:\.\d+)?|-)\s+(?:(?P<pgs>\d+|-)\s+)?(?:(?P<status>up|down|destroyed|DNE)\s+)?"
    r"(?:(?P<type>[a-z]\w*) (?P<name>\S+)|(?P<osd>osd\.\d+))\s*$"
)
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_FLASH = "ssd", "nvme"
_OF_ALL_POOLS = (
    "placement groups of OSDs are those of all pools, of which the data pool is assumed to have as large a part on "
    "each OSD; ceph pg dump -f json says which are its own, and which OSD is their primary"
)
_MOST_GROUPS = 8  # of hosts in a new spec; with more, hosts are equal there


@dataclass(frozen=True)
class Osd:
    """An OSD: its host, device class (empty: not known), size in bytes (0: not known), and whether it is up.

    Its number is -1 if it is not known, and so is the number of its placement groups.
    """

    host: str
    device_class: str
    size_bytes: float
    is_up: bool = True
    number: int = -1
    pgs: int = -1


def facts_of_osds(osds: Sequence[Osd]) -> Found:
    """Return the hosts and data drives of a cluster: those of the device class with most bytes.

    Flash next to hard disks is taken as the index pool's.

    Raises:
        ValueError: there are no OSDs.
    """
    sizes: Counter[str] = Counter()
    for osd in osds:
        sizes[osd.device_class] += int(osd.size_bytes) or 1
    data_class = max(sizes, key=lambda name: sizes[name], default="")
    data = [osd for osd in osds if osd.device_class == data_class]
    counts = Counter(osd.host for osd in data)
    facts, notes = even_hosts(list(counts.values()))
    of_capacity, about_capacity = mean_capacity([osd.size_bytes for osd in data if osd.size_bytes])
    groups = _groups(data)
    if 1 < len(groups) <= _MOST_GROUPS:
        facts["host-groups"], notes = groups, _within_hosts(data)
    else:
        notes += about_capacity
    if len(groups) <= _MOST_GROUPS:
        facts |= _in_order(data)
        notes += [_OF_ALL_POOLS] * ("osd-pgs" in facts)
    facts |= of_capacity
    facts |= _kind(data_class)
    if data_class == "ssd":
        notes.append("the device class ssd does not say whether drives are of the kind nvme or sata-ssd")
    for name in sorted(sizes.keys() - {data_class}):
        others = Counter(osd.host for osd in osds if osd.device_class == name)
        each = max(1, round(sum(others.values()) / len(counts)))
        if name in _FLASH and data_class == "hdd" and "index-drives" not in facts:
            facts["index-drives"] = each
            notes.append(f"{sum(others.values())} OSDs of class {name} are taken as the index pool's, {each} a host")
        else:
            notes.append(f"{sum(others.values())} OSDs of class {name or 'unknown'} are left out")
    if down := sum(not osd.is_up for osd in osds):
        notes.append(f"{down} of {len(osds)} OSDs are down; the spec has them, as in a healthy cluster")
    return Found(facts, tuple(notes))


def _groups(osds: Sequence[Osd]) -> list[Mapping[str, object]]:
    """Return the number of hosts with as many drives of as many bytes, the most frequent ones first."""
    return [
        {"count": len(hosts), "drives": drives, "bytes": size_bytes} for drives, size_bytes, hosts in _alike_hosts(osds)
    ]


def _alike_hosts(osds: Sequence[Osd]) -> list[tuple[int, float, list[list[Osd]]]]:
    """Return drives and bytes of a drive of hosts that are alike, and the OSDs of each, in the order of `_groups`."""
    of_hosts: dict[str, list[Osd]] = {}
    for osd in osds:
        of_hosts.setdefault(osd.host, []).append(osd)
    known = all(osd.size_bytes for osd in osds)
    alike: dict[tuple[int, float], list[list[Osd]]] = {}
    for own in of_hosts.values():
        size_bytes = float(f"{mean(osd.size_bytes for osd in own):.2g}") * known
        alike.setdefault((len(own), size_bytes), []).append(own)
    ordered = sorted(alike.items(), key=lambda each: (-len(each[1]), each[0]))
    return [(drives, size_bytes, hosts) for (drives, size_bytes), hosts in ordered]


def _in_order(osds: Sequence[Osd]) -> Facts:
    """Return the numbers of OSDs in the order of those of a spec, and their placement groups, if all are up."""
    ordered = [osd for _, _, hosts in _alike_hosts(osds) for own in hosts for osd in own]
    facts: Facts = {}
    if all(osd.number >= 0 for osd in ordered):
        facts["osd-order"] = [{"osd": osd.number} for osd in ordered]
        if all(osd.pgs >= 0 and osd.is_up for osd in ordered) and any(osd.pgs for osd in ordered):
            facts["osd-pgs"] = [{"osd": osd.number, "pgs": osd.pgs} for osd in ordered]
    return facts


def _within_hosts(osds: Sequence[Osd]) -> list[str]:
    """Return a note if drives of one host differ."""
    hosts = {osd.host for osd in osds}
    of_each = [[osd.size_bytes for osd in osds if osd.host == host] for host in hosts]
    mixed = sum(max(sizes) > 1.1 * min(sizes) for sizes in of_each)
    return [f"{mixed} hosts have drives of different sizes; a group of hosts has equal ones, of the mean"] * bool(mixed)


def _kind(device_class: str) -> Facts:
    presets = {"hdd": "hdd-7k2", "nvme": "nvme"}
    return {"drive": presets[device_class]} if device_class in presets else {}


def read_tree(file: SiteFile) -> Found:
    """Return what `ceph osd tree` in JSON says, or `ceph osd df tree`, which has sizes and fill."""
    nodes = {node["id"]: node for node in file.fields["nodes"]}
    host_of = {
        child: str(node["name"])
        for node in nodes.values()
        if node["type"] == "host"
        for child in node.get("children", ())
    }
    osds = [
        Osd(
            host_of.get(number, ""),
            str(node.get("device_class", "")),
            _size(node),
            node.get("status", "up") == "up",
            number,
            int(node.get("pgs", -1)),
        )
        for number, node in nodes.items()
        if node["type"] == "osd"
    ]
    is_df = "summary" in file.fields
    if not host_of:
        if not is_df:
            raise ValueError("it has no hosts")
        facts, notes = mean_capacity([osd.size_bytes for osd in osds if osd.size_bytes])
        return Found(facts, (*notes, "it has no hosts; those are in ceph osd df tree"))
    found = facts_of_osds(osds)
    return Found(found.facts, (*found.notes, *_fill(list(nodes.values())))) if is_df else found


def _size(node: Mapping[str, Any]) -> float:
    """Return the size of an OSD in bytes: as it is, or its weight in CRUSH, which is in TiB by default."""
    return 1024.0 * node["kb"] if node.get("kb") else float(node.get("crush_weight", 0)) * 2**40


def _fill(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    osds = [node for node in nodes if node["type"] == "osd" and node.get("kb")]
    if not osds:
        return []
    fills = [100 * node["kb_used"] / node["kb"] for node in osds]
    notes = [f"OSDs are {min(fills):.0f} to {max(fills):.0f} % full, {mean(fills):.0f} on average"]
    groups = [int(node["pgs"]) for node in osds if "pgs" in node]
    if groups and max(groups) > 1.2 * mean(groups):
        notes.append(f"OSDs have {min(groups)} to {max(groups)} placement groups, {mean(groups):.0f} on average")
    return notes


def read_tree_text(file: SiteFile) -> Found:
    """Return what `ceph osd tree` says as text; before Luminous it has no device classes.

    An OSD that is not below a host, such as one that was removed from CRUSH, holds no data.
    """
    host, host_column, strays = "", 0, 0
    osds: dict[str, Osd] = {}
    lines = [match for line in file.text.expandtabs().splitlines() if (match := _LINE.match(line))]
    hosts = [match.start("type") for match in lines if match["type"] == "host"]
    # Text that was pasted without its indentation has all names in a column.
    is_indented = any(match["osd"] and match.start("osd") > min(hosts, default=0) for match in lines)
    for match in lines:
        if match["type"] == "host":
            host, host_column = match["name"], match.start("type")
        elif match["type"]:
            host = "" if match["type"] == "root" else host
        elif is_indented and match.start("osd") <= host_column:
            strays += 1
        elif match["osd"] not in osds:
            weight = 0.0 if match["weight"] == "-" else float(match["weight"])
            number = int(match["osd"].removeprefix("osd."))
            osds[match["osd"]] = Osd(host, match["class"] or "", weight * 2**40, match["status"] == "up", number)
    found = facts_of_osds(list(osds.values()))
    notes = (f"{strays} OSDs on no host are left out",) if strays else ()
    return Found(found.facts, (*found.notes, *notes))


def read_df_tree_text(file: SiteFile) -> Found:
    """Return what `ceph osd df tree` says as text: hosts, drives with their sizes, and fill."""
    host, osds = "", []
    nodes: list[Mapping[str, Any]] = []
    for match in filter(None, map(_DF_LINE.match, file.text.splitlines())):
        if match["type"] == "host":
            host = match["name"]
        elif match["osd"]:
            size_bytes = float(match["size"]) * 2 ** _POWERS[match["unit"].upper()]
            groups = {"pgs": int(match["pgs"])} if match["pgs"] and match["pgs"] != "-" else {}
            is_up, number = match["status"] in (None, "up"), int(match["osd"].removeprefix("osd."))
            osds.append(Osd(host, match["class"] or "", size_bytes, is_up, number, groups.get("pgs", -1)))
            used = 0.0 if match["use"] == "-" else float(match["use"])
            nodes.append({"type": "osd", "kb": size_bytes / 1024, "kb_used": used * size_bytes / 102400, **groups})
    found = facts_of_osds(osds)
    return Found(found.facts, (*found.notes, *_fill(nodes)))


def read_metadata(file: SiteFile) -> Found:
    """Return what `ceph osd metadata` says: hosts, drives, databases and release."""
    return metadata_facts(file.items)


def metadata_facts(daemons: Sequence[Mapping[str, Any]]) -> Found:
    """Return the facts in the metadata of OSDs."""
    known = [each for each in daemons if each.get("hostname")]
    osds = [Osd(str(each["hostname"]), _class(each), float(each.get("bluestore_bdev_size", 0))) for each in known]
    found = facts_of_osds(osds)
    facts, notes = dict(found.facts), list(found.notes)
    classes = Counter(_class(each) for each in known)
    data = [each for each in known if _class(each) == max(classes, key=lambda name: classes[name])]
    if all("nvme" in str(each.get("bluestore_bdev_devices", each.get("devices", ""))) for each in data):
        facts["drive"] = "nvme"
        notes = [note for note in notes if not note.startswith("the device class ssd")]
    facts |= _database(data)
    releases = {match[1] for each in known if (match := re.search(r"\) (\w+) \(", str(each.get("ceph_version"))))}
    facts |= {"release": max(releases, key=_age)} if releases & set(RELEASES) else {}
    if len(releases) > 1:
        notes.append(f"OSDs have the releases {', '.join(sorted(releases))}; the newest is used")
    return Found(facts, tuple(notes))


def _age(release: str) -> int:
    return [*RELEASES].index(release) if release in [*RELEASES] else -1


def _class(each: Mapping[str, Any]) -> str:
    named = each.get("default_device_class") or each.get("bluestore_bdev_type")
    if named:
        return str(named)
    rotational = each.get("bluestore_bdev_rotational", each.get("rotational"))
    return {"1": "hdd", "0": "ssd"}.get(str(rotational), "")


def _database(daemons: Sequence[Mapping[str, Any]]) -> Facts:
    """Return the databases that are on devices of their own."""
    own = [each for each in daemons if str(each.get("bluefs_dedicated_db")) == "1"]
    if not own:
        return {"db": "none"}
    devices = {(each["hostname"], str(each.get("bluefs_db_devices"))) for each in own}
    names = [device for _, device in devices]
    is_nvme = any("nvme" in name for name in names) or any(each.get("bluefs_db_type") == "nvme" for each in own)
    facts: Facts = {"db": preset_of(str(own[0].get("bluefs_db_rotational")) == "1", is_nvme)}
    if "None" not in names:
        facts["db-drives"] = max(1, round(len(devices) / len({each["hostname"] for each in own})))
    sizes = [float(each["bluefs_db_size"]) for each in own if each.get("bluefs_db_size")]
    if sizes:
        facts["db-size"] = f"{max(1, round(mean(sizes) / 1e9))}GB"
    return facts


def _has_nodes(file: SiteFile) -> bool:
    nodes = file.fields.get("nodes")
    return isinstance(nodes, list) and any(isinstance(node, Mapping) and node.get("type") == "osd" for node in nodes)


_ROUGH_PGS = frozenset({"osd-pgs"})

READERS = (
    Reader(
        "ceph osd df tree -f json", lambda file: _has_nodes(file) and "summary" in file.fields, read_tree, _ROUGH_PGS
    ),
    Reader("ceph osd tree -f json", _has_nodes, read_tree),
    Reader(
        "ceph osd tree",
        lambda file: (
            bool(re.search(r"^\s*ID\s.*WEIGHT\s+TYPE[ _]NAME", file.text, re.MULTILINE)) and "%USE" not in file.text
        ),
        read_tree_text,
    ),
    Reader(
        "ceph osd df tree",
        lambda file: bool(re.search(r"^\s*ID\s.*%USE\s.*TYPE[ _]NAME", file.text, re.MULTILINE)),
        read_df_tree_text,
        _ROUGH_PGS,
    ),
    Reader(
        "ceph osd metadata -f json",
        lambda file: (
            any("hostname" in each and "osd_objectstore" in each for each in file.items)
            or any("bluestore_bdev_type" in each for each in file.items)
        ),
        read_metadata,
    ),
)
"""The readers of OSDs."""
