"""Files of Swift besides `swift-ring-builder`, of Garage, SeaweedFS, JuiceFS and s3fs.

Sources of outputs: seaweedfs/seaweedfs issues 2801, 6071 and 6205; tests of a Juju charm and of an exporter for
swift-recon; openstack/swift pull request 12; values of charts in public repositories. Names are replaced.
"""

from __future__ import annotations

import gzip
import json
import struct

import pytest

from models.site.gathered import read_files
from models.store import store_named
from traces.errors import InputError

PROXY = """\
[DEFAULT]
bind_port = 8080
workers = 4
[pipeline:main]
pipeline = catch_errors proxy-server
[app:proxy-server]
use = egg:swift#proxy
concurrent_gets = on   # hedged
concurrency_timeout = 0.2
node_timeout = 15
[proxy-server:policy:1]
sorting_method = affinity
"""
OBJECT = "[DEFAULT]\nservers_per_port = 2\n[app:object-server]\nuse = egg:swift#object\n"
USAGE = [
    {"device": "sdb", "mounted": True, "size": 4e12, "used": 1e12, "avail": 3e12},
    {"device": "sdc", "mounted": True, "size": 4e12, "used": 2e12, "avail": 2e12},
    {"device": "sdd", "mounted": False, "size": "", "used": "", "avail": ""},
]
STATUS = """\
2024/01/01 00:00:00.000000 juicefs[1] <INFO>: Meta address: redis://localhost:6379/1 [interface.go:402]
{
  "Setting": {"Name": "jfs", "UUID": "0", "Storage": "minio", "BlockSize": 4096, "Compression": "lz4"},
  "Sessions": [{"Sid": 1, "HostName": "a"}, {"Sid": 2, "HostName": "a"}, {"Sid": 3, "HostName": "b"}]
}
"""

GARAGE = """\
metadata_dir = "/var/lib/garage/meta"
data_dir = [{ path = "/mnt/a", capacity = "2T" }, { path = "/mnt/b", capacity = "2T" }]
db_engine = "sqlite"
metadata_fsync = true
replication_factor = 3
compression_level = 2
block_size = "10M"
[s3_api]
s3_region = "garage"
"""
NODES = """\
==== HEALTHY NODES ====
ID                Hostname  Address          Tags      Zone  Capacity  DataAvail
563e1ac825ee3323  mercury   [fc00::1]:3901   [disks]   par1  1.0 TB    921.0 GB (92.1%)
86f0f26ae4afbd59  venus     [fc00::2]:3901   [disks]   par1  2.0 TB    1.9 TB (95.0%)
212f7572f0c89da9  mars      [fc00::3]:3901   [front]   par1  gateway
==== FAILED NODES ====
ID                Hostname  Tags      Zone  Capacity  Last seen
68143d720f20c89d  earth     [disks]   lon1  1.0 TB    2 hours ago
"""
WEED = """\
services:
  master: {image: chrislusf/seaweedfs, command: "master -ip=master -defaultReplication=010"}
  volume1: {image: chrislusf/seaweedfs, command: 'volume -mserver="master:9333" -dir=/data1,/data2 -max=100'}
  volume2: {image: chrislusf/seaweedfs, command: 'volume -mserver="master:9333" -dir=/data1,/data2 -max=100'}
  filer: {image: chrislusf/seaweedfs, command: [filer, -master=master:9333, -maxMB=8]}
"""
UNIT = "ExecStart=/usr/local/bin/weed server -dir=/a,/b,/c -master.defaultReplication=001 -s3\n"
LAYOUT = """\
==== CURRENT CLUSTER LAYOUT ====
ID                Tags    Zone  Capacity  Usable capacity
915ea2a3ce71ff09  [a, b]  dc1   9.3 GiB   9.3 GiB (100.0%)
1f5ea2a3ce71ff09          dc2   18.6 GiB  9.3 GiB (50.0%)
2f5ea2a3ce71ff09          dc3   gateway

Zone redundancy: maximum

Current cluster layout version: 3

==== STAGED ROLE CHANGES ====
ID                Tags  Zone  Capacity
3f5ea2a3ce71ff09        dc3   10.0 GB
"""
UNITLESS = """\
==== CURRENT CLUSTER LAYOUT ====
ID                Tags  Zone  Capacity
915ea2a3ce71ff09        dc1   10
"""
VOLUME = "          volume id:{} size:{} {}file_count:{} delete_count:{} deleted_byte_count:7 {}version:3"
VOLUMES = "\n".join([
    "Topology volumeSizeLimit:30000 MB hdd(volume:6/16 active:6 free:0 remote:0)",
    "  DataCenter dc1 hdd(volume:6/16 active:6 free:0 remote:0)",
    "    Rack rack1 hdd(volume:3/8 active:3 free:0 remote:0)",
    "      DataNode 10.0.0.38:9335 hdd(volume:3/8 active:3 free:0 remote:0)",
    "        Disk hdd(volume:3/8 active:3 free:0 remote:0)",
    VOLUME.format(16, 11795664, 'collection:"c" ', 771, 276, "replica_placement:10 "),
    VOLUME.format(17, 23125024, "", 1514, 965, "replica_placement:10 "),
    "          ec volume id:3 collection: shards:[0 1 2]",
    "    Rack rack2 hdd(volume:3/8 active:3 free:0 remote:0)",
    "      DataNode b:9335 hdd(volume:3/8 active:3 free:0 remote:0)",
    "        Disk hdd(volume:3/8 active:3 free:0 remote:0)",
    VOLUME.format(16, 11795664, 'collection:"c" ', 771, 276, "replica_placement:10 "),
    VOLUME.format(17, 23125024, "", 1514, 965, "replica_placement:10 "),
    VOLUME.format(18, 64785353016, "", 31, 2, "read_only:true "),
])  # fmt: skip
PROCESSES = """\
* filers 1
  * 10.0.0.67:8888 (30GB 3.97) 2025-09-27 08:19:13 +0000 UTC
    DataCenter: a
* volume servers 3
  * data center: dc1
    * rack: r1
      * a:8080 (30GB 3.97)
      * b:8080 (30GB 3.97)
      * b:8081 (30GB 3.97)
"""
CHART = """\
global: {enableReplication: true, replicationPlacment: "001", imageName: chrislusf/seaweedfs}
master: {replicas: 3, defaultReplication: "000"}
volume:
  replicas: 4
  dataDirs: [{name: a, type: hostPath, hostPathPrefix: /d1}, {name: b, type: persistentVolumeClaim, size: 500Gi}]
"""
UMBRELLA = """\
global: {enableSecurity: true}
seaweedfs: {master: {replicas: 3, defaultReplication: "001"}, volume: {replicas: 2}}
"""
RESOURCE = """\
apiVersion: seaweed.seaweedfs.com/v1
kind: Seaweed
spec:
  volumeServerDiskCount: 2
  master: {replicas: 3, defaultReplication: "200"}
  volume: {replicas: 5, requests: {storage: 2Ti}}
"""
RING_2013 = """\
account.builder, build version 3
262144 partitions, 3 replicas, 3 zones, 3 devices, 100.00 balance
The minimum number of hours before a partition can be reassigned is 0
Devices:    id  zone      ip address  port      name weight partitions balance meta
             0     1       127.0.0.1  9023      sdb1 100.00          0 -100.00
             1     2       127.0.0.1  9023      sdb2 100.00          0 -100.00
             2     3       127.0.0.1  9023      sdb3 100.00          0 -100.00
"""
RECON = """\
===============================================================================
--> Starting reconnaissance on 9 hosts
===============================================================================
[2017-11-03 21:50:30] Checking disk usage now
Distribution Graph:
 40%  108 *********************************************************************
 41%   15 *********
 42%   50 *******************************
 43%    5 ***
 44%    1 \n 45%    1 \nDisk usage: space used: 89358060716032 of 215829411840000
Disk usage: space free: 126471351123968 of 215829411840000
Disk usage: lowest: 40.64%, highest: 45.63%, avg: 41.4021703318%
===============================================================================
"""
RECON_VERBOSE = """\
--> Starting reconnaissance on 2 hosts (object)
[2020-01-14 12:55:00] Checking disk usage now
-> http://10.0.0.1:6000/recon/diskusage: [{u'device': u'a', u'mounted': True, u'used': 4e11, u'size': 6e12}]
-> http://10.0.0.2:6000/recon/diskusage: [{u'device': u'a', u'mounted': True, u'used': 3e11, u'size': 6e12}, \
{u'device': u'b', u'mounted': False, u'used': '', u'size': null}]
"""


def ring(version: int = 1) -> bytes:
    """Return a ring with three devices on two hosts, and 1,024 partitions."""
    places = [("10.0.0.1", 6200, 100.0), ("10.0.0.2", 6200, 50.0), ("10.0.0.2", 6201, 100.0)]
    devices = [
        {"region": 1, "zone": 1, "ip": ip, "port": port, "weight": weight, "device": "d"} for ip, port, weight in places
    ]
    header = json.dumps({"devs": [*devices, None], "part_shift": 22, "replica_count": 3}).encode()
    return gzip.compress(struct.pack("!4sHI", b"R1NG", version, len(header)) + header + b"\x00\xff" * 3072)


def found(folder, store, data):
    path = folder / "file"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    (read,) = read_files([path], store_named(store).setup.readers)
    return read


@pytest.mark.parametrize(
    ("store", "data", "kind", "facts", "note"),
    [
        ("swift", ring(), "ring of Swift",
         {"hosts": 2, "drives": 2, "zones": 1, "part-power": 10, "protection": "replica 3", "servers-per-port": 1,
          "ring-weights": [{"weight": weight} for weight in (100, 0, 50, 100)]}, "hosts have 1 to 2 drives"),
        ("swift", PROXY, "proxy-server.conf",
         {"concurrent-gets": True, "concurrency-timeout": "0.2s", "node-timeout": "15s"},
         "[proxy-server:policy:1] has options of a storage policy"),
        ("swift", OBJECT, "object-server.conf", {"servers-per-port": 2}, ""),
        ("swift", json.dumps(USAGE), "diskusage of recon", {"drives": 2, "drive.capacity": "4000GB"},
         "drives are 25 to 50 % full"),
        ("garage", GARAGE, "garage.toml",
         {"replicas": 3, "block-size": 10_000_000, "metadata-fsync": True, "drives": 2}, "metadata are in sqlite"),
        ("garage", 'metadata_dir = "/m"\ndata_dir = "/d"\n', "garage.toml", {"drives": 1}, ""),
        ("swift", RING_2013, "swift-ring-builder",
         {"hosts": 1, "drives": 3, "zones": 3, "part-power": 18, "servers-per-port": 0, "protection": "replica 3"}, ""),
        ("swift", RECON, "swift-recon -d", {"hosts": 9, "drives": 20, "drive.capacity": "1199GB"},
         "drives are 41 % full on average"),
        ("swift", RECON_VERBOSE, "swift-recon -d", {"hosts": 2, "drives": 1, "drive.capacity": "6000GB"},
         "1 drives are not mounted"),
        ("garage", NODES, "garage status", {"hosts": 2, "host-capacity": 1.5e12}, "1 nodes without data are left out"),
        ("garage", LAYOUT, "garage layout show", {"hosts": 2, "host-capacity": pytest.approx(13.95 * 2**30)},
         "changes that are not applied yet are left out"),
        ("garage", UNITLESS, "garage layout show", {"hosts": 1}, ""),
        ("seaweedfs", VOLUMES, "volume.list of weed shell", {"hosts": 2, "objects": 1073, "replicas": 2},
         "it lists 5 of 6 volumes, so there are more objects"),
        ("seaweedfs", PROCESSES, "cluster.ps of weed shell", {"hosts": 2}, ""),
        ("seaweedfs", CHART, "definition of SeaweedFS",
         {"hosts": 4, "drives": 2, "replicas": 2}, "its volume servers are taken as hosts"),
        ("seaweedfs", UMBRELLA, "definition of SeaweedFS", {"hosts": 2, "replicas": 2}, ""),
        ("seaweedfs", RESOURCE, "definition of SeaweedFS",
         {"hosts": 5, "drives": 2, "replicas": 3, "drive.capacity": "2199GB"}, ""),
        ("juicefs", STATUS.replace("HostName", "Hostname"), "juicefs status", {"block": "4MiB", "mounts": 2}, ""),
        ("seaweedfs", WEED, "docker-compose of SeaweedFS",
         {"replicas": 2, "chunk-size": 8 << 20, "drives": 2, "hosts": 2}, "its volume servers are taken as hosts"),
        ("seaweedfs", UNIT, "command line of weed", {"replicas": 2, "drives": 3, "hosts": 1}, ""),
        ("juicefs", STATUS, "juicefs status", {"block": "4MiB", "mounts": 2},
         "3 sessions are on 2 hosts, which are taken as mounts"),
        ("s3fs", "b /mnt fuse.s3fs _netdev,url=http://h:9000,multipart_size=20,parallel_count=8 0 0\n",
         "options of s3fs", {"tls": False, "multipart-size": f"{20 << 20}B", "threads": 8}, ""),
        ("s3fs", "s3fs b /mnt -o stat_cache_expire=60 -o max_stat_cache_size=5000\n", "options of s3fs",
         {"tls": True, "stat-expire": "60s", "stat-entries": 5000}, ""),
        ("s3fs", "sudo s3fs b \\\n  ~/mnt -o parallel_count=9\n", "options of s3fs", {"tls": True, "threads": 9}, ""),
        ("s3fs", "s3fs -o url=http://h b /mnt\n", "options of s3fs", {"tls": False}, ""),
    ],
)  # fmt: skip
def test_what_files_say(tmp_path, store, data, kind, facts, note):
    read = found(tmp_path, store, data)
    assert (read.kind, read.found.facts) == (kind, facts)
    assert not note or any(each.startswith(note) for each in read.found.notes), read.found.notes


def test_words_about_s3fs_are_no_mount(tmp_path):
    with pytest.raises(InputError, match="its kind is not recognised"):
        found(tmp_path, "s3fs", "It models the file systems JuiceFS and s3fs on any of them.\ns3fs is there, too\n")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (ring(version=2), "it has version 2; that of swift-ring-builder RING.builder is text"),
        (PROXY.replace("15", "many"), "could not convert string to float"),
        (json.dumps(USAGE[2:]), "no drive of it is mounted"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, data, said):
    with pytest.raises(InputError, match=said):
        found(tmp_path, "swift", data)
