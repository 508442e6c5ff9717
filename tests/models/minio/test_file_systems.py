"""MinIO on file systems that have outgrown memory: reads of look-ups, metadata written back, files of each release."""

from __future__ import annotations

from typing import Any

import pytest

from models.minio.compile import compile
from models.minio.spec.spec import MinioSpec
from models.network.network import Network
from models.store import spec_of
from sim.simulate import simulate
from traces.trace import Trace
from traces.workload.generate import generate

DRIVE = {"count": 3, "read": "10ms", "write": "10ms", "commit": "20ms", "commit_in": "queue"}


def cluster(op: str = "GET", stored: float | None = None, memory: str | None = None, **more: Any) -> MinioSpec:
    hosts: dict[str, Any] = {"count": 4, "cpu": dict.fromkeys(("GET", "PUT", "HEAD", "DELETE", "LIST"), 0)}
    data = {
        "store": "minio",
        "workload": {"rate": 4, "duration": "250s", "object_size": "64KiB", "mix": {op: 1}},
        "hosts": hosts | ({"memory": memory} if memory else {}),
        "drives": DRIVE,
        **({"stored": {"objects": stored, "object_size": "64KiB"}} if stored else {}),
        **more,
    }
    spec = spec_of(data, "spec")
    assert isinstance(spec, MinioSpec)
    return spec


def compiled(spec: MinioSpec) -> tuple[Network, Trace]:
    trace = generate(spec.workload, 0)
    return compile(spec, trace)[0], trace


def accesses(spec: MinioSpec) -> float:
    """Mean visits to drives of a request."""
    run = simulate(spec, seed=0)
    roles, visits = (run.stations.column(name).to_pylist() for name in ("role", "visits"))
    return sum(count for role, count in zip(roles, visits, strict=True) if role == "drive") / len(run.trace)


@pytest.mark.parametrize("op", ["GET", "HEAD"])
def test_nothing_changes_while_metadata_fit_into_memory(op: str) -> None:
    plain = simulate(cluster(op), seed=3)
    large = simulate(cluster(op, stored=1e6, memory="128GiB"), seed=3)
    assert list(plain.latency_s) == list(large.latency_s)


# 12 drives of a set; an inline object needs 4 blocks: two of the folder, two clusters of inodes.
@pytest.mark.parametrize(("op", "more"), [("GET", 48), ("HEAD", 48), ("DELETE", 48), ("PUT", 12)])
def test_look_ups_that_miss_memory_read_the_drives(op: str, more: int) -> None:
    none = {"stored": 1e12, "memory": "1GiB"}
    looked_up = accesses(cluster(op, **none)) - accesses(cluster(op, stored=1e12))
    assert looked_up == pytest.approx(more, rel=0.01)


def test_look_ups_delay_reads_and_metadata_written_back_only_load_drives() -> None:
    def mean_s(spec: MinioSpec) -> float:
        return float(simulate(spec, seed=0).latency_s.mean())

    slow = cluster("GET", stored=1e12, memory="1GiB", workload=cluster().workload.model_dump() | {"rate": 0.1})
    fast = cluster("GET", workload=slow.workload.model_dump())
    assert mean_s(slow) == pytest.approx(mean_s(fast) + 4 * 10e-3, rel=0.05)
    many, few = cluster("PUT", stored=1e9), cluster("PUT")
    assert accesses(many) - accesses(few) == pytest.approx(12 * 1.06, rel=0.05)


@pytest.mark.parametrize(("release", "writes"), [("2026-02-12", 2), ("2021-03-01", 4), ("2019-08-21", 3)])
def test_files_of_releases(release: str, writes: int) -> None:
    """Inline: a write and a commit; with a file of its own: twice as many; of which part.1 was not synced."""
    spec = cluster("PUT", release=release, erasure={"parity": 4})
    assert accesses(spec) == pytest.approx(12 * writes)
