"""Reads the text of fio, as it prints it by default.

Format: stat.c (show_thread_status_normal) of fio 2 and 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from models.site.hardware.fio import Job, Way, figures, of_drive, size_of
from models.site.reader import Found, Reader, SiteFile

_DECLARED = re.compile(
    r"^(?P<name>\S.*?): \(g=\d+\): rw=(?P<rw>\w+), bs=(?:\(R\) )?(?P<bs>[\d.]+[KMGkmgiBb]*)"
    r".*?(?:, ioengine=(?P<engine>\w+))?(?:, iodepth=(?P<depth>\d+))?$",
    re.MULTILINE,
)
_RESULT = re.compile(r"^(?P<name>\S.*?): \(groupid=\d+, jobs=(?P<jobs>\d+)\): err=.*$", re.MULTILINE)
_WAY = re.compile(
    r"^\s+(?P<way>read|write)\s*: ?(?:IOPS=(?P<iops>[\d.]+)(?P<k>[kM]?), BW=(?P<bw>[\d.]+)(?P<unit>[KMG]?i?)B/s"
    r"|io=\S+, bw=(?P<old_bw>[\d.]+)(?P<old_unit>[KMG]?)B/s, iops=(?P<old_iops>\d+))",
    re.MULTILINE,
)
_LATENCY = re.compile(
    r"^\s+(?P<kind>c?lat) \((?P<unit>[nmu]?sec)\): min=\s*\S+, max=\s*\S+, avg=\s*(?P<mean>[\d.]+), "
    r"stdev=\s*(?P<sd>[\d.]+)",
    re.MULTILINE,
)
_SYNC = re.compile(r"^\s+sync \((?P<unit>[nmu]?sec)\): min=\s*\S+, max=\s*\S+, avg=\s*(?P<mean>[\d.]+)", re.MULTILINE)
_SECONDS = {"nsec": 1e-9, "usec": 1e-6, "msec": 1e-3, "sec": 1.0}
_FACTORS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}


def _jobs(text: str) -> Iterator[Job]:
    """Yield the directions of the jobs; those of a group report one result."""
    declared = {match["name"]: match for match in _DECLARED.finditer(text)}
    results = list(_RESULT.finditer(text))
    for result, following in zip(results, [*results[1:], None], strict=True):
        own = text[result.end() : following.start() if following else len(text)]
        job = declared.get(result["name"])
        if job is None:
            raise ValueError(f"the line of job {result['name']} with rw, bs and iodepth is missing")
        of_drive(job["engine"])
        ways = list(_WAY.finditer(own))
        sync = _SYNC.search(own)
        for way, after in zip(ways, [*ways[1:], None], strict=True):
            part = own[way.end() : after.start() if after else len(own)]
            latencies = {each["kind"]: each for each in _LATENCY.finditer(part)}
            latency = latencies.get("lat") or latencies.get("clat")  # none with gtod_reduce
            mean_s = float(latency["mean"]) * _SECONDS[latency["unit"]] if latency else 0.0
            cv = float(latency["sd"]) / float(latency["mean"]) if latency and mean_s else 0.0
            old = way["iops"] is None
            iops = float(way["old_iops"]) if old else float(way["iops"]) * _FACTORS[way["k"]]
            bandwidth = (
                float(way["old_bw"]) * _FACTORS[f"{way['old_unit']}i" if way["old_unit"] else ""]
                if old
                else (float(way["bw"]) * _FACTORS[way["unit"]])
            )
            name: Way = "read" if way["way"] == "read" else "write"
            yield Job(
                name, size_of(job["bs"]), int(job["depth"] or 1) * int(result["jobs"]), job["rw"].startswith("rand"),
                sync is not None and name == "write", iops, bandwidth, mean_s,
                cv,
                float(sync["mean"]) * _SECONDS[sync["unit"]] if sync else 0.0,
            )  # fmt: skip


def read(file: SiteFile) -> Found:
    """Return the figures of a drive that the jobs measured."""
    return figures(list(_jobs(file.text)))


FIO_TEXT = Reader("fio", lambda file: file.json is None and bool(_RESULT.search(file.text)), read)
"""The reader."""
