"""The reference cases: published tables as data, each with the spec that predicts its rows."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from traces.errors import InputError

DATA = Path(__file__).resolve().parent
SPECS = DATA.parent.parent / "examples" / "reference"
"""The specs of the cases; `--set` with a row's settings gives that row."""


@dataclass(frozen=True)
class Row:
    """One published row.

    Attributes:
        table: which of the published tables it is from.
        op: the operation it is about.
        settings: path in the spec to the row's value there, as for ``--set``.
        used_in_fit: whether the spec's values were fitted to it.
        measured: the published figures by name: ``duration_s`` of all requests of the operation,
            ``throughput_mib_per_s``, and where they are published ``latency_min_ms``, ``latency_p25_ms`` …
            ``latency_max_ms``.
    """

    table: str
    op: str
    settings: Mapping[str, str]
    used_in_fit: bool
    measured: Mapping[str, float]

    @property
    def assignments(self) -> tuple[str, ...]:
        """The settings as ``--set`` takes them."""
        return tuple(f"{path}={value}" for path, value in self.settings.items())


@dataclass(frozen=True)
class Case:
    """A published measurement and its spec.

    Attributes:
        name: as in ``tailcast reference run NAME``; the spec's and the data's name, too.
        source: who measured what, where.
        tolerance: by what share the median row's duration may be off; what the case claims.
    """

    name: str
    source: str
    tolerance: float

    @property
    def spec(self) -> Path:
        """The spec that predicts the rows.

        Raises:
            InputError: it is not there.
        """
        path = SPECS / f"{self.name}.yaml"
        if not path.is_file():
            raise InputError(
                f"{path}: no such file; reference cases run from a checkout of the project, with its examples"
            )
        return path

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The published rows in their order.

        In the file, columns with a dot in their name are paths in the spec, where an empty cell sets nothing; those
        after ``used_in_fit`` are figures, each with its unit.
        """
        with (DATA / f"{self.name}.csv").open(newline="") as file:
            reader = csv.DictReader(file)
            columns = list(reader.fieldnames or ())
            paths = [name for name in columns if "." in name]
            figures = columns[columns.index("used_in_fit") + 1 :]
            return tuple(
                Row(
                    line["table"],
                    line["op"],
                    {path: line[path] for path in paths if line[path]},
                    line["used_in_fit"] == "yes",
                    {name: float(line[name]) for name in figures},
                )
                for line in reader
            )


CASES = (
    Case(
        "minio-s3bench",
        "MinIO with one drive, and s3bench, on one laptop (i7-12700H, NVMe, Ubuntu 20.04 in WSL2), 2023: published "
        "benchmark tables by clients, samples and size",
        0.05,
    ),
    Case(
        "minio-s3bench-tail",
        "the same laptop in another session, 2023: 1 MiB objects, one client, with quantiles, without and with hedged "
        "requests",
        0.1,
    ),
    Case(
        "minio-hdd-s3bench",
        "MinIO with one drive, and s3bench, on a laptop with a hard disk (ext4), 2020: published benchmark tables by "
        "size, clients and samples, with quantiles; the durations of one setting differ by up to 2 there",
        0.15,
    ),
)
"""All cases."""


def case_named(name: str) -> Case:
    """The case of that name.

    Raises:
        InputError: there is none.
    """
    for case in CASES:
        if case.name == name:
            return case
    raise InputError(f"{name!r} is no reference case; allowed are {', '.join(case.name for case in CASES)}")
