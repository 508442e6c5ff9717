"""The reference cases: published tables as data, each with the spec that predicts its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from models.spec.origins import Written
from models.store import spec_of
from traces.errors import InputError
from traces.spec.spec_file import load_mapping
from traces.spec.suggestions import instead
from validate.reference.rows import Row, read_rows, rows_of

DATA = Path(__file__).resolve().parent
SPECS = DATA.parent.parent / "examples"
"""Folder of the specs of the cases; a row's settings override their values."""


def spec_file(name: str) -> Path:
    """Return the file of a spec among the examples.

    Raises:
        InputError: the file does not exist.
    """
    path = SPECS / f"{name}.yaml"
    if not path.is_file():
        raise InputError(f"{path}: no such file; reference cases run from a checkout of the project, with its examples")
    return path


@dataclass(frozen=True)
class Case:
    """A published measurement and its spec.

    Attributes:
        name: the name in ``tailcast reference run NAME``, and of the data file.
        source: the source, with hardware and software.
        tolerance: claimed maximum of the median error, as a fraction.
        spec_name: the spec among the examples; several cases may be of one cluster.
    """

    name: str
    source: str
    tolerance: float
    spec_name: str

    @property
    def spec(self) -> Path:
        """The file of the spec.

        Raises:
            InputError: the file does not exist.
        """
        return spec_file(self.spec_name)

    @property
    def data(self) -> dict[str, Any]:
        """The mapping of the spec."""
        return load_mapping(self.spec)

    @property
    def written(self) -> tuple[Written, ...]:
        """A case has no profile."""
        return ()

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The published rows in order."""
        return read_rows(DATA / f"{self.name}.csv")


@dataclass(frozen=True)
class UserTable:
    """A table of a user and the spec that predicts its rows.

    Attributes:
        spec: the file of the spec.
        data: its mapping, with the values of a profile if there is one.
        table: the file of the table.
        rows: its rows.
        written: the values of the profile.
        tolerance: as of a `Case`.
    """

    spec: Path
    data: Mapping[str, Any]
    table: Path
    rows: tuple[Row, ...]
    written: tuple[Written, ...] = ()
    tolerance: float = 0.2

    @staticmethod
    def read(spec: Path, data: Mapping[str, Any], table: Path, written: tuple[Written, ...] = ()) -> UserTable:
        """Read a table.

        Raises:
            InputError: the spec or the table is not valid.
        """
        return UserTable(spec, data, table, rows_of(table, data, spec_of(data, str(spec)), str(spec)), written)

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.table.stem

    @property
    def source(self) -> str:
        """The file of the table."""
        return str(self.table)


_POSIX = (
    "two cloud servers of 8 cores and one SSD, a file of 10 GB and an overwrite of a small one; juicefs.com, Is POSIX "
    "really unsuitable for object stores, 2023"
)
_RED_HAT = "Red Hat, Dell EMC and Intel, object store series, 2019"

CASES = (
    Case(
        "minio-s3bench",
        "MinIO with one drive, and s3bench, on one laptop (i7-12700H, NVMe, Ubuntu 20.04 in WSL2), 2023: published "
        "benchmark tables by clients, samples and size",
        0.05,
        "reference/minio-s3bench",
    ),
    Case(
        "minio-s3bench-tail",
        "the same laptop in another session, 2023: 1 MiB objects, one client, with quantiles, without and with hedged "
        "requests",
        0.1,
        "reference/minio-s3bench-tail",
    ),
    Case(
        "minio-hdd-s3bench",
        "MinIO with one drive, and s3bench, on a laptop with a hard disk (ext4), 2020: published benchmark tables by "
        "size, clients and samples, with quantiles; the durations of one setting differ by up to 2 there",
        0.15,
        "reference/minio-hdd-s3bench",
    ),
    Case(
        "minio-nvme8",
        "MinIO on 8 hosts with 8 NVMe drives and 100 Gbit/s each (i3en.24xlarge), 8 client machines, s3-benchmark: "
        "MinIO, S3 benchmark on NVMe, 2019",
        0.2,
        "minio/nvme-8x8",
    ),
    Case(
        "minio-nvme32",
        "MinIO on 32 hosts with 8 NVMe drives and 100 Gbit/s each (i3en.24xlarge), EC:4, its own speedtest on the "
        "hosts, 2021-12-29: MinIO, Updated NVMe benchmark, blog.min.io/nvme_benchmark",
        0.2,
        "reference/minio-nvme32",
    ),
    Case(
        "rustfs-3node",
        "RustFS 1.0.1 on 3 virtual machines with 2 drives each, warp on one of them: throughput and latency of PUTs, "
        "bytes on links and drives for each byte stored (means over the process of warp, some 10 % too low); "
        "github.com/Maaz-Ali-Baig/masters-thesis-s3-evaluation, perf-rustfs-vm-3node-20261010",
        0.2,
        "reference/rustfs-3node",
    ),
    Case(
        "swift-criterion",
        "OpenStack Swift with s3api in a container, and a client in Rust on the same machine: means and outliers by "
        "criterion, one request after the other, 2024",
        0.15,
        "swift/criterion",
    ),
    Case(
        "bob-one-host",
        "Bob 2.1 alpha in docker on one host with an NVMe drive, 1 and 2 nodes, quorum 1: medians and means by "
        "criterion, one request after the other, 2024",
        0.15,
        "bob/one-host",
    ),
    Case(
        "bob-minio-same-host",
        "MinIO behind nginx on the host of bob-one-host, 2 and 4 folders of its drive as drives: medians and means by "
        "criterion, one request after the other, 2024",
        0.15,
        "bob/minio-same-host",
    ),
    Case(
        "posix-direct",
        f"MinIO with one SSD, written by mc and pandas; {_POSIX}",
        0.15,
        "reference/posix-direct",
    ),
    Case(
        "posix-juicefs",
        f"JuiceFS over that MinIO, with Redis, by its mount and its S3 gateway; {_POSIX}",
        0.15,
        "reference/posix-juicefs",
    ),
    Case(
        "ceph-nvme-quincy",
        "Ceph Quincy on 10 nodes with 60 PM983 and 20 gateways, replica 3, 200 hsbench processes of 64 threads; "
        "ceph.io, Reef Freeze Part 2: RGW Performance, 2023",
        0.2,
        "ceph/nvme-quincy",
    ),
    Case(
        "ceph-redhat-rgw",
        f"Red Hat Ceph Storage 3.3 on 7 nodes with 112 hard disks and Optane, EC 4+2, COSBench: gateways; {_RED_HAT}, "
        "parts 1 to 4",
        0.2,
        "ceph/redhat-112-hdd",
    ),
    Case(
        "ceph-redhat-resharding",
        f"the same cluster, a bucket that grows and is resharded, or was sharded before; {_RED_HAT}, part 4",
        0.2,
        "ceph/redhat-112-hdd",
    ),
    Case(
        "ceph-redhat-compression",
        f"5 nodes with NVMe, compression under RBD volumes: fio and MySQL; {_RED_HAT}, part 5",
        0.2,
        "ceph/rbd-fio",
    ),
    Case(
        "ceph-redhat-filestore",
        f"the cluster of hard disks compared with FileStore on 210 disks (RHCS 2.0, 2017); {_RED_HAT}, part 6",
        0.2,
        "ceph/redhat-112-hdd",
    ),
    Case(
        "ceph-redhat-billion",
        f"the cluster of hard disks filled with a billion objects of 64 KB; {_RED_HAT}, part 7",
        0.2,
        "ceph/billion-objects",
    ),
    Case(
        "ceph-nvme-squid",
        "Ceph 19.2.0 on 4 and 12 nodes with 24 NVMe drives each, replicas and erasure codes, with and without TLS, "
        "elbencho; ceph.io, Benchmarking performance with Ceph object storage, parts 2 and 3, 2025",
        0.2,
        "ceph/nvme-squid",
    ),
    Case(
        "ceph-hdd-quincy",
        "Quincy on 8 nodes with 192 hard disks, EC 4+2, COSBench with five sizes side by side: new, aged, one node "
        "stopped; ceph.io, Putting Reef to the test, 2023",
        0.2,
        "ceph/hdd-quincy",
    ),
    Case(
        "ceph-filestore-firefly",
        "Firefly on 2 nodes with FileStore, one client with 1GbE, COSBench through librados; ZHAW ICCLab, Ceph and "
        "Swift on small clusters, 2014",
        0.2,
        "ceph/filestore-firefly",
    ),
    Case(
        "ceph-rbd-ec-squid",
        "Ceph 19.2.3 on one node with 8 OSDs, RBD on EC 4+2, fio on 16 volumes; ceph.io, CBT benchmarks, 2025",
        0.2,
        "ceph/rbd-ec-squid",
    ),
    Case(
        "ceph-rbd-reef-cpu",
        "Reef on 5 nodes with 30 PM983, OSDs bound to 2 to 20 CPU threads a drive, RBD with fio; ceph.io, 1 or 2 OSDs "
        "per NVMe, 2023",
        0.2,
        "ceph/rbd-reef-cpu",
    ),
    Case(
        "ceph-rbd-pg-reef",
        "a pre-release of Reef on 10 nodes with 60 PM983, clients on the same nodes, RBD with fio by the number of "
        "placement groups; ceph.io, Ceph: a journey to 1 TiB/s, 2024",
        0.2,
        "ceph/rbd-pg-reef",
    ),
    Case(
        "ceph-rbd-quincy-r6615",
        "Ceph 17.2.7 on 3 nodes of EPYC 9454P with 30 NVMe drives, RBD with fio; ceph.io, Ceph: a journey to 1 TiB/s, "
        "2024",
        0.2,
        "ceph/rbd-quincy-r6615",
    ),
    Case(
        "ceph-rbd-fastec-tentacle",
        "Squid and Tentacle on one node with 8 OSDs, RBD with random blocks of 4 KiB on replicas and erasure codes, "
        "without and with optimizations, fio on 16 volumes; ceph.io, Tentacle: fast EC performance updates, 2025",
        0.2,
        "ceph/rbd-fastec-tentacle",
    ),
    Case(
        "ceph-3vm-tentacle",
        "Ceph 20.2.4 on 3 virtual machines with one vCPU each, PUTs of 1 MiB with warp; "
        "github.com/Maaz-Ali-Baig/masters-thesis-s3-evaluation, 2026",
        0.2,
        "ceph/3vm-tentacle",
    ),
    Case(
        "ceph-rocksdb-pacific",
        "Ceph 16.2.9 with one OSD on one PM983, replica 1, objects of 4 KiB, two tunings of RocksDB; ceph.io, RocksDB "
        "tuning deep dive, 2022",
        0.2,
        "ceph/rocksdb-pacific",
    ),
    Case(
        "ceph-resharding-2026",
        "a bucket of 20 million objects resharded with writes blocked (Squid) and in two phases (Tentacle); ceph.io, "
        "RGW improved resharding, 2026",
        0.2,
        "ceph/nvme-quincy",
    ),
)
"""All cases."""


def case_named(name: str) -> Case:
    """Return the case of a name.

    Raises:
        InputError: there is no such case.
    """
    for case in CASES:
        if case.name == name:
            return case
    raise InputError(f"{name!r} is no reference case; {instead(name, [case.name for case in CASES])}")
