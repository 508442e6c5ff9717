"""The spec of a new Ceph cluster: what has to be known, and the sections that follow."""

from __future__ import annotations

from models.ceph.durability import options as protection_options
from models.ceph.growth import grown
from models.ceph.mechanisms.releases import RELEASES, since
from models.ceph.site import crush, definitions, options, orchestrator, osd_text, osds, pools
from models.ceph.spec.spec import CephSpec
from models.site import common, drive_times
from models.site.kinds import COUNT, DRIVE_OR_NONE, PROTECTION, SIZE, choice, shards
from models.site.known import Known, Tree, assumed, derived
from models.site.setup import Question, Setup, Site
from traces.errors import InputError
from traces.spec.units import parse_bytes

_PGS_PER_OSD = 100  # mon_target_pg_per_osd, src/common/options/mgr.yaml.in
_DB_FRACTION = 0.04  # of the data device: doc/rados/configuration/bluestore-config-ref.rst

_QUESTIONS = (
    Question("release", "Release of Ceph", choice(*RELEASES), "reef", "the release of 2023"),
    common.HOSTS,
    common.DRIVES,
    common.DRIVE_QUESTION,
    Question("db", "Drives for the databases of the OSDs (block.db): a preset such as nvme, or none", DRIVE_OR_NONE,
             "none", "databases on the data drives"),
    Question("db-drives", "Such drives of each host", COUNT, optional=True),
    Question("db-size", "Size of the block.db of each OSD (default: 4 % of its drive)", SIZE, optional=True),
    common.NIC,
    common.CORES,
    common.SPEED,
    Question("memory", "Memory of an OSD (osd_memory_target)", SIZE, "4GiB", "Ceph's default", "2GiB", "16GiB"),
    Question("gateways", "RADOS gateways", COUNT),
    Question("gateway-cores", "Cores of each gateway", COUNT, 8, "a small server", 4, 16),
    Question("protection", "Protection: 'replica 3' or 'ec 4+2'", PROTECTION, "replica 3", "Ceph's default"),
    Question("placement-groups", "Placement groups of the data pool (default: 100 shards on an OSD)", COUNT,
             optional=True),
    Question("buckets", "Buckets that objects are in", COUNT, 10, "a few applications"),
    Question("shards", "Index shards of a bucket (default: what dynamic resharding gives)", COUNT, optional=True),
    common.OBJECTS,
    common.STORED_SIZE,
    *common.WORKLOAD,
    *common.CLIENTS,
)  # fmt: skip


def draft(site: Site) -> Tree:
    """Return the sections of the spec."""
    count, drives = site["hosts"].value, site["drives"].value
    holdings = {
        "objects": site["objects"],
        "object_size": site.derived("stored-size", site["size"].value, "that of the requests"),
    }
    tree: Tree = {
        "release": site["release"],
        "workload": common.workload(site, buckets=site["buckets"]),
        "client": common.clients(site, count),
        "network": {"latency": site["latency"]},
        "gateways": _gateways(site),
        "hosts": {**_hosts(site), "cores": _cores(site), "nic": site["nic"]},
        "osd": {
            "memory_target": site["memory"],
            **site.optional(shards="osd-shards", threads_per_shard="osd-threads-per-shard"),
        },
        "device": drive_times.device(site),
        "db": _database(site),
        **({"index": index} if (index := _index(site)) else {}),
        "pools": _pools(site, count, count * drives),
        "stored": holdings,
    }
    tree = {name: part for name, part in tree.items() if isinstance(part, Known) or part}
    resharding = {"dynamic": derived(True, "Ceph's default: rgw_dynamic_resharding")}
    return {**tree, "buckets": {"shards": _shards(site), "resharding": resharding}}


def _hosts(site: Site) -> Tree:
    """Return the number of hosts and of their drives; in groups, if files say that hosts differ."""
    equal: Tree = {"count": site["hosts"], "drives": site["drives"]}
    found = site.get("host-groups")
    if found is None or any(known.origin == "given" for known in (site["hosts"], site["drives"])):
        return equal
    sizes = {group["bytes"] for group in found.value}
    groups: dict[str, Tree] = {}
    for group in found.value:
        drives, terabytes = group["drives"], f"{group['bytes'] / 1e12:.2g}"
        name = f"with-{drives}-drives" + (f"-of-{terabytes.replace('.', '-')}tb" if len(sizes) > 1 else "")
        own = {field: Known(group[field], found.origin) for field in ("count", "drives")}
        if len(sizes) > 1:
            device = {"preset": drive_times.drive(site), "capacity": Known(f"{terabytes}TB", found.origin)}
            groups[name] = {**own, "device": device}
        else:
            groups[name] = own
    return {"groups": groups}


def _cores(site: Site) -> Known | Tree:
    cores, threads = common.cores(site), site.get("threads-per-core")
    if threads is None:
        return cores
    return {**({"count": cores} if isinstance(cores, Known) else cores), "threads_per_core": threads}


def _gateways(site: Site) -> Tree:
    collocated = site.optional(collocated="collocated")
    own = {} if collocated else {"nic": derived(site["nic"].value, "that of the hosts")}
    options = site.optional(frontend="frontend")
    if site.get("frontend") is not None and site["frontend"].value == "beast":
        options |= site.optional(tcp_nodelay="tcp-nodelay")
    return {"count": site["gateways"], **collocated, "cores": site["gateway-cores"], **options, **own}


def _index(site: Site) -> Tree:
    """Return the drives of a device class of its own for the index pool; empty: there are none."""
    drives = site.get("index-drives")
    if drives is None:
        return {}
    return {"drives": drives, "device": assumed("nvme", "the preset, as the class is flash")}


def _database(site: Site) -> Tree:
    """Return the section `db`; empty: databases are on the data drives."""
    if site["db"].value == "none":
        return {}
    given, drives = site.get("db-drives"), site["drives"].value
    capacity = site.get("drive.capacity")
    data_bytes = drive_times.capacity_bytes(site["drive"].value) if capacity is None else parse_bytes(capacity.value)
    on_each = -(-drives // given.value) if given else 1
    device_bytes = drive_times.capacity_bytes(site["db"].value)
    size = min(int(_DB_FRACTION * data_bytes), device_bytes // on_each)
    text = f"{size // 10**9}GB"
    why = "4 % of the data drive, as Ceph advises, or what fits on the device"
    how = f"{drives} OSDs on {given.value} devices" if given else "a device for each OSD"
    per_device = derived(on_each, how) if given else assumed(on_each, how)
    return {
        "device": drive_times.drive(site, "db"),
        "size": site.derived("db-size", text, why),
        "osds_per_device": per_device,
    }


def _pools(site: Site, hosts: int, osds_: int) -> Tree:
    if site.get("erasure-shards") is not None and site["protection"].origin.startswith("assumed"):
        raise InputError(
            f"the data pool has {site['erasure-shards'].value} shards of an erasure code, of which "
            "no file says how many are data; ceph osd erasure-code-profile get does, or give the protection 'ec K+M'"
        )
    width = sum(shards(site["protection"].value))
    index = site.optional(index_replicas="index-replicas")
    few = max(width, index["index_replicas"].value if index else 3) > hosts
    domain = site.optional(failure_domain="failure-domain")
    if few:
        domain = {"failure_domain": derived("osd", f"{hosts} hosts are fewer than the parts of an object")}
    balancer = site.optional(balancer="balancer")
    is_on = balancer["balancer"].value if balancer else since(site["release"].value, "pacific")
    deviation = site.optional(upmap_max_deviation="upmap-max-deviation") if is_on else {}
    groups = {"pg_num": _placement_groups(site, osds_), **balancer, **deviation}
    return {"data": site["protection"], **index, **groups, **domain, **_osd_pgs(site)}


def _osd_pgs(site: Site) -> Tree:
    """Return the placement groups of each OSD, in the order of the spec's OSDs; empty: not those of all are known."""
    order, found = site.get("osd-order"), site.get("osd-pgs")
    if order is None or found is None or any(site[name].origin == "given" for name in ("hosts", "drives")):
        return {}
    of_osd = {each["osd"]: each for each in found.value}
    ids = [each["osd"] for each in order.value]
    if not of_osd.keys() <= set(ids):
        return {}
    fields = {"osd_pgs": "pgs", "osd_primaries": "primaries"}
    return {
        field: Known([of_osd.get(osd, {}).get(name, 0) for osd in ids], found.origin)
        for field, name in fields.items()
        if any(name in each for each in found.value)
    }


def _placement_groups(site: Site, osds: int) -> Known:
    data, parity = shards(site["protection"].value)
    width = data + parity
    exact = max(osds * _PGS_PER_OSD / width, 8)
    number = 1 << round(exact).bit_length() - 1
    number = 2 * number if exact / number > 2**0.5 else number
    return site.derived("placement-groups", min(number, 65536), f"{_PGS_PER_OSD} shards of them on an OSD")


def _shards(site: Site) -> Known:
    """Return the shards of a bucket's index: those to which gateways have resharded it."""
    young = CephSpec.model_validate(
        {
            "store": "ceph",
            "release": site["release"].value,
            "workload": {"clients": 1, "operations": 1, "object_size": "1KiB", "mix": {"PUT": 1},
                         "keys": {"kind": "uniform", "count": 1}, "buckets": site["buckets"].value},
            "buckets": {"resharding": {"dynamic": True}},
        }
    )  # fmt: skip
    shards_now = grown(young, float(site["objects"].value)).buckets.shards
    return site.derived("shards", shards_now, "dynamic resharding, 100,000 objects a shard")


_READERS = (
    *osds.READERS,
    *osd_text.READERS,
    *pools.READERS,
    *definitions.READERS,  # which may hold a ceph.conf
    *options.READERS,
    *crush.READERS,
    *orchestrator.READERS,
)

SETUP = Setup(_QUESTIONS, draft, _READERS, options=protection_options)
"""Questions and sections of a Ceph spec."""
