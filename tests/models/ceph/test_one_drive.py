"""OSDs whose log is on the data drive: commits and data take turns, and deferred writes go in batches."""

from __future__ import annotations

import numpy as np
import pytest

from models.ceph.spec.spec import CephSpec
from models.network.background import random_phase
from models.store import compile_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.ceph_clusters import READ, WITH_DB, WRITE, ceph, compiled, latency_s, steady
from tests.sim.engine.test_engines import assert_identical
from tests.small_traces import trace_of

DEFERRED = ("bluestore.prefer_deferred_size=64KiB", "bluestore.min_alloc_size=4KiB", "hosts.count=3", "hosts.drives=1")


def run(spec: CephSpec, at_s: list[float], size: int) -> Outcome:
    """PUTs at these times, with every demand at its mean; both engines' result."""
    trace = trace_of(["PUT"] * len(at_s), [f"k{n}" for n in range(len(at_s))], size_bytes=size, arrival_s=at_s)
    network, requests = compile_spec(spec, trace)
    program = Program.of(steady(network), requests, 0)
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    return outcome


@pytest.mark.parametrize(
    ("settings", "shared"),
    [
        ((), True),
        (WITH_DB, False),
        (("device.queue_depth=2",), False),
        (("device.write_latency=1ms",), False),
        (("osd.backend=filestore",), False),
    ],
)
def test_commits_use_the_server_of_a_drive_that_has_one_access_at_a_time(settings, shared):
    network, _ = compiled(ceph(*settings), "PUT")
    pairs = [(network.stations[k - 1].role, s.role) for k, s in enumerate(network.stations) if s.shares_server]
    assert pairs == ([("drive", "kv sync")] * 16 if shared else [])


def test_a_commit_waits_for_data_of_another_object():
    spec = ceph("hosts.count=3", "hosts.drives=1", "device.write=50ms", "buckets.shards=100")
    (alone,) = run(spec, [0.0], 1 << 20).end_s
    first, second = run(spec, [0.0, 0.001], 1 << 20).end_s
    assert first >= alone and second > first + 0.04, "one drive writes both objects, and commits in between"


def test_data_are_flushed_before_their_commit():
    flush = ("device.flush=9ms",)
    for size, flushes in ((128 << 10, 1), (4096, 0)):  # those of 4 KiB are deferred
        without, with_flush = (latency_s(ceph(*DEFERRED, *settings), "PUT", size) for settings in ((), flush))
        assert with_flush - without == pytest.approx(2 * 9e-3 + flushes * 3e-3), (
            "that of the entry, and that of the data"
        )
    own_log = [latency_s(ceph(*WITH_DB, *settings), "PUT", 128 << 10) for settings in ((), flush)]
    assert own_log[0] == own_log[1], "the flush of a drive without the log is not modelled"


def test_a_large_access_is_several():
    mib = 1 << 20
    whole, parts = (latency_s(ceph(*limit), "GET", mib) for limit in ((), ("device.max_access=64KiB",)))
    assert parts - whole == pytest.approx(15 * READ)
    small = [latency_s(ceph(*limit), "GET", 4096) for limit in ((), ("device.max_access=64KiB",))]
    assert small[0] == small[1]


def test_deferred_writes_go_together_at_the_end_of_the_interval():
    spec = ceph(*DEFERRED, "bluestore.defer_interval=1s")
    phase_s = random_phase(0, "gate", "deferred")
    at_s = [phase_s + at for at in (0.1, 0.3, 0.5, 0.7, 0.9001, 1.0005)]
    outcome = run(spec, at_s, 4096)
    took_s = outcome.end_s - np.array(at_s)
    assert took_s[:4] == pytest.approx(took_s[0])
    # Five objects are written to their place 1 s after the phase; a commit that comes just then waits for them.
    assert took_s[5] == pytest.approx(took_s[0] + 5 * WRITE, abs=2 * WRITE)
    at_once = run(ceph(*DEFERRED), at_s, 4096)
    assert at_once.end_s[5] - at_s[5] < took_s[5] - 2 * WRITE


def test_deferred_writes_go_in_batches_however_long_a_trace_is():
    spec = ceph(*DEFERRED, "bluestore.defer_interval=1s")
    begins_s = 2 * 86_400
    at_s = [0.1, 0.3, 0.5, 0.7, 0.9001, 1.0005]
    late = run(spec, [0.0, *(begins_s + at for at in at_s)], 4096)
    early = run(spec, at_s, 4096)
    assert late.end_s[1:] - begins_s == pytest.approx(early.end_s, abs=1e-6)
