"""A store in 250 lines of the shared vocabulary: it needs no edit elsewhere, and the commands take it as it is."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
import yaml

from models.store import compile_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.simulate import simulate
from tests.cli.commands.test_simulate import tailcast
from tests.sim.engine.test_engines import assert_identical
from tests.stores import append_log
from traces.spec.spec_file import override
from traces.workload.generate import generate

WAY_S, METADATA_S, CPU_S, CALL_S, HOP_S = 0.1e-3, 0.5e-3, 0.2e-3, 0.05e-3, 0.02e-3
READ_S, WRITE_S, APPEND_S, NIC, SIZE = 2e-3, 1e-3, 0.3e-3, 1e8, 10_000
WIRE_S, SECONDS = SIZE / NIC, 4

SPEC: dict[str, Any] = {
    "store": "append-log",
    "network": {"latency": WAY_S, "payload_fraction": 1},
    "metadata": METADATA_S,
    "hosts": {"count": 4, "cores": 2, "nic": NIC, "latency": HOP_S, "cpu": CPU_S, "call": CALL_S},
    "drives": {"read": READ_S, "write": WRITE_S, "append": APPEND_S, "capacity": 10**9},
    "stored": {"objects": 10_000, "object_size": SIZE},
    "workload": {
        "rate": "300/s",
        "duration": SECONDS,
        "object_size": SIZE,
        "mix": {"GET": 4, "PUT": 3, "DELETE": 1},
        "keys": {"kind": "uniform", "count": 5000},
    },
}
ALONE = ["workload.rate=null", "workload.clients=1", "workload.duration=null", "workload.operations=100"]
HOST_DOWN = "faults=[{kind: host_down, host: 1, at: 1s, back_at: 3s}]"


def written(folder, *assignments: str) -> str:
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(override(SPEC, assignments)))
    return str(path)


def answer(capsys, *arguments: str) -> Any:
    code, out, err = tailcast(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_the_store_is_a_page_of_its_own_words():
    source = inspect.getsource(append_log)
    assert len(source.splitlines()) <= 250
    assert not any(word in source for word in ("Visit(", "Stage(", "Bound(", "Group("))


@pytest.mark.parametrize(
    ("op", "expected_s"),
    [
        ("GET", 2 * (2 * WAY_S + METADATA_S) + 2 * WAY_S + CPU_S + READ_S + WIRE_S),
        (
            "PUT",
            2 * (2 * WAY_S + METADATA_S) + 2 * WAY_S + WIRE_S + CPU_S
            + 2 * CALL_S + 2 * HOP_S + 2 * WIRE_S + APPEND_S,
        ),
        ("DELETE", 2 * (2 * WAY_S + METADATA_S) + 2 * WAY_S + CPU_S + 2 * CALL_S + 2 * HOP_S + APPEND_S),
    ],
)  # fmt: skip
def test_a_lone_request_takes_what_its_protocol_says(op, expected_s):
    run = simulate(spec_of(override(SPEC, [*ALONE, f"workload.mix={{{op}: 1}}"]), "test"), seed=1)
    assert run.latency_s == pytest.approx(expected_s, rel=1e-9)


@pytest.mark.parametrize(
    "assignments",
    [
        [],
        [HOST_DOWN],
        ["stored.compaction=20/s", "faults=[{kind: slow_drive, drive: 2, at: 1s, until: 2s, speed: 0.2}]"],
        [HOST_DOWN, "hosts.count=2", "stored.compaction=5/s", "client.hedge.after=p95"],
    ],
)
def test_engines_agree(assignments):
    spec = spec_of(override(SPEC, assignments), "test")
    network, requests = compile_spec(spec, generate(spec.workload, 1))
    program = Program.of(network, requests, 1, paths=True)
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    assert len(outcome.end_s) > 1000


def test_the_metadata_service_bounds_the_throughput(tmp_path, capsys):
    found = answer(capsys, "bounds", written(tmp_path, "hosts.count=16"))
    assert found["max_throughput_ops"] == pytest.approx(1 / (append_log.ROUNDS * METADATA_S))


def test_compaction_takes_its_time_of_drives_and_volumes():
    def busy_s(role: str, *assignments: str) -> float:
        spec = spec_of(override(SPEC, assignments), "test")
        network, requests = compile_spec(spec, generate(spec.workload, 1))
        busy = compiled_engine.run(Program.of(network, requests, 1)).busy_s
        return sum(busy[k] for k, station in enumerate(network.stations) if station.role == role)

    records = 50 * 4 * SECONDS  # of each host, in a second
    for role, each_s in (("drive", READ_S + WRITE_S), ("volume", APPEND_S)):
        assert busy_s(role, "stored.compaction=50/s") - busy_s(role) == pytest.approx(records * each_s, rel=0.01)


@pytest.mark.parametrize(("hosts", "refused"), [(4, 0.0), (2, 1.0)])
def test_a_killed_host_leaves_reads_and_writes_go_to_whole_volumes(hosts, refused, tmp_path, capsys):
    found = answer(capsys, "failures", written(tmp_path, f"hosts.count={hosts}"), "host", "--replications", "1")
    during = found["failures"][0]["windows"]["during"]["ops"]
    failed = {op: during[op]["errors"] / during[op]["count"] for op in append_log.SERVED}
    assert failed == {"GET": 0.0, "PUT": refused, "DELETE": refused}


def test_a_timeline_fills_the_drives(tmp_path, capsys):
    arguments = ["--objects", "40000..160000", "--states", "2", "--workers", "1"]
    found = answer(capsys, "timeline", written(tmp_path), *arguments)
    held = [2 * SIZE / 0.8 * objects / 4e9 for objects in (40_000, 160_000)]
    assert [state["fill_fraction"] for state in found["states"]] == pytest.approx(held)
    assert [(event["name"], event["objects"]) for event in found["events"]] == [("full", 144_000)]
