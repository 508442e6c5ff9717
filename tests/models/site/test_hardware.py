"""Files of hardware, in the formats of their commands, and the service times that follow from fio."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from models.devices.data_sheet import BLOCK_BYTES
from models.devices.device import Device
from models.minio.spec.sections import Drives
from models.site.drive_times import device, drives
from models.site.gathered import contradictions, facts_of, read_files
from models.site.hardware.readers import READERS
from models.site.known import given, plain
from models.site.setup import Site
from traces.errors import InputError

LSCPU = {
    "lscpu": [
        {"field": "Architecture:", "data": "x86_64"},
        {"field": "CPU(s):", "data": "48", "children": [{"field": "On-line CPU(s) list:", "data": "0-47"}]},
        {"field": "Vendor ID:", "data": "GenuineIntel", "children": [
            {"field": "Model name:", "data": "Xeon", "children": [{"field": "Thread(s) per core:", "data": "2"}]}]},
    ]
}  # fmt: skip


def disk(name: str, size: Any, rota: Any = None, children: Any = (), **further: Any) -> dict[str, Any]:
    return {
        "name": name,
        "rm": False,
        "size": size,
        "type": "disk",
        "rota": rota,
        "children": list(children),
        **further,
    }


SYSTEM = disk("sda", "447.1G", False, [{"name": "sda1", "type": "part", "mountpoints": ["/boot/efi"]}])
LSBLK = {
    "blockdevices": [
        SYSTEM,
        disk("loop0", "55M", False, type="loop"),
        *(disk(f"sd{letter}", "3.6T", True) for letter in "bcdefghijklm"),
        disk("nvme0n1", "1.5T", False),
        disk("nvme1n1", "1.5T", False, [{"name": "nvme1n1p1", "type": "part", "mountpoint": None}]),
    ]
}
ETHTOOL = (
    "Settings for ens1f0np0:\n\tSupported ports: [ FIBRE ]\n\tSpeed: 25000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n"
)
IPERF3 = {
    "start": {"version": "iperf 3.12"},
    "intervals": [],
    "end": {"sum_sent": {"bits_per_second": 23.6e9}, "sum_received": {"bits_per_second": 23.5e9}},
}
JUMBO = {**IPERF3, "start": {"version": "iperf 3.12", "tcp_mss_default": 8948}}
"""The same rate in packets of 9,000 bytes, whose headers take less."""


def job(way: str, options: dict[str, str], iops: float, latency_us: float, cv: float = 0.2, sync_us: float = 0) -> Any:
    size = {"4k": 4096, "1m": 1 << 20}[options["bs"]]
    done = {
        "total_ios": 1000, "iops": iops, "bw_bytes": iops * size, "bw": iops * size / 1024,
        "lat_ns": {"mean": latency_us * 1e3, "stddev": cv * latency_us * 1e3},
    }  # fmt: skip
    other = {"total_ios": 0, "iops": 0, "lat_ns": {"mean": 0}}
    found = {"jobname": "x", "job options": options, "read": other, "write": other, way: done}
    return found | ({"sync": {"total_ios": 1000, "lat_ns": {"mean": sync_us * 1e3}}} if sync_us else {})


FIO = {
    "fio version": "fio-3.33",
    "global options": {"direct": "1"},
    "jobs": [
        job("read", {"rw": "randread", "bs": "4k", "iodepth": "1"}, 12000, 80),
        job("read", {"rw": "randread", "bs": "4k", "iodepth": "32", "numjobs": "4"}, 400_000, 320),
        job("read", {"rw": "read", "bs": "1m", "iodepth": "8"}, 2861, 2800),
        job("write", {"rw": "randwrite", "bs": "4k", "iodepth": "1"}, 40000, 24, 0.5),
        job("write", {"rw": "randwrite", "bs": "4k", "iodepth": "64"}, 60000, 1060),
        job("write", {"rw": "randwrite", "bs": "4k", "iodepth": "1", "fsync": "1"}, 900, 30, sync_us=1070),
    ],
}


def read(tmp_path: Any, *contents: Any) -> list[Any]:
    paths = []
    for number, content in enumerate(contents):
        path = tmp_path / f"file{number}"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        paths.append(path)
    return read_files(paths, READERS)


@pytest.mark.parametrize(
    ("content", "kind", "facts"),
    [
        (LSCPU, "lscpu", {"cores": 48, "threads-per-core": 2}),
        (
            LSBLK,
            "lsblk",
            {"drives": 12, "drive": "hdd-7k2", "drive.capacity": "3958GB", "db": "nvme", "db-drives": 2},
        ),
        (ETHTOOL, "ethtool", {"nic": "25Gbit/s"}),
        (IPERF3, "iperf3 -J", {"nic": "25Gbit/s"}),
        (JUMBO, "iperf3 -J", {"nic": "23.7Gbit/s"}),
    ],
)
def test_what_a_file_says(tmp_path, content, kind, facts):
    (found,) = read(tmp_path, content)
    assert (found.kind, found.found.facts) == (kind, facts)


def test_drives_with_the_system_and_unknown_kinds_are_left_out(tmp_path):
    (found,) = read(tmp_path, {"blockdevices": [SYSTEM, disk("sdb", 4000787030016), disk("sdc", 4000787030016)]})
    assert found.found.facts == {"drives": 2, "drive.capacity": "4001GB"}
    assert "does not say which drives are hard disks" in found.found.notes[0]


def test_a_host_with_a_system_drive_only_has_no_data_drives(tmp_path):
    (found,) = read(tmp_path, {"blockdevices": [SYSTEM]})
    assert not found.found.facts and "each drive has the system on it" in found.found.notes[0]


def test_fio_gives_the_figures_of_a_drive(tmp_path):
    (found,) = read(tmp_path, FIO)
    facts = found.found.facts
    assert facts["drive.read.latency"] == pytest.approx(80e-6) and facts["drive.read.iops"] == 400_000
    assert facts["drive.read.bandwidth"] == pytest.approx(2861 * (1 << 20))
    assert facts["drive.write.iops"] == 60_000 and "drive.write.bandwidth" not in facts
    assert facts["drive.durable"] == "1.1ms"


def test_jobs_that_take_no_times_have_rates_only(tmp_path):
    jobs = [job("read", {"rw": "randread", "bs": "4k", "iodepth": depth}, 400_000, 0) for depth in ("1", "64")]
    (found,) = read(tmp_path, {**FIO, "jobs": jobs})
    assert found.found.facts == {"drive.read.iops": 400_000}


def test_service_times_meet_the_measured_figures(tmp_path):
    site = Site((), {"drive": given("nvme"), **facts_of(read(tmp_path, FIO))})
    tree = drives(site, "commit")
    section = Drives.model_validate({"count": 1, **plain(tree)})
    block = np.array([BLOCK_BYTES])
    read_s, rest_s = section.read.mean_s(block)[0], section.read_latency.mean_s(block)[0]
    assert read_s == pytest.approx(1 / 400_000, rel=1e-3)
    assert read_s + rest_s == pytest.approx(80e-6, rel=1e-3)
    assert section.read.per_byte == pytest.approx(1 / (2861 * (1 << 20)), rel=1e-3)
    assert section.write.mean_s(block)[0] == pytest.approx(1 / 60_000, rel=1e-3)
    assert section.write_latency.distribution.cv == pytest.approx(0.5)
    assert section.commit.mean_s(block)[0] == pytest.approx(1.1e-3)
    assert "bandwidth of the data sheet" in tree["write"].origin and "data sheet" not in tree["read"].origin
    found = Device.model_validate(
        {
            "capacity": "1TB",
            **{name: value for name, value in plain({"x": device(site)})["x"].items() if name != "preset"},
        }
    )
    assert found.read == section.read


def test_a_hard_disk_takes_its_latency(tmp_path):
    slow = {**FIO, "jobs": [job("read", {"rw": "randread", "bs": "4k", "iodepth": "1"}, 80, 12500)]}
    site = Site((), {"drive": given("hdd-7k2"), **facts_of(read(tmp_path, slow))})
    section = Drives.model_validate({"count": 1, **plain(drives(site, "commit"))})
    assert section.read.mean_s(np.array([BLOCK_BYTES]))[0] == pytest.approx(12.5e-3, rel=1e-3)


def test_contradictions_are_named(tmp_path):
    found = read(tmp_path, ETHTOOL, JUMBO, LSCPU)
    assert facts_of(found)["nic"].value == "25Gbit/s"
    assert list(contradictions(found, {"cores": 32})) == [
        "cores is 32 given, 48 in file2 (lscpu); the first is used",
        "nic is 25Gbit/s in file0 (ethtool), 23.7Gbit/s in file1 (iperf3 -J); the first is used",
    ]
    assert not list(contradictions(read(tmp_path, ETHTOOL, IPERF3), {}))
    assert not list(contradictions(read(tmp_path, ETHTOOL, LSCPU), {"nic": "3.125GB/s", "cores": 48}))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("hosts: 5", "its kind is not recognised; read are lscpu, /proc/cpuinfo,"),
        ('{"lscpu": []}', "looks like lscpu, but is broken: 'CPU(s)' is missing"),
        ('{"lscpu": [{"field": "CPU(s):", "data": "many"}]}', "looks like lscpu, but is broken"),
        ({"blockdevices": [disk("sdb", "large")]}, "size is 'large'"),
        ("Settings for eth0:\n\tSpeed: Unknown!\n", "the link has no rate: Speed: Unknown!"),
        ({**IPERF3, "error": "unable to connect"}, "iperf3 says: unable to connect"),
        ({**FIO, "jobs": []}, "no job has random accesses"),
        ({**FIO, "jobs": [{"read": {"total_ios": 1}}]}, "looks like JSON of fio, but is broken"),
    ],
)
def test_broken_files_are_one_line(tmp_path, content, said):
    with pytest.raises(InputError) as error:
        read(tmp_path, content)
    (message,) = error.value.messages
    assert said in message and str(tmp_path) in message


def test_missing_and_binary_files_are_one_line(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_files([tmp_path / "none"], READERS)
    (tmp_path / "binary").write_bytes(b"\x00\xff\xd8")
    with pytest.raises(InputError, match="is neither UTF-8 nor UTF-16 text"):
        read_files([tmp_path / "binary"], READERS)
