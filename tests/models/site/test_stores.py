"""Files of clusters, in the formats of their stores' commands: what is taken from them, and what is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from models.minio.site.readers import READERS as MINIO_READERS
from models.site.gathered import Read, facts_of, read_files
from models.site.hardware.readers import READERS
from models.site.known import given, plain
from models.site.reader import SiteFile
from models.site.setup import Site
from models.store import spec_of, store_named
from traces.errors import InputError

TREE = """\
ID   CLASS  WEIGHT    TYPE NAME            STATUS  REWEIGHT  PRI-AFF
 -1         87.31200  root default
-10         18.19000      host node-a
  0    hdd   3.63800          osd.0            up   1.00000  1.00000
  1    hdd   3.63800          osd.1            up   1.00000  1.00000
  2    hdd   3.63800          osd.2          down         0  1.00000
  3    hdd   3.63800          osd.3            up   1.00000  1.00000
  4    hdd   3.63800          osd.4            up   0.95000  1.00000
 20    ssd   0.87300          osd.20           up   1.00000  1.00000
-11         14.55200      host node-b
  5    hdd   3.63800          osd.5            up   1.00000  1.00000
  6    hdd   3.63800          osd.6            up   1.00000  1.00000
  7    hdd   3.63800          osd.7            up   1.00000  1.00000
  8    hdd   3.63800          osd.8            up   1.00000  1.00000
 21    ssd   0.87300          osd.21           up   1.00000  1.00000
"""
JEWEL = """\
ID WEIGHT   TYPE NAME       UP/DOWN REWEIGHT PRIMARY-AFFINITY
-1 10.91398 root default
-2  5.45699     host a
 0  1.81900         osd.0        up  1.00000          1.00000
 1  3.63799         osd.1        up  1.00000          1.00000
-3  5.45699     host b
 2  1.81900         osd.2        up  1.00000          1.00000
 3  3.63799         osd.3        up  1.00000          1.00000
"""


def of_hosts(count: int, drives: int) -> dict[str, Any]:
    """Return what is known of a group of hosts with drives of 4 TB."""
    return {"count": count, "drives": drives, "bytes": 4e12}


def in_order(*osds: int) -> list[dict[str, int]]:
    """Return the numbers of OSDs in the order of those of a spec."""
    return [{"osd": osd} for osd in osds]


def osd_tree(counts: list[int], **of_osd: Any) -> dict[str, Any]:
    """Return `ceph osd tree -f json` of hosts with these numbers of OSDs."""
    nodes: list[dict[str, Any]] = [{"id": -1, "name": "default", "type": "root", "type_id": 11, "children": []}]
    number = 0
    for host, count in enumerate(counts):
        osds = range(number, number + count)
        nodes.append({"id": -2 - host, "name": f"node{host}", "type": "host", "type_id": 1, "children": list(osds)})
        nodes += [
            {"id": osd, "name": f"osd.{osd}", "type": "osd", "type_id": 0, "device_class": "hdd", "status": "up",
             "crush_weight": 3.638, "reweight": 1.0, **of_osd}
            for osd in osds
        ]  # fmt: skip
        number += count
    return {"nodes": nodes, "stray": []}


def df_tree(counts: list[int]) -> dict[str, Any]:
    tree = osd_tree(counts, kb=3906250000, kb_used=1953125000, kb_avail=1953125000, utilization=50.0, pgs=110)
    tree["nodes"][-1] |= {"kb_used": 2539062500, "pgs": 160}
    return {**tree, "summary": {"total_kb": 1, "average_utilization": 50.6}}


def pool(name: str, size: int, pg_num: int, **further: Any) -> dict[str, Any]:
    return {"pool_id": 1, "pool_name": name, "type": 1, "size": size, "min_size": 2, "pg_num": pg_num,
            "erasure_code_profile": "", "stripe_width": 0, **further}  # fmt: skip


PG_DUMP = {
    "pg_ready": True,
    "pg_map": {"pg_stats": [
        {"pgid": "1.0", "state": "active+clean", "acting": [1, 2], "acting_primary": 1, "stat_sum": {"num_bytes": 5}},
        {"pgid": "2.0", "state": "active+clean", "acting": [4, 0], "acting_primary": 4, "stat_sum": {"num_bytes": 9}},
        {"pgid": "2.1", "state": "active+undersized", "acting": [0, 5, 2147483647], "acting_primary": 5,
         "stat_sum": {"num_bytes": 9}},
    ]},
}  # fmt: skip
CODED = {"type": 3, "min_size": 5, "erasure_code_profile": "ec42", "stripe_width": 16384}
POOLS = [
    pool(".mgr", 3, 1),
    pool("default.rgw.buckets.index", 3, 64),
    pool("default.rgw.buckets.data", 6, 512, **CODED),
]
STATUS = """\
  cluster:
    id:     00000000-0000-0000-0000-000000000000
    health: HEALTH_OK

  services:
    mon: 3 daemons, quorum a,b,c (age 3w)
    mgr: a(active, since 3w), standbys: b
    osd: 24 osds: 24 up (since 3w), 24 in (since 8M)
    rgw: 4 daemons active (4 hosts, 1 zones)

  data:
    pools:   9 pools, 705 pgs
    objects: 21.10M objects, 12 TiB
    usage:   18 TiB used, 69 TiB / 87 TiB avail
    pgs:     705 active+clean
"""
STATUS_JSON = {
    "fsid": "0",
    "health": {"status": "HEALTH_OK"},
    "osdmap": {"num_osds": 24, "num_up_osds": 24},
    "pgmap": {"num_pgs": 705, "num_pools": 9, "num_objects": 21_100_000, "data_bytes": 13_194_139_533_312},
    "servicemap": {"services": {"rgw": {"daemons": {"summary": "", "1": {}, "2": {}, "3": {}, "4": {}}}}},
}
DF = {
    "stats": {"total_bytes": 1},
    "pools": [
        {"name": "default.rgw.buckets.data", "id": 3, "stats": {"stored": 10**13, "objects": 20_000_000}},
        {"name": "default.rgw.buckets.index", "id": 2, "stats": {"stored": 10**10, "objects": 110}},
    ],
}


def metadata(host: str, osd: int, **further: str) -> dict[str, Any]:
    return {
        "id": osd, "hostname": host, "osd_objectstore": "bluestore", "rotational": "1", "bluestore_bdev_type": "hdd",
        "bluestore_bdev_devices": f"sd{osd}", "bluestore_bdev_size": "4000785105920", "bluefs_dedicated_db": "1",
        "bluefs_db_devices": f"nvme{osd % 2}n1", "bluefs_db_rotational": "0", "bluefs_db_size": "128849018880",
        "ceph_version": "ceph version 17.2.6 (d7ff0d10654d2280e08f1ab989c7cdf3064446a5) quincy (stable)", **further,
    }  # fmt: skip


METADATA = [metadata(f"node{osd // 12}", osd) for osd in range(36)]
CONFIG = [
    {"section": "global", "name": "osd_memory_target", "value": "6442450944", "mask": ""},
    {"section": "osd", "name": "osd_op_num_shards", "value": "8", "mask": ""},
    {"section": "osd", "name": "osd_op_num_threads_per_shard", "value": "2", "mask": ""},
    {"section": "mgr", "name": "mgr/balancer/upmap_max_deviation", "value": "1", "mask": ""},
    {"section": "mgr", "name": "mgr/balancer/active", "value": "true", "mask": ""},
    {"section": "osd", "name": "osd_max_backfills", "value": "1", "mask": "class:hdd"},
]
BUCKETS = [
    {"bucket": f"b{number}", "num_shards": 101, "usage": {"rgw.main": {"size": size, "num_objects": objects}}}
    for number, (size, objects) in enumerate([(4 * 10**12, 9_000_000), (10**12, 1_000_000)])
] + [{"bucket": "empty", "num_shards": 11, "usage": {}}]
REPORT = {
    "cluster_fingerprint": "0", "version": "17.2.6", "osd_metadata": METADATA,
    "osdmap": {"pools": POOLS, "erasure_code_profiles": {"ec42": {"k": "4", "m": "2"}}},
    "pool_sum": {"stat_sum": {"num_objects": 1000, "num_bytes": 4096000}},
}  # fmt: skip


def minio_info(*pools: list[int]) -> dict[str, Any]:
    """Return `mc admin info --json` of pools of servers with these numbers of drives."""
    servers = [
        {
            "state": "online", "endpoint": f"p{pool}s{number}:9000", "version": "2024-05-10T01:41:38Z",
            "drives": [{"path": f"/d{drive}", "state": "ok", "totalspace": 4 * 10**12, "pool_index": pool}
                       for drive in range(count)],
        }
        for pool, counts in enumerate(pools)
        for number, count in enumerate(counts)
    ]  # fmt: skip
    backend = {"backendType": "Erasure", "standardSCParity": 3, "totalSets": [1], "totalDrivesPerSet": [8]}
    return {"status": "success", "info": {"objects": {"count": 12}, "backend": backend, "servers": servers}}


ENVIRONMENT = """\
# /etc/default/minio
MINIO_VOLUMES="http://minio{1...6}.example.net:9000/mnt/disk{1...8}/minio"
MINIO_OPTS="--console-address :9001"
MINIO_STORAGE_CLASS_STANDARD="EC:4"
"""
COMPOSE = """\
x-minio-common: &minio-common
  image: quay.io/minio/minio:RELEASE.2024-05-10T01-41-38Z
  command: server --console-address ":9001" http://minio{1...4}/data{1...2}
  environment:
    MINIO_STORAGE_CLASS_STANDARD: EC:2
services:
  minio1: {<<: *minio-common, hostname: minio1}
  minio2: {<<: *minio-common, hostname: minio2}
  nginx: {image: nginx:1.19.2-alpine}
"""
RING = """\
object.builder, build version 9, id 0123
16384 partitions, 3.000000 replicas, 1 regions, 2 zones, 6 devices, 0.02 balance, 0.00 dispersion
The minimum number of hours before a partition can be reassigned is 1 (0:00:00 remaining)
The overload factor is 0.00% (0.000000)
Ring file object.ring.gz is up-to-date
Devices:   id region zone ip address:port replication ip:port  name weight partitions balance flags meta
            0      1    1  10.0.0.1:6200      10.0.0.1:6200     d1 100.00       8192    0.00
            1      1    1  10.0.0.1:6201      10.0.0.1:6201     d2 100.00       8192    0.00
            2      1    2  10.0.0.2:6200      10.0.0.2:6200     d1 100.00       8192    0.00
            3      1    2  10.0.0.2:6201      10.0.0.2:6201     d2 100.00       8192    0.00
            4      1    2  10.0.0.3:6200      10.0.0.3:6200     d1 200.00       8192    0.00
            5      1    2  10.0.0.3:6201      10.0.0.3:6201     d2 100.00       8192    0.00
"""
OLD_RING = """\
object.builder, build version 4
1024 partitions, 2.000000 replicas, 1 regions, 1 zones, 2 devices, 0.00 balance, 0.00 dispersion
Devices: id region zone ip address port replication ip replication port name weight partitions balance meta
             0       1     1       10.0.0.51  6000       10.0.0.51              6000      sdb 100.00       1024    0.00
             1       1     1       10.0.0.52  6000       10.0.0.52              6000      sdb 100.00       1024    0.00
"""


def read(tmp_path: Path, store: str, *contents: Any) -> list[Read]:
    paths = []
    for number, content in enumerate(contents):
        path = tmp_path / f"file{number}"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        paths.append(path)
    return read_files(paths, (*store_named(store).setup.readers, *READERS))


@pytest.mark.parametrize(
    ("content", "kind", "facts"),
    [
        (TREE, "ceph osd tree",
         {"hosts": 2, "drives": 5, "drive": "hdd-7k2", "drive.capacity": "4000GB", "index-drives": 1,
          "host-groups": [of_hosts(1, 4), of_hosts(1, 5)], "osd-order": in_order(*range(5, 9), *range(5))}),
        (JEWEL, "ceph osd tree",
         {"hosts": 2, "drives": 2, "drive.capacity": "3000GB", "osd-order": in_order(0, 1, 2, 3)}),
        (osd_tree([5, 5, 5, 4, 5]), "ceph osd tree -f json",
         {"hosts": 5, "drives": 5, "drive": "hdd-7k2", "drive.capacity": "4000GB",
          "host-groups": [of_hosts(4, 5), of_hosts(1, 4)],
          "osd-order": in_order(*range(15), *range(19, 24), *range(15, 19))}),
        (df_tree([4, 4]), "ceph osd df tree -f json",
         {"hosts": 2, "drives": 4, "drive": "hdd-7k2", "drive.capacity": "4000GB", "osd-order": in_order(*range(8)),
          "osd-pgs": [{"osd": osd, "pgs": 160 if osd == 7 else 110} for osd in range(8)]}),
        (PG_DUMP, "ceph pg dump -f json",
         {"placement-groups": 2, "osd-pgs": [
             {"osd": 0, "pgs": 2, "primaries": 0}, {"osd": 4, "pgs": 1, "primaries": 1},
             {"osd": 5, "pgs": 1, "primaries": 1}]}),
        (POOLS, "ceph osd pool ls detail -f json",
         {"placement-groups": 512, "protection": "ec 4+2", "index-replicas": 3}),
        ([pool("data", 3, 128)], "ceph osd pool ls detail -f json",
         {"placement-groups": 128, "protection": "replica 3"}),
        ({"epoch": 1, "pools": POOLS, "erasure_code_profiles": {"ec42": {"k": "4", "m": "2"}}},
         "ceph osd dump -f json", {"placement-groups": 512, "protection": "ec 4+2", "index-replicas": 3}),
        (STATUS, "ceph -s", {"objects": 21_100_000, "stored-size": "625308B", "gateways": 4}),
        (STATUS_JSON, "ceph -s -f json", {"objects": 21_100_000, "stored-size": "625315B", "gateways": 4}),
        (DF, "ceph df detail -f json", {"objects": 20_000_000, "stored-size": "500000B"}),
        (METADATA, "ceph osd metadata -f json",
         {"hosts": 3, "drives": 12, "drive": "hdd-7k2", "drive.capacity": "4001GB", "db": "nvme", "db-drives": 2,
          "db-size": "129GB", "release": "quincy"}),
        (CONFIG, "ceph config dump -f json", {"memory": "6GiB", "osd-shards": 8, "osd-threads-per-shard": 2,
          "balancer": True, "upmap-max-deviation": 1}),
        (BUCKETS, "radosgw-admin bucket stats",
         {"buckets": 2, "objects": 10_000_000, "stored-size": "500000B", "shards": 71}),
    ],
)  # fmt: skip
def test_ceph(tmp_path, content, kind, facts):
    (found,) = read(tmp_path, "ceph", content)
    if kind == "ceph -s":
        assert float(found.found.facts.pop("stored-size")[:-1]) == pytest.approx(12 * 2**40 / 21.1e6, rel=1e-5)
        facts = {name: value for name, value in facts.items() if name != "stored-size"}
    assert (found.kind, found.found.facts) == (kind, facts)


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (TREE, "2 OSDs of class ssd are taken as the index pool's, 1 a host"),
        (TREE, "1 of 11 OSDs are down, 1 out; the spec has them, as in a healthy cluster"),
        (JEWEL, "drives have 2,000 to 4,000 GB; a spec has equal ones, of the mean"),
        (osd_tree([*range(1, 10)]), "hosts have 1 with 1, 1 with 2"),
        (osd_tree([2, 2], device_class="ssd"), "the device class ssd does not say"),
        (df_tree([4, 4]), "OSDs are 50 to 65 % full, 52 on average"),
        (df_tree([4, 4]), "OSDs have 110 to 160 placement groups, 116 on average"),
        (df_tree([4, 4]), "placement groups of OSDs are those of all pools"),
        (PG_DUMP, "placement groups are those of pool 2, which has most bytes"),
        (PG_DUMP, "1 of 2 placement groups are not clean"),
        (BUCKETS, "the largest bucket has 9,000,000 of 10,000,000 objects"),
        (STATUS, "RADOS objects are counted as objects"),
        ([CONFIG[0] | {"mask": "host:a"}, *CONFIG[1:]], "osd_memory_target differs between OSDs; it is left out"),
    ],
)  # fmt: skip
def test_what_is_lost_is_said(tmp_path, content, note):
    if content is BUCKETS:  # two buckets: neither has more than twice the mean
        content = [*BUCKETS, *({**BUCKETS[1], "usage": {"rgw.main": {"size": 0, "num_objects": 0}}} for _ in range(2))]
    (found,) = read(tmp_path, "ceph", content)
    assert any(each.startswith(note) for each in found.found.notes), found.found.notes


def test_a_report_has_osds_and_pools(tmp_path):
    (found,) = read(tmp_path, "ceph", REPORT)
    assert found.kind == "ceph report"
    assert found.found.facts.items() >= {
        "hosts": 3, "drives": 12, "db": "nvme", "release": "quincy", "protection": "ec 4+2", "objects": 1000
    }.items()  # fmt: skip


def test_flash_of_nvme_is_known_by_its_devices(tmp_path):
    nvme = [
        metadata("a", osd, bluestore_bdev_type="ssd", bluestore_bdev_devices=f"nvme{osd}n1", bluefs_dedicated_db="0")
        for osd in range(3)
    ]
    (found,) = read(tmp_path, "ceph", nvme)
    assert (found.found.facts["drive"], found.found.facts["db"]) == ("nvme", "none")


def test_exact_counts_come_before_rough_ones(tmp_path):
    found = read(tmp_path, "ceph", STATUS, DF, BUCKETS)
    assert facts_of(found)["objects"].value == 10_000_000
    assert facts_of(found[:2])["objects"].value == 21_100_000


@pytest.mark.parametrize(
    ("content", "kind", "facts"),
    [
        (minio_info([4, 4]), "mc admin info --json",
         {"hosts": 2, "drives": 4, "drive.capacity": "4000GB", "set-size": 8, "parity": 3, "release": "2024-05-10",
          "objects": 12}),
        (minio_info([8] * 4, [12] * 4), "mc admin info --json",
         {"hosts": 4, "drives": 8, "pools": [{"hosts": 4, "drives": 12}], "drive.capacity": "4000GB", "set-size": 8,
          "parity": 3, "release": "2024-05-10", "objects": 12}),
        (ENVIRONMENT, "environment of MinIO", {"hosts": 6, "drives": 8, "parity": 4}),
        ("MINIO_VOLUMES=/data{1...4}\n", "environment of MinIO", {"hosts": 1, "drives": 4}),
        ("export MINIO_VOLUMES='http://a/d1 http://a/d2 http://b/d1 http://b/d2'\n", "environment of MinIO",
         {"hosts": 2, "drives": 2}),
        (COMPOSE, "docker-compose", {"hosts": 4, "drives": 2, "parity": 2, "release": "2024-05-10"}),
    ],
)  # fmt: skip
def test_minio(tmp_path, content, kind, facts):
    (found,) = read(tmp_path, "minio", content)
    assert (found.kind, found.found.facts) == (kind, facts)


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (RING, {"hosts": 3, "drives": 2, "zones": 2, "part-power": 14, "servers-per-port": 1,
                "protection": "replica 3", "ring-weights": [{"weight": w} for w in (100, 100, 100, 100, 200, 100)]}),
        (RING.rpartition("            5")[0], {
            "hosts": 3, "drives": 2, "zones": 2, "part-power": 14, "servers-per-port": 1, "protection": "replica 3",
            "ring-weights": [{"weight": w} for w in (100, 100, 100, 100, 200, 0)]}),
        (OLD_RING, {"hosts": 2, "drives": 1, "zones": 1, "part-power": 10, "protection": "replica 2"}),
    ],
)  # fmt: skip
def test_swift(tmp_path, content, facts):
    (found,) = read(tmp_path, "swift", content)
    assert (found.kind, found.found.facts) == ("swift-ring-builder", facts)
    uneven = [note for note in found.found.notes if note.startswith("hosts have 1 to 2 drives")]
    assert bool(uneven) == (content not in (RING, OLD_RING))


def test_hosts_of_a_ring_are_in_zones_in_turn(tmp_path):
    # The second host of the file is in the zone of the first one, so the third comes before it.
    lines = [
        f"            {n}      1    {zone}  10.0.0.{host}:6200      10.0.0.{host}:6200     d1 {weight}.00 8192  0.00"
        for n, (host, zone, weight) in enumerate([(1, 1, 100), (2, 1, 200), (3, 2, 300), (4, 2, 400)])
    ]
    (found,) = read(tmp_path, "swift", RING.partition("            0")[0] + "\n".join(lines))
    assert [each["weight"] for each in found.found.facts["ring-weights"]] == [100, 300, 200, 400]


LOAD = {"size": given("64KiB"), "rate": given("100/s"), "nic": given("10Gbit/s")}


@pytest.mark.parametrize(
    ("store", "contents", "more", "expected"),
    [
        ("ceph", [METADATA, POOLS, STATUS_JSON, CONFIG, BUCKETS, df_tree([12] * 3)], {},
         {"hosts.count": 3, "hosts.drives": 12, "db.osds_per_device": 6, "pools.pg_num": 512,
          "pools.failure_domain": "osd", "osd.shards": 8, "osd.threads_per_shard": 2, "osd.memory_target": 6 << 30,
          "gateways.count": 4,
          "stored.objects": 1e7, "stored.object_size": 500000, "buckets.shards": 71, "workload.buckets": 2,
          "release": "quincy"}),
        ("minio", [minio_info([8] * 4, [12] * 4), ENVIRONMENT.replace("6", "4").replace("EC:4", "EC:3")],
         {"drive": given("nvme")},
         {"hosts.count": 4, "drives.count": 8, "pools.0.drives.count": 12, "erasure.parity": 3,
          "drives.capacity": 4 * 10**12, "pools.0.drives.capacity": 4 * 10**12}),
        ("swift", [RING], {"drive": given("hdd-7k2"), "proxies": given(2), "objects": given(10**6)},
         {"hosts.count": 3, "hosts.zones": 2, "ring.part_power": 14, "ring.replicas": 3,
          "ring.weights": (100, 100, 100, 100, 200, 100)}),
    ],
)  # fmt: skip
def test_a_spec_follows_from_files(tmp_path, store, contents, more, expected):
    setup = store_named(store).setup
    facts = {**facts_of(read(tmp_path, store, *contents)), **LOAD, **more}
    assert not setup.missing(facts)
    spec = spec_of({"store": store, **plain(setup.draft(Site(setup.questions, facts)))}, "spec")
    for path, value in expected.items():
        found: Any = spec
        for name in path.split("."):
            found = found[int(name)] if name.isdigit() else getattr(found, name)
        assert found == value, path


@pytest.mark.parametrize(
    ("store", "content", "said"),
    [
        ("ceph", osd_tree([]) | {"nodes": [{"id": 0, "type": "osd"}]}, "it has no hosts"),
        ("ceph", [pool(".mgr", 3, 1)], "it has no pool for data"),
        ("ceph", [{"bucket": "b", "usage": {}}], "no bucket of it has objects"),
        ("ceph", STATUS_JSON | {"pgmap": {"num_objects": "x"}}, "looks like ceph -s -f json, but is broken"),
        ("minio", {"status": "success", "info": {"servers": []}}, "looks like mc admin info --json, but is broken"),
        ("minio", "MINIO_VOLUMES=/data{1...999999999}\n", "stands for 999,999,999 names; allowed are 1 to 100,000"),
        ("minio", "MINIO_VOLUMES=/data{4...1}\n", "stands for -2 names"),
        ("minio", "MINIO_ROOT_USER=me\n", "it has neither volumes nor a storage class"),
        ("swift", RING.partition("Devices")[0], "it has no devices"),
        ("swift", TREE, "its kind is not recognised; read are swift-ring-builder, ring of Swift, "),
    ],
)
def test_broken_files_are_one_line(tmp_path, store, content, said):
    with pytest.raises(InputError) as error:
        read(tmp_path, store, content)
    (message,) = error.value.messages
    assert said in message


def test_aliases_of_a_compose_file_are_not_written_out() -> None:
    nested = "\n".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    text = f"a: &a [{', '.join('x' * 9)}]\n{nested}\nservices:\n  minio: {{image: *i, command: server /data}}\n"
    assert not any(reader.detects(SiteFile("compose", text)) for reader in MINIO_READERS)
