"""Hosts that fail: the epochs of a run, and requests of several client machines."""

from __future__ import annotations

import pytest

from models.store import load_spec
from sim.simulate import simulate
from tests.paths import EXAMPLES
from traces.workload.generate import generate


@pytest.mark.parametrize("example", ["bob/cluster.yaml", "garage/three-nodes.yaml"])
def test_a_host_may_be_down_from_the_beginning_until_the_end(example):
    """There is one epoch then, which requests are bound to as if there were several."""
    ends = []
    for at in ("0s", "1ns"):
        faults = f"faults=[{{kind: host_down, host: 1, at: {at}}}]"
        shorter = "workload.operations=100", "workload.duration=null", "client.machines=3", "client.nic=200Mbit/s"
        spec = load_spec(EXAMPLES / example, [*shorter, faults])
        ends.append(simulate(spec, generate(spec.workload, 0), seed=0).requests.column("end_s").to_pylist())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("example", ["bob/cluster.yaml", "openio/cluster.yaml"])
def test_reads_alone_do_not_wait_for_a_large_page_cache(example):
    """Nothing is written, so any number of pieces fits into it."""
    only_reads = "workload={rate: 10/s, operations: 20, mix: {GET: 1}, object_size: 64KiB}", "drives.dirty_limit=1PiB"
    spec = load_spec(EXAMPLES / example, only_reads)
    assert not simulate(spec, generate(spec.workload, 0), seed=0).failed.any()
