"""versitygw: calls to the file system, the copy at the end of an upload in parts, and a file system that hangs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.store import Spec, compile_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.paths import EXAMPLES
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, override
from traces.workload.generate import generate

LATENCY_S = 1e-3


def example(name: str, *changes: str, **more: Any) -> Spec:
    return spec_of(override({**load_mapping(EXAMPLES / f"versitygw/{name}.yaml"), **more}, changes), "spec")


def alone(op: str, size: str, *changes: str, name: str = "nfs", **more: Any) -> Spec:
    """Requests one after the other, on drives and cores that take no time."""
    load = {"clients": 1, "operations": 20, "object_size": size, "mix": {op: 1}}
    nothing = (
        "hosts.cpu={GET: 0s, PUT: 0s, HEAD: 0s}",
        "file_system.call=0s",
        "network.latency=0s",
        "network.payload_fraction=1",
    )
    drives = "drives={read: 0s, write: 0s, sync: 0s}"
    return example(name, *nothing, drives, *changes, **{"workload": load, **more})


def run(spec: Spec, engine: Any = compiled_engine) -> Outcome:
    network, requests = compile_spec(spec, generate(spec.workload, 0))
    return engine.run(Program.of(network, requests, 0))


def mean_s(spec: Spec) -> float:
    outcome = run(spec)
    return float((outcome.end_s - outcome.start_s).mean())


@pytest.mark.parametrize(("op", "calls"), [("GET", 19), ("PUT", 20), ("HEAD", 22)])
def test_each_call_to_a_remote_file_system_is_a_round_trip(op, calls):
    spec = alone(op, "1B", f"file_system.latency={LATENCY_S}")
    assert mean_s(spec) == pytest.approx(2 * calls * LATENCY_S, rel=0.01)


def test_a_local_file_system_does_not_wait_for_the_drive_and_a_remote_one_does():
    drives = "drives={read: 0s, write: 5ms, sync: 3ms}"
    assert mean_s(alone("PUT", "4KiB", drives, name="local")) < 1e-3
    assert mean_s(alone("PUT", "4KiB", drives, "file_system.latency=0s")) == pytest.approx(8e-3, rel=0.01)
    assert mean_s(alone("PUT", "4KiB", drives, "file_system.latency=0s", "file_system.synced=false")) < 1e-3


@pytest.mark.parametrize(
    ("op", "size", "accesses"),
    [
        *[("GET", "3KiB", 1), ("GET", "4KiB", 2), ("GET", "64KiB", 1), ("GET", "1MiB", 8)],
        *[("PUT", "4KiB", 1), ("PUT", "12KiB", 2), ("PUT", "64KiB", 3), ("PUT", "4MiB", 7)],
    ],
)
def test_calls_that_reach_a_direct_drive_are_waited_for(op, size, accesses):
    spec = alone(op, size, "drives={direct: true, read: 5ms, write: 5ms}", "hosts.nic=0", "client.nic=0",
                 "hosts.page_cache.hit_ratio=0", "client.multipart=null", name="local")  # fmt: skip
    assert mean_s(spec) == pytest.approx(accesses * 5e-3, rel=0.01)


def test_a_write_has_what_the_link_delivers_during_the_one_before():
    spec = alone("PUT", "4MiB", "drives={direct: true, read: 5ms, write: 5ms}", "hosts.nic=50MB/s", "client.nic=0",
                 "client.multipart=null", name="local")  # fmt: skip
    writes = 3 + -(-(4 << 20) // 250_000)
    assert mean_s(spec) == pytest.approx(writes * 5e-3, rel=0.01)


def test_a_write_has_what_arrives_while_others_take_their_turns():
    slow = "drives={direct: true, read: 5ms, write: 5ms}", "hosts.nic=50MB/s", "client.nic=0", "client.multipart=null"
    spec = alone("PUT", "1MiB", *slow, "workload.clients=8", "workload.operations=80", name="local")
    writes = 3 + 1  # 2 MB are delivered in eight turns
    assert mean_s(spec) == pytest.approx(8 * writes * 5e-3, rel=0.1)


def test_a_connection_that_is_kept_has_a_large_buffer():
    slow = "drives={direct: true, read: 5ms, write: 5ms}", "hosts.nic=0", "client.nic=0", "client.multipart=null"
    new, kept = (alone("PUT", "4MiB", *slow, f"hosts.keep_alive={kept}", name="local") for kept in ("false", "true"))
    assert mean_s(new) - mean_s(kept) == pytest.approx(5e-3, rel=0.01)


def test_a_new_connection_takes_a_round_trip():
    calls = "network.latency=1ms", "hosts.page_cache.hit_ratio=1"
    spec = alone("GET", "4KiB", *calls, name="local")
    kept = alone("GET", "4KiB", *calls, "hosts.keep_alive=true", name="local")
    assert mean_s(spec) - mean_s(kept) == pytest.approx(2e-3, rel=0.01)


def test_a_remote_file_system_has_no_direct_drives():
    with pytest.raises(InputError, match=r"drives\.direct is true"):
        example("nfs", "drives.direct=true")


def test_an_array_reads_in_parallel_and_writes_with_parity():
    alone_s = mean_s(alone("PUT", "4KiB", "drives={read: 4ms, write: 5ms, sync: 3ms}", "file_system.latency=0s"))
    array = "drives={read: 4ms, write: 5ms, sync: 3ms, raid: {level: 6, members: 6}}"
    # What a small write replaces, and its parity, are read first; so they are before the block of the journal.
    assert mean_s(alone("PUT", "4KiB", array, "file_system.latency=0s")) == pytest.approx(alone_s + 8e-3, rel=0.01)
    load = {"clients": 100, "operations": 3000, "object_size": "4KiB", "mix": {"GET": 1}}
    one, six = (
        run(alone("GET", "4KiB", drives, "file_system.latency=0s", "hosts.page_cache.hit_ratio=0", workload=load))
        for drives in ("drives={read: 4ms, write: 5ms, sync: 3ms}", array)
    )
    assert one.end_s.max() / six.end_s.max() == pytest.approx(6, rel=0.05)


def test_the_end_of_an_upload_in_parts_copies_all_of_them():
    parts = {"multipart": {"threshold": "16MiB", "part_size": "16MiB", "parallel": 4}}
    none = "hosts.nic=0", "file_system.latency=0s", "file_system.nic=0"
    copied_s = mean_s(alone("PUT", "256MiB", *none, client=parts, name="local"))
    assert copied_s == pytest.approx((256 << 20) / 4e9, rel=0.02)
    assert mean_s(alone("PUT", "256MiB", *none, client={}, name="local")) < 1e-3


def test_a_file_system_that_hangs_is_waited_for():
    spec = alone(
        "GET", "4KiB", "file_system.latency=1ms", faults=[{"kind": "file_system_hung", "at": 0.05, "back_at": 3}]
    )
    outcome = run(spec)
    assert not outcome.failure.any()
    assert 2.9 < (outcome.end_s - outcome.start_s).max() < 3.1


def test_a_host_that_is_down_refuses_its_requests():
    faults = [{"kind": "host_down", "host": 1, "at": 0}]
    spec = alone("GET", "4KiB", "network.latency=1ms", faults=faults)
    assert (run(spec).failure != 0).mean() == 0.5


@pytest.mark.parametrize("raid", ["null", "{level: 5, members: 4}"])
@pytest.mark.parametrize(("name", "direct"), [("local", "false"), ("nfs", "false"), ("local", "true")])
def test_both_engines_agree(name, raid, direct):
    changes = f"drives.raid={raid}", f"drives.direct={direct}"
    spec = example(name, "workload.duration=1s", "hosts.max_requests=3", *changes)
    assert np.array_equal(run(spec).end_s, run(spec, simpy_engine).end_s, equal_nan=True)


def test_a_neighbour_takes_no_drives_of_a_host_that_has_none():
    faults = [{"kind": "noisy_neighbour", "resource": "drives", "fraction": 0.5, "at": 0, "until": 1}]
    with pytest.raises(InputError, match=r"faults\.0\.resource is drives"):
        example("nfs", faults=faults)
    assert example("local", faults=faults).faults


def test_several_hosts_need_a_file_system_in_common():
    with pytest.raises(InputError, match="several gateways need a file system in common"):
        example("local", "hosts.count=2")
