"""Outputs of commands on hardware in public issues, with their numbers and structure only, compared by hand.

Sources: awslabs/aws-c-s3 403, truveris/py-mdstat 3, netdata/netdata 4010, prometheus/node_exporter 492, minio/minio
9704, kastenhq/kubestr 74, ceph/ceph 64060, esnet/iperf 306, 408 and 772, openucx/ucx 10430, SUSE/DeepSea 1763,
s3fs-fuse/s3fs-fuse 37 and 1367, and a document on a FreeBSD server.
"""

from __future__ import annotations

import json

import pytest

from models.site.gathered import read_files
from models.site.hardware.readers import READERS
from models.site.known import Known
from models.site.setup import Site
from models.store import store_named
from traces.errors import InputError

NUMA = """\
available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3 8 9 10 11
node 0 size: 94590 MB
node 1 cpus: 4 5 6 7 12 13 14 15
node 1 size: 94710 MB
node distances:
node   0   1
  0:  10  21
"""
CPUINFO = "\n".join(
    f"processor\t: {number}\nphysical id\t: {number // 4}\nsiblings\t: 4\ncore id\t\t: {number % 2}\ncpu cores\t: 2\n"
    for number in range(8)
)
ARM = "\n".join(f"processor\t: {number}\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n" for number in range(4))
DMI = """\
Handle 0x0400, DMI type 4, 48 bytes
Processor Information
\tSocket Designation: CPU1
\tStatus: Populated, Enabled
\tCore Count: 16
\tThread Count: 32

Handle 0x0402, DMI type 4, 48 bytes
Processor Information
\tSocket Designation: CPU2
\tStatus: Unpopulated
\tCore Count: 16
"""
MDADM = """\
/dev/md0:
           Version : 1.2
        Raid Level : raid6
        Array Size : 134119424 (127.91 GiB 137.34 GB)
     Used Dev Size : 16764928 (15.99 GiB 17.17 GB)
      Raid Devices : 10
     Total Devices : 11
             State : clean, degraded
"""
MDSTAT = """\
Personalities : [raid0] [linear] [multipath] [raid1] [raid6] [raid5] [raid4] [raid10]
md3 : active raid6 sda1[8] sdh1[7] sdg1[6] sdf1[5] sde1[11] sdd1[3] sdc1[10] sdb1[9]
      5853468288 blocks super 1.2 level 6, 64k chunk, algorithm 2 [8/8] [UUUUUUUU]

md127 : active raid1 sdi2[0] sdj2[1]
      312319552 blocks [2/2] [UU]

md4 : inactive raid1 sda3[0] sdb3[1]
      4883648 blocks [2/2] [UU]
"""
STRIPES = """\
Personalities : [raid0]
md1 : active raid0 sdd[1] sdb[0]
      15627790336 blocks super 1.2 512k chunks

unused devices: <none>
"""
ZPOOL = """\
  pool: a
 state: ONLINE
config:

\tNAME        STATE     READ WRITE CKSUM
\ta           ONLINE       0     0     0
\t  raidz2-0  ONLINE       0     0     0
\t    da0     ONLINE       0     0     0
\t    da1     ONLINE       0     0     0
\t  raidz2-2  ONLINE       0     0     0
\t    da3     ONLINE       0     0     0
\tlogs
\t  nvd0      ONLINE       0     0     0
"""
LSBLK = """\
NAME                                                     MAJ:MIN RM  SIZE RO TYPE MOUNTPOINT
sda                                                        8:0    0   20G  0 disk
|-sda1                                                     8:1    0    1G  0 part /boot
`-sda2                                                     8:2    0   19G  0 part
  |-vg-root                                              254:0    0   17G  0 lvm  /
  `-vg-swap                                              254:1    0    2G  0 lvm  [SWAP]
sdb                                                        8:16   0   10G  0 disk
`-ceph--block--0515f9d7-osd--block--9a914f7d             254:4    0    9G  0 lvm
sdc                                                        8:32   0   10G  0 disk
`-ceph--block--0515f9d8-osd--block--9a914f7e             254:5    0    9G  0 lvm
nvme0n1                                                  259:0    0   20G  0 disk
`-ceph--block--dbs--57d07a01-osd--block--db--3ac7c2cd    254:2    0    1G  0 lvm
"""
FIO = """\
job1: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1
job2: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1
fio-3.20
Starting 2 processes
job1: (groupid=0, jobs=1): err= 0: pid=15: Wed Jun 30 22:19:46 2021
  read: IOPS=64, BW=259KiB/s (266kB/s)(128MiB/505352msec)
    clat (usec): min=1536, max=424419, avg=15373.01, stdev=18983.77
     lat (usec): min=1540, max=424434, avg=15383.14, stdev=18984.11
"""
SEQUENTIAL = """\
mytest: (g=0): rw=write, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=256
mytest: (groupid=0, jobs=20): err= 0: pid=160457: Tue May 26 06:31:57 2020
  write: IOPS=81.7k, BW=319MiB/s (335MB/s)(18.7GiB/60056msec)
     lat (usec): min=26, max=403197, avg=62664.75, stdev=36108.68
"""
RBD_JOB = {"fio version": "fio-3.28", "jobs": [{"job options": {"ioengine": "rbd", "rw": "randread", "bs": "4k"},
                                                "read": {"total_ios": 9, "iops": 9.0, "bw": 36}}]}  # fmt: skip
SERVER = """\
Server listening on 5101
[ ID] Interval           Transfer     Bandwidth
[  5]   0.00-1.00   sec   375 MBytes  3.14 Gbits/sec
[  5]   9.00-10.00  sec   397 MBytes  3.33 Gbits/sec
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth
[  5]   0.00-10.04  sec  0.00 Bytes  0.00 bits/sec                  sender
[  5]   0.00-10.04  sec  3.86 GBytes  3.30 Gbits/sec                  receiver
"""
OLD = """\
[ ID] Interval               Transfer        Bandwidth       Retr
[ 15] 0.00-10.00sec  9.45 GBytes  8114 Mbits/sec   0      sender
[ 15] 0.00-10.00 sec 9.43 GBytes  8103 Mbits/sec           receiver
"""
UDP = """\
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  5]   0.00-1.00   sec   984 KBytes  8.03 Mbits/sec  1.223 ms  0/123 (0%)
"""
UDP_JSON = {"start": {"test_start": {"protocol": "UDP"}}, "intervals": [], "end": {"sum": {"bits_per_second": 1e6}}}
BOND = "Settings for bond0:\n\tSupported ports: [  ]\n\tSpeed: 200000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n"


def found(folder, content, readers=READERS):
    """Return what readers find in a text, or in JSON."""
    path = folder / "output"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    (read,) = read_files([path], readers)
    return read


@pytest.mark.parametrize(
    ("content", "kind", "facts", "note"),
    [
        (NUMA, "numactl -H", {"cores": 16}, "2 nodes of memory are taken as one"),
        (CPUINFO, "/proc/cpuinfo", {"cores": 8, "threads-per-core": 2}, ""),
        (ARM, "/proc/cpuinfo", {"cores": 4}, ""),
        (DMI, "dmidecode", {"cores": 32, "threads-per-core": 2}, ""),
        (MDADM, "mdadm --detail", {"drives": 1, "raid-level": 6, "raid-members": 10, "drive.capacity": "137GB"},
         "each drive of a host is an array: RAID 6 of 10"),
        (MDADM + MDADM.replace("md0", "md1"), "mdadm --detail",
         {"drives": 2, "raid-level": 6, "raid-members": 10, "drive.capacity": "137GB"}, ""),
        (MDSTAT, "/proc/mdstat", {"drives": 1, "raid-level": 6, "raid-members": 8, "drive.capacity": "5994GB"},
         "1 other arrays are left out"),
        (STRIPES, "/proc/mdstat", {"drives": 1, "raid-level": 0, "raid-members": 2, "drive.capacity": "16003GB"}, ""),
        (ZPOOL, "zpool status", {}, "ZFS is not in the model: the pool has 2 raidz2"),
        (LSBLK, "lsblk", {"drives": 2, "drive.capacity": "11GB", "db": "nvme", "db-drives": 1}, "lsblk does not say"),
        (FIO, "fio", {"drive.read.latency": pytest.approx(15.38e-3, rel=1e-3),
                      "drive.read.cv": pytest.approx(1.234, rel=1e-3)}, ""),
        (SERVER, "iperf3", {"nic": "3.51Gbit/s"}, ""),
        (OLD, "iperf3", {"nic": "8.61Gbit/s"}, ""),
        (BOND, "ethtool", {"nic": "200Gbit/s"}, ""),
    ],
)  # fmt: skip
def test_what_outputs_say(tmp_path, content, kind, facts, note):
    read = found(tmp_path, content)
    assert (read.kind, read.found.facts) == (kind, facts)
    assert not note or any(each.startswith(note) for each in read.found.notes), read.found.notes


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (UDP, "a test with UDP sends at the rate that it is given"),
        (UDP_JSON, "a test with UDP sends at the rate that it is given"),
        (SEQUENTIAL, "no job has random accesses of up to 16 KiB"),
        (FIO.replace("ioengine=psync", "ioengine=rbd"), "ioengine=rbd measures a store"),
        (RBD_JOB, "ioengine=rbd measures a store"),
        (DMI.replace("Core Count", "Cores"), "its kind is not recognised"),
        (STRIPES.replace("raid0 sdd", "raid4 sdd"), "it has no array of level 0, 1, 5, 6, 10"),
        (NUMA.replace(" 0 1 2 3 8 9 10 11", "").replace(" 4 5 6 7 12 13 14 15", ""), "its nodes have no cpus"),
    ],
)
def test_what_is_no_measurement_is_refused(tmp_path, content, why):
    with pytest.raises(InputError, match=why):
        found(tmp_path, content)


@pytest.mark.parametrize(
    "line",
    [
        's3fs data ~/a -o url="https://swift.example:8888/" -o use_path_request_style -o parallel_count=7\n',
        "s3fs#data /media/a fuse.s3fs _netdev,umask=777,parallel_count=7,url=https://s3.example/ 0 0\n",
    ],
)
def test_mounts_of_s3fs(tmp_path, line):
    read = found(tmp_path, line, store_named("s3fs").setup.readers)
    assert read.found.facts == {"tls": True, "threads": 7}


@pytest.mark.parametrize("store", ["minio", "swift", "versitygw"])
def test_arrays_are_in_the_spec(store):
    setup = store_named(store).setup
    known = {"hosts": 4, "drives": 2, "drive": "hdd-7k2", "nic": "10Gbit/s", "proxies": 2, "objects": 10**6,
             "size": "1MiB", "rate": "10/s", "raid-level": 6, "raid-members": 10}  # fmt: skip
    tree = setup.draft(Site(setup.questions, {name: Known(value, "given") for name, value in known.items()}))
    assert {name: each.value for name, each in tree["drives"]["raid"].items()} == {"level": 6, "members": 10}
