"""A client that cuts objects into blocks, over each of the four stores and over one disk."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from models.below.issued import Issued, issued_trace, issued_workload, routes_of
from models.network.demand_sheet import draw_sheet
from models.network.sub_requests import RouteChoice, SubRequests
from models.shared.prices import cost
from models.store import compile_spec, demands_of, faults_of, levels, spec_of, store_of
from sim.analysis.check import check
from sim.demands.lineage import flattened
from sim.demands.service_demands import mean_demands
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.simulate import simulate
from tests.sim.engine.test_engines import assert_identical
from tests.stores import blocks, fifo_disk
from traces.errors import InputError
from traces.spec.spec_file import override
from traces.workload.generate import generate

MIB = 1 << 20
WORKLOAD: dict[str, Any] = {
    "rate": "60/s",
    "operations": 60,
    "object_size": {
        "kind": "mixture",
        "components": [
            {"weight": 1, "size": "32MiB"}, {"weight": 1, "size": {"kind": "lognormal", "mean": "5MiB", "cv": 1}},
        ],
    },
    "mix": {"GET": 3, "PUT": 2, "DELETE": 1},
    "keys": {"kind": "uniform", "count": 500},
}  # fmt: skip
STORES: dict[str, dict[str, Any]] = {
    "minio": {
        "store": "minio", "network": {"latency": "0.1ms"},
        "client": {"cpu": {"GET": "0.2ms", "PUT": "0.2ms", "DELETE": "0.1ms"}},
        "hosts": {"count": 4, "nic": "25Gbit/s", "cpu": {"GET": "0.3ms", "PUT": "0.4ms", "DELETE": "0.2ms"}},
        "drives": {"count": 2, "preset": "nvme"},
    },
    "ceph": {
        "store": "ceph", "network": {"latency": "0.1ms"}, "stored": {"objects": 1e6}, "hosts": {"count": 3},
        "osd": {"read": "0.1ms"}, "gateways": {"count": 2, "cores": 8, "cpu": {"GET": "0.5ms", "PUT": "0.5ms"}},
        "device": {"read": "0.1ms", "write": "0.1ms", "capacity": "4TB"},
    },
    "swift": {
        "store": "swift", "network": {"latency": "0.1ms"}, "proxies": {"preset": "swift-2.30-proxy", "count": 2},
        "hosts": {"preset": "swift-2.30-host", "count": 3}, "drives": {"count": 2, "preset": "nvme"},
        "ring": {"part_power": 8}, "stored": {"objects": 0},
    },
    "bob": {
        "store": "bob", "network": {"latency": "0.1ms"}, "blobs": {"max_size": "8MiB"},
        "hosts": {"preset": "bob-2.1-host", "count": 3},
        "drives": {"count": 2, "preset": "nvme", "append": "5us"}, "vdisks": {"count": 12, "replicas": 3},
    },
    "openio": {
        "store": "openio", "network": {"latency": "0.1ms"}, "gateways": {"preset": "openio-gateway", "count": 2},
        "hosts": {"preset": "openio-host", "count": 3}, "drives": {"count": 2, "preset": "nvme"},
        "directory": {"preset": "openio-directory", "containers_per_bucket": 4},
    },
}  # fmt: skip
DISK: dict[str, Any] = {"store": "fifo-disk", "network": {"latency": "0.2ms"}, "disk": {"read": "5ms", "write": "6ms"}}


def cut(below: str | dict[str, Any], *assignments: str) -> Any:
    """The spec of a client over a store."""
    data = {"store": "blocks", "workload": WORKLOAD, "below": STORES[below] if isinstance(below, str) else below}
    return spec_of(override(data, assignments), "test")


def blocks_of(trace, block: int = 4 * MIB) -> np.ndarray:
    return np.maximum(-(-trace.size_bytes // block), 1)


# Every block is a request to the store below


@pytest.mark.parametrize("below", STORES)
def test_each_block_is_a_request_in_both_engines(below):
    spec = cut(below, "hit_ratio=0.3")
    trace = generate(spec.workload, 1)
    network, requests = compile_spec(spec, trace)
    program = Program.of(network, requests, 1, paths=True)
    outcome = simpy_engine.run(program)
    assert_identical(outcome, compiled_engine.run(program))

    sheet = draw_sheet(network, requests, 1, 0, len(requests))
    started = np.diff(sheet.descendants.first_child)  # one family of each request
    hits = blocks.cached(spec, trace)
    assert hits.any()
    families = started[sheet.descendants.first_family[: len(sheet)][~hits]]
    assert families.tolist() == blocks_of(trace)[~hits].tolist()
    assert outcome.visits.sum() == (flattened(sheet).demand_s >= 0).sum()


def test_a_store_below_has_the_requests_that_are_issued():
    """The service times of a block are those of an object of its size, of each operation."""
    sizes = ["workload.object_size=32MiB", "workload.mix={GET: 1}"]
    whole = spec_of(STORES["minio"] | {"workload": WORKLOAD | {"object_size": "4MiB", "mix": {"GET": 1}}}, "test")
    layered, direct = (
        mean_demands(*compile_spec(spec, generate(spec.workload, 1))) for spec in (cut("minio", *sizes), whole)
    )
    of_direct = {resource.name: s for resource, s in zip(direct.resources, direct.low_s, strict=True)}
    for resource, s in zip(layered.resources, layered.low_s, strict=True):
        if resource.name in of_direct and resource.role == "client cpu":
            assert s == pytest.approx(8 * of_direct[resource.name], rel=1e-9)
    busiest = [
        max(s for r, s in zip(d.resources, d.low_s, strict=True) if r.role == "drive") for d in (layered, direct)
    ]
    assert busiest[0] == pytest.approx(8 * busiest[1], rel=0.3)  # which drives serve few objects is chance


def test_hard_disks_below_have_the_rate_of_the_blocks():
    """At 8 blocks each, 5 requests a second make the queues of 40 objects a second of the size of a block."""
    hdd = STORES["minio"] | {"drives": {"count": 4, "preset": "hdd-7k2"}}
    common = {"object_size": "4MiB", "mix": {"GET": 1}, "operations": 4000, "rate": "40/s", "arrivals": "constant"}
    direct = spec_of(hdd | {"workload": WORKLOAD | common}, "test")
    of_blocks = [
        "workload.object_size=32MiB",
        "workload.mix={GET: 1}",
        "workload.operations=500",
        "workload.rate=5/s",
        "workload.arrivals=constant",
    ]
    layered = cut(hdd, *of_blocks)

    def drive_s(spec: Any) -> float:
        network, _ = compile_spec(spec, generate(spec.workload, 1))
        places = network.stations
        times = [
            float(visit.mean_s(np.array([4 * MIB]))[0])
            for route in network.routes
            if route.operation == "GET"
            for visit in route.visits
            if places[network.first_station(visit.station)].role == "drive"
        ]
        return max(times)

    lone = cut(hdd, *of_blocks, "workload.rate=0.01/s")
    assert drive_s(layered) == pytest.approx(drive_s(direct), rel=0.02)
    assert drive_s(layered) < 0.97 * drive_s(lone)


# Theory


def one_disk(*assignments: str) -> Any:
    common = ["workload.object_size=32MiB", "workload.mix={GET: 1}", "network.latency=0ms", "cpu=0ms"]
    return cut(DISK, *common, *assignments)


def test_blocks_on_one_disk_are_an_md1_with_the_work_of_all_of_them():
    """Pollaczek-Khinchine with a service of 8 x 5 ms: the blocks of a request arrive together."""
    run = simulate(one_disk("workload.rate=15/s", "workload.operations=40000"), seed=2)
    served_s, load = 8 * 5e-3, 15 * 8 * 5e-3
    expected_s = 2 * 0.2e-3 + served_s + load * served_s / (2 * (1 - load))
    assert run.latency_s.mean() == pytest.approx(expected_s, rel=0.03)
    (disk,) = (row for row in run.stations.to_pylist() if row["role"] == "disk")
    assert disk["visits"] == 8 * len(run)
    assert disk["utilization"] == pytest.approx(load, rel=0.02)


@pytest.mark.parametrize(("parallel", "rounds"), [(1, 8), (3, 3), (8, 1), (20, 1)])
def test_the_time_of_a_lone_client_follows_from_how_many_are_in_flight(parallel, rounds):
    """With as many actuators as blocks, each round takes the time of a block."""
    spec = one_disk("workload.rate=null", "workload.operations=20", f"parallel={parallel}", "below.disk.actuators=8")
    assert simulate(spec).latency_s == pytest.approx(rounds * (5e-3 + 0.4e-3), rel=1e-9)


def test_what_the_cache_serves_does_not_reach_the_disk():
    run = simulate(one_disk("hit_ratio=0.4", "workload.operations=2000", "workload.rate=5/s"), seed=1)
    hits = run.latency_s == 0
    assert hits.mean() == pytest.approx(0.4, abs=0.04)
    (visits,) = (row["visits"] for row in run.stations.to_pylist() if row["role"] == "disk")
    assert visits == 8 * (~hits).sum()


# What reaches the store below


def test_issued_requests_are_in_the_order_of_those_that_issue_them():
    spec = cut("bob", "workload.mix={GET: 1, PUT: 1}")
    trace = generate(spec.workload, 3)
    found = issued_trace(trace, blocks.issues(spec, trace))
    assert len(found.trace) == blocks_of(trace).sum()
    assert (np.diff(found.trace.arrival_s) >= 0).all()
    assert found.trace.transfer_bytes.sum() == trace.transfer_bytes.sum()
    keys = found.trace.table.column("key").to_pylist()
    of_first = blocks_of(trace)[0]
    first = trace.table.column("key")[0].as_py()
    assert keys[:of_first] == [f"{first}/{number}" for number in range(1, of_first + 1)]


def test_many_issued_requests_are_those_of_the_first_ones(monkeypatch):
    monkeypatch.setattr("models.below.issued.MOST_ROWS", 50)
    spec = cut("bob")
    trace = generate(spec.workload, 3)
    found = issued_trace(trace, blocks.issues(spec, trace))
    assert len(found.trace) <= 50 and found.parents < len(trace)
    assert found.trace.arrival_s.max() <= trace.arrival_s[found.parents - 1]
    spec = cut("bob", "below.background={loads: [{name: scan, rate: 5/s, demand: 1ms}]}")
    requests = compile_spec(spec, trace)[1]
    assert requests.background[0].until_s == trace.arrival_s[-1]


def test_a_closed_loop_has_as_many_clients_below_as_blocks_in_flight():
    spec = cut(
        "minio", "workload.rate=null", "workload.clients=3", "workload.object_size=400MiB", "workload.mix={PUT: 1}"
    )
    trace = generate(spec.workload, 1)
    found = issued_trace(trace, blocks.issues(spec, trace))
    assert found.trace.pacing.clients == 3 * 20
    workload = issued_workload(spec, blocks.issues)
    assert (workload.clients, workload.object_size.size, workload.ops) == (60, 4 * MIB, ["PUT"])


def test_groups_reach_the_store_below_each_with_its_blocks():
    groups = "{a: {rate: 5/s, object_size: 8MiB, mix: {PUT: 1}}, b: {clients: 2, object_size: 12MiB}}"
    data = {"store": "blocks", "below": STORES["minio"], "workload": {"duration": "2s"}}
    spec = spec_of(override(data, [f"workload.groups={groups}"]), "test")
    a, b = issued_workload(spec, blocks.issues).groups.values()
    assert (a.rate, a.mix, a.object_size.size) == (10, {"PUT": 1000}, 4 * MIB)
    assert (b.clients, b.rate) == (6, None)
    run = simulate(spec)
    assert set(run.trace.groups) == {"a", "b"} and not run.failed.any()


def test_nothing_issued_is_one_request():
    spec = cut("minio", "workload.mix={GET: 1}", "hit_ratio=1")
    run = simulate(spec)
    assert (run.latency_s < 1e-3).all()


def test_keys_of_the_request_are_kept():
    spec = cut("bob")
    trace = generate(spec.workload, 1)
    same = Issued("GET", np.ones(len(trace), bool), SubRequests(0, count=1, own_keys=False))
    keys = issued_trace(trace, [same]).trace.table.column("key").to_pylist()
    assert keys == trace.table.column("key").to_pylist()


def test_routes_follow_from_sizes():
    sizes = np.array([1, 2, 3, 4, 4, 4, 4])
    assert routes_of(np.full(7, 5, np.int32), sizes) == 5
    found = routes_of(np.array([0, 0, 1, 1, 1, 1, 2], np.int32), sizes)
    assert found == RouteChoice((2, 3, 4), (((0, 1.0),), ((1, 1.0),), ((1, 0.75), (2, 0.25))))
    assert routes_of(np.arange(0, dtype=np.int32), sizes[:0]) == 0


def test_a_cache_below_serves_its_fraction_of_the_blocks():
    """Blocks that a page cache of the hosts has do not visit drives; which ones is drawn."""
    curve = "below.hosts.page_cache={size: 1GiB, curve: {sizes: [1GiB], hit_ratios: [0.5]}}"
    few = ["workload.mix={GET: 1}", "workload.object_size=32MiB", "workload.operations=400"]
    reads = []
    for assignments in (few, [*few, curve]):
        run = simulate(cut("minio", *assignments), seed=1)
        reads.append(sum(row["visits"] for row in run.stations.to_pylist() if row["role"] == "drive"))
    assert reads[1] / reads[0] == pytest.approx(0.5, abs=0.05)


# The capabilities of both


def test_faults_of_both_are_named_and_found():
    spec = cut(
        "minio", "below.faults=[{kind: host_down, at: 1s, host: 1}]", "faults=[{kind: slow_client, at: 2s, speed: 0.5}]"
    )
    assert list(faults_of(spec)) == ["faults.0", "below.faults.0"]
    kinds = store_of(spec).faults
    assert {"host", "drive", "slow-drive", "slow-client"} <= kinds.keys()
    assert (kinds["host"].section, kinds["slow-client"].section) == ("below.faults", "faults")
    assert all(path.startswith("below.") for change in kinds["host"].helps for path in change)


def test_faults_after_the_end_are_left_out_at_both_levels():
    spec = cut(DISK, "workload.mix={GET: 1}", "below.faults=[{kind: slow_disk, at: 1000s, speed: 0.5}]")
    plain = cut(DISK, "workload.mix={GET: 1}")
    assert simulate(spec).requests.equals(simulate(plain).requests)
    assert len(compile_spec(spec, generate(spec.workload, 0), math.inf)[0].scenario) == 1
    assert not compile_spec(spec, generate(spec.workload, 0))[0].scenario


def test_demands_of_the_issued_operations_are_required():
    spec = cut("minio")
    assert {"cpu", "below.hosts.cpu.GET", "below.drives.read"} <= demands_of(spec, ["GET"]).keys()
    assert "below.drives.write" not in demands_of(spec, ["GET"])
    missing = cut("minio", "below.hosts.cpu={GET: 1ms, DELETE: 1ms}")
    with pytest.raises(InputError, match=r"below\.hosts\.cpu\.PUT.*not given"):
        compile_spec(missing, generate(missing.workload, 1))


def test_a_store_below_that_does_not_serve_an_operation_says_so():
    spec = cut(DISK)
    with pytest.raises(InputError, match="has DELETE; store fifo-disk serves GET, PUT"):
        compile_spec(spec, generate(spec.workload, 1))


def test_the_growth_below_is_of_the_blocks():
    """A client of objects of 32 MiB creates 8 objects of 4 MiB by each PUT."""
    spec = cut("ceph", "workload.object_size=32MiB", "workload.mix={PUT: 1}")
    growth, trace = store_of(spec).growth, generate(spec.workload, 1)
    assert growth is not None
    assert growth.created_each(spec) == 8
    sized = growth.with_object_size(growth.grown(spec, 2e6), round(growth.object_bytes(spec, trace)))
    assert (sized.below.stored.objects, sized.below.stored.object_size) == (2e6, 4 * MIB)
    held = {"stored": {"objects": 2e6, "object_size": "4MiB"}}
    direct = spec_of(STORES["ceph"] | held | {"workload": WORKLOAD | {"object_size": "4MiB"}}, "test")
    of_direct = store_of(direct).growth
    assert of_direct is not None
    assert growth.state(sized, trace) == of_direct.state(direct, generate(direct.workload, 1))
    assert sized.below.workload == spec.below.workload
    begun = (
        store.effects(of, generate(of.workload, 1), 1, 1e13) for store, of in ((growth, sized), (of_direct, direct))
    )
    assert next(begun) == next(begun) != ()


def test_the_cpu_time_below_is_that_of_all_blocks():
    spec = cut("minio", "workload.object_size=32MiB", "workload.mix={GET: 1}")
    cpu = store_of(spec).cpu
    assert cpu is not None
    found = cpu(spec, *compile_spec(spec, generate(spec.workload, 1)))
    assert found == pytest.approx({"client": 8 * 0.2e-3, "server": 8 * 0.3e-3}, rel=1e-6)


def test_doubts_name_the_level():
    spec = cut("bob", "block=128MiB", "workload.object_size=256MiB")
    found = {doubt.path: doubt.text for doubt in check(spec, []).doubts}
    assert found["block"] == "is above 64 MiB"
    assert found["below"].startswith("has requests of 134,217,728 B; its largest one has 8,388,608 B")
    assert not check(cut("bob"), []).doubts


def test_ranges_of_both_are_assumed():
    spreads = store_of(cut("minio")).spreads
    assert "cpu" in spreads
    assert {f"below.{path}" for path in store_of(cut("minio").below).spreads} <= spreads.keys()


def test_prices_add_up():
    spec = cut(DISK | {"prices": {"actuator": 50}}, "prices={core: 10}", "below.disk.actuators=3")
    assert cost(*levels(spec).values()) == 4 * 10 + 3 * 50


assert fifo_disk.STORE.name == "fifo-disk"  # registered
