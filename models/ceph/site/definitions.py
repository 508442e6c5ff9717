"""Reads what a Ceph cluster is to be: definitions of Rook, of cephadm and of ceph-ansible.

Formats: rook.io/docs (CRDs CephCluster, CephObjectStore, CephBlockPool, and the values of its Helm chart),
docs.ceph.com/en/latest/cephadm/services, and docs.ceph.com/projects/ceph-ansible.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from models.ceph.mechanisms.releases import RELEASES
from models.ceph.site.osds import Osd, facts_of_osds
from models.site.kubernetes import limit, quantity, volume_bytes
from models.site.reader import Facts, Found, Reader, SiteFile
from traces.spec.units import binary_size

_TARGET_OF_LIMIT = 0.8  # osd_memory_target_cgroup_limit_ratio, src/common/options/osd.yaml.in
_MAJORS = dict(zip((10, *range(12, 21)), RELEASES, strict=True))
_FLASH = "the flash drives of databases are taken as nvme; the definition does not say which kind they are"
_SET_REPLICAS = 3  # of a device set without them: red-hat-storage/ocs-operator, api/v1/storagecluster_types.go
_Part = Mapping[str, Any]


def _of_rook(file: SiteFile) -> list[tuple[str, _Part]]:
    """Return the kinds and the specs of Rook's resources, also of those in values of its chart."""
    found = [
        (str(each["kind"]), each.get("spec") or {})
        for each in file.documents
        if str(each.get("apiVersion", "")).startswith(("ceph.rook.io", "ocs.openshift.io")) and "kind" in each
    ]
    for values in file.documents:
        if isinstance(values.get("cephClusterSpec"), Mapping):
            found.append(("CephCluster", values["cephClusterSpec"]))
        for name, kind in (("cephObjectStores", "CephObjectStore"), ("cephBlockPools", "CephBlockPool")):
            found += [(kind, each.get("spec") or {}) for each in values.get(name) or ()]
    return found


def read_rook(file: SiteFile) -> Found:
    """Return what the resources of Rook say of OSDs, pools and gateways.

    Raises:
        ValueError: none of them says anything.
    """
    facts: Facts = {}
    notes: list[str] = []
    for kind, spec in _of_rook(file):
        if kind in ("CephCluster", "StorageCluster"):
            found = _cluster(spec) if kind == "CephCluster" else _storage_cluster(spec)
            facts |= found.facts
            notes += found.notes
        elif kind == "CephObjectStore":
            facts |= _object_store(spec)
        elif kind == "CephBlockPool" and "protection" not in facts:
            facts |= _pool("protection", spec)
    if not facts and not notes:
        raise ValueError("no resource of it says which OSDs, pools or gateways there are")
    return Found(facts, tuple(notes))


def _cluster(spec: _Part) -> Found:
    storage = spec.get("storage") or {}
    facts: Facts = {}
    notes: list[str] = []
    nodes = storage.get("nodes") or ()
    general = storage.get("config") or {}
    osds = [
        Osd(str(node["name"]), _class_of(device, general), 0) for node in nodes for device in node.get("devices") or ()
    ]
    if osds:
        found = facts_of_osds(osds)
        facts |= found.facts
        notes += found.notes
    elif nodes:
        facts["hosts"] = len(nodes)
        notes.append("its nodes have no lists of devices, so the number of drives is not known; ceph osd tree has it")
    elif sets := storage.get("storageClassDeviceSets"):
        facts |= _device_sets(sets, notes)
    else:
        notes.append("it uses all nodes and devices, so their numbers are not known; ceph osd tree has them")
    if int(general.get("osdsPerDevice") or 1) > 1:
        notes.append(f"each drive has {general['osdsPerDevice']} OSDs; in the spec it has one")
    facts |= _databases(general, nodes)
    if (memory := limit({"resources": (spec.get("resources") or {}).get("osd")}, "memory")) is not None:
        facts["memory"] = binary_size(int(_TARGET_OF_LIMIT * memory) >> 20 << 20)
    facts |= _release(str((spec.get("cephVersion") or {}).get("image", "")))
    return Found(facts, tuple(notes))


def _class_of(device: _Part, general: _Part) -> str:
    """Return the device class of a device: given, or by its name."""
    given = (device.get("config") or {}).get("deviceClass", general.get("deviceClass", ""))
    return str(given) or ("nvme" if "nvme" in str(device.get("name", "")).lower() else "")


def _databases(general: _Part, nodes: Sequence[_Part]) -> Facts:
    """Return the devices of databases: those of all nodes, or of the first with some of its own or of its devices."""
    own = [
        {str(found) for part in (node, *(node.get("devices") or ()))
         if (found := (part.get("config") or {}).get("metadataDevice"))}
        for node in nodes
    ]  # fmt: skip
    names = next(filter(None, own), {str(general["metadataDevice"])} if general.get("metadataDevice") else set())
    if not names:
        return {}
    return {"db": "nvme" if any("nvme" in name for name in names) else "sata-ssd", "db-drives": len(names)}


def _storage_cluster(spec: _Part) -> Found:
    """Return what a StorageCluster of OpenShift says: sets of devices, each with as many replicas."""
    sets = [
        {"count": int(each["count"]) * int(each.get("replica") or _SET_REPLICAS),
         "volumeClaimTemplates": [{"spec": (each.get("dataPVCTemplate") or {}).get("spec")}]}
        for each in spec.get("storageDeviceSets") or ()
    ]  # fmt: skip
    notes: list[str] = []
    return Found(_device_sets(sets, notes) if sets else {}, tuple(notes))


def _release(image: str) -> Facts:
    match = re.search(r":v?(\d+)(?:\.\d+)*(?:-\S*)?$", image)
    return {"release": _MAJORS[int(match[1])]} if match and int(match[1]) in _MAJORS else {}


def _device_sets(sets: Sequence[_Part], notes: list[str]) -> Facts:
    """Return the capacity of the volumes that OSDs are on; which hosts they are on is not known."""
    total = sum(int(each["count"]) for each in sets)
    notes.append(f"{total} OSDs are on claimed volumes; on which hosts is not known, ceph osd tree says it")
    sizes = {
        size
        for each in sets
        for claim in each.get("volumeClaimTemplates") or ()
        if (claim.get("metadata") or {}).get("name", "data") == "data" and (size := volume_bytes(claim)) is not None
    }
    return {"drive.capacity": f"{round(max(sizes) / 1e9)}GB"} if sizes else {}


def _object_store(spec: _Part) -> Facts:
    gateway = spec.get("gateway") or {}
    facts: Facts = {"gateways": int(gateway["instances"])} if gateway.get("instances") else {}
    if (cores := limit(gateway, "cpu")) is not None:
        facts["gateway-cores"] = max(1, round(cores))
    replicas = ((spec.get("metadataPool") or {}).get("replicated") or {}).get("size")
    return {**facts, **({"index-replicas": int(replicas)} if replicas else {}),
            **_pool("protection", spec.get("dataPool") or {})}  # fmt: skip


def _pool(name: str, pool: _Part) -> Facts:
    if (code := pool.get("erasureCoded") or {}).get("dataChunks"):
        return {name: f"ec {int(code['dataChunks'])}+{int(code['codingChunks'])}"}
    replicas = (pool.get("replicated") or {}).get("size")
    return {name: f"replica {int(replicas)}"} if replicas else {}


def _services(file: SiteFile) -> list[_Part]:
    return [each for each in file.documents if "service_type" in each]


def read_cephadm(file: SiteFile) -> Found:
    """Return what service specs of cephadm say of hosts, OSDs and gateways.

    Raises:
        ValueError: none of them says anything.
    """
    services = _services(file)
    labels = {
        str(each["hostname"]): [str(label) for label in each.get("labels") or ()]
        for each in services
        if each["service_type"] == "host"
    }
    facts: Facts = {}
    notes: list[str] = []
    for each in services:
        placed = _placed(each.get("placement"), labels)
        if each["service_type"] == "osd":
            facts |= _osds(each.get("spec") or each, placed, notes)
        elif each["service_type"] == "rgw" and placed:
            facts["gateways"] = int(str(facts.get("gateways", 0))) + placed
    if not facts:
        raise ValueError("no service of it says which OSDs or gateways there are")
    if "drives" not in facts:
        notes.append("it does not say how many drives a host has; ceph osd tree says it")
    return Found(facts, tuple(notes))


def _placed(placement: Any, labels: Mapping[str, Sequence[str]]) -> int:
    """Return the number of daemons of a placement; 0: not known."""
    if isinstance(placement, str):
        words = placement.split()
        return int(words[0]) if words and words[0].isdigit() else len(words)
    if not isinstance(placement, Mapping):
        return 0
    hosts = [str(host) for host in placement.get("hosts") or ()]
    if label := placement.get("label"):
        hosts = [host for host, own in labels.items() if str(label) in own]
    if pattern := placement.get("host_pattern"):
        hosts = fnmatch.filter(labels, str(pattern)) if isinstance(pattern, str) else []
    each = int(placement.get("count_per_host") or 1)
    return int(placement.get("count") or 0) or len(hosts) * each


def _osds(spec: _Part, hosts: int, notes: list[str]) -> Facts:
    facts: Facts = {"hosts": hosts} if hosts else {}
    data, databases = spec.get("data_devices") or {}, spec.get("db_devices") or {}
    if paths := data.get("paths"):
        facts["drives"] = len(paths)
    elif data.get("limit"):
        facts["drives"] = int(data["limit"])
    if str(data.get("rotational")) in ("1", "True"):
        facts["drive"] = "hdd-7k2"
    if databases:
        facts["db"] = "nvme"
        notes.append(_FLASH)
        if paths := databases.get("paths"):
            facts["db-drives"] = len(paths)
    if int(spec.get("osds_per_device") or 1) > 1:
        notes.append(f"each drive has {spec['osds_per_device']} OSDs; in the spec it has one")
    if size := spec.get("block_db_size"):
        facts["db-size"] = f"{max(1, round(quantity(str(size).removesuffix('B')) / 1e9))}GB"
    return facts


def _groups(text: str) -> Iterator[tuple[str, int]]:
    """Yield the groups of an inventory of ansible, with the number of their hosts."""
    group, count = "", 0
    for line in (*text.splitlines(), "[]"):
        line = line.split("#")[0].strip()
        if header := re.fullmatch(r"\[([\w:.-]*)\]", line):
            yield group, count
            group, count = header[1], 0
        elif line:
            count += _expanded(line.split()[0])


def _expanded(pattern: str) -> int:
    """Return the number of hosts of a pattern such as ``osd[01:12]``."""
    number = 1
    for first, last in re.findall(r"\[(\d+):(\d+)\]", pattern):
        number *= max(0, int(last) - int(first) + 1)
    return number


def read_inventory(file: SiteFile) -> Found:
    """Return the number of hosts and gateways in an inventory of ceph-ansible."""
    counts = dict(_groups(file.text))
    names = {"osds": "hosts", "rgws": "gateways"}
    facts: Facts = {fact: counts[group] for group, fact in names.items() if counts.get(group)}
    return Found(facts, ("an inventory does not say how many drives a host has; ceph osd tree says it",))


def _variables(file: SiteFile) -> _Part:
    """Return the variables of OSDs of ceph-ansible; empty: the file has none."""
    names = {"osd_scenario", "osd_objectstore", "osd_auto_discovery", "dedicated_devices", "lvm_volumes"}
    return next((each for each in file.documents if each.keys() & names), {})


def read_variables(file: SiteFile) -> Found:
    """Return the number of drives of a host in variables of ceph-ansible, such as `group_vars/osds.yml`.

    Raises:
        ValueError: they list no drives.
    """
    variables = _variables(file)
    volumes = variables.get("lvm_volumes") or ()
    drives = len(volumes) or len(variables.get("devices") or ())
    if not drives:
        raise ValueError("it lists no devices; ceph osd tree says which there are")
    facts: Facts = {"drives": drives}
    databases = {str(each.get("db_vg") or each.get("db")) for each in volumes if each.get("db")}
    databases |= {str(each) for each in variables.get("dedicated_devices") or ()}
    if databases:
        facts |= {"db": "nvme" if any("nvme" in each for each in databases) else "sata-ssd"}
        facts["db-drives"] = len(databases)
    return Found(facts)


READERS = (
    Reader("definition of Rook", lambda file: bool(_of_rook(file)), read_rook),
    Reader("service specs of cephadm", lambda file: bool(_services(file)), read_cephadm),
    Reader("variables of ceph-ansible", lambda file: bool(_variables(file)), read_variables),
    Reader(
        "inventory of ceph-ansible",
        lambda file: bool(re.search(r"^\s*\[osds\]\s*$", file.text, re.MULTILINE)),
        read_inventory,
    ),
)
"""The readers of definitions."""
