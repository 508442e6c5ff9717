"""Reads which OSDs a Ceph cluster has: `ceph osd tree`, `ceph osd df` and `ceph osd metadata` in JSON.

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

_FLASH = "ssd", "nvme"
_OF_ALL_POOLS = (
    "placement groups of OSDs are those of all pools, of which the data pool is assumed to have as large a part on "
    "each OSD; ceph pg dump -f json says which are its own, and which OSD is their primary"
)
_MOST_GROUPS = 8  # of hosts in a new spec; with more, hosts are equal there


@dataclass(frozen=True)
class Osd:
    """An OSD of a cluster.

    Attributes:
        host: its name; empty: not known.
        device_class: empty: not known.
        size_bytes: 0: not known.
        is_up: whether it runs.
        number: -1: not known.
        pgs: number of its placement groups; -1: not known.
        root: of the CRUSH tree that it is in; empty: not known.
        weight: in CRUSH; with 0 it gets no data; None: not known.
        is_in: whether it is in the cluster, so that it gets data.
    """

    host: str
    device_class: str
    size_bytes: float
    is_up: bool = True
    number: int = -1
    pgs: int = -1
    root: str = ""
    weight: float | None = None
    is_in: bool = True


def facts_of_osds(osds: Sequence[Osd]) -> Found:
    """Return the hosts and data drives of a cluster: those of the device class with most bytes.

    Flash next to hard disks is taken as the index pool's.

    Raises:
        ValueError: there are no OSDs.
    """
    osds, left_out = _holding(osds)
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
    down, out = (sum(not getattr(osd, state) for osd in osds) for state in ("is_up", "is_in"))
    if states := [f"{number} {word}" for number, word in ((down, "down"), (out, "out")) if number]:
        first, *further = states
        of_all = first.replace(" ", f" of {len(osds)} OSDs are ", 1)
        notes.append(f"{', '.join((of_all, *further))}; the spec has them, as in a healthy cluster")
    return Found(facts, (*notes, *left_out))


def _holding(osds: Sequence[Osd]) -> tuple[list[Osd], list[str]]:
    """Return the OSDs that hold the data, those of one CRUSH root with a weight above 0, and notes on the others."""
    weighted = [osd for osd in osds if osd.weight is None or osd.weight > 0] or list(osds)
    notes = [f"{empty} OSDs with weight 0 are left out"] if (empty := len(osds) - len(weighted)) else []
    roots: Counter[str] = Counter()
    for osd in weighted:
        roots[osd.root] += int(osd.size_bytes) or 1
    if len(roots) < 2:
        return weighted, notes
    (root, _), *others = roots.most_common()
    names = ", ".join(name or "none" for name, _ in others)
    notes.append(f"OSDs of the root {root or 'none'}, which has most bytes, are taken; those of {names} are left out")
    return [osd for osd in weighted if osd.root == root], notes


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
    nodes = {node["id"]: node for node in (*file.fields["nodes"], *file.fields.get("stray", ()))}
    host_of = {
        child: str(node["name"])
        for node in nodes.values()
        if node["type"] == "host" and "~" not in str(node["name"])  # of a shadow tree, which has one class
        for child in node.get("children", ())
    }
    parents = {child: node for node in nodes.values() for child in node.get("children", ())}
    numbers = [number for number, node in nodes.items() if node["type"] == "osd"]
    strays = [number for number in numbers if host_of and number not in host_of]
    osds = [
        Osd(
            host_of.get(number, ""),
            str(node.get("device_class", "")),
            _size(node),
            node.get("status", "up") == "up",
            number,
            int(node.get("pgs", -1)),
            _root(parents, number),
            float(node["crush_weight"]) if "crush_weight" in node else None,
            float(node.get("reweight", 1)) > 0,
        )
        for number, node in ((number, nodes[number]) for number in numbers if number not in strays)
    ]
    is_df = "summary" in file.fields
    if not host_of:
        if not is_df:
            raise ValueError("it has no hosts")
        return without_hosts(osds, list(nodes.values()))
    found = facts_of_osds(osds)
    notes = [f"{len(strays)} OSDs on no host are left out"] * bool(strays)
    return Found(found.facts, (*found.notes, *notes, *(fill(list(nodes.values())) if is_df else ())))


def without_hosts(osds: Sequence[Osd], nodes: Sequence[Mapping[str, Any]]) -> Found:
    """Return what OSDs say whose hosts are not known, as in `ceph osd df`: placement groups, capacity and kind.

    Raises:
        ValueError: there are no OSDs.
    """
    if not osds:
        raise ValueError("it has no OSDs")
    facts, notes = mean_capacity([osd.size_bytes for osd in osds if osd.size_bytes])
    classes = {osd.device_class for osd in osds}
    facts |= _kind(classes.pop()) if len(classes) == 1 else {}
    if all(osd.pgs >= 0 and osd.is_up for osd in osds) and any(osd.pgs for osd in osds):
        facts["osd-pgs"] = [{"osd": osd.number, "pgs": osd.pgs} for osd in osds]
    return Found(facts, (*notes, "it has no hosts; those are in ceph osd df tree", *fill(nodes)))


def _root(parents: Mapping[Any, Mapping[str, Any]], number: int) -> str:
    """Return the name of the root above an OSD; empty: it is below none."""
    node, depth = parents.get(number), 0
    while node is not None and node["type"] != "root" and depth < 20:
        node, depth = parents.get(node["id"]), depth + 1
    return "" if node is None else str(node["name"])


def _size(node: Mapping[str, Any]) -> float:
    """Return the size of an OSD in bytes: as it is, or its weight in CRUSH, which is in TiB by default."""
    return 1024.0 * node["kb"] if node.get("kb") else float(node.get("crush_weight", 0)) * 2**40


def fill(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return notes on how full OSDs are, and on how uneven their placement groups."""
    osds = [node for node in nodes if node["type"] == "osd" and node.get("kb")]
    if not osds:
        return []
    fills = [100 * node["kb_used"] / node["kb"] for node in osds]
    notes = [f"OSDs are {min(fills):.0f} to {max(fills):.0f} % full, {mean(fills):.0f} on average"]
    groups = [int(node["pgs"]) for node in osds if "pgs" in node]
    if groups and max(groups) > 1.2 * mean(groups):
        notes.append(f"OSDs have {min(groups)} to {max(groups)} placement groups, {mean(groups):.0f} on average")
    return notes


def read_metadata(file: SiteFile) -> Found:
    """Return what `ceph osd metadata` says: hosts, drives, databases and release."""
    if not file.items:
        return _one_osd(file.fields)
    return metadata_facts(file.items)


def _one_osd(daemon: Mapping[str, Any]) -> Found:
    """Return what the metadata of a single OSD say: of how many, they do not."""
    found = metadata_facts([daemon])
    facts = {name: value for name, value in found.facts.items() if name not in ("hosts", "drives", "db-drives")}
    return Found(facts, (*found.notes, "it is one OSD; those of all are in ceph osd metadata without a number"))


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


ROUGH_PGS = frozenset({"osd-pgs"})
"""Facts that the placement groups themselves have more exactly."""

READERS = (
    Reader(
        "ceph osd df tree -f json", lambda file: _has_nodes(file) and "summary" in file.fields, read_tree, ROUGH_PGS
    ),
    Reader("ceph osd tree -f json", _has_nodes, read_tree),
    Reader(
        "ceph osd metadata -f json",
        lambda file: any(
            "bluestore_bdev_type" in each or {"hostname", "osd_objectstore"} <= each.keys()
            for each in (*file.items, file.fields)
        ),
        read_metadata,
    ),
)
"""The readers of OSDs in JSON."""
