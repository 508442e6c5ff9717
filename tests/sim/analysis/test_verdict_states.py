"""The states of a verdict: what fails, piles up or is down decides, not only what is busy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from cli.tables.forecast.verdict import bounds_line, verdict_line
from models.store import compile_spec, spec_of
from sim.analysis.bounds import bounds
from sim.analysis.overload import slow_parts
from sim.json_form import to_json
from sim.saturation.capacity import capacity_of
from sim.simulate import simulate
from sim.verdict.offered_load import last_end_s, load_of
from sim.verdict.stretches import FailingStretch, Jam, jam_of, worst_stretch
from sim.verdict.verdict import FAILING, FAILING_FOR_A_TIME, TOLERATED, LoadVerdict, verdict_on_run
from tests.profiles import NIGHTLY
from tests.sim.analysis.test_verdict import queue
from traces.spec.spec_file import load_mapping, override
from traces.workload.generate import generate

ROOT = Path(__file__).parents[3]
SIX = yaml.safe_load("""
store: minio
workload: {rate: 2000/s, duration: 1s, object_size: 1MiB, mix: {GET: 70, PUT: 30}}
network: {latency: 50us}
hosts: {count: 6, cores: 32, nic: 25Gbit/s, preset: epyc-2-cores}
drives: {count: 8, preset: nvme}
erasure: {parity: 4}
""")
SLOW_LIST = yaml.safe_load("""
store: minio
workload: {rate: 20/s, duration: 30s, object_size: 100KB, mix: {LIST: 1}, keys: {kind: uniform, count: 100000}}
client: {timeout: 60s}
hosts: {count: 1, cores: {count: 4}, cpu: {LIST: 3ms}}
drives: {count: 1, preset: hdd-7k2, commit_in: queue}
listing: {entries: 100}
""")
HOST_DOWN = "faults=[{kind: host_down, host: 0, at: 1us}]"


def judged(data, *assignments, seed=1):
    spec = spec_of(override(data, assignments), "spec")
    trace = generate(spec.workload, seed)
    run = simulate(spec, trace, seed=seed)
    found = verdict_on_run(run, capacity_of(spec, trace))
    assert found is not None
    assert LoadVerdict.from_json(to_json(found)) == found
    return found, run, spec, trace


def test_operations_that_end_before_the_duration_arrive_at_the_rate():
    data = load_mapping(ROOT / "examples/minio.yaml")
    open_loop = {key: value for key, value in data["workload"].items() if key != "clients"}
    verdict, _, spec, trace = judged(data | {"workload": open_loop}, "workload.rate=3000/s", "workload.operations=3000")
    assert verdict.offered_ops == pytest.approx(3000, rel=0.05)
    assert verdict.status == "overloaded"
    result = bounds(*compile_spec(spec, trace))
    assert result.load.offered_ops == pytest.approx(3000, rel=0.05)
    assert bounds_line(result).startswith("overloaded")
    assert slow_parts(spec, trace)[0].offered_ops == pytest.approx(3000, rel=0.05)


def test_what_is_abandoned_is_no_capacity():
    verdict, _, spec, trace = judged(SLOW_LIST)
    limit_ops = bounds(*compile_spec(spec, trace)).max_throughput_ops
    assert limit_ops == pytest.approx(2.21, abs=0.01)  # the drive's deepest queue; 0.73 if no access waited
    assert verdict.saturates_first.capacity_ops == pytest.approx(limit_ops)
    assert (verdict.status, verdict.overloaded) == ("failing", True)
    assert verdict.errors > 0.99
    line = verdict_line(verdict)
    assert "% of the requests fail" in line
    assert "saturates at 2.21 op/s" in line


def test_a_dead_host_whose_clients_go_on_fails():
    verdict, _, spec, trace = judged(SIX, HOST_DOWN)
    assert verdict.status == "failing"
    assert verdict.ops["GET"].errors == pytest.approx(1 / 6, abs=0.03)
    assert verdict.served_ops == pytest.approx(verdict.offered_ops * 5 / 6, rel=0.04)
    line = verdict_line(verdict)
    assert "healthy" not in bounds_line(bounds(*compile_spec(spec, trace)), has_faults=True)
    assert line.startswith("failing: ")
    assert all(text in line for text in ("GET ", "PUT ", "host down: host 0"))


def test_a_dead_host_is_no_capacity():
    changes = HOST_DOWN, "balance=proxy", "workload.rate=8000/s", "workload.duration=0.5s"
    verdict, _, _, _ = judged(SIX, *changes)
    assert verdict.errors == 0
    # 9,820 if it served requests.
    assert verdict.saturates_first.capacity_ops == pytest.approx(8_180, rel=0.03)
    assert verdict.saturates_first.from_s is None
    assert verdict.status in ("near saturation", "overloaded")


def test_a_fault_after_the_end_is_not_part_of_the_verdict():
    late = "faults=[{kind: host_down, host: 0, at: 1h}]"
    verdict, _, _, _ = judged(SIX, late, "workload.duration=0.2s")
    assert verdict.faults == []
    assert verdict.status == "healthy"


def test_a_stretch_in_which_all_requests_fail_is_found():
    arrival_s = np.arange(0, 600, 0.5)
    failed = (arrival_s >= 60) & (arrival_s <= 420)
    assert worst_stretch(arrival_s, failed) == FailingStretch(60.0, 420.0, 721, 721)
    short = (arrival_s >= 300) & (arrival_s < 306)
    assert worst_stretch(arrival_s, short) == FailingStretch(300.0, 305.5, 12, 12)
    assert worst_stretch(arrival_s, np.zeros(1200, bool)) is None
    assert worst_stretch(arrival_s[:9], np.ones(9, bool)) is None
    assert worst_stretch(arrival_s, arrival_s == 300) is None
    even = np.arange(1200) % 50 == 0
    assert worst_stretch(arrival_s, even).errors < 0.1


def test_a_jam_is_where_requests_pile_up():
    arrival_s, in_flight = np.arange(1000.0), np.full(1000, 5)
    assert jam_of(arrival_s, in_flight) is None
    in_flight[300:400] = 200
    assert jam_of(arrival_s, in_flight) == Jam(300.0, 399.0, 200)
    assert jam_of(arrival_s, np.full(1000, 5000)) is None
    assert jam_of(np.empty(0), np.empty(0, np.int64)) is None


_RATES, _TIMEOUTS, _STALLS = (300, 700, 950, 1500), (None, "2ms", "8ms", "30ms"), (None, 0.02)


@pytest.mark.parametrize("seed", range(30 if NIGHTLY else 2))
def test_healthy_means_that_no_operation_fails_and_served_means_success(seed):
    statuses = set()
    for rate in _RATES:
        for timeout in _TIMEOUTS:
            for speed in _STALLS:
                changes = [] if timeout is None else [f"client.timeout={timeout}"]
                if speed is not None:
                    changes.append(f"faults=[{{kind: slow_drive, drive: 0, speed: {speed}, at: 0.5s, until: 0.8s}}]")
                spec = queue(rate / 1000, 1, 1500, *changes)
                trace = generate(spec.workload, seed)
                run = simulate(spec, trace, seed=seed)
                verdict = verdict_on_run(run, capacity_of(spec, trace))
                statuses.add(verdict.status)
                _consistent(verdict, run)
    assert {"healthy", "failing", "overloaded", "degraded"} <= statuses


def _consistent(verdict, run):
    fails = float(run.failed.mean())
    arrival_s = run.column("arrival_s")
    if verdict.status in ("healthy", "near saturation", "saturated"):
        assert fails <= TOLERATED
    if fails >= FAILING:
        assert verdict.status == "failing"
    worst = verdict.ops["GET"].worst
    if worst is not None:
        inside = (arrival_s >= worst.start_s) & (arrival_s <= worst.end_s)
        assert run.failed[inside].mean() == pytest.approx(worst.errors)
        if worst.errors >= FAILING_FOR_A_TIME:
            assert verdict.status == "failing"
    span_s = run.duration_s if verdict.overloaded else float(arrival_s.max())
    assert verdict.served_ops == pytest.approx(float((~run.failed).sum()) / span_s)
    assert sum(each.served_ops for each in verdict.ops.values()) == pytest.approx(verdict.served_ops)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("minio-12-hdd.yaml", {"kind": "host_down", "host": 0}),
        ("ceph/nvme-squid.yaml", {"kind": "reshard", "bucket": 0}),
        ("recorded-swift/swift.yaml", {"kind": "proxy_down", "proxy": 0}),
    ],
)
def test_a_fault_after_the_end_of_a_closed_loop_does_not_change_the_verdict(name, fault):
    """Nor the capacity in it, though such a run might have lasted until then."""
    data = load_mapping(ROOT / "examples" / name)
    short = {"clients": 3, "operations": 300}
    kept = {key: value for key, value in data["workload"].items() if key not in ("rate", "duration", "think_time")}
    spec = spec_of(data | {"workload": kept | short, "faults": []}, "spec")
    trace = generate(spec.workload, 2)
    run = simulate(spec, trace, seed=2)
    end_s = float(run.column("end_s").max())
    late = spec_of(data | {"workload": kept | short, "faults": [fault | {"at": 3 * end_s}]}, "spec")
    again = simulate(late, trace, seed=2)
    ends = last_end_s([load_of(again)])
    assert ends == end_s
    assert verdict_on_run(again, capacity_of(late, trace, end_s=ends)) == verdict_on_run(run, capacity_of(spec, trace))
