"""Garage: transactions, CPU times and delays next to those that were measured, quorums, and nodes that fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.store import Spec, compile_spec, load_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from sim.engine.reference import engine as simpy_engine
from sim.simulate import simulate
from tests.paths import EXAMPLES
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, override
from traces.workload.generate import generate

ONE_NODE = "hosts.count=1", "replication=1"


def loopback(*changes: str) -> Spec:
    return load_spec(EXAMPLES / "garage/loopback.yaml", ["workload.operations=40", *changes])


def run(spec: Spec, engine: Any = compiled_engine) -> tuple[Outcome, dict[str, float]]:
    """The outcome, and the time in s of each role of stations for each request."""
    trace = generate(spec.workload, 0)
    network, requests = compile_spec(spec, trace)
    outcome = engine.run(Program.of(network, requests, 0))
    busy: dict[str, float] = {}
    for station, busy_s in zip(network.stations, outcome.busy_s, strict=True):
        busy[station.role] = busy.get(station.role, 0.0) + busy_s / len(trace)
    return outcome, busy


def mean_ms(spec: Spec, op: str = "PUT") -> float:
    requests = simulate(spec, generate(spec.workload, 0), seed=0).requests
    took = requests.column("end_s").to_numpy() - requests.column("start_s").to_numpy()
    return 1e3 * float(took[np.array(requests.column("op").to_pylist()) == op].mean())


@pytest.mark.parametrize(("size", "commits"), [("1KiB", 5), ("1MiB", 20), ("3MiB", 33)])
def test_transactions_of_a_put_are_about_those_that_were_counted(size, commits):
    more = "workload.mix={PUT: 1}", f"workload.object_size={size}", *ONE_NODE, "metadata.fsync=true"
    _, busy = run(loopback(*more, "drives.write=0s", "drives.sync=1ms"))
    assert busy["drive"] / 1e-3 == pytest.approx(commits, rel=0.21)


@pytest.mark.parametrize(
    ("op", "size", "nodes", "cpu_ms"),
    [("PUT", "1KiB", 1, 0.5), ("PUT", "64KiB", 1, 1.65), ("PUT", "1MiB", 1, 6.7), ("GET", "1MiB", 1, 1.8),
     ("GET", "1KiB", 1, 0.12), ("PUT", "64KiB", 3, 5.4), ("PUT", "1MiB", 3, 20.5)],
)  # fmt: skip
def test_cpu_times_are_about_those_that_were_measured(op, size, nodes, cpu_ms):
    more = ONE_NODE if nodes == 1 else ()
    _, busy = run(loopback(f"workload.mix={{{op}: 1}}", f"workload.object_size={size}", *more))
    assert 1e3 * busy["host cpu"] == pytest.approx(cpu_ms, rel=0.16)


def test_nagle_holds_back_small_blocks_and_the_last_bytes_between_nodes():
    assert mean_ms(loopback()) == pytest.approx(43, rel=0.1)
    assert mean_ms(loopback("workload.object_size=4KiB"), "GET") == pytest.approx(44, rel=0.1)
    assert mean_ms(loopback("workload.object_size=1KiB"), "GET") < 1
    assert mean_ms(loopback("workload.object_size=4KiB", "network.delayed_ack=0s")) < 3


@pytest.mark.parametrize(("size", "calls"), [("1KiB", 0), ("4KiB", 9), ("4050B", 8), ("1MiB", 17), ("3MiB", 51)])
def test_a_direct_drive_is_read_by_calls_that_double(size, calls):
    spec = load_spec(
        EXAMPLES / "garage/box.yaml",
        ["workload.operations=40", "workload.mix={GET: 1}", f"workload.object_size={size}"],
    )
    _, busy = run(spec)
    assert busy.get("drive", 0.0) == pytest.approx(16e-3 * calls)


@pytest.mark.parametrize(("fsync", "accesses"), [("true", 3), ("false", 1)])
def test_a_direct_drive_is_written_before_the_response(fsync, accesses):
    changes = "workload.mix={PUT: 1}", "workload.clients=1", "workload.operations=40", f"data_fsync={fsync}"
    spec = load_spec(EXAMPLES / "garage/box.yaml", [*changes, "workload.object_size=4KiB"])
    _, busy = run(spec)
    assert busy["drive"] == pytest.approx(3 * accesses * 16e-3, rel=0.05), "three copies"
    assert 16 * accesses < mean_ms(spec) < 16 * accesses + 12


def test_a_node_commits_one_transaction_at_a_time():
    more = "workload.clients=16", "workload.operations=400", "metadata.fsync=true", "drives.sync=10ms"
    spec = loopback("workload.mix={PUT: 1}", *ONE_NODE, "network.delayed_ack=0s", *more)
    outcome, _ = run(spec)
    each_s = outcome.end_s.max() / 400
    assert each_s == pytest.approx(4 * 0.010065, rel=0.08)  # one insert, and three transactions after it


def test_a_killed_node_is_no_more_read_from_and_a_hung_one_is_waited_for():
    data = load_mapping(EXAMPLES / "garage/loopback.yaml")
    changes = ["workload.operations=60", "workload.clients=3", "network.latency=1ms"]

    def failed(*faults: dict[str, Any]) -> float:
        spec = spec_of(override({**data, "faults": [*faults]}, [*changes, "client.timeout=5s"]), "spec")
        return float((run(spec)[0].failure != 0).mean())

    assert failed() == 0
    assert failed({"kind": "host_down", "host": 1, "at": 0}) == pytest.approx(1 / 3, abs=0.1)  # its own requests
    assert failed(*({"kind": "host_down", "host": host, "at": 0} for host in (1, 2))) == 1  # no quorum
    changes.append("balance=proxy")
    assert failed({"kind": "host_down", "host": 1, "at": 0}) == 0
    assert failed(*({"kind": "host_down", "host": host, "at": 0} for host in (1, 2))) == 1
    changes.pop()
    hung = {"kind": "host_hung", "host": 1, "at": 0}
    assert failed(hung) > 0.6  # its own, and those of the node that reads from it first
    assert failed({**hung, "detected_after": 75, "back_at": 0.01}) == 0


@pytest.mark.parametrize("changes", [
    ("workload.object_size=3MiB", "workload.clients=4", "metadata.fsync=true", "data_fsync=true"),
    ("workload.mix={GET: 1, PUT: 1, HEAD: 1, DELETE: 1, LIST: 1}", "hosts.count=5", "workload.clients=9"),
])  # fmt: skip
def test_both_engines_agree(changes):
    spec = loopback(*changes)
    ours, theirs = run(spec)[0], run(spec, simpy_engine)[0]
    assert np.array_equal(ours.end_s, theirs.end_s, equal_nan=True)


def test_copies_need_hosts():
    with pytest.raises(InputError, match="replication is 4; there are 3 hosts"):
        loopback("replication=4")
