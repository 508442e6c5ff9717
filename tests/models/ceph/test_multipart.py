"""Multipart uploads to Ceph: a lone upload by hand, commits of its steps, both engines, many uploads at once."""

from __future__ import annotations

import numpy as np
import pytest

from models.store import compile_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.ceph_clusters import (  # fmt: skip
    COMMIT,
    COMMIT_MEMBER,
    CPU,
    HOP,
    READ_CPU,
    WITH_DB,
    WRITE,
    WRITE_CPU,
    alone,
    ceph,
    compiled,
    latency_s,
    of_role,
)
from tests.small_traces import trace_of
from traces.errors import InputError

MIB = 1 << 20
LOG = 0.1e-3 + COMMIT + COMMIT_MEMBER
IN_PARTS = "client.multipart={part_size: 5MiB, threshold: 5MiB, parallel: %d}"


def changed_s(commit_s: float) -> float:
    """A change that the primary makes, and two replicas, with its way."""
    return HOP + WRITE_CPU + commit_s + 2 * HOP + HOP


def index_s() -> float:
    return HOP + WRITE_CPU + (HOP + WRITE_CPU + HOP) + HOP + LOG


@pytest.mark.parametrize("parts", [2, 3])
def test_an_upload_by_hand(parts):
    """Initiation, parts one after the other, completion; a part has two RADOS objects, of 4 MiB and then 1 MiB.

    They have equal demands here, which do not depend on the bytes. Then the index entry is prepared, and the attributes
    of the part and its description are written.
    """
    spec = ceph("pools.data=replica 3", IN_PARTS % 1, *WITH_DB)
    accept_s, stat_s = HOP + CPU["PUT"], HOP + READ_CPU + HOP
    data_s = HOP + WRITE_CPU + (HOP + WRITE_CPU + WRITE + LOG + HOP) + HOP
    initiation_s = accept_s + index_s() + changed_s(LOG) + HOP
    part_s = accept_s + stat_s + 2 * data_s + index_s() + 2 * changed_s(LOG) + HOP
    completion_s = accept_s + changed_s(LOG) + stat_s + index_s() + 2 * changed_s(LOG) + HOP
    expected = initiation_s + parts * part_s + completion_s
    # The RADOS objects of some keys have OSDs in common, whose commits wait for each other.
    found_s = min(latency_s(spec, "PUT", parts * 5 * MIB, f"k{number}") for number in range(8))
    assert found_s == pytest.approx(expected, rel=0.02)


def test_commits_of_an_upload():
    """Of four parts: each step changes objects and index entries on three OSDs each."""
    spec = ceph("pools.data=replica 3", IN_PARTS % 2, *WITH_DB)
    network, _ = compiled(spec, "PUT", 20 * MIB)
    outcome = alone(spec, "PUT", 20 * MIB)
    entry, change = 2 * 3, 3  # prepared and completed; one object
    part = entry + 2 * change + 2 * change  # two RADOS objects, the attributes of the part, and the list of parts
    initiation, completion = entry + change, entry + 3 * change
    assert of_role(network, outcome.visits, "kv sync") == initiation + 4 * part + completion
    whole = alone(ceph("pools.data=replica 3", *WITH_DB), "PUT", 20 * MIB)
    assert of_role(network, outcome.visits, "kv sync") > of_role(network, whole.visits, "kv sync")


@pytest.mark.parametrize("data", ["replica 3", "ec 4+2"])
def test_engines_agree_and_no_upload_waits_forever(data):
    """More parts at the same time than slots of the gateways and bucket index shards."""
    spec = ceph(f"pools.data={data}", IN_PARTS % 4, "buckets.shards=1", "gateways.count=1", "gateways.max_requests=3")
    count = 12
    trace = trace_of(["PUT", "GET"] * count, [f"k{i}" for i in range(2 * count)], size_bytes=30 * MIB,
                     arrival_s=np.arange(2 * count) * 1e-3)  # fmt: skip
    network, requests = compile_spec(spec, trace)
    compiled_, simpy = (engine.run(Program.of(network, requests, 2)) for engine in (compiled_engine, simpy_engine))
    assert (compiled_.end_s == simpy.end_s).all() and np.isfinite(compiled_.end_s).all()
    assert not compiled_.failure.any()


def test_only_s3_has_multipart_uploads():
    with pytest.raises(InputError, match=r"client.multipart: requires access s3; it is rados"):
        ceph("access=rados", IN_PARTS % 1)
