"""Memory of large clusters: linear in hosts."""

from __future__ import annotations

import tracemalloc

import pytest

from models.network.joined_table import JoinedTable
from models.store import compile_spec
from tests.models.minio.test_cluster import cluster
from tests.small_traces import trace_of

FAULTS = {
    "healthy": [],
    "faults": [
        {"kind": "host_down", "host": 1, "at": 1, "back_at": 3},
        {"kind": "drive_down", "drive": 5, "at": 2, "back_at": 4, "detected_after": 1},
    ],
}


def compiled(hosts: int, faults: list[dict]):
    spec = cluster(hosts={"count": hosts}, drives={"count": 4}, erasure={"set_size": 12}, faults=faults)
    return compile_spec(spec, trace_of(["GET", "PUT"], ["a", "b"], size_bytes=1 << 20))[0]


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_the_placement_table_has_as_many_bytes_for_each_host(faults):
    small, large = (compiled(hosts, faults).placements[0] for hosts in (24, 240))
    assert isinstance(small, JoinedTable) and isinstance(large, JoinedTable)
    assert large.shape == (100 * small.shape[0], small.shape[1])
    assert len(large.joins) == len(small.joins), "sets look alike, however many there are"
    parts = ("keyed", "coordinators", "first_join", "near")
    assert all(getattr(large, part).nbytes == 10 * getattr(small, part).nbytes for part in parts)


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_compiling_takes_as_much_memory_for_each_host(faults):
    compiled(24, faults)  # what is imported or cached
    peaks = []
    for hosts in (60, 600):
        tracemalloc.start()
        compiled(hosts, faults)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 12 * peaks[0]
