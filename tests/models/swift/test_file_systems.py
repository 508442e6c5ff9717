"""Look-ups of Swift's objects that memory does not answer."""

from __future__ import annotations

import csv
import math
from typing import Any

import pytest

from models.store import spec_of
from models.swift.cluster.file_systems import lookup_of, metadata_of
from models.swift.spec.spec import SwiftSpec
from sim.simulate import simulate
from tests.paths import ROOT

COUNTS = ROOT / "benchmarks" / "file_system_accesses.csv"
READ_S = 0.01


def cluster(objects: float, memory: str | None = None, **more: Any) -> SwiftSpec:
    data = {
        "store": "swift",
        "workload": {"rate": 0.5, "operations": 300, "object_size": "4KiB", "mix": {"HEAD": 1}},
        "proxies": {"cpu": {"HEAD": 0, "GET": 0}},
        "hosts": {"count": 3, "cpu": {"HEAD": 0, "GET": 0}} | ({"memory": memory} if memory else {}),
        "drives": {"read": READ_S},
        "stored": {"objects": objects},
        **more,
    }
    spec = spec_of(data, "spec")
    assert isinstance(spec, SwiftSpec)
    return spec


def test_first_look_ups_read_as_many_blocks_as_counted() -> None:
    """On a drive with all of 1,024 partitions; each block is read once."""
    with COUNTS.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["layout"] == "swift" and row["op"] == "HEAD"]
    (row,) = (row for row in rows if row["memory"] == "cold" and float(row["objects"]) > 100_000)
    objects, lookups = float(row["objects"]), float(row["operations"])
    metadata = metadata_of(cluster(objects))
    counts = [objects / blocks.objects for blocks in (*metadata.folders, *metadata.files)]
    expected = sum(count * -math.expm1(-lookups / count) / lookups for count in counts)
    assert float(row["reads"]) / lookups == pytest.approx(expected, rel=0.05)


def test_look_ups_take_time_only_if_metadata_do_not_fit() -> None:
    assert not lookup_of(cluster(1e6, "64GiB")).takes_time
    assert not lookup_of(cluster(1e12)).takes_time
    metadata, cold = metadata_of(cluster(1e12)), lookup_of(cluster(1e12, "1GiB")).constant / READ_S
    assert len(metadata.files) < cold <= len(metadata.folders) + len(metadata.files)
    times = [lookup_of(cluster(objects, "16GiB")).constant for objects in (1e7, 1e8, 1e9)]
    assert times == sorted(times) and times[0] < times[-1]


def test_a_time_that_is_given_is_kept() -> None:
    spec = cluster(1e12, "1GiB", drives={"read": READ_S, "lookup": "6ms"})
    assert lookup_of(spec).constant == 6e-3


def test_requests_wait_for_the_reads() -> None:
    cold, warm = cluster(1e9, "1GiB"), cluster(1e9)
    more_s = float(simulate(cold, seed=1).latency_s.mean() - simulate(warm, seed=1).latency_s.mean())
    assert more_s == pytest.approx(lookup_of(cold).constant, rel=0.1)
