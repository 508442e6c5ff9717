"""Drives of the stores: presets, and hard disks that serve what waits in the order of their heads."""

from __future__ import annotations

from typing import Any

import pytest

import models.bob.compile
import models.minio.compile
import models.openio.compile
import models.swift.compile
from models.devices.devices import DEVICE_PRESETS
from models.devices.drive_times import DriveTimes
from models.devices.hdd_scheduling import busy_s
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store import Spec, compile_spec, spec_of, store_of
from sim.simulate import simulate
from traces.statistics.summary import latencies
from traces.trace import Trace
from traces.workload.generate import generate

DISK = DEVICE_PRESETS["hdd-7k2"].device.disk
assert DISK is not None

CPU = {"GET": 1e-5, "PUT": 1e-5}
STORES: dict[str, tuple[Any, dict[str, Any], float]] = {
    # The module with the queues of its hard disks, further sections, and how many accesses of a client wait.
    # MinIO waits for 8 drives of a set: 8 / (1 + 1/2 + ... + 1/8) of the accesses of a request are in progress.
    "minio": (models.minio.compile, {"hosts": {"count": 4, "cpu": CPU}}, 2.943),
    "swift": (models.swift.compile, {"hosts": {"count": 4, "cpu": CPU}, "proxies": {"cpu": CPU}}, 1),
    "bob": (models.bob.compile, {"hosts": {"count": 4, "cpu": CPU}, "vdisks": {"replicas": 1}}, 1),
    "openio": (models.openio.compile, {"hosts": {"count": 4, "cpu": CPU}, "gateways": {"cpu": CPU}}, 1),
}
DRIVES = 8


def cluster(store: str, drives: dict[str, Any] | None = None, **workload: Any) -> Spec:
    data = {
        "store": store,
        "workload": {"operations": 2000, "object_size": "64KiB", "mix": {"GET": 1}, **workload},
        **STORES[store][1],
        "drives": {"count": 2, "preset": "hdd-7k2"} | (drives or {}),
    }
    return spec_of(data, "spec")


def waiting(spec: Any, trace: Trace) -> float:
    """The mean number of accesses at a disk with which the store is compiled."""
    found: list[float] = []

    def compile_at(depth: float) -> tuple[Network, Requests]:
        found.append(depth)
        return store_of(spec).compile(spec, trace, depth)

    STORES[spec.store][0].hdd_queue_of(spec, trace).compiled(trace, compile_at)
    return found[-1] if len(found) != 2 or found[-1] == 32 else found[0]


def at_load(spec: Any) -> Any:
    trace = generate(spec.workload, 0)
    drives = spec.drives.at_depth(waiting(spec, trace))
    assert isinstance(drives, DriveTimes)
    return drives


@pytest.mark.parametrize("store", STORES)
def test_times_follow_from_the_mechanism(store: str) -> None:
    """A spec without preset has the same times as one with it, which has the same disk."""
    given: Any = cluster(store, {"preset": None, "disk": DISK.model_dump()})
    preset: Any = cluster(store)
    assert given.drives.read == DISK.access("read") == preset.drives.read
    assert given.drives.write == DISK.access("write")
    if durable := given.drives.durable:
        durable_s = DISK.access("write").constant + 4096 / 129e6 + 1 / 120
        for spec in (given, preset):
            assert getattr(spec.drives, durable).constant == pytest.approx(durable_s, rel=1e-3)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    ("workload", "clients"),
    [({"clients": 1}, 1), ({"clients": 24}, 24), ({"clients": 1000}, 1000), ({"rate": 1}, 1), ({"rate": 3000}, 1000)],
)
def test_a_disk_chooses_among_the_accesses_that_wait(store: str, workload: dict[str, Any], clients: int) -> None:
    depth = min(max(1, clients * STORES[store][2] / DRIVES), 32)
    read = DISK.model_copy(update={"depth": depth}).access("read")
    assert at_load(cluster(store, **workload)).read.constant == pytest.approx(read.constant, rel=1e-3)


@pytest.mark.parametrize("store", STORES)
def test_a_disk_that_serves_in_order_and_flash_have_the_times_of_one_access(store: str) -> None:
    for drives in ({"reorder_depth": 1}, {"preset": "nvme"}):
        spec: Any = cluster(store, drives, clients=1000)
        assert at_load(spec) == spec.drives


@pytest.mark.parametrize("store", ["minio", "swift"])
def test_times_that_are_given(store: str) -> None:
    """A read changes in proportion; a durable write, which consists of more than positioning, does not."""
    plain: Any = cluster(store, clients=1000)
    durable = plain.drives.durable
    given: Any = cluster(store, {durable: 0.02, "read": {"constant": 0.01}}, clients=1000)
    drives, many = at_load(given), DISK.model_copy(update={"depth": 32})
    assert getattr(drives, durable) == getattr(given.drives, durable)
    assert drives.read.constant == pytest.approx(0.01 * many.access("read").constant / DISK.access("read").constant)
    assert getattr(at_load(plain), durable).constant < getattr(plain.drives, durable).constant


@pytest.mark.parametrize("store", STORES)
def test_accesses_are_served_sooner_but_one_alone_is_not(store: str) -> None:
    def p50_s(depth: int, clients: int) -> float:
        spec = cluster(store, {"reorder_depth": depth}, clients=clients, operations=500)
        return float(sorted(latencies(simulate(spec, seed=1), "GET"))[250])

    assert p50_s(32, 1) == p50_s(1, 1)
    assert p50_s(32, 128) < 0.7 * p50_s(1, 128)


@pytest.mark.parametrize("store", STORES)
def test_no_requests_leave_the_times_as_they_are(store: str) -> None:
    spec: Any = cluster(store, clients=1000)
    trace = generate(spec.workload, 0)
    assert waiting(spec, Trace.of(trace.table.slice(0, 0), trace.pacing)) == 1


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("load", [0.3, 0.6, 0.8, 0.95])
def test_the_queue_of_an_open_loop_is_a_fixed_point(store: str, load: float) -> None:
    """At a utilisation u an M/M/1 queue has u / (1 - u) accesses, and with that number waiting the utilisation is u."""
    spec = cluster(store, rate=1)
    trace = generate(spec.workload, 0)
    saturated_ops = 1 / busy_s(*compile_spec(spec, trace, saturated=True))
    spec = cluster(store, rate=load * saturated_ops)
    trace = generate(spec.workload, 0)
    depth = waiting(spec, trace)
    used = len(trace) / trace.arrival_s[-1] * busy_s(*store_of(spec).compile(spec, trace, depth))
    assert used < 1
    assert depth == pytest.approx(min(max(1, used / (1 - used)), 32), rel=0.05)
    assert busy_s(*compile_spec(spec, trace)) == pytest.approx(busy_s(*store_of(spec).compile(spec, trace, depth)))
