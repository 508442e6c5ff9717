"""SeaweedFS: CPU times that were measured, waits for all copies, erasure-coded volumes, and servers that fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.store import Spec, compile_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from sim.engine.reference import engine as simpy_engine
from tests.paths import EXAMPLES
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, override
from traces.workload.generate import generate

FREE = {
    "store": "seaweedfs",
    "filer": {"read": 0, "write": 0, "assign": 0, "store": {"read": 0, "write": 0}},
    "master": {"assign": 0},
    "drives": {"read": 0, "write": 0, "sync": 0},
}
"""A cluster in which nothing takes time."""


def example(name: str, *changes: str) -> Spec:
    return spec_of(override(load_mapping(EXAMPLES / f"seaweedfs/{name}.yaml"), changes), "spec")


def alone(op: str, size: str, *, operations: int = 60, clients: int = 1, **more: Any) -> Spec:
    """Requests one after the other, on services of which only those given take time."""
    load = {"clients": clients, "operations": operations, "object_size": size, "mix": {op: 1}}
    cpu = {"cpu": {"GET": 0, "PUT": 0, "DELETE": 0}}
    data: dict[str, Any] = {**FREE, "workload": load, "gateways": cpu, "hosts": cpu, "volumes": {"append": 0}}
    for section, values in more.items():
        both = isinstance(values, dict) and section in data
        data[section] = {**data[section], **values} if both else values
    return spec_of(data, "spec")


def run(spec: Spec, engine: Any = compiled_engine) -> tuple[Outcome, dict[str, float]]:
    """The outcome, and the time in s of each role of stations for each request."""
    trace = generate(spec.workload, 0)
    network, requests = compile_spec(spec, trace)
    outcome = engine.run(Program.of(network, requests, 0))
    busy: dict[str, float] = {}
    for station, busy_s in zip(network.stations, outcome.busy_s, strict=True):
        busy[station.role] = busy.get(station.role, 0.0) + busy_s / len(trace)
    return outcome, busy


def took_s(spec: Spec) -> np.ndarray:
    outcome, _ = run(spec)
    return np.asarray(outcome.end_s - outcome.start_s)


@pytest.mark.parametrize(
    ("op", "size", "cpu_ms", "master_ms"),
    [("PUT", "4KiB", 0.33 + 1.07 + 1.07, 0.33), ("GET", "4KiB", 0.27 + 0.3 + 0.8, 0), ("PUT", "1MiB", 13.07, 0.33)],
)
def test_cpu_times_are_those_that_were_measured(op, size, cpu_ms, master_ms):
    _, busy = run(example("one-machine", f"workload.mix={{{op}: 1}}", f"workload.object_size={size}"))
    assert 1e3 * busy["host cpu"] == pytest.approx(cpu_ms, rel=0.03)
    assert 1e3 * busy["master cpu"] == pytest.approx(master_ms, rel=0.01)


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_put_waits_for_all_copies_and_for_no_drive(copies):
    slow = {"count": 6, "cpu": {"PUT": {"constant": 1e-2, "distribution": {"kind": "exponential"}}}}
    spec = alone("PUT", "4KiB", operations=4000, hosts=slow, volumes={"copies": copies}, drives={"write": "1s"})
    slowest_s = 1e-2 * sum(1 / n for n in range(1, copies + 1))  # of as many exponential times
    assert took_s(spec).mean() == pytest.approx(slowest_s, rel=0.05)


@pytest.mark.parametrize(
    ("op", "size", "accesses"),
    [
        *[
            ("PUT", "4KiB", 2),
            ("PUT", "1000KiB", 2),
            ("PUT", "1MiB", 3),
            ("PUT", "4MiB", 6),
        ],  # data, entry of the index
        *[("GET", "4KiB", 1), ("GET", "1000KiB", 1), ("GET", "1MiB", 3), ("GET", "4MiB", 6)],  # the header by two
    ],
)
def test_calls_that_reach_a_direct_drive_are_waited_for(op, size, accesses):
    drives = {"direct": True, "read": "5ms", "write": "5ms"}
    spec = alone(op, size, drives=drives, hosts={"count": 3}, volumes={"copies": 3})
    assert took_s(spec).mean() == pytest.approx(accesses * 5e-3, rel=0.01)


def test_an_object_is_read_from_a_random_copy_each_time():
    keys = {"workload": {"clients": 1, "operations": 3000, "object_size": "4KiB", "mix": {"GET": 1},
                         "keys": {"kind": "uniform", "count": 1}}}  # fmt: skip
    spec = alone("GET", "4KiB", hosts={"count": 3}, volumes={"copies": 3}, drives={"read": "1ms"}, **keys)
    network, requests = compile_spec(spec, generate(spec.workload, 0))
    outcome = compiled_engine.run(Program.of(network, requests, 0))
    busy_s = [s for station, s in zip(network.stations, outcome.busy_s, strict=True) if station.role == "drive"]
    assert busy_s == pytest.approx([1.0] * 3, rel=0.1)


def test_a_volume_is_locked_while_a_direct_drive_writes():
    hosts, drives = {"count": 1}, {"direct": True, "read": "5ms", "write": "5ms", "queue_depth": 64}
    ends = [
        run(alone("PUT", "4KiB", operations=600, clients=40, hosts=hosts, drives=drives, volumes={"writable": n}))[0]
        for n in (1, 4)
    ]
    assert ends[0].end_s.max() == pytest.approx(600 * 0.01, rel=0.05), "one after the other"
    assert ends[1].end_s.max() < 0.4 * ends[0].end_s.max()


def test_reads_wait_until_no_chunk_is_appended_to_a_volume():
    drives = {"direct": True, "read": "5ms", "write": "5ms", "sync": "5ms", "queue_depth": 64}
    one = {"copies": 1, "writable": 1, "fsync": True}
    spec = alone("GET", "4KiB", hosts={"count": 1}, drives=drives, volumes=one)
    trace = trace_of(["PUT", "GET", "GET"], ["new", "a", "b"], arrival_s=[0.0, 1e-3, 1e-3])
    outcome = compiled_engine.run(Program.of(*compile_spec(spec, trace), 0))
    assert outcome.end_s == pytest.approx([15e-3, 20e-3, 20e-3]), "data, entry of the index, sync; then both reads"


def test_a_gateway_has_all_of_a_chunk_before_it_sends_it_on():
    one = {"count": 1, "collocated": False, "nic": "10MB/s"}
    nics = {"hosts": {"count": 3, "nic": "10MB/s"}, "gateways": one, "client": {"nic": "10MB/s"}}
    nics |= {"network": {"payload_fraction": 1}}
    link_s, volumes = (1 << 20) / 10e6, {"copies": 3}
    assert took_s(alone("GET", "1MiB", volumes=volumes, **nics)).mean() == pytest.approx(2 * link_s, rel=0.01)
    assert took_s(alone("PUT", "1MiB", volumes=volumes, **nics)).mean() == pytest.approx(4 * link_s, rel=0.01)


def test_chunks_of_an_object_are_written_four_at_a_time():
    hosts = {"count": 4, "cores": 64, "cpu": {"PUT": 1e-2}}
    many = {"copies": 1, "writable": 8}
    assert took_s(alone("PUT", "4MiB", hosts=hosts, volumes=many)).mean() == pytest.approx(1e-2)
    assert took_s(alone("PUT", "16MiB", hosts=hosts, volumes=many)).mean() == pytest.approx(1e-2)
    assert took_s(alone("PUT", "20MiB", hosts=hosts, volumes=many)).mean() == pytest.approx(2e-2)


@pytest.mark.parametrize(("copies", "writable"), [(1, 7), (2, 6), (3, 3)])
def test_a_bucket_appends_to_few_volumes_that_are_locked_meanwhile(copies, writable):
    spec = alone(
        "PUT", "4KiB", operations=6000, clients=100, hosts={"count": 12, "cores": 64},
        volumes={"copies": copies, "append": 1e-3},
    )  # fmt: skip
    outcome, _ = run(spec)
    assert 6000 / outcome.end_s.max() == pytest.approx(writable / 1e-3, rel=0.1)


def test_syncs_that_wait_are_made_together():
    spec = alone(
        "PUT", "4KiB", operations=2000, clients=50, hosts={"cores": 64}, volumes={"fsync": True}, drives={"sync": 1e-2}
    )
    outcome, _ = run(spec)
    assert 2000 / outcome.end_s.max() > 20 / 1e-2


def test_a_chunk_of_a_lost_shard_is_rebuilt_from_all_others():
    coded = {"copies": 1, "erasure": {"data": 4, "parity": 2, "fraction": 1.0}}
    lost = [{"kind": "host_down", "host": 2, "at": 1e-9, "detected_after": 0}]
    gateways = {"collocated": False, "cpu": {"GET": 0}}
    network = {"latency": 1e-3}
    more = {"hosts": {"count": 6}, "volumes": coded, "gateways": gateways, "network": network}
    healthy, failed = (
        run(alone("GET", "4KiB", operations=600, faults=faults, drives={"read": 1e-3}, **more)) for faults in ([], lost)
    )
    assert healthy[1]["drive"] == pytest.approx(1e-3)
    # A sixth of the chunks has lost its shard, and reads five others.
    assert failed[1]["drive"] == pytest.approx(1e-3 * (5 / 6 + 5 / 6), rel=0.1)
    assert not failed[0].failure.any()


def test_a_hung_server_holds_writes_up_and_reads_for_thirty_seconds():
    hung = [{"kind": "host_hung", "host": 1, "at": 1e-9, "back_at": 45, "detected_after": 45}]
    gateways = {"collocated": False, "cpu": {"GET": 0, "PUT": 0}}
    more = {"hosts": {"count": 3}, "volumes": {"copies": 3}, "gateways": gateways, "network": {"latency": 1e-3}}
    assert took_s(alone("PUT", "4KiB", operations=4, faults=hung, **more)).max() == pytest.approx(45, rel=0.01)
    assert took_s(alone("GET", "4KiB", operations=20, faults=hung, **more)).max() == pytest.approx(30, rel=0.01)


def test_volumes_of_a_hung_server_are_handed_out_until_it_responds():
    hung = [{"kind": "host_hung", "host": 1, "at": 1e-9, "back_at": 45}]
    load = {"rate": "5/s", "duration": "44s", "object_size": "4KiB", "mix": {"PUT": 1}}
    gateways = {"collocated": False, "cpu": {"PUT": 0}}
    hosts = {"count": 4, "cpu": {"PUT": 0}}
    more = {"hosts": hosts, "gateways": gateways, "volumes": {"copies": 3}, "faults": hung, "workload": load}
    outcome, _ = run(spec_of({**FREE, **more}, "spec"))
    late = outcome.start_s > 35
    assert 0.5 < (outcome.end_s[late] > 44).mean() < 1, "but not those whose volume has no copy there"


def test_a_killed_server_is_not_read_from_and_writes_need_another_one():
    gateways = {"collocated": False, "cpu": {"GET": 0, "PUT": 0}}
    killed = [{"kind": "host_down", "host": 1, "at": 1e-9}]
    more = {"gateways": gateways, "network": {"latency": 1e-3}, "faults": killed, "volumes": {"copies": 3}}
    few, enough = {"count": 3}, {"count": 4}
    assert run(alone("PUT", "4KiB", hosts=few, **more))[0].failure.all()
    assert not run(alone("PUT", "4KiB", hosts=enough, **more))[0].failure.any()
    assert not run(alone("GET", "4KiB", hosts=few, **more))[0].failure.any()


def test_a_proxy_leaves_out_a_gateway_whose_host_is_killed():
    killed = [{"kind": "host_down", "host": 1, "at": 1e-9, "detected_after": 0}]
    more = {"hosts": {"count": 5}, "volumes": {"copies": 2}, "gateways": {"collocated": True}, "faults": killed}
    more |= {"operations": 500, "network": {"latency": 1e-3}}
    assert run(alone("PUT", "4KiB", **more))[0].failure.astype(bool).mean() == pytest.approx(1 / 5, abs=0.02)
    assert not run(alone("PUT", "4KiB", balance="proxy", **more))[0].failure.any()


def test_an_entry_that_is_synced_takes_the_time_of_a_sync():
    filer = {"store": {"write": 0, "read": 0, "synced": True}}
    for op, expected_s in (("PUT", 1e-2), ("DELETE", 1e-2), ("GET", 0)):
        assert took_s(alone(op, "4KiB", filer=filer, drives={"sync": 1e-2})).mean() == pytest.approx(expected_s)


def test_deleted_bytes_are_vacuumed():
    drives = {"read": {"per_byte": 2e-9}, "write": {"per_byte": 1e-9}}
    for size, of_size in (("1MiB", 1 << 20), ("10MiB", 10 << 20)):
        spec = alone("DELETE", size, hosts={"count": 3}, volumes={"copies": 2}, drives=drives)
        _, busy = run(spec)
        assert busy["drive"] == pytest.approx(2 * of_size * 3e-9 * 7 / 3, rel=0.05)


@pytest.mark.parametrize("changes", [
    ("workload.duration=2s", "workload.object_size=10MiB", "workload.rate=30/s", "volumes.fsync=true"),
    ("workload.duration=2s", "faults=[{kind: host_hung, host: 1, at: 0.5s, back_at: 1s}]"),
    ("workload.duration=2s", "faults=[{kind: host_down, host: 2, at: 1s}]"),
    (
        "workload.duration=1s", "faults=[{kind: host_down, host: 2, at: 0.5s}]", "balance=proxy",
        "filer.store.synced=true",
    ),
    (
        "workload.duration=0.2s", "drives.direct=true", "workload.object_size=2MiB",
        "workload.mix={PUT: 2, GET: 2, DELETE: 1}",
    ),
])  # fmt: skip
def test_both_engines_agree(changes):
    spec = example("cluster", *changes)
    assert np.array_equal(run(spec)[0].end_s, run(spec, simpy_engine)[0].end_s, equal_nan=True)


def test_copies_need_hosts():
    with pytest.raises(InputError, match="there are 6 hosts"):
        example("cluster", "volumes.copies=7")


def test_a_direct_drive_syncs_chunks_that_wait_together():
    drives = {"direct": True, "read": "5ms", "write": "5ms", "sync": "5ms"}
    one = {"copies": 1, "writable": 1, "fsync": True}
    alone_s = took_s(alone("PUT", "4KiB", hosts={"count": 1}, drives=drives, volumes=one)).mean()
    assert alone_s == pytest.approx(3 * 5e-3, rel=0.01), "data, entry of the index, sync"
    many = run(alone("PUT", "4KiB", operations=600, clients=20, hosts={"count": 1}, drives=drives, volumes=one))[0]
    assert many.end_s.max() == pytest.approx(600 * (2 + 1 / 10) * 5e-3, rel=0.05), "a sync for ten"


def test_chunks_from_all_hosts_come_over_the_link_of_the_gateway():
    gateway = {"count": 1, "collocated": False, "nic": "10MB/s"}
    nics = {"hosts": {"count": 4, "nic": "10MB/s"}, "gateways": gateway, "client": {"nic": 0}}
    nics |= {"network": {"payload_fraction": 1}}
    spec = alone("GET", "1MiB", operations=100, clients=4, volumes={"copies": 3}, **nics)
    network, requests = compile_spec(spec, generate(spec.workload, 0))
    outcome = compiled_engine.run(Program.of(network, requests, 0))
    busy_s = {station.name: s for station, s in zip(network.stations, outcome.busy_s, strict=True)}
    assert busy_s["gateway 0 in"] == pytest.approx(100 * (1 << 20) / 10e6)
    assert busy_s["gateway 0 in"] == pytest.approx(busy_s["gateway 0 out"])
