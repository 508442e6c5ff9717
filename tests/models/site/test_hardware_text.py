"""Text of the commands that describe hardware, and `smartctl`, `nvme list` and `lshw`."""

from __future__ import annotations

import pytest

from models.site.gathered import read_files
from models.site.hardware.readers import READERS
from tests.paths import SAMPLES
from traces.errors import InputError

SITES = SAMPLES / "sites"
LSCPU = (SITES / "lscpu.txt").read_text()
LSBLK = (SITES / "lsblk.txt").read_text()
SMARTCTL = (SITES / "smartctl.txt").read_text()
NVME = (SITES / "nvme-list.txt").read_text()
IPERF = (SITES / "iperf3.txt").read_text()
FIO = (SITES / "fio.txt").read_text()
SMARTCTL_NVME = """\
{
 "json_format_version": [
  1,
  0
 ],
 "smartctl": {
  "version": [
   7,
   2
  ]
 },
 "device": {
  "name": "/dev/nvme0",
  "type": "nvme",
  "protocol": "NVMe"
 },
 "model_name": "SAMSUNG MZQL23T8HCLS-00A07",
 "nvme_total_capacity": 3840755982336,
 "user_capacity": {
  "blocks": 7501476528,
  "bytes": 3840755982336
 },
 "nvme_smart_health_information_log": {
  "percentage_used": 3,
  "available_spare": 100
 }
}
"""
NVME_JSON = """\
{
 "Devices": [
  {
   "NameSpace": 1,
   "DevicePath": "/dev/nvme0n1",
   "Firmware": "GDC5302Q",
   "ModelNumber": "SAMSUNG MZQL23T8HCLS-00A07",
   "UsedBytes": 3840755982336,
   "MaximumLBA": 7501476528,
   "PhysicalSize": 3840755982336,
   "SectorSize": 512
  },
  {
   "DevicePath": "/dev/nvme1n1",
   "ModelNumber": "SAMSUNG MZQL23T8HCLS-00A07",
   "PhysicalSize": 3840755982336,
   "SectorSize": 512
  }
 ]
}
"""
NVME_SUBSYSTEMS = """\
{
 "Devices": [
  {
   "HostNQN": "nqn",
   "Subsystems": [
    {
     "Subsystem": "nvme-subsys0",
     "Controllers": [
      {
       "Controller": "nvme0",
       "ModelNumber": "KCD8XRUG3T84",
       "Namespaces": [
        {
         "NameSpace": "nvme0n1",
         "NSID": 1,
         "UsedBytes": 3840755982336,
         "PhysicalSize": 3840755982336,
         "SectorSize": 512
        }
       ]
      }
     ],
     "Namespaces": []
    }
   ]
  }
 ]
}
"""
LSHW = """\
{
 "id": "host1",
 "class": "system",
 "children": [
  {
   "id": "core",
   "class": "bus",
   "children": [
    {
     "id": "memory",
     "class": "memory",
     "size": 137438953472
    },
    {
     "id": "cpu:0",
     "class": "processor",
     "configuration": {
      "cores": "16",
      "enabledcores": "16",
      "threads": "32"
     }
    },
    {
     "id": "cpu:1",
     "class": "processor",
     "configuration": {
      "cores": "16",
      "threads": "32"
     }
    },
    {
     "id": "pci",
     "class": "bridge",
     "children": [
      {
       "id": "network",
       "class": "network",
       "logicalname": "ens1f0",
       "capacity": 25000000000,
       "configuration": {
        "speed": "25Gbit/s"
       }
      },
      {
       "id": "sas",
       "class": "storage",
       "children": [
        {
         "id": "disk:0",
         "class": "disk",
         "logicalname": "/dev/sda",
         "size": 4000787030016,
         "description": "ATA Disk"
        },
        {
         "id": "disk:1",
         "class": "disk",
         "logicalname": "/dev/sdb",
         "size": 4000787030016,
         "description": "ATA Disk"
        }
       ]
      },
      {
       "id": "nvme",
       "class": "storage",
       "children": [
        {
         "id": "namespace",
         "class": "disk",
         "logicalname": "/dev/nvme0n1",
         "size": 1600321314816
        }
       ]
      }
     ]
    }
   ]
  }
 ]
}
"""
LSBLK_COLUMNS = """\
NAME    ROTA   SIZE TYPE FSTYPE MODEL MOUNTPOINTS
sda        0 447.1G disk
`-sda1     0   447G part ext4         /
sdb        1  16.4T disk
sdc        1  16.4T disk        HC550
"""
IPERF2 = """\
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0-10.0 sec  11.0 GBytes  9.41 Gbits/sec
"""
FIO_2 = """\
job1: (g=0): rw=write, bs=1M-1M/1M-1M/1M-1M, ioengine=libaio, iodepth=8
fio-2.2.10
job1: (groupid=0, jobs=1): err= 0: pid=1: Mon Jan  1 00:00:00 2018
  write: io=10240MB, bw=210190KB/s, iops=205, runt= 49888msec
    clat (msec): min=2, max=90, avg=38.90, stdev= 4.10
     lat (msec): min=2, max=90, avg=38.96, stdev= 4.11
"""
FIO_SYNC = """\
sync: (g=0): rw=write, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1
fio-3.28
sync: (groupid=0, jobs=1): err= 0: pid=1: Mon Jan  1 00:00:00 2024
  write: IOPS=950, BW=3800KiB/s (3891kB/s)(223MiB/60001msec); 0 zone resets
     lat (usec): min=10, max=900, avg=20.00, stdev=5.00
  fsync/fdatasync/sync_file_range:
    sync (usec): min=700, max=9000, avg=1020.00, stdev=100.00
"""


def facts(folder, text):
    path = folder / "file"
    path.write_text(text)
    (read,) = read_files([path], READERS)
    return read.found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LSCPU, {"cores": 64, "threads-per-core": 2}),
        (LSBLK, {"drives": 2, "drive.capacity": "4068GB", "db": "nvme", "db-drives": 1}),
        (LSBLK_COLUMNS, {"drives": 2, "drive": "hdd-7k2", "drive.capacity": "18032GB"}),
        (SMARTCTL, {"drive": "hdd-7k2", "drive.capacity": "18000GB"}),
        (SMARTCTL_NVME, {"drive": "nvme", "drive.capacity": "3841GB"}),
        (NVME, {"drives": 2, "drive": "nvme", "drive.capacity": "3840GB"}),
        (NVME_JSON, {"drives": 2, "drive": "nvme", "drive.capacity": "3841GB"}),
        (NVME_SUBSYSTEMS, {"drives": 1, "drive": "nvme", "drive.capacity": "3841GB"}),
        (LSHW, {"cores": 64, "nic": "25Gbit/s", "drives": 3, "drive.capacity": "3201GB"}),
        (IPERF, {"nic": "25.8Gbit/s"}),
        (IPERF2, {"nic": "9.99Gbit/s"}),
        (FIO, {"drive.read.latency": 88.1e-6, "drive.read.cv": 14.3 / 88.1, "drive.read.iops": 512e3}),
        (FIO_2, {"drive.write.bandwidth": 210190 * 1024}),
        (FIO_SYNC, {"drive.durable": "1.04ms"}),
    ],
)
def test_text_of_commands(tmp_path, text, expected):
    found = facts(tmp_path, text).facts
    numbers = {name: value for name, value in expected.items() if isinstance(value, float)}
    assert {name: found[name] for name in numbers} == pytest.approx(numbers)
    assert {name: value for name, value in found.items() if name not in numbers} == {
        name: value for name, value in expected.items() if name not in numbers
    }


def test_further_mount_points_are_on_lines_of_their_own(tmp_path):
    text = """\
NAME   MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINTS
sda      8:0    0   9,1T  0 disk
`-hdd1 254:6    0   9,1T  0 crypt /mnt/data
                                  /var/cache
sdb      8:16   0   9,1T  0 disk
`-hdd2 254:7    0   9,1T  0 crypt /mnt/data2
                                  /mnt/more
"""
    assert facts(tmp_path, text).facts == {"drives": 1, "drive.capacity": "10006GB"}


def test_drives_of_two_paths_are_one(tmp_path):
    assert "mpath" in LSBLK and LSBLK.count("3.7T  0 disk") == 3
    assert facts(tmp_path, LSBLK).facts["drives"] == 2


def test_the_list_of_drives_goes_before_a_single_drive():
    rough = {reader.kind: reader.rough for reader in READERS}
    assert "drive.capacity" in rough["smartctl"] and not rough["lsblk"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (IPERF.replace("Gbits/sec", "-"), "it has no rate; the test failed or was stopped"),
        (FIO.replace("randdeep: (g=1)", "other: (g=1)"), "the line of job randdeep with rw, bs and iodepth is missing"),
        ("=== START OF INFORMATION SECTION ===\nVendor: X\n", "it has neither capacity nor rate of rotation"),
        (LSBLK.replace("3.7T", "big"), "size is 'big'"),
        ('{"Devices": []}', "it has no drives"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        facts(tmp_path, text)


GTOD_REDUCE = """\
a: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=64
fio-3.16
Starting 1 process

a: (groupid=0, jobs=1): err= 0: pid=595447: Sun Jul 31 20:07:38 2022
  read: IOPS=88.4k, BW=345MiB/s (362MB/s)(5181MiB/15002msec)
  cpu          : usr=7.66%, sys=92.20%, ctx=152, majf=0, minf=15
"""  # of cloud-hypervisor issue 4387


def test_fio_without_times_has_rates_only(tmp_path):
    path = tmp_path / "fio.txt"
    path.write_text(GTOD_REDUCE)
    (found,) = read_files([path], READERS)
    assert found.found.facts == {"drive.read.iops": 88_400}
