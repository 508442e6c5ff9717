"""Reads what `tailcast probe` has measured: figures of a drive and the number of cores.

Its file is a document of fio with one more field, `probe`, which has the means over rounds.
"""

from __future__ import annotations

from collections.abc import Mapping

from models.site.hardware.fio import FIO
from models.site.reader import Facts, Found, Reader, SiteFile

_FACTS = {
    "read_iops": "drive.read.iops", "write_iops": "drive.write.iops", "read_bandwidth": "drive.read.bandwidth",
    "write_bandwidth": "drive.write.bandwidth", "read_latency": "drive.read.latency",
    "write_latency": "drive.write.latency",
}  # fmt: skip


def read(file: SiteFile) -> Found:
    """Return the means over rounds, and what the model of a drive leaves out as notes."""
    probe = file.fields["probe"]
    means = {figure["name"]: float(figure["mean"]) for figure in probe["figures"]}
    facts: Facts = {**FIO.read(file).facts, **{fact: means[name] for name, fact in _FACTS.items()}}
    facts["drive.durable"] = f"{(means['write_latency'] + means['flush']) * 1e3:.4g}ms"
    facts["cores"] = int(probe["cores"]["count"])
    return Found(facts, tuple(map(str, probe["unexplained"])))


PROBE = Reader(
    "measurements of tailcast probe",
    lambda file: isinstance(file.fields.get("probe"), Mapping) and "jobs" in file.fields,
    read,
)
"""The reader."""
