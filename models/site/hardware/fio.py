"""Reads results of fio in JSON: IOPS, latencies and bandwidths of a drive, from which its service times follow.

Fields are those of fio 3 (HOWTO, "JSON output"): each direction of a job has `iops`, `bw_bytes`, `lat_ns` and
`total_ios`, and `sync` the latency of its fsyncs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from models.site.reader import Facts, Found, Reader, SiteFile

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SMALL_BYTES, _LARGE_BYTES = 16 << 10, 128 << 10
_DEEP = 8

_STORES = "rbd", "rados", "http", "libhdfs", "gfapi", "gfapi_async", "nfs", "libiscsi", "nbd"
"""Engines of fio that access a store or a server instead of a drive."""

Way = Literal["read", "write"]
"""Direction of accesses."""
_WAYS: tuple[Way, ...] = ("read", "write")


@dataclass(frozen=True)
class Job:
    """One direction of a job: accesses of `size_bytes`, `depth` at a time; times in s, rates per s.

    Durable are accesses that each are synced; `sync_s` is the time of a sync after the access. A job with
    `gtod_reduce` takes no times: its latency is 0.
    """

    way: Way
    size_bytes: float
    depth: int
    is_random: bool
    is_durable: bool
    iops: float
    bytes_per_s: float
    latency_s: float
    cv: float
    sync_s: float


def size_of(text: Any) -> float:
    """Return the size of an access in bytes, the first of several.

    Raises:
        ValueError: it is none.
    """
    first = re.split(r"[,/:-]", str(text).strip().lower())[0]
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?)(?:i?b)?", first)
    if match is None:
        raise ValueError(f"bs is {text!r}")
    return float(match[1]) * _UNITS[match[2]]


def of_drive(engine: Any) -> None:
    """Check that an engine of fio accesses a drive.

    Raises:
        ValueError: it accesses a store.
    """
    if engine in _STORES:
        raise ValueError(f"ioengine={engine} measures a store, not a drive of one")


def _whole(options: Mapping[str, Any], name: str, default: int) -> int:
    value = str(options.get(name, default))
    return int(value) if value.isdigit() else default


def _jobs(data: Mapping[str, Any]) -> Iterator[Job]:
    for job in data["jobs"]:
        options = {**data.get("global options", {}), **job.get("job options", {})}
        of_drive(options.get("ioengine"))
        pattern = str(options.get("rw", options.get("readwrite", "read")))
        depth = _whole(options, "iodepth", 1) * _whole(options, "numjobs", 1)
        is_durable = any(_whole(options, name, 0) == 1 for name in ("fsync", "fdatasync", "sync", "dsync"))
        sync = (job.get("sync") or {}).get("lat_ns") or {}
        for way in _WAYS:
            done = job.get(way) or {}
            if not done.get("total_ios"):
                continue
            latency = done.get("lat_ns") or done.get("clat_ns") or {}
            mean_ns = float(latency.get("mean", 0.0))
            yield Job(
                way, size_of(options.get("bs", options.get("blocksize", "4k"))), depth, pattern.startswith("rand"),
                is_durable and way == "write", float(done["iops"]),
                float(done.get("bw_bytes") or 1024 * float(done["bw"])), mean_ns / 1e9,
                float(latency.get("stddev", 0.0)) / mean_ns if mean_ns else 0.0, float(sync.get("mean", 0.0)) / 1e9,
            )  # fmt: skip


def read(file: SiteFile) -> Found:
    """Return the figures of a drive that the jobs measured.

    Raises:
        ValueError: no job of it shows a figure of a drive.
    """
    return figures(list(_jobs(file.fields)))


def figures(jobs: Sequence[Job]) -> Found:
    """Return the figures of a drive that jobs measured.

    Small accesses have up to 16 KiB, large ones at least 128 KiB; many at the same time are 8 or more.

    Raises:
        ValueError: no job of it shows a figure of a drive.
    """
    facts: Facts = {}
    for way in _WAYS:
        of_way = [job for job in jobs if job.way == way and not job.is_durable]
        small = [job for job in of_way if job.size_bytes <= _SMALL_BYTES and job.is_random]
        timed = [job for job in small if job.depth == 1 and job.latency_s]
        if alone := min(timed, key=lambda job: job.size_bytes, default=None):
            facts[f"drive.{way}.latency"] = alone.latency_s
            facts[f"drive.{way}.cv"] = alone.cv
        if deep := [job.iops for job in small if job.depth >= _DEEP]:
            facts[f"drive.{way}.iops"] = max(deep)
        if large := [job.bytes_per_s for job in of_way if job.size_bytes >= _LARGE_BYTES]:
            facts[f"drive.{way}.bandwidth"] = max(large)
    durable = [
        job
        for job in jobs
        if job.is_durable and job.depth == 1 and job.size_bytes <= _SMALL_BYTES and job.latency_s + job.sync_s
    ]
    if durable:
        facts["drive.durable"] = _milliseconds(min(job.latency_s + job.sync_s for job in durable))
    if not facts:
        raise ValueError(
            "no job has random accesses of up to 16 KiB with iodepth 1 or at least 8, or accesses of 128 KiB or more"
        )
    return Found(facts)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.4g}ms"


FIO = Reader("JSON of fio", lambda file: "fio version" in file.fields and "jobs" in file.fields, read)
"""The reader."""
