"""The reference cases: published tables as data, each with the spec that predicts its rows."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from traces.errors import InputError
from traces.suggestions import instead

DATA = Path(__file__).resolve().parent
SPECS = DATA.parent.parent / "examples"
"""Folder of the specs of the cases; a row's settings override their values."""

DURATION = "duration_s"
"""The only figure that is evaluated if a row has it, because the others follow from it."""


@dataclass(frozen=True)
class Row:
    """One published row.

    Attributes:
        table: the published table.
        op: the operation; a description if the row is about none.
        settings: the row's values by path in the spec, as in `traces.spec_file.override`.
        used_in_fit: whether values of the spec were fitted to the row.
        measured: the published figures by name (`validate.reference.figures`).
        remark: further information from the source, or inferred.
    """

    table: str
    op: str
    settings: Mapping[str, str]
    used_in_fit: bool
    measured: Mapping[str, float]
    remark: str = ""

    @property
    def assignments(self) -> tuple[str, ...]:
        """The settings in the form of `traces.spec_file.override`."""
        return tuple(f"{path}={value}" for path, value in self.settings.items())

    @property
    def evaluated(self) -> tuple[str, ...]:
        """The figures from which the error of a prediction is computed."""
        return (DURATION,) if DURATION in self.measured else tuple(self.measured)


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
        steady: whether the published figures are from long runs; if so, the initial part of a simulation is left out,
            and one simulation with many requests is enough.
    """

    name: str
    source: str
    tolerance: float
    spec_name: str
    steady: bool = False

    @property
    def replications(self) -> int:
        """Number of simulations per row."""
        return 1 if self.steady else 20

    @property
    def spec(self) -> Path:
        """The file of the spec.

        Raises:
            InputError: the file does not exist.
        """
        return spec_file(self.spec_name)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The published rows in order.

        In the file, the columns between ``table`` and ``op`` are paths in the spec (an empty cell sets nothing), those
        after ``used_in_fit`` are figures with units in their names (an empty cell: not published).
        """
        with (DATA / f"{self.name}.csv").open(newline="") as file:
            reader = csv.DictReader(file)
            columns = list(reader.fieldnames or ())
            paths = columns[1 : columns.index("op")]
            figures = columns[columns.index("used_in_fit") + 1 :]
            return tuple(
                Row(
                    line["table"],
                    line["op"],
                    {path: line[path] for path in paths if line[path]},
                    line["used_in_fit"] == "yes",
                    {name: float(line[name]) for name in figures if line[name]},
                    line.get("remark", ""),
                )
                for line in reader
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
        "ceph-nvme-quincy",
        "Ceph Quincy on 10 nodes with 60 PM983 and 20 gateways, replica 3, 200 hsbench processes of 64 threads; "
        "ceph.io, Reef Freeze Part 2: RGW Performance, 2023",
        0.2,
        "ceph/nvme-quincy",
        steady=True,
    ),
    Case(
        "ceph-redhat-rgw",
        f"Red Hat Ceph Storage 3.3 on 7 nodes with 112 hard disks and Optane, EC 4+2, COSBench: gateways; {_RED_HAT}, "
        "parts 1 to 4",
        0.2,
        "ceph/redhat-112-hdd",
        steady=True,
    ),
    Case(
        "ceph-redhat-resharding",
        f"the same cluster, a bucket that grows and is resharded, or was sharded before; {_RED_HAT}, part 4",
        0.2,
        "ceph/redhat-112-hdd",
        steady=True,
    ),
    Case(
        "ceph-redhat-compression",
        f"5 nodes with NVMe, compression under RBD volumes: fio and MySQL; {_RED_HAT}, part 5",
        0.2,
        "ceph/rbd-fio",
        steady=True,
    ),
    Case(
        "ceph-redhat-filestore",
        f"the cluster of hard disks compared with FileStore on 210 disks (RHCS 2.0, 2017); {_RED_HAT}, part 6",
        0.2,
        "ceph/redhat-112-hdd",
        steady=True,
    ),
    Case(
        "ceph-redhat-billion",
        f"the cluster of hard disks filled with a billion objects of 64 KB; {_RED_HAT}, part 7",
        0.2,
        "ceph/billion-objects",
        steady=True,
    ),
    Case(
        "ceph-resharding-2026",
        "a bucket of 20 million objects resharded with writes blocked (Squid) and in two phases (Tentacle); ceph.io, "
        "RGW improved resharding, 2026",
        0.2,
        "ceph/nvme-quincy",
        steady=True,
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
