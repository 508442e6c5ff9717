"""The turns of operations at a shard of the bucket index: until replicas have committed, or until the commit begins."""

from __future__ import annotations

import dataclasses

import pytest

from models.network.network import Network
from models.store import compile_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.ceph_clusters import COMMIT, COMMIT_MEMBER, HOP, LOG_WRITE, WITH_DB, WRITE_CPU, ceph, of_role, steady
from tests.sim.engine.test_engines import assert_identical
from tests.small_traces import trace_of

LOG = LOG_WRITE + COMMIT + COMMIT_MEMBER
PUTS = 6
ONE_SHARD = (*WITH_DB, "buckets.shards=1")


def waiting_s(*settings: str) -> float:
    """Mean time that PUTs which begin together wait for the first of their turns at the only shard; of both engines."""
    spec = ceph(*WITH_DB, "buckets.shards=1", f"osd.threads_per_shard={PUTS}", *settings)
    trace = trace_of(["PUT"] * PUTS, [f"k{n}" for n in range(PUTS)], size_bytes=1 << 20)
    network, requests = compile_spec(spec, trace)
    program = Program.of(steady(prepared_only(network)), requests, 0)
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    return of_role(network, outcome.waiting_s, "index shard") / PUTS


def prepared_only(network: Network) -> Network:
    """The network with requests that end when their index entry is prepared."""
    return dataclasses.replace(
        network, routes=tuple(dataclasses.replace(r, stages=r.stages[:4]) for r in network.routes)
    )


def test_a_locked_shard_is_free_when_all_replicas_have_committed():
    turn_s = HOP + WRITE_CPU + LOG + HOP
    assert waiting_s() == pytest.approx(turn_s * (PUTS - 1) / 2)


def test_a_pipelined_shard_is_free_when_the_commit_begins():
    # The first commit begins at once, and each further one at the end of the one before.
    assert waiting_s("buckets.pipelined=true") == pytest.approx(LOG * (PUTS - 2) * (PUTS - 1) / 2 / PUTS)


@pytest.mark.parametrize(("release", "pipelined"), [("jewel", False), ("reef", False), ("squid", True)])
def test_shards_are_pipelined_since_squid(release, pipelined):
    assert ceph(f"release={release}").pipelines_index is pipelined
    assert ceph(f"release={release}", "buckets.pipelined=true").pipelines_index
