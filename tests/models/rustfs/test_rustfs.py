"""RustFS: what differs from MinIO in syncs, metadata, reads, locks and limits; and Silo, which differs in nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.store import Spec, compile_spec, load_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.paths import EXAMPLES
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, override
from traces.workload.generate import generate

MIB = 1 << 20


def cluster(op: str, size: str, *changes: str, clients: int = 1, operations: int = 60, **more: Any) -> Spec:
    """Four hosts with two drives each, EC 4+4, of which only what is given takes time."""
    data = {
        "store": "rustfs",
        "workload": {"clients": clients, "operations": operations, "object_size": size, "mix": {op: 1}},
        "network": {"latency": "1us"},
        "hosts": {"count": 4, "cores": 64, "cpu": {op: 0}},
        "drives": {"count": 2, "read": 0, "write": 0, "commit": 0},
    }
    return spec_of(override({**data, **more}, changes), "spec")


def run(spec: Spec, engine: Any = compiled_engine) -> tuple[Outcome, dict[str, float]]:
    """The outcome, and the time in s of each role of stations for each request."""
    trace = generate(spec.workload, 0)
    network, requests = compile_spec(spec, trace)
    outcome = engine.run(Program.of(network, requests, 0))
    busy: dict[str, float] = {}
    for station, busy_s in zip(network.stations, outcome.busy_s, strict=True):
        busy[station.role] = busy.get(station.role, 0.0) + busy_s / len(trace)
    return outcome, busy


def mean_s(spec: Spec) -> float:
    outcome, _ = run(spec)
    return float((outcome.end_s - outcome.start_s).mean())


@pytest.mark.parametrize(("durability", "inline", "others"), [("strict", 1, 2), ("relaxed", 0, 1), ("none", 0, 0)])
def test_syncs_of_a_put_are_those_of_the_durability(durability, inline, others):
    for size, syncs in (("4KiB", inline), ("1MiB", others)):
        _, busy = run(cluster("PUT", size, f"durability={durability}", "drives.commit=1ms"))
        assert busy.get("journal", 0) == pytest.approx(8 * syncs * 1e-3), size


@pytest.mark.parametrize(("size", "is_inline"), [("256KiB", True), ("257KiB", False)])
def test_objects_up_to_256_kib_are_inline(size, is_inline):
    _, busy = run(cluster("PUT", size, "drives.commit=1ms"))
    assert bool(busy.get("journal", 0) == 0) is is_inline


@pytest.mark.parametrize(("op", "size", "reads"), [("HEAD", "1MiB", 5), ("GET", "4KiB", 5), ("GET", "1MiB", 16)])
def test_metadata_of_a_quorum_are_enough_but_for_objects_that_are_not_inline(op, size, reads):
    _, busy = run(cluster(op, size, "drives.read=1ms"))
    assert busy["drive"] == pytest.approx(reads * 1e-3)


@pytest.mark.parametrize("shards", ["all", "data"])
def test_a_slow_drive_is_given_up_after_100_ms(shards):
    slow = [{"kind": "slow_drive", "drive": 0, "speed": 1e-3, "at": 0}]
    read = {"count": 2, "read": {"per_byte": 1e-8}, "write": 0, "commit": 0}  # 2.6 ms, and 2.6 s from the slow drive
    spec = cluster("GET", "1MiB", f"reads.shards={shards}", "workload.think_time=60s", faults=slow, drives=read)
    # All objects have a shard there; half of them one with data, which are the first to be read.
    low, high = (0.1, 0.12) if shards == "all" else (0.03, 0.1)
    assert low < mean_s(spec) < high


def test_a_host_that_hangs_costs_a_get_five_seconds_and_a_head_nothing():
    hung = [{"kind": "link_down", "host": 3, "at": 0, "back_at": 1000, "refused_after": 1e-3}]
    single = "balance=single"
    assert mean_s(cluster("HEAD", "1MiB", single, faults=hung)) < 0.01
    assert mean_s(cluster("GET", "4KiB", single, faults=hung)) < 0.01
    assert mean_s(cluster("GET", "1MiB", single, operations=4, faults=hung)) == pytest.approx(5, rel=0.05)


def test_a_node_reads_for_a_number_of_gets_at_a_time():
    more = "drives.read=10ms", "drives.queue_depth=100", "balance=single"
    few = cluster("GET", "1MiB", *more, "reads.per_node=2", clients=20, operations=200)
    many = cluster("GET", "1MiB", *more, clients=20, operations=200)
    assert run(few)[0].end_s.max() == pytest.approx(10 * run(many)[0].end_s.max(), rel=0.1)


def test_puts_beyond_the_limit_are_refused():
    hosts = {"count": 4, "cores": 64, "cpu": {"PUT": 1e-3}, "max_requests": 4}
    refused = run(cluster("PUT", "1MiB", clients=40, operations=400, hosts=hosts))[0].failure != 0
    assert 0.5 < refused.mean() < 1


@pytest.mark.parametrize("changes", [
    ("workload.mix={GET: 1, PUT: 1, HEAD: 1, DELETE: 1, LIST: 1, COPY: 1}", "workload.object_size=3MiB"),
    ("workload.object_size=20MiB", "client.multipart={threshold: 5MiB, part_size: 5MiB}", "workload.rate=50/s"),
])  # fmt: skip
def test_both_engines_agree(changes):
    spec = load_spec(EXAMPLES / "rustfs/cluster.yaml", ["workload.duration=0.3s", *changes])
    assert np.array_equal(run(spec)[0].end_s, run(spec, simpy_engine)[0].end_s, equal_nan=True)


def test_silo_is_minio_by_another_name():
    data = load_mapping(EXAMPLES / "silo/cluster.yaml")
    ours, theirs = (
        spec_of(override({**data, "store": store}, ["workload.duration=1s"]), "s") for store in ("silo", "minio")
    )
    assert np.array_equal(run(ours)[0].end_s, run(theirs)[0].end_s)
    with pytest.raises(InputError, match="a release of MinIO"):
        spec_of({**data, "release": "2025-01-01"}, "spec")
