"""Faults at the beginning of a run, after its end, and at the same time as others, of every store and kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cli.parse.failure import parse_failure
from models.network.scenario import ActionKind
from models.shared.faults import Outage, merged, outage_actions
from models.store import Spec, compile_spec, load_spec, spec_of, store_of
from sim.analysis.bounds import bounds
from sim.demands.run_end import compile_until_end
from sim.demands.service_demands import mean_demands
from sim.saturation.capacity import capacity_of
from sim.simulate import simulate
from tests.paths import EXAMPLES, SPECS
from tests.profiles import NIGHTLY
from traces.errors import InputError
from traces.run import Run
from traces.spec.spec_file import load_mapping, override
from traces.workload.generate import generate

_SHORT = "workload.operations=60"
_LATER_S = 1e6


def _example_specs() -> list[str]:
    found = []
    for path in SPECS:
        data = load_mapping(path)
        if isinstance(data, dict) and "store" in data and "workload" in data and "groups" not in data["workload"]:
            found.append(str(path.relative_to(EXAMPLES)))
    return found


SOURCES = _example_specs()
FEW = [
    "minio/two-pools.yaml", "minio.yaml", "ceph/osd-down.yaml", "ceph/nvme-squid.yaml", "swift/criterion.yaml",
    "bob/cluster.yaml",
]  # fmt: skip
"""Of all stores, with closed and open loops."""

SIX: dict[str, Any] = {
    "store": "minio",
    "workload": {"rate": "2000/s", "duration": "1s", "object_size": "1MiB", "mix": {"GET": 70, "PUT": 30}},
    "network": {"latency": "50us"},
    "hosts": {"count": 6, "cores": 32, "nic": "25Gbit/s", "preset": "epyc-2-cores"},
    "drives": {"count": 8, "preset": "nvme"},
    "erasure": {"parity": 4},
}


def short(name: str) -> dict[str, Any]:
    return override(load_mapping(EXAMPLES / name), [_SHORT])


def with_faults(data: dict[str, Any], *events: dict[str, Any]) -> Spec:
    return spec_of({**data, "faults": [*(data.get("faults") or ()), *events]}, "test")


def failing(data: dict[str, Any], kind: str, at_s: float, until_s: float | None) -> Spec | None:
    """The spec with a failure of the store; None: it cannot have this one."""
    spec = spec_of(data, "test")
    try:
        event = parse_failure(kind).event(spec, at_s, until_s or at_s + 1)
        if until_s is None:
            event = {name: value for name, value in event.items() if name not in ("back_at", "until")}
        return with_faults(data, event)
    except InputError:
        return None


def each_failure(name: str) -> list[str]:
    return list(store_of(load_spec(EXAMPLES / name, [_SHORT])).faults)


def assert_same(one: Run, other: Run) -> None:
    assert one.requests.equals(other.requests)
    assert one.stations is not None and one.stations.equals(other.stations)


@pytest.mark.parametrize("name", SOURCES if NIGHTLY else FEW)
def test_a_fault_after_the_end_is_as_none(name: str):
    data = short(name)
    spec = spec_of(data, "test")
    trace = generate(spec.workload, 3)
    healthy = simulate(spec, trace, seed=3)
    demands = mean_demands(*compile_until_end(spec, trace))
    capacity = capacity_of(spec, trace)
    tried = 0
    for kind in each_failure(name):
        later = failing(data, kind, _LATER_S, None if tried % 2 else _LATER_S + 5)
        if later is None:
            continue
        tried += 1
        assert_same(simulate(later, trace, seed=3), healthy)
        assert capacity_of(later, trace) == capacity
        found = mean_demands(*compile_until_end(later, trace))
        assert np.array_equal(found.low_s, demands.low_s) and np.array_equal(found.high_s, demands.high_s)
    assert tried >= 2


@pytest.mark.parametrize("name", SOURCES if NIGHTLY else FEW)
def test_a_fault_at_0_acts_as_one_of_a_nanosecond_later(name: str):
    data = short(name)
    for number, kind in enumerate(each_failure(name)):
        ends = (None, 30.0)
        for until_s in ends if NIGHTLY else ends[number % 2 :][:1]:
            at_once, soon = (failing(data, kind, at_s, until_s) for at_s in (0.0, 1e-9))
            if at_once is None or soon is None:
                continue
            try:
                runs = [simulate(spec, seed=3) for spec in (at_once, soon)]
            except InputError:  # too few parts are left
                continue
            ends = [run.requests["end_s"].to_numpy() for run in runs]
            assert len(ends[0]) == pytest.approx(len(ends[1]), rel=0.1), kind
            failed = [int(run.failed.sum()) for run in runs]
            assert failed[0] == pytest.approx(failed[1], rel=0.1, abs=2), kind
            if spec_of(data, "test").workload.total_rate is not None:
                assert np.median(np.abs(ends[0] - ends[1])) < 1e-3, kind


@pytest.mark.parametrize("kind", ["host_down", "drive_down"])
def test_minio_faults_at_0_act(kind: str):
    part = {"host_down": "host", "drive_down": "drive"}[kind]
    healthy, at_once, soon = (
        simulate(with_faults(SIX, *events), seed=1)
        for events in ([], [{"kind": kind, part: 0, "at": "0s"}], [{"kind": kind, part: 0, "at": "1ns"}])
    )
    assert not at_once.requests.equals(healthy.requests)
    assert at_once.requests.equals(soon.requests)
    if kind == "host_down":
        assert at_once.failed.mean() == pytest.approx(1 / 6, abs=0.01)


def test_a_host_of_bob_that_is_down_from_the_start_refuses():
    data = short("bob/cluster.yaml")
    run = simulate(with_faults(data, {"kind": "host_down", "host": 0, "at": "0s"}), seed=1)
    assert run.failed.any()


def test_a_fault_after_the_end_of_minio_changes_neither_bounds_nor_busy_links():
    later = with_faults(SIX, {"kind": "host_down", "host": 0, "at": "100000s"})
    spec = spec_of(SIX, "test")
    trace = generate(spec.workload, 0)
    assert bounds(*compile_until_end(later, trace)) == bounds(*compile_until_end(spec, trace))
    assert_same(simulate(later, trace), simulate(spec, trace))


def test_a_fault_is_in_the_run_as_long_as_requests_are():
    data = {**SIX, "workload": SIX["workload"] | {"rate": "200/s"}}
    spec = spec_of(data, "test")
    healthy = simulate(spec, seed=2)
    arrivals, ends = (healthy.requests[name].to_numpy() for name in ("arrival_s", "end_s"))
    between = (arrivals.max() + ends.max()) / 2
    assert arrivals.max() < between < ends.max()

    def with_slow_cores(at_s: float) -> Run:
        return simulate(with_faults(data, {"kind": "slow_link", "host": 0, "speed": 0.01, "at": at_s}), seed=2)

    assert_same(with_slow_cores(float(ends.max())), healthy)
    runs = [simulate(with_faults(data, *(
        {"kind": "slow_link", "host": host, "speed": 0.001, "at": float(between)} for host in range(6)
    )), seed=2)]  # fmt: skip
    assert runs[0].requests["end_s"].to_numpy().max() > ends.max()


def test_a_fault_after_the_operations_of_a_closed_loop_is_as_none_though_its_duration_is_longer():
    """What clients have given up goes on after the last request, so the fault would have changed it."""
    loop = {"clients": 40, "operations": 40, "duration": "100s"}
    workload = {name: value for name, value in SIX["workload"].items() if name != "rate"} | loop
    data = {**SIX, "workload": workload, "client": {"timeout": "1ms"}}
    without = simulate(spec_of(data, "test"), seed=2)
    later_s = 1.01 * float(without.column("end_s").max())
    assert without.failed.any()
    assert_same(simulate(with_faults(data, {"kind": "host_down", "host": 0, "at": later_s}), seed=2), without)


def test_the_run_before_a_fault_moves_the_same_bytes_as_a_healthy_one():
    """All shards of a small object on other hosts cross the network, with and without a fault later in the run."""
    spec, later = (
        with_faults(SIX, *events) for events in ([], [{"kind": "host_down", "host": 0, "at": "1e6s"}])
    )  # fmt: skip
    busy_s, p99_s = [], []
    for each, end_s in ((spec, None), (later, 1e9)):
        run = simulate(each, seed=4, end_s=end_s)
        rows = [row for row in run.stations.to_pylist() if row["role"] == "host network"]
        busy_s.append(sum(row["utilization"] for row in rows))
        p99_s.append(np.quantile(run.latency_s[~run.failed], 0.99))
    assert busy_s[1] == pytest.approx(busy_s[0], rel=2e-3)
    assert p99_s[1] == pytest.approx(p99_s[0], rel=0.05)


def test_outages_that_touch_or_overlap_are_one():
    assert merged([(5, 6), (1, 3), (2, 4), (4, 5), (8, 9)]) == [(1, 6), (8, 9)]
    actions = outage_actions([(3, 5), (1, 3)], [7])
    assert [(action.kind, action.at_s) for action in actions] == [(ActionKind.DOWN, 1), (ActionKind.UP, 5)]


@pytest.mark.parametrize(
    ("name", "part", "kind"),
    [
        ("minio/hdd-4x4.yaml", "host", "host_down"),
        ("ceph/nvme-squid.yaml", "osd", "osd_down"),
        ("swift/cluster.yaml", "proxy", "proxy_down"),
        ("bob/cluster.yaml", "host", "link_down"),
        ("openio/cluster.yaml", "drive", "rawx_hung"),
    ],
)
def test_outages_of_one_part_may_touch_but_not_overlap(name: str, part: str, kind: str):
    def outage(at: str, back_at: str | None) -> dict[str, Any]:
        return {"kind": kind, part: 1, "at": at} | ({} if back_at is None else {"back_at": back_at})

    data = short(name)
    spec = with_faults(data, outage("3s", "4s"), outage("1s", "3s"))
    assert len([fault for fault in spec.faults if isinstance(fault, Outage)]) >= 2
    compile_spec(spec, generate(spec.workload, 0), 1e9)
    for events in ((outage("1s", "3s"), outage("2s", "5s")), (outage("1s", None), outage("2s", "5s"))):
        with pytest.raises(InputError, match=rf"faults.\d.at: is 2 s, when {part} 1 is down already"):
            with_faults(data, *events)
    with pytest.raises(InputError, match="back_at is 1 s; it must be after at, 1 s"):
        with_faults(data, outage("1s", "1s"))


def test_a_host_and_its_gateway_may_fail_at_the_same_time():
    data = override(short("ceph/3vm-tentacle.yaml"), ["client={placement: own}", "network.latency=0.1ms", "assumed={}"])
    spec = with_faults(
        data,
        {"kind": "host_down", "host": 0, "at": "1s", "back_at": "5s"},
        {"kind": "gateway_down", "gateway": 0, "at": "2s", "back_at": "3s"},
    )
    network, _ = compile_spec(spec, generate(spec.workload, 0), 1e9)
    changes = [
        a
        for a in network.scenario
        if a.kind in (ActionKind.DOWN, ActionKind.UP) and a.target == network.scenario[0].target
    ]
    assert [(a.kind, a.at_s) for a in changes] == [(ActionKind.DOWN, 1.0), (ActionKind.UP, 5.0)]
